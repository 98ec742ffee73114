"""What a test of collectives measured, whichever program printed it: rows, plateau, wrong data."""

from collections.abc import Sequence
from dataclasses import dataclass

from diagnose.model.event import Line, Value

GIB = 1 << 30
PLATEAU_SIZES = (GIB, 256 << 20)
"""Least sizes of rows that reach the plateau, the better one first."""

NAMES = {
    "allreduce": "all_reduce", "allgather": "all_gather", "reducescatter": "reduce_scatter",
    "alltoall": "alltoall", "bcast": "broadcast", "broadcast": "broadcast", "reduce": "reduce",
    "sendrecv": "sendrecv", "gather": "gather", "scatter": "scatter", "alltoallv": "alltoallv",
    "hypercube": "hypercube",
}  # fmt: skip
"""Collectives as nccl-tests calls them, by their letters."""


@dataclass(frozen=True, slots=True)
class Row:
    """One message size of a test.

    Args:
        size: Bytes of the message.
        busbw: Bus bandwidth out of place in GB/s, None where the program prints none.
        line: Where it stands.
        wrong: Results that differ from what they must be, None where nothing was compared.
        algbw: Algorithm bandwidth in GB/s.
    """

    size: int
    busbw: float | None
    line: Line
    wrong: int | None = None
    algbw: float = 0.0


def collective_name(text: str) -> str | None:
    """Return the name that nccl-tests has for ``Allreduce`` or ``all_reduce_perf``, None if unknown."""
    letters = "".join(one for one in text.lower() if one.isalpha())
    return NAMES.get(letters.removesuffix("perf").removesuffix("test"))


def measured(rows: Sequence[Row]) -> dict[str, Value]:
    """Return the fields that follow from the rows of a test."""
    known = [(row.size, row.busbw) for row in rows if row.busbw is not None]
    counted = [row.wrong for row in rows if row.wrong is not None]
    plateau, least = _plateau(known)
    return {
        "rows": len(rows),
        "sizes": [size for size, _ in known],
        "busbws": [busbw for _, busbw in known],
        "largest_size": max((row.size for row in rows), default=None),
        "peak_busbw": max((busbw for _, busbw in known), default=None),
        "plateau_busbw": plateau,
        "plateau_size": least,
        "wrong": sum(counted) if counted else None,
    }


def telling(rows: Sequence[Row], head: Line) -> Line:
    """Return the line that shows the result: the first wrong row, else the best large one."""
    wrong = next((row.line for row in rows if row.wrong), None)
    if wrong is not None or not rows:
        return wrong or head
    largest = max(row.size for row in rows)
    least = next((least for least in PLATEAU_SIZES if largest >= least), largest)
    large = [row for row in rows if row.size >= least]
    return max(large, key=lambda row: (row.busbw or 0.0, row.line.number)).line


def _plateau(rows: Sequence[tuple[int, float]]) -> tuple[float | None, int | None]:
    for least in PLATEAU_SIZES:
        reached = [busbw for size, busbw in rows if size >= least]
        if reached:
            return max(reached), least
    return None, None
