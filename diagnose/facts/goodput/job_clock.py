"""One clock for a job of many: seconds since the first moment that is asked for."""

from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from math import isfinite, nan
from operator import le

from diagnose.facts.clock import DAY, Clocks, Instant
from diagnose.model.event import Clock, Event, Points


class JobClock:
    """The clock of the job: seconds since the first moment it is asked for.

    Args:
        clocks: Of the input.
        by_file: What the stamps of each file are measured against.
    """

    def __init__(self, clocks: Clocks, by_file: dict[str, Clock]) -> None:
        self._clocks = clocks
        self._by_file = by_file
        self._origin: Instant | None = None

    def of(self, event: Event) -> float | None:
        """Return when an event was printed, None where that cannot be compared."""
        return self._since(self._clocks.of(event))

    def at(self, time: float | None, clock: Clock, *, host: str | None, file: str) -> float | None:
        """Return a stamp on this clock, None where it cannot be compared."""
        return self._since(self._clocks.instant(time, clock, host=host, file=file))

    def times(self, points: Points, begin: int, end: int) -> Sequence[float] | None:
        """Return the stamps of a series from one place to another, None if incomparable."""
        clock = self._by_file.get(points.file, Clock.NONE)
        stamps = points.times[begin:end]
        known = next(filter(isfinite, stamps), None)
        first = self.at(known, clock, host=points.host, file=points.file)
        if known is None or first is None:
            return None
        if rising(stamps, le):
            return array("d", (first - known + stamp for stamp in stamps))
        return array("d", (first + passed for passed in _passed(stamps, known)))

    def span(self, parts: Sequence[tuple[Points, int, int]]) -> tuple[float, float] | None:
        """Return the first and the last stamp of parts of series, None without one."""
        found = []
        for points, begin, end in parts:
            clock, stamps = self._by_file.get(points.file, Clock.NONE), points.times[begin:end]
            for ends in (stamps, reversed(stamps)):
                known = next(filter(isfinite, ends), None)
                moment = self.at(known, clock, host=points.host, file=points.file)
                found += [] if moment is None else [moment]
        return (min(found), max(found)) if found else None

    def _since(self, instant: Instant | None) -> float | None:
        if instant is None:
            return None
        self._origin = self._origin or instant
        apart = self._clocks.difference(self._origin, instant)
        return None if apart is None else apart[0]


def _passed(stamps: Sequence[float], last: float) -> Iterator[float]:
    """Yield the seconds since a stamp, never falling; one that is NaN stays.

    A stamp that falls by most of a day is one without a date behind midnight.
    """
    passed = latest = 0.0
    for stamp in stamps:
        if isfinite(stamp):
            apart = stamp - last
            passed += apart + DAY if apart < -DAY / 2 else apart
            latest, last = max(latest, passed), stamp
            yield latest
        else:
            yield nan


def rising(values: Sequence[float], compare: Callable[[float, float], bool]) -> bool:
    """Return whether each value and the next compare as asked; one that is NaN never does."""
    return all(map(compare, values, islice(values, 1, None)))
