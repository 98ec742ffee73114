"""What is read of the fabric: states, addresses and counters of its ports."""
