"""From inputs to a reading: what is read by whom, and how what came out is put together."""
