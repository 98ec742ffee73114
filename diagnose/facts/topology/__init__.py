"""A run held against the inventory: what differs from it, what the failures have in common."""
