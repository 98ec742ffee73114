"""Writes flight-recorder dumps of invented jobs, as PyTorch's C++ pickler and JSON writer lay them out."""

import json
import pickle
from dataclasses import dataclass, field

CREATED = 1767607200_000000000
"""Nanoseconds since 1970 of the first call."""


@dataclass
class Group:
    """One group on one rank: its ranks, counters, and the calls that the ring still holds."""

    name: str
    ranks: list[int]
    enqueued: int
    completed: int
    desc: str = "default_pg"
    calls: list[dict] = field(default_factory=list)


def call(seq, op="all_reduce", size=1024, dtype="Float", state="scheduled", record=None, **more):
    """One entry; ``process_group`` and ``pg_id`` are added where it is put into a dump."""
    record = seq if record is None else record
    return {
        "record_id": record, "collective_seq_id": seq, "p2p_seq_id": 0, "op_id": seq,
        "profiling_name": f"nccl:{op}", "time_created_ns": CREATED + record * 1_000_000,
        "input_sizes": [[size]], "input_dtypes": [dtype], "output_sizes": [[size]],
        "output_dtypes": [dtype], "state": state, "time_discovered_started_ns": None,
        "time_discovered_completed_ns": None, "retired": state == "completed",
        "timeout_ms": 600_000, "is_p2p": False, **more,
    }  # fmt: skip


def p2p(seq, name, record=None, **more):
    """A send or receive: ``send 0->1``."""
    return call(
        7, name, record=seq if record is None else record, p2p_seq_id=seq, is_p2p=True, **more
    )


def frames(*places):
    """Frames as ``function file:line``, the innermost first."""
    split = (place.partition(" ") for place in places)
    return [
        {"name": name, "filename": path.rpartition(":")[0], "line": int(path.rpartition(":")[2])}
        for name, _, path in split
    ]


def dump(*groups, version="2.10", ids=None, text=False, **more):
    """A dump of one rank.

    Args:
        groups: In the order in which the rank made them.
        ids: Numbers of the groups on this rank, 0 and up by default.
        text: Numbers of ``pg_status`` as texts, as JSON has them.
    """
    ids = list(range(len(groups))) if ids is None else ids
    convert = str if text else int
    entries = [
        {"pg_id": number, "process_group": (group.name, group.desc), **one}
        for number, group in zip(ids, groups, strict=True)
        for one in group.calls
    ]
    return {
        "version": version,
        "pg_config": {
            group.name: {"name": group.name, "desc": group.desc, "ranks": json.dumps(group.ranks)}
            for group in groups
        },
        "pg_status": {
            str(number): {
                "last_enqueued_collective": convert(group.enqueued),
                "last_started_collective": convert(-1),
                "last_completed_collective": convert(group.completed),
            }
            for number, group in zip(ids, groups, strict=True)
        },
        "entries": sorted(entries, key=lambda one: one["record_id"]),
        **more,
    }


def pickled(value, protocol=2):
    return pickle.dumps(value, protocol)


def as_json(value):
    return json.dumps(value).encode()


def waiting(ranks, seq, op="all_reduce", **more):
    """The group of a rank that waits in one call."""
    return Group("0", ranks, seq, seq - 1, calls=[call(seq, op, **more)])


def idle(ranks, seq):
    """The group of a rank that finished a call and made no other."""
    return Group("0", ranks, seq, seq)
