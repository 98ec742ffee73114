"""One entry of a flight-recorder dump as a call, whatever version wrote it.

Versions differ: ``seq_id`` became ``collective_seq_id`` beside ``p2p_seq_id`` (1.x to 2.1), times were in
microseconds, JSON writes 0 where a pickle has None.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Value

OPERATIONS = {
    "all_reduce": "ALLREDUCE",
    "allreduce_coalesced": "ALLREDUCE_COALESCED",
    "all_reduce_barrier": "BARRIER",
    "barrier": "BARRIER",
    "broadcast": "BROADCAST",
    "reduce": "REDUCE",
    "all_gather": "ALLGATHER",
    "_all_gather_base": "_ALLGATHER_BASE",
    "all_gather_into_tensor_coalesced": "ALLGATHER_COALESCED",
    "reduce_scatter": "REDUCE_SCATTER",
    "_reduce_scatter_base": "_REDUCE_SCATTER_BASE",
    "reduce_scatter_tensor_coalesced": "_REDUCE_SCATTER_BASE_COALESCED",
    "all_to_all": "ALLTOALL",
    "gather": "GATHER",
    "scatter": "SCATTER",
    "coalesced": "COALESCED",
    "send": "SEND",
    "recv": "RECV",
}
"""Names in dumps to those in PyTorch's log lines (torch/csrc/distributed/c10d, ProcessGroupNCCL.cpp)."""

NAME = LazyPattern(
    r"^(?:(?P<backend>\w+):)?(?P<op>\w+)(?: (?P<mine>\d{1,6})(?:->|<-)(?P<peer>\d{1,6}))?"
)
LIBRARY = LazyPattern(r"(?:^|/)(?:site|dist)-packages/|(?:^|/)torch/")
"""Paths of frames that are the same whatever the program does."""

FRAMES = 24
"""Frames of a call that are looked at, the innermost first."""

TENSORS, DIMENSIONS = 512, 16
"""Tensors of one call and sizes of one tensor that are counted."""

LARGEST = 1 << 63

LONGEST = 300
"""Characters of a name."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a process group.

    Args:
        record: Number in the order of calls of the process, over all groups.
        group: Number of the group on this rank, which other ranks may count otherwise.
        name: Of the group, the same on all ranks.
        desc: What the group is for, ``default_pg``.
        seq: Number of the collective within the group; of a send or receive its own count.
        op: As PyTorch's log lines name it.
        p2p: Whether it is a send or receive.
        peer: The other end of one, counted within the group.
        numel_in: Elements of all inputs, None if unknown.
        numel_out: Of all outputs.
        dtype: Types of the inputs, ``Float``.
        state: ``scheduled``, ``started`` or ``completed``; ``scheduled`` covers a start that is
            not recorded.
        done: Whether it needs no more waiting for.
        created: When the program made it, seconds since 1970; None if unknown.
        timeout: Seconds it may take.
        stack: The frames as they stand in the dump; few calls are asked for them.
    """

    record: int
    group: int
    name: str | None
    desc: str | None
    seq: int
    op: str
    p2p: bool
    peer: int | None
    numel_in: int | None
    numel_out: int | None
    dtype: str | None
    state: str
    done: bool
    created: float | None
    timeout: float | None
    stack: object = None

    @property
    def frames(self) -> tuple[str, ...]:
        """``function file:line``, the innermost first."""
        listed = self.stack[:FRAMES] if isinstance(self.stack, list | tuple) else ()
        return tuple(_shown(frame) for frame in listed if isinstance(frame, Mapping))

    @property
    def site(self) -> str | None:
        """The innermost frame outside of libraries, else the innermost one."""
        frames = self.frames
        own = (frame for frame in frames if not LIBRARY.search(frame.partition(" ")[2]))
        return next(own, frames[0] if frames else None)

    def signature(self) -> list[Value]:
        """Return what is compared over ranks: number, operation, elements, type and order."""
        return [self.seq, self.op, self.numel_in, self.numel_out, self.dtype, self.record]


def call(entry: Mapping[str, Any], place: int) -> Call | None:
    """Return an entry as a call, None where it has no number or no operation.

    Args:
        entry: Of the list ``entries``.
        place: In that list; stands in for a record number.
    """
    found = NAME.match(words(entry.get("profiling_name")) or "")
    # In a group of sends and receives the numbers of both kinds run apart.
    p2p = entry.get("is_p2p") is True or (found is not None and found["peer"] is not None)
    numbers = ("p2p_seq_id", "seq_id") if p2p else ("collective_seq_id", "seq_id")
    seq = next((one for key in numbers if (one := whole(entry.get(key))) is not None), None)
    if found is None or seq is None:
        return None
    name, desc = _group_name(entry.get("process_group"))
    state = words(entry.get("state")) or "scheduled"
    # gloo leaves its entries scheduled and only retires them.
    done = state == "completed" or (found["backend"] == "gloo" and entry.get("retired") is True)
    record, group = whole(entry.get("record_id")), whole(entry.get("pg_id"))
    return Call(
        record=place if record is None else record,
        group=-1 if group is None else group,
        name=name,
        desc=desc,
        seq=seq,
        op=OPERATIONS.get(found["op"], found["op"].upper()),
        p2p=p2p,
        peer=whole(found["peer"]),
        numel_in=_elements(entry.get("input_sizes")),
        numel_out=_elements(entry.get("output_sizes")),
        dtype=_types(entry.get("input_dtypes")),
        state=state,
        done=done,
        created=_seconds(entry),
        timeout=_thousandth(entry.get("timeout_ms")),
        stack=entry.get("frames"),
    )


def whole(value: object) -> int | None:
    """Return a number of at most 64 bits, also from its text; None for anything else."""
    if isinstance(value, str):
        value = int(value) if len(value) <= 20 and value.lstrip("-").isdecimal() else None
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if -LARGEST <= value < LARGEST else None


def words(value: object) -> str | None:
    """Return a text or a number as a text of bounded length, None for anything else.

    Printing what is nested may take for ever: lists can hold each other many times over.
    """
    return str(value)[:LONGEST] if isinstance(value, str) or whole(value) is not None else None


def _group_name(value: object) -> tuple[str | None, str | None]:
    """Return name and description of ``["0", "default_pg"]``."""
    if not isinstance(value, list | tuple) or not value:
        return None, None
    desc = words(value[1]) if len(value) > 1 else None
    return words(value[0]), None if desc in ("", "undefined") else desc


def _elements(sizes: object) -> int | None:
    if not isinstance(sizes, list | tuple) or len(sizes) > TENSORS:
        return None
    total = 0
    for size in sizes:
        numbers = (
            [whole(one) for one in size[:DIMENSIONS]] if isinstance(size, list | tuple) else []
        )
        known = [one for one in numbers if one is not None]
        if not isinstance(size, list | tuple) or len(known) < len(size):
            return None
        total += math.prod(known)
    return total if sizes and total < LARGEST else None


def _types(names: object) -> str | None:
    if not isinstance(names, list | tuple) or not 0 < len(names) <= TENSORS:
        return None
    return ",".join(sorted({words(name) or "?" for name in names}))


def _seconds(entry: Mapping[str, Any]) -> float | None:
    for key, unit in (("time_created_ns", 1e9), ("time_created_us", 1e6)):
        number = whole(entry.get(key))
        if number:
            return number / unit
    return None


def _thousandth(value: object) -> float | None:
    number = whole(value)
    return None if number is None else number / 1000


def _shown(frame: Mapping[str, Any]) -> str:
    name, file = (words(frame.get(key)) or "?" for key in ("name", "filename"))
    return f"{name} {file}:{whole(frame.get('line')) or '?'}"


def in_order(calls: Iterable[Call]) -> list[Call]:
    """Return calls in the order in which the program made them."""
    return sorted(calls, key=lambda one: one.record)
