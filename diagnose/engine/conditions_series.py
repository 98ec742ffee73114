"""Conditions on series: whose statistic satisfies a bound."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from diagnose.engine.conditions_event import select_events
from diagnose.engine.records import Member, Record, witness
from diagnose.engine.schema import SeriesCondition
from diagnose.facts.case import Case
from diagnose.facts.series import Key, SeriesResult, SeriesView, evaluate
from diagnose.model.event import Event, Nature

PIVOTS = 20
"""Events that ``before_after`` tries as pivot, the first ones."""


@dataclass(frozen=True, slots=True)
class SeriesHit:
    """What a condition on a series found.

    Args:
        condition: The condition.
        result: The statistic of all groups.
        members: The groups that satisfy the bound.
        pivot: Event that parts before from after, if asked for.
    """

    condition: SeriesCondition
    result: SeriesResult
    members: tuple[Member, ...]
    pivot: Event | None

    def view(self, members: Collection[Record]) -> SeriesView | None:
        """Return the result as templates see it, with some of the members only."""
        keys = {_key(member, self.condition.by) for member in members if isinstance(member, Member)}
        kept = {key: group for key, group in self.result.by_key.items() if key in keys}
        return _view(self.condition, replace(self.result, by_key=kept))


def select_series(condition: SeriesCondition, case: Case) -> SeriesHit | None:
    """Return who satisfies the bound, None where nobody does or the logs hold no such series."""
    pivots: Sequence[Event | None] = [None]
    if condition.at is not None:
        pivots = [witness(record) for record in select_events(condition.at, case)[:PIVOTS]]
    for pivot in pivots:
        result = evaluate(
            case,
            condition.metric,
            by=condition.by,
            last=condition.last,
            skip=condition.skip,
            stat=condition.stat,
            at=pivot,
            window=condition.window,
        )
        view = None if result is None else _view(condition, result)
        if result is not None and view is not None:
            members = tuple(
                _member(condition, view, result, key, place, case)
                for key, place in zip(view.outliers, view.evidence, strict=True)
            )
            return SeriesHit(condition, result, members, pivot)
    return None


def _view(condition: SeriesCondition, result: SeriesResult) -> SeriesView | None:
    return result.view(
        condition.bound.holds, condition.fraction.holds if condition.fraction else None
    )


def _member(
    condition: SeriesCondition,
    view: SeriesView,
    result: SeriesResult,
    key: Key,
    place: tuple[str, int],
    case: Case,
) -> Member:
    rank = key if condition.by == "rank" and isinstance(key, int) else None
    host = str(key) if condition.by == "host" else case.job.host_of(rank)
    value = result.groups[key]
    spot = next(one for one in result.by_key[key].spots if (one.file, one.line) == place)
    file, line = place
    of = "" if condition.by == "job" else f" of {condition.by} {key}"
    shown = f"{condition.metric}{of}: {condition.stat} is {value:.4g}"
    event = Event(
        name=f"series.{condition.metric}",
        nature=Nature.MEASUREMENT,
        file=file,
        line=line,
        end_line=line,
        text=shown,
        fields={
            "value": value,
            "step": view.at_step,
            "before": spot.before,
            "after": spot.after,
        },
        rank=rank,
        host=host,
        attempt=case.attempts.at(file, line, 0),
    )
    return Member(rank, host, value, event)


def _key(member: Member, by: str) -> Key | None:
    return {"rank": member.rank, "host": member.host}.get(by, by)
