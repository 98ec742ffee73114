"""The cascade graph: which finding explains which, and the few that explain the rest."""

from collections.abc import Sequence

from diagnose.engine.claims import Claims
from diagnose.engine.node import Node
from diagnose.facts.case import Case
from diagnose.model.report import Level

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


def connect(nodes: Sequence[Node], case: Case) -> None:
    """Fill ``explains`` and ``explained_by`` of all nodes that take part."""
    live = [node for node in nodes if not node.is_context]
    claims = Claims(live, case)
    for cause in live:
        for effect in claims.effects(cause):
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
