"""What is read of serving engines: their logs, their metrics, and the text they generate."""
