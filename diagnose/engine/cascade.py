"""The cascade graph: which finding explains which, and the few that explain the rest.

Edges come from the ``explains`` lists of rules; an effect whose rule has a list ``explained_by``
follows from those alone. An edge holds where the scope fits (same GPU, rank, host, communicator or
job; what is unknown fits) and where the time fits: the cause began no later than the effect was
reported and no earlier than the effect began less the allowed lag. An effect that states how long
it waited began that much before its line.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from diagnose.engine.match import Match
from diagnose.engine.schema import Explain, Rule
from diagnose.facts.case import Case
from diagnose.model.event import Event
from diagnose.model.report import Culprit, Level
from diagnose.model.taxonomy import Cause

AFTERWARDS = 60.0
"""Seconds that teardown may take after a timeout has run out."""

WEIGHTS: dict[Level, float] = {
    "info": 0.1,
    "low": 1.0,
    "medium": 3.0,
    "high": 9.0,
    "critical": 27.0,
}
"""How much of the incident a finding stands for when roots are chosen."""

COVERED = 0.9
"""Share of that weight that the roots have to explain."""


@dataclass(slots=True, eq=False)
class Node:
    """One finding in the graph.

    Args:
        key: Unique in the report.
        rule: The rule that fired.
        cause: Its cause.
        match: What it matched; of merged findings the first.
        events: All evidence, merged.
        culprit: Who, completed from the job model.
        confidence: Of the rule, later of the finding.
        count: Records behind it.
        cleared: Later progress made it history.
        suppressed: The suppression that applies.
        explains: Findings it explains directly.
        explained_by: Findings that explain it directly.
    """

    key: str
    rule: Rule
    cause: Cause
    match: Match
    events: list[Event]
    culprit: Culprit
    confidence: float
    count: int
    cleared: bool = False
    suppressed: dict[str, str] | None = None
    explains: list["Node"] = field(default_factory=list)
    explained_by: list["Node"] = field(default_factory=list)

    @property
    def is_context(self) -> bool:
        """Whether it is shown and never weighed."""
        return self.cleared or self.rule.role == "context"

    @property
    def first(self) -> Event | None:
        """The earliest evidence in the order of the sources."""
        return self.events[0] if self.events else None

    def reach(self) -> set["Node"]:
        """Return the findings it explains, directly or through others, and itself."""
        seen, todo = {self}, [self]
        while todo:
            for node in todo.pop().explains:
                if node not in seen:
                    seen.add(node)
                    todo.append(node)
        return seen


def connect(nodes: Sequence[Node], case: Case) -> None:
    """Fill ``explains`` and ``explained_by`` of all nodes that take part."""
    live = [node for node in nodes if not node.is_context]
    for cause in live:
        for effect in live:
            if effect.rule is not cause.rule and _explains(cause, effect, case):
                cause.explains.append(effect)
                effect.explained_by.append(cause)
    _break_cycles(live)


def roots(nodes: Sequence[Node]) -> list[Node]:
    """Return the smallest set of unexplained findings that covers the incident."""
    live = [node for node in nodes if not node.is_context]
    sources = [node for node in live if not node.explained_by and node.suppressed is None]
    total = sum(map(_weight, live))
    chosen: list[Node] = []
    covered: set[Node] = set()
    while sources and sum(map(_weight, covered)) < COVERED * total:
        best = max(sources, key=lambda node: _gain(node, covered))
        if sum(map(_weight, best.reach() - covered)) == 0:
            break
        sources.remove(best)
        chosen.append(best)
        covered |= best.reach()
    return chosen


def _weight(node: Node) -> float:
    return WEIGHTS[node.rule.level] * node.confidence


def _gain(node: Node, covered: set[Node]) -> tuple[float, float, bool, int, str]:
    """Order sources: what they newly explain, then how sure, specific and early they are."""
    first = node.first
    return (
        sum(map(_weight, node.reach() - covered)),
        node.confidence,
        bool(node.culprit),
        -(first.line if first else 0),
        node.key,
    )


def _explains(cause: Node, effect: Node, case: Case) -> bool:
    """Return whether a cause names the effect; an effect may name its causes instead."""
    if effect.rule.explained_by:
        entries, named = effect.rule.explained_by, cause
    else:
        entries, named = cause.rule.explains, effect
    return any(_targets(one, named) and _fits(one, cause, effect, case) for one in entries)


def _targets(entry: Explain, node: Node) -> bool:
    if entry.target.startswith("cause:"):
        return fnmatchcase(node.cause.id, entry.target.removeprefix("cause:"))
    return entry.target == node.rule.id or entry.target in node.rule.aliases


def _fits(entry: Explain, cause: Node, effect: Node, case: Case) -> bool:
    return _in_scope(entry.scope, cause, effect, case) and _in_time(entry, cause, effect, case)


def _in_scope(scope: str, cause: Node, effect: Node, case: Case) -> bool:
    if scope == "job":
        return True
    if scope == "communicator":
        return _overlap(
            (event.communicator for event in cause.events),
            (event.communicator for event in effect.events),
        )
    if scope == "host":
        return _overlap(_hosts(cause), _hosts(effect))
    if scope == "rank":
        return _overlap(_ranks(cause), _ranks(effect))
    return _overlap(_gpus(cause), _gpus(effect)) and _overlap(_hosts(cause), _hosts(effect))


def _overlap(one: Iterable[object], other: Iterable[object]) -> bool:
    """Return whether two groups share a member; a group with nothing known fits any."""
    first = {value for value in one if value is not None}
    second = {value for value in other if value is not None}
    return not first or not second or not first.isdisjoint(second)


def _hosts(node: Node) -> set[object]:
    return {*node.culprit.hosts, *(event.host for event in node.events)}


def _ranks(node: Node) -> set[object]:
    return {*node.culprit.ranks, *(event.rank for event in node.events)}


def _gpus(node: Node) -> set[object]:
    named = (gpu.rpartition("/")[2] for gpu in node.culprit.gpus)
    return {*named, *(event.gpu for event in node.events)}


def _in_time(entry: Explain, cause: Node, effect: Node, case: Case) -> bool:
    """Return whether any pair of their records fits; what cannot be compared fits."""
    pairs = [(one, other) for one in cause.events for other in effect.events]
    verdicts = [_lag_fits(entry, one, other, case) for one, other in pairs]
    return not verdicts or any(verdict is not False for verdict in verdicts)


def _lag_fits(entry: Explain, cause: Event, effect: Event, case: Case) -> bool | None:
    """Return whether the lag between two records is allowed, None if it is unknown."""
    if effect.attempt < cause.attempt:
        return False
    began = case.clocks.of(cause, onset=True)
    reported = case.clocks.of(effect)
    onset = case.clocks.of(effect, onset=True)
    if began is None or reported is None or onset is None:
        return None
    until_report = case.clocks.difference(began, reported)
    until_onset = case.clocks.difference(began, onset)
    if until_report is None or until_onset is None:
        return None
    within = _wait(effect) + AFTERWARDS if entry.within is None else entry.within
    return (
        until_report[0] >= -entry.before - until_report[1]
        and until_onset[0] <= within + until_onset[1]
    )


def _wait(event: Event) -> float:
    """Return the seconds that a record says it waited or would have waited."""
    for name in ("timeout", "lasted"):
        value = event.fields.get(name)
        if isinstance(value, int | float):
            return float(value)
    return 0.0


def _break_cycles(nodes: Sequence[Node]) -> None:
    """Drop the weaker of two findings' claims where each explains the other."""
    for node in nodes:
        for effect in list(node.explains):
            if node in effect.reach() and (node.confidence, node.key) < (
                effect.confidence,
                effect.key,
            ):
                node.explains.remove(effect)
                effect.explained_by.remove(node)
