"""Names of the events that come of an inventory."""

EVENTS = (
    "topology.differs",
    "topology.host_unlisted",
    "topology.partitions_apart",
    "topology.failing",
    "topology.vote",
)
