"""A run held against a baseline: what can be compared, what was measured, what explains what."""
