"""Whose stamps can be compared, and how far apart two moments are.

Hosts differ by seconds or by a time zone, stamps lack years or days, and kernels count from boot.
Offsets between hosts are estimated from moments that all of them pass together: the end of a
communicator's init, and the same step reported by several. An order is only claimed beyond the
error of that estimate.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from diagnose.ingest.stamp import iso
from diagnose.model.event import Clock, Event
from diagnose.model.reading import Reading

WHOLE_SECOND = 1.0
"""Seconds by which a moment may lie behind a stamp that counts whole seconds, as c10d's do."""

SAME_HOST_ERROR = 1.0
"""Seconds between two files of one host: stamps cut to whole seconds, dmesg -T drifts."""

UNKNOWN_SKEW = 2.0
"""Seconds assumed between hosts of which no common moment is known."""

ASSUMED_SIGMA = 0.5
"""Seconds; the error of an offset that rests on fewer than three common moments."""

SAME_END = 600.0
"""Stamps with and without a zone count as of one zone if their last ones differ by less."""

LATEST_STAMP = 4e9
"""A later stamp (2096) is a number that means something else."""

UNKNOWN_ZONE = 14 * 3600.0
"""Error between a stamp with a zone and one without: the farthest zone from UTC."""

COMPARED = 64
"""Clocks of which moments are compared where many hosts saw the same."""

DAY = 86_400.0

_YEARLESS_BASE = 1972
_YEARLESS = (63_072_000.0, 94_694_400.0)
"""Seconds between which stamps without a year lie: those of 1972 (``diagnose.ingest.stamp``)."""


@dataclass(frozen=True, slots=True)
class Domain:
    """Stamps that one clock made.

    Args:
        place: Host, else the file.
        family: ``utc``, ``local``, ``daytime`` or ``uptime``.
    """

    place: str
    family: str


@dataclass(frozen=True, slots=True)
class Instant:
    """One moment as a clock showed it.

    Args:
        seconds: Since 1970 (years completed), since midnight or since boot, by family.
        domain: Whose clock.
        file: Where the stamp stands.
        whole: The stamp counts whole seconds, or has a fraction that is zero.
    """

    seconds: float
    domain: Domain
    file: str
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Offset:
    """How far a clock is ahead of the reference clock, and the error of that; both in seconds."""

    seconds: float
    sigma: float


Barrier = Mapping[Domain, float]


class Clocks:
    """The clocks of one input.

    Args:
        reading: All events and sources; their stamps tell the year.
    """

    def __init__(self, reading: Reading) -> None:
        stamps = _stamps(reading)
        self._year = _Years(stamps, reading)
        self._offsets: dict[Domain, Offset] = {}
        self._domains: dict[tuple[str, str], Domain] = {}
        self._one_zone = _one_zone(stamps, self._year)

    def repair(self, barriers: Iterable[Barrier]) -> None:
        """Estimate the offsets between clocks.

        Args:
            barriers: Moments that several clocks saw, each with what those clocks showed.
        """
        self._offsets = estimate_offsets(barriers)

    def instant(
        self, time: float | None, clock: Clock, *, host: str | None, file: str
    ) -> Instant | None:
        """Return a stamp as a moment, None without a stamp."""
        if time is None or math.isnan(time) or clock is Clock.NONE:
            return None
        clock = clock_of(time, clock)
        if clock is Clock.YEARLESS:
            time = self._year.complete(time)
        place = host or f"file {file}", _family(clock)
        domain = self._domains.get(place)
        if domain is None:
            domain = self._domains[place] = Domain(*place)
        return Instant(time, domain, file, time.is_integer())

    def completed(self, time: float, clock: Clock) -> float:
        """Return a stamp with its year; other clocks' stamps stay what they are."""
        return self._year.complete(time) if clock_of(time, clock) is Clock.YEARLESS else time

    def of(self, event: Event, *, onset: bool = False) -> Instant | None:
        """Return when an event was printed, or when it began by its own statement."""
        stamp = self.instant(event.time, event.clock, host=event.host, file=event.file)
        if stamp is None or not onset or event.onset is None or event.time is None:
            return stamp
        return replace(stamp, seconds=stamp.seconds - (event.time - event.onset))

    def apart(
        self, first: Event, second: Event, *, onset: bool = False
    ) -> tuple[float, float] | None:
        """Return the seconds from one event to another and their error, None if incomparable.

        Args:
            first: One event.
            second: Another.
            onset: Compare when they began by their own statement, not when they were printed.
        """
        return self.difference(self.of(first, onset=onset), self.of(second, onset=onset))

    def difference(self, a: Instant | None, b: Instant | None) -> tuple[float, float] | None:
        """Return the seconds from ``a`` to ``b`` and their error, None if incomparable."""
        if a is None or b is None:
            return None
        apart = b.seconds - a.seconds
        if a.domain == b.domain:
            if a.domain.family == "daytime":
                apart = _within_half_a_day(apart)
            return apart, _one_file_error(a, b) if a.file == b.file else SAME_HOST_ERROR
        families = {a.domain.family, b.domain.family}
        if "uptime" in families:
            return None
        first, second = self._offsets.get(a.domain), self._offsets.get(b.domain)
        if first and second:
            error = 2 * math.hypot(first.sigma, second.sigma) + 1
            return apart - second.seconds + first.seconds, error
        if families == {"daytime"}:
            return _within_half_a_day(apart), UNKNOWN_SKEW
        if "daytime" in families:
            return None
        if len(families) > 1 and not self._one_zone:
            return apart, UNKNOWN_ZONE
        return apart, UNKNOWN_SKEW

    def iso(self, time: float | None, clock: Clock) -> str | None:
        """Return a stamp as reports print it, None where its date is not known."""
        if time is None or math.isnan(time):
            return None
        clock = clock_of(time, clock)
        if clock is Clock.YEARLESS:
            if not self._year.known:
                return None
            return iso(self._year.complete(time), Clock.LOCAL)
        if clock in (Clock.UTC, Clock.LOCAL):
            return iso(time, clock)
        return None


def clock_of(time: float, clock: Clock) -> Clock:
    """Return what one stamp of a file is measured against.

    A program and the library under it often stamp the lines of one file in different ways: dates
    with a year beside dates without one. Which of them a stamp is shows in its value.

    Args:
        time: As in ``Line.time``.
        clock: Of the file, of which the stamp may be an exception.
    """
    begin, end = _YEARLESS
    if time >= end:
        return Clock.LOCAL if clock in (Clock.YEARLESS, Clock.DAYTIME) else clock
    if begin <= time and clock in (Clock.UTC, Clock.LOCAL, Clock.DAYTIME):
        return Clock.DAYTIME if time < begin + DAY else Clock.YEARLESS
    return clock


def first_of_each(instants: Iterable[Instant | None], *, last: bool = False) -> list[Instant]:
    """Return the earliest of some moments by each clock, or the latest; of many clocks some.

    Thousands of ranks begin or stop at once; what has to be compared with all of them would else
    be compared with each.

    Args:
        instants: None are left out.
        last: Whether the latest are asked for.
    """
    found: dict[Domain, Instant] = {}
    known = (one for one in instants if one is not None)
    for instant in sorted(known, key=lambda one: one.seconds, reverse=last):
        found.setdefault(instant.domain, instant)
        if len(found) == COMPARED:
            break
    return list(found.values())


def estimate_offsets(barriers: Iterable[Barrier]) -> dict[Domain, Offset]:
    """Return each clock's offset to the one that saw most of the moments.

    The offset is the median difference, its error the robust spread of the differences.
    """
    shared = [barrier for barrier in barriers if len(barrier) > 1]
    seen = Counter(domain for barrier in shared for domain in barrier)
    if not seen:
        return {}
    reference = min(seen, key=lambda domain: (-seen[domain], domain.place, domain.family))
    differences: dict[Domain, list[float]] = {}
    for barrier in shared:
        if reference not in barrier:
            continue
        for domain, time in barrier.items():
            differences.setdefault(domain, []).append(time - barrier[reference])
    return {domain: _offset(found) for domain, found in differences.items()}


def _offset(differences: list[float]) -> Offset:
    from diagnose.facts.statistics import level_and_noise  # only where hosts saw the same

    middle, sigma = level_and_noise(differences)
    return Offset(middle, ASSUMED_SIGMA if len(differences) < 3 else sigma)


def _one_file_error(a: Instant, b: Instant) -> float:
    """Return the error between two stamps of one file.

    Stamps that count the same whole seconds are ordered by them; beside a finer stamp, or dated
    back by a wait, a whole second is no moment.
    """
    same_grid = (b.seconds - a.seconds).is_integer()
    return 0.0 if same_grid or not (a.whole or b.whole) else WHOLE_SECOND


def _family(clock: Clock) -> str:
    return "local" if clock is Clock.YEARLESS else str(clock)


def _within_half_a_day(seconds: float) -> float:
    return (seconds + DAY / 2) % DAY - DAY / 2


def _stamps(reading: Reading) -> dict[Clock, list[float]]:
    """Return all stamps of events and sources by what they are measured against."""
    found: dict[Clock, list[float]] = {}
    for event in reading.events:
        if event.time is not None:
            found.setdefault(event.clock, []).append(event.time)
    for source in reading.sources:
        for time in (source.first_time, source.last_time):
            if time is not None:
                found.setdefault(clock_of(time, source.clock), []).append(time)
    return found


def _one_zone(stamps: Mapping[Clock, Sequence[float]], years: "_Years") -> bool:
    last: dict[str, float] = {}
    for clock, times in stamps.items():
        latest = max(map(years.complete, times) if clock is Clock.YEARLESS else times)
        family = _family(clock)
        last[family] = max(latest, last.get(family, latest))
    return "utc" in last and "local" in last and abs(last["utc"] - last["local"]) < SAME_END


class _Years:
    """Years for stamps that have none, from the stamps of the same input that have one.

    Args:
        stamps: Of the input, by what they are measured against.
        reading: Whose series have further stamps.
    """

    def __init__(self, stamps: Mapping[Clock, Sequence[float]], reading: Reading) -> None:
        dated = [*stamps.get(Clock.UTC, ()), *stamps.get(Clock.LOCAL, ())]
        dated += [time for points in reading.points for time in points.times[:1]]
        dated = [time for time in dated if _YEARLESS[1] <= time < LATEST_STAMP]
        dated.sort()
        self._middle = dated[(len(dated) - 1) // 2] if dated else None
        self._shifts: dict[int, list[float]] = {}
        self._new_year = _new_year(stamps.get(Clock.YEARLESS, ()))

    @property
    def known(self) -> bool:
        """Whether any stamp of the input states a year."""
        return self._middle is not None

    def complete(self, time: float) -> float:
        """Return a stamp of 1972 in the year that brings it nearest to the dated stamps.

        Without dated stamps the years are only right relative to each other.
        """
        if self._middle is None:
            return _in_year(time, _YEARLESS_BASE - 1) if time > self._new_year else time
        middle = self._middle
        day = int(time // DAY)
        if day not in self._shifts:
            year = datetime.fromtimestamp(middle, UTC).year
            start = day * DAY
            self._shifts[day] = [_in_year(start, one) - start for one in (year - 1, year, year + 1)]
        candidates = [time + shift for shift in self._shifts[day]]
        return min(candidates, key=lambda one: abs(one - middle))


def _new_year(times: Iterable[float]) -> float:
    """Return the stamp after which stamps belong to the year before.

    A silence of more than half a year between the sorted stamps means that the later ones are the
    December before the January of the earlier ones.
    """
    ordered = sorted(set(times))
    gap, border = max(
        ((late - early, early) for early, late in zip(ordered, ordered[1:], strict=False)),
        default=(0.0, 0.0),
    )
    return border if gap > 183 * DAY else math.inf


def _in_year(time: float, year: int) -> float:
    try:
        return datetime.fromtimestamp(time, UTC).replace(year=year).timestamp()
    except ValueError:  # 29 February, which that year does not have
        return math.inf
