"""What findings claim to explain: the edges of the cascade graph.

Edges come from the ``explains`` lists of rules; an effect whose rule has a list ``explained_by``
follows from those alone. An edge holds where the scope fits (same GPU, rank, host, communicator or
job; what is unknown fits) and where the time fits: the cause began no later than the effect was
reported and no earlier than the effect began less the allowed lag. An effect that states how long
it waited began that much before its line.

A rule may speak of each of thousands of hosts, so a cause is held only against effects of rules
that it names and that share a host or rank with it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from diagnose.engine.node import Node
from diagnose.engine.schema import Explain
from diagnose.facts.case import Case
from diagnose.facts.clock import Instant
from diagnose.model.event import Event

AFTERWARDS = 60.0
"""Seconds that teardown may take after a timeout has run out."""

Members = frozenset[object]
"""Hosts, ranks, GPUs or communicators; empty where none is known, which fits any."""


@dataclass(frozen=True, slots=True)
class _Moment:
    """When one record of a finding was printed, when it began, and how long it had waited."""

    attempt: int
    reported: Instant | None
    began: Instant | None
    waited: float


class Claims:
    """What each of some findings explains.

    Args:
        nodes: All that take part.
        case: The evidence.
    """

    def __init__(self, nodes: Sequence[Node], case: Case) -> None:
        self._clocks = case.clocks
        self._order = {node: place for place, node in enumerate(nodes)}
        self._of_rule: dict[str, list[Node]] = {}
        for node in nodes:
            self._of_rule.setdefault(node.rule.id, []).append(node)
        self._named: dict[str, list[tuple[Explain, str]]] = {}
        self._members: dict[tuple[Node, str], Members] = {}
        self._sharing: dict[tuple[str, str], dict[object, list[Node]]] = {}
        self._moments: dict[Node, list[_Moment]] = {}

    def effects(self, cause: Node) -> list[Node]:
        """Return what a finding explains, in the order of the findings."""
        if cause.rule.id not in self._named:
            self._named[cause.rule.id] = list(self._entries(cause))
        found: set[Node] = set()
        for entry, rule in self._named[cause.rule.id]:
            for effect in self._near(entry.scope, cause, rule):
                if effect not in found and self._fits(entry, cause, effect):
                    found.add(effect)
        return sorted(found, key=self._order.__getitem__)

    def _entries(self, cause: Node) -> Iterable[tuple[Explain, str]]:
        """Yield the entries that name a rule as an effect of another, with the former."""
        for rule, (effect, *_) in self._of_rule.items():
            if rule == cause.rule.id:
                continue
            if effect.rule.explained_by:
                entries, named = effect.rule.explained_by, cause
            else:
                entries, named = cause.rule.explains, effect
            yield from ((entry, rule) for entry in entries if _targets(entry, named))

    def _near(self, scope: str, cause: Node, rule: str) -> Iterable[Node]:
        """Return the findings of a rule that may share a host, rank or communicator with one."""
        kind = "host" if scope == "gpu" else scope
        members = frozenset() if scope == "job" else self._members_of(cause, kind)
        if not members:
            return self._of_rule[rule]
        if (rule, kind) not in self._sharing:
            sharing = self._sharing[rule, kind] = dict[object, list[Node]]()
            for node in self._of_rule[rule]:
                for one in self._members_of(node, kind) or (None,):
                    sharing.setdefault(one, []).append(node)
        sharing = self._sharing[rule, kind]
        return {node: None for one in (*members, None) for node in sharing.get(one, ())}

    def _fits(self, entry: Explain, cause: Node, effect: Node) -> bool:
        if entry.scope == "gpu":
            one, other = self._members_of(cause, "gpu"), self._members_of(effect, "gpu")
            if one and other and one.isdisjoint(other):
                return False
        return self._in_time(entry, cause, effect)

    def _members_of(self, node: Node, kind: str) -> Members:
        if (node, kind) not in self._members:
            self._members[node, kind] = _members(node, kind)
        return self._members[node, kind]

    def _moments_of(self, node: Node) -> list[_Moment]:
        if node not in self._moments:
            clocks = self._clocks
            self._moments[node] = list(
                dict.fromkeys(
                    _Moment(
                        event.attempt, clocks.of(event), clocks.of(event, onset=True), _wait(event)
                    )
                    for event in node.events
                )
            )
        return self._moments[node]

    def _in_time(self, entry: Explain, cause: Node, effect: Node) -> bool:
        """Return whether any pair of their records fits; what cannot be compared fits."""
        causes, effects = self._moments_of(cause), self._moments_of(effect)
        if not causes or not effects:
            return True
        return any(
            self._lag_fits(entry, one, other) is not False for one in causes for other in effects
        )

    def _lag_fits(self, entry: Explain, cause: _Moment, effect: _Moment) -> bool | None:
        """Return whether the lag between two records is allowed, None if it is unknown."""
        if effect.attempt < cause.attempt:
            return False
        until_report = self._clocks.difference(cause.began, effect.reported)
        until_onset = self._clocks.difference(cause.began, effect.began)
        if until_report is None or until_onset is None:
            return None
        within = effect.waited + AFTERWARDS if entry.within is None else entry.within
        return (
            until_report[0] >= -entry.before - until_report[1]
            and until_onset[0] <= within + until_onset[1]
        )


def _targets(entry: Explain, node: Node) -> bool:
    if entry.target.startswith("cause:"):
        return fnmatchcase(node.cause.id, entry.target.removeprefix("cause:"))
    return entry.target == node.rule.id or entry.target in node.rule.aliases


def _members(node: Node, kind: str) -> Members:
    named: Iterable[object] = ()
    if kind == "host":
        named = (*node.culprit.hosts, *(event.host for event in node.events))
    elif kind == "rank":
        named = (*node.culprit.ranks, *(event.rank for event in node.events))
    elif kind == "gpu":
        gpus = (gpu.rpartition("/")[2] for gpu in node.culprit.gpus)
        named = (*gpus, *(event.gpu for event in node.events))
    elif kind == "communicator":
        named = (event.communicator for event in node.events)
    return frozenset(named) - {None}


def _wait(event: Event) -> float:
    """Return the seconds that a record says it waited or would have waited."""
    for name in ("timeout", "lasted"):
        value = event.fields.get(name)
        if isinstance(value, int | float):
            return float(value)
    return 0.0
