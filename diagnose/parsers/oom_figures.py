"""The arithmetic of an allocation that failed: what follows from the figures of its text.

Not a parser: the parsers of out-of-memory texts share it. All sizes are bytes; a figure that a text
lacks is not in the fields, and nothing is derived from it.

====================== ===========================================================================
``last_straw``         The request is a small segment of 2 or 20 MiB, so the device was simply full
``reserved``           allocated + reserved_unallocated, where the text gives the parts
``unallocated_share``  reserved_unallocated / reserved
``pool_share``         private_pools / allocated
``reachable``          free + reserved_unallocated: what the request could use without holes
``non_torch``          process_used - reserved: context, communicators, workspaces, other libraries
``other_used``         Memory of other processes, ``other_count`` of them listed, from
                       ``other_smallest`` to ``other_largest``
``unknown_used``       capacity - free - reserved, where the text knows no processes
``short_by``           requested - free
``exceeds_capacity``   The request alone is larger than the device
``limit_binding``      A limit that the process set itself was the reason, not the device
====================== ===========================================================================

Sizes over 1 GiB are rounded to 10 MiB, so a difference under 20 MiB means nothing.
"""

from collections.abc import Sequence

from diagnose.model.event import Value
from diagnose.parsers.convert import size

Fields = dict[str, Value]

SIZE = r"([\d.]+ (?:bytes|[KMGT]i?B))"
"""A size as ``format_size`` prints it (c10/cuda/CUDACachingAllocator.cpp)."""

NOT_AVAILABLE = 1 << 60
"""NVML's *not available* is 2**64 - 1 and prints as 17179869184.00 GiB; so does *no limit*."""

SMALL_SEGMENTS = 20 << 20
"""Requests up to 10 MiB are rounded to segments of 2 or 20 MiB (CUDACachingAllocator.cpp)."""

ROUNDING = 20 << 20
"""Least difference of figures in GiB with two decimals that means something."""


def amount(text: str) -> int | None:
    """Return the bytes of a printed size, None for *not available* and for what is no size."""
    try:
        found = size(text.rstrip(".,;"))
    except ValueError:
        return None
    return found if found < NOT_AVAILABLE else None


def whole(fields: Fields, name: str) -> int | None:
    """Return a figure, None where the text does not have it."""
    value = fields.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def add_processes(fields: Fields, processes: Sequence[tuple[int, int | None]]) -> None:
    """Tell this process from the others on the device.

    In a container NVML gives process ids of the host, so the process does not recognise itself and
    is listed as another one: with no sentence about this process, the entry whose use is just
    above what the allocator holds is this one.

    Args:
        fields: Of the text; changed in place.
        processes: Id and bytes of each ``Process`` sentence, None where NVML does not say.
    """
    if not processes:
        return
    own, reserved = whole(fields, "process_used"), whole(fields, "reserved")
    others = list(processes)
    if own is None and reserved is not None and all(used is not None for _, used in others):
        above = [one for one in others if (one[1] or 0) >= reserved - ROUNDING]
        if above:
            this = min(above, key=lambda one: one[1] or 0)
            own = fields["process_used"] = this[1]
            others.remove(this)
    fields["other_pids"] = [pid for pid, _ in others]
    used = [one for _, one in others if one is not None]
    fields["other_count"] = len(others)
    if used:
        fields["other_smallest"], fields["other_largest"] = min(used), max(used)
    if (own is not None or reserved is not None) and (used or not others):
        fields["other_used"] = sum(used)


def derive(fields: Fields) -> None:
    """Add to the figures of a text what follows from them, in place."""
    requested, free, capacity = (whole(fields, name) for name in ("requested", "free", "capacity"))
    if requested is not None:
        fields["last_straw"] = requested <= SMALL_SEGMENTS
        if free is not None:
            fields["short_by"] = requested - free
        if capacity is not None:
            fields["exceeds_capacity"] = requested > capacity
    _derive_reserved(fields)
    _derive_others(fields)
    limit, reserved = whole(fields, "limit"), whole(fields, "reserved")
    if None not in (limit, reserved, requested, free):
        over = (reserved or 0) + (requested or 0) > (limit or 0)
        fields["limit_binding"] = over and (free or 0) >= (requested or 0)


def _derive_reserved(fields: Fields) -> None:
    allocated, unallocated = whole(fields, "allocated"), whole(fields, "reserved_unallocated")
    reserved, pools = whole(fields, "reserved"), whole(fields, "private_pools")
    if allocated is not None and unallocated is not None:
        reserved = fields["reserved"] = allocated + unallocated
    elif allocated is not None and reserved is not None:
        unallocated = fields["reserved_unallocated"] = max(0, reserved - allocated)
    if reserved and unallocated is not None:
        fields["unallocated_share"] = round(unallocated / reserved, 4)
    if allocated and pools is not None:
        fields["pool_share"] = round(pools / allocated, 4)
    free = whole(fields, "free")
    if free is not None and unallocated is not None:
        fields["reachable"] = free + unallocated


def _derive_others(fields: Fields) -> None:
    capacity, free = whole(fields, "capacity"), whole(fields, "free")
    reserved, own = whole(fields, "reserved"), whole(fields, "process_used")
    if own is not None and reserved is not None:
        fields["non_torch"] = max(0, own - reserved)
    if capacity is None or free is None:
        return
    if own is not None and "other_pids" not in fields:
        rest = capacity - free - own
        fields["other_used"] = rest if rest >= ROUNDING else 0
    elif own is None and "other_used" not in fields and reserved is not None:
        fields["unknown_used"] = max(0, capacity - free - reserved)
