"""Which part of the logs counts: ``--since`` and ``--until``."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress

from diagnose.errors import UsageError
from diagnose.facts.clock import Clocks
from diagnose.ingest.stamp import parse_stamp
from diagnose.model.event import Event, Points
from diagnose.model.reading import Reading

DATED = ("utc", "local")
"""Clocks whose stamps can be held against a date."""

UNDATED = "records without a date: kept whatever the limits"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Which part of the logs counts.

    Args:
        since: Records with an earlier stamp are left out; seconds as in ``Line.time``.
        until: Records with a later stamp are left out.
    """

    since: float | None = None
    until: float | None = None

    @classmethod
    def stated(cls, since: str | None, until: str | None) -> "Limits":
        """Return the limits that a user states.

        Args:
            since: A date, with or without a time of day and a zone.
            until: Likewise.

        Raises:
            UsageError: One of them is not a time.
        """
        return cls(since=_moment(since, "since"), until=_moment(until, "until"))

    def apply(self, reading: Reading) -> None:
        """Leave out what is outside the limits.

        A record without a stamp has the time of the one before it in its source; those of which no
        time is known stay and are counted in ``truncated``.
        """
        if self.since is None and self.until is None:
            return
        since = float("-inf") if self.since is None else self.since
        until = float("inf") if self.until is None else self.until
        clocks = Clocks(reading)
        latest: dict[str, float] = {}
        undated: dict[str, int] = {}
        kept: list[Event] = []
        for event in reading.events:
            instant = clocks.of(event)
            if instant is not None and instant.domain.family in DATED:
                latest[event.file] = instant.seconds
            time = latest.get(event.file)
            if time is None:
                undated[event.file] = undated.get(event.file, 0) + 1
            if time is None or since <= time <= until:
                kept.append(event)
        reading.events[:] = kept
        reading.truncated.extend(
            {"file": file, "what": UNDATED, "count": count} for file, count in undated.items()
        )
        _cut(reading.points, since, until)
        for source in reading.sources:
            if source.clock in DATED and source.first_time is not None:
                source.first_time = min(max(source.first_time, since), until)
            if source.clock in DATED and source.last_time is not None:
                source.last_time = max(min(source.last_time, until), since)


NO_LIMITS = Limits()


def _cut(series: Sequence[Points], since: float, until: float) -> None:
    """Leave out the points outside the limits; series that share their columns go on sharing."""
    cut: dict[int, tuple[Points, list[bool], Points]] = {}
    for points in series:
        if id(points.times) not in cut:
            inside = [not (time < since or time > until) for time in points.times]
            left = replace(
                points,
                steps=array("d", compress(points.steps, inside)),
                times=array("d", compress(points.times, inside)),
                lines=array("q", compress(points.lines, inside)),
            )
            # The series as it was is kept, so that no other column takes its identity.
            cut[id(points.times)] = replace(points), inside, left
        _, inside, left = cut[id(points.times)]
        points.values = array("d", compress(points.values, inside))
        points.steps, points.times, points.lines = left.steps, left.times, left.lines


def _moment(text: str | None, option: str) -> float | None:
    if text is None:
        return None
    found = parse_stamp(text)
    if found is None:
        raise UsageError(
            f"--{option} {text!r} is not a time; give it as 2026-01-02T12:06:41 or 2026-01-02"
        )
    return found[0]
