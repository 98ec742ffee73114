"""What the events and points add up to: the job, its clocks, its attempts, progress and series."""
