"""The state of a server as its metrics tell it, and the difference of two states.

Not a parser: ``scrapes`` makes them, and the facts compare them. A ``Snapshot`` has levels, sums since the
start of the server, and distributions since then.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from diagnose.model.event import Value


@dataclass(frozen=True, slots=True)
class Distribution:
    """A histogram over a stretch of time.

    Args:
        total: Sum of the values.
        count: How many there are.
        buckets: Upper bound to how many are not over it, rising; may be empty.
    """

    total: float
    count: float
    buckets: tuple[tuple[float, float], ...] = ()

    def mean(self) -> float | None:
        """Return the mean, None without a value."""
        return round(self.total / self.count, 6) if self.count > 0 else None

    def quantile(self, share: float) -> float | None:
        """Return a quantile, between the bounds of its bucket by the rule of three.

        What lies over the last finite bound counts as that bound.

        Args:
            share: 0 to 1.
        """
        if not self.buckets or self.buckets[-1][1] <= 0:
            return None
        rank = share * self.buckets[-1][1]
        low, below = 0.0, 0.0
        for high, upto in self.buckets:
            if upto >= rank and upto > below:
                if math.isinf(high):
                    return low
                return round(low + (high - low) * (rank - below) / (upto - below), 6)
            low, below = (low if math.isinf(high) else high), upto
        return low

    def since(self, before: "Distribution") -> "Distribution":
        """Return what came between an earlier state and this one."""
        earlier = dict(before.buckets)
        return Distribution(
            self.total - before.total,
            self.count - before.count,
            tuple((bound, upto - earlier.get(bound, 0.0)) for bound, upto in self.buckets),
        )


@dataclass(slots=True)
class Snapshot:
    """The state of one server.

    Args:
        gauges: Levels by name.
        counters: Sums since the start by name.
        distributions: Histograms since the start by name.
        finished: Requests since the start by reason of their end.
        began: When the process began, seconds since 1970.
    """

    gauges: dict[str, float] = field(default_factory=dict)
    counters: dict[str, float] = field(default_factory=dict)
    distributions: dict[str, Distribution] = field(default_factory=dict)
    finished: dict[str, float] = field(default_factory=dict)
    began: float | None = None

    def restarted_since(self, before: "Snapshot") -> bool:
        """Return whether a sum fell or the process is another one."""
        if self.began is not None and before.began is not None and self.began != before.began:
            return True
        counts = {name: one.count for name, one in before.distributions.items()}
        return any(
            now < then
            for now, then in (
                *_pairs(self.counters, before.counters),
                *_pairs({name: one.count for name, one in self.distributions.items()}, counts),
            )
        )

    def since(self, before: "Snapshot") -> "Snapshot":
        """Return what came between an earlier state and this one, with the levels of this one."""
        return Snapshot(
            gauges=self.gauges,
            counters={
                name: value - before.counters.get(name, 0.0)
                for name, value in self.counters.items()
            },
            distributions={
                name: one.since(before.distributions[name]) if name in before.distributions else one
                for name, one in self.distributions.items()
            },
            finished={
                reason: count - before.finished.get(reason, 0.0)
                for reason, count in self.finished.items()
            },
            began=self.began,
        )

    def packed(self) -> list[Value]:
        """Return it as plain values, for a field of an event."""
        return [
            [[name, value] for name, value in self.gauges.items()],
            [[name, value] for name, value in self.counters.items()],
            [
                [name, one.total, one.count, [list(bucket) for bucket in one.buckets]]
                for name, one in self.distributions.items()
            ],
            [[reason, count] for reason, count in self.finished.items()],
            self.began,
        ]


def _pairs(now: Mapping[str, float], then: Mapping[str, float]) -> Iterable[tuple[float, float]]:
    return ((now[name], then[name]) for name in now.keys() & then.keys())


def unpacked(packed: Value) -> Snapshot | None:
    """Return the snapshot that ``Snapshot.packed`` gave, None for anything else."""
    match packed:
        case [list(gauges), list(counters), list(distributions), list(finished), began]:
            return Snapshot(
                _numbers(gauges),
                _numbers(counters),
                dict(_distribution(one) for one in distributions),
                _numbers(finished),
                began if isinstance(began, float) else None,
            )
    return None


def _numbers(pairs: list[Value]) -> dict[str, float]:
    return {str(pair[0]): _number(pair[1]) for pair in pairs if isinstance(pair, list)}


def _distribution(packed: Value) -> tuple[str, Distribution]:
    match packed:
        case [str(name), total, count, list(buckets)]:
            rows = tuple(_numbers_of(row) for row in buckets if isinstance(row, list))
            return name, Distribution(_number(total), _number(count), rows)
    raise ValueError("not a packed distribution")


def _numbers_of(row: list[Value]) -> tuple[float, float]:
    return _number(row[0]), _number(row[1])


def _number(value: Value) -> float:
    return float(value) if isinstance(value, int | float) else math.nan
