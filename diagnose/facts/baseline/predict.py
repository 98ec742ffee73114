"""What the rows of a smaller scope say of a larger one: how much of its miss follows from theirs.

Where communication that nothing hides takes c times as long as compute, the efficiency is
1 / (1 + c). Bandwidth that is r of what it should be makes that 1 / (1 + c / r), and one GPU at s
of its rate takes the whole down to s times that, if the efficiency is counted from the expected
rate: with 0.8 expected, r = 11 / 25 and s = 980 / 1200 that is 0.82 x 0.64 = 0.52.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from diagnose.facts.baseline.known import table
from diagnose.model.comparison import BaselineRow


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a row should show, given those below it.

    Args:
        value: In the unit of the row.
        factors: Of which it is the product, empty where it is none.
        because: Names of the rows it follows from.
    """

    value: float
    factors: tuple[float, ...]
    because: tuple[str, ...]


def predict(
    row: BaselineRow, rows: Sequence[BaselineRow], scale: float, *, own_base: bool = False
) -> Prediction | None:
    """Return what the rows below a missed one make of it, None if they say nothing of it.

    Args:
        row: One that is not ok.
        rows: All of them.
        scale: Factor from the unit of the row to its canonical unit.
        own_base: It is an efficiency that a slow GPU has no part in, being slow at every size.
    """
    below = [one for one in rows if _missed(one) and _smaller(one, row)]
    if row.kind == "scaling":
        slow = None if own_base else _worst(below, "gpu")
        return _efficiency(row, slow, below, scale)
    if row.kind == "network":
        return _through_the_node(row, below)
    slow = _worst(below, "gpu")
    if row.kind == "pace" and slow is not None and slow.ratio:
        slower = row.measured is not None and row.measured > row.expected
        value = row.expected / slow.ratio if slower else row.expected * slow.ratio
        return Prediction(value, (slow.ratio,), (slow.name,))
    return None


def covered(row: BaselineRow, predicted: float) -> float | None:
    """Return the share of a miss that a prediction accounts for, 0 to 1."""
    if row.measured is None or row.measured == row.expected:
        return None
    share = (row.expected - predicted) / (row.expected - row.measured)
    return min(1.0, max(0.0, share))


def _efficiency(
    row: BaselineRow, slow: BaselineRow | None, below: Sequence[BaselineRow], scale: float
) -> Prediction | None:
    narrow = _worst(below, "network") or _worst(below, "node")
    causes = [one for one in (slow, narrow) if one is not None and one.ratio]
    if not causes:
        return None
    exposed = max(0.0, 1 / (row.expected * scale) - 1)
    share = 1 / (1 + exposed / (narrow.ratio if narrow and narrow.ratio else 1.0))
    speed = slow.ratio if slow and slow.ratio else 1.0
    factors = (speed, share) if slow is not None else (share,)
    return Prediction(speed * share / scale, factors, tuple(one.name for one in causes))


def _through_the_node(row: BaselineRow, below: Sequence[BaselineRow]) -> Prediction | None:
    """Return the bandwidth across nodes that links inside a node leave: never more than theirs."""
    narrow = _worst(below, "node")
    if narrow is None or narrow.measured is None:
        return None
    rates = table()["units"]["GB/s"]
    left = narrow.measured * rates[narrow.unit] / rates[row.unit]
    return Prediction(left, (), (narrow.name,)) if left < row.expected else None


def _missed(row: BaselineRow) -> bool:
    return row.verdict in ("warning", "failure") and row.question is None


def _smaller(one: BaselineRow, row: BaselineRow) -> bool:
    if one.gpus is None or row.gpus is None:
        return one is not row
    return one.gpus < row.gpus


def _worst(rows: Sequence[BaselineRow], kind: str) -> BaselineRow | None:
    found = [row for row in rows if row.kind == kind and row.ratio is not None]
    return min(found, key=lambda row: row.ratio or 0.0, default=None)
