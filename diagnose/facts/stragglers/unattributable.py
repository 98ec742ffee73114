"""Where times of steps are there, but no rank can be named by them.

``train.ranks_unattributable`` has ``why``: ``totals`` (all ranks finish a step together, so its
length is everybody's) or ``extremes`` (a table gives the shortest and the longest time over ranks;
``ratio`` is the longest over the shortest, ``timer`` what was timed).
"""

from collections.abc import Iterable
from statistics import median

from diagnose.model.event import Points, Value

TIMED = ("compute_time", "data_time")

FEWEST = 3
"""Tables that must agree."""


def reasons(series: Iterable[Points]) -> list[tuple[Points, dict[str, Value]]]:
    """Return the series that show it, with what the event says.

    Args:
        series: Of a job none of whose ranks state their own times.
    """
    series = list(series)
    lows = {(one.metric, one.file, one.rank, one.attempt): one for one in series}
    found: list[tuple[Points, dict[str, Value]]] = []
    for points in series:
        low = lows.get((f"{points.metric}_min", points.file, points.rank, points.attempt))
        if points.metric not in TIMED or low is None:
            continue
        by_line = dict(zip(low.lines, low.values, strict=True))
        ratios = [
            high / by_line[line]
            for high, line in zip(points.values, points.lines, strict=True)
            if by_line.get(line)
        ]
        if len(ratios) >= FEWEST:
            found.append(
                (points, {"why": "extremes", "timer": points.metric, "ratio": median(ratios)})
            )
    if not found:
        totals = [one for one in series if one.metric == "step_time" and len(one.values) >= FEWEST]
        ranks = {one.rank for one in totals}
        found = [(one, {"why": "totals", "ranks": len(ranks)}) for one in totals[:1]]
    return found
