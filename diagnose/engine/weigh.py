"""How sure a finding is, from the rule's own confidence and what the incident adds to it."""

import math
from collections.abc import Sequence

from diagnose.engine.node import Node
from diagnose.engine.schema import AnyOf, EventCondition, compares_population
from diagnose.facts.case import Case
from diagnose.facts.votes import SEEN

CERTAIN = 0.97
"""Logs alone never make a cause surer than this."""

OPEN_LIMIT = 0.59
"""An open cause stays under what counts as likely unless the evidence names the culprit."""

NAMED = 0.35
"""Under this a cause is not named as root."""

LEAST_SEEN = 0.6
"""Least factor for members without a log."""

CONCURRENT = 0.8
"""Factor for a cause that cannot be told from its effects in time."""


def confidence(node: Node, case: Case) -> float:
    """Return the confidence of a finding.

    Independent witnesses (kinds of source: kernel log, NCCL, PyTorch, ...) combine as
    1 - prod(1 - p). A claim from comparison or absence is worth less the fewer ranks have a log:
    times (ranks with logs / world size) ** 0.25, of a vote (known votes / all) ** 0.25, never under
    0.6 of itself.
    """
    sure = 1 - math.prod(1 - node.confidence for _ in range(max(1, _witnesses(node))))
    sure *= _order(node, case)
    sure *= _seen_share(node, case)
    if node.cause.open and not node.culprit:
        sure = min(sure, OPEN_LIMIT)
    return round(min(sure, CERTAIN), 2)


def _witnesses(node: Node) -> int:
    """Count the kinds of source that say the same each on its own.

    Only the alternatives of an ``any`` do; the members of an ``all`` make one claim together, also
    where that ``all`` is itself an alternative.
    """
    match = node.rule.match
    if not isinstance(match, AnyOf):
        return 1
    alone = {member.event for member in match.members if isinstance(member, EventCondition)}
    kinds = {
        event.name.partition(".")[0].partition(":")[0]
        for event in node.events
        if event.name in alone
    }
    together = any(event.name not in alone for event in node.events)
    return len(kinds) + together


def _order(node: Node, case: Case) -> float:
    """Return the factor for the order in time between a cause and what it explains.

    A cause later than its effect has no edge to it, so only concurrence is left to judge; lines
    that show both say nothing of their order.
    """
    orders = {
        case.order(node.first, effect.first)
        for effect in node.explains
        if node.first is not None and effect.first is not None
        if _places(node).isdisjoint(_places(effect))
    }
    return CONCURRENT if orders == {"concurrent"} else 1.0


def _places(node: Node) -> set[tuple[str, int]]:
    return {(event.file, event.line) for event in node.events}


def _seen_share(node: Node, case: Case) -> float:
    """Return the factor for members without a log, of whom nobody knows what they would say.

    Events that rest on a vote state the share of it that is known; a comparison by the rule itself
    is one over all ranks of the job.
    """
    shares = [
        share for event in node.events if isinstance(share := event.fields.get(SEEN), int | float)
    ]
    world = case.job.report.world_size
    if not shares and world and compares_population(node.rule):
        shares = [len(case.job.ranks_with_logs) / world]
    return max(LEAST_SEEN, math.sqrt(math.sqrt(min(shares, default=1.0))))


def partial_limit(node: Node) -> float:
    """Return how sure a finding can be where the reading was interrupted.

    What was not read may hold what explains it; who is odd or silent among those that were read
    need not be odd among all.
    """
    return math.nextafter(NAMED, 0) if compares_population(node.rule) else OPEN_LIMIT


def agreeing(nodes: Sequence[Node]) -> float:
    """Return the confidence of several findings of one cause that point at the same culprit.

    Of an open cause one that names nobody, such as the timeout, adds nothing to one that does.
    """
    named = [node for node in nodes if node.culprit or not node.cause.open]
    sure = 1 - math.prod(1 - node.confidence for node in named or nodes)
    return round(min(CERTAIN if named else OPEN_LIMIT, sure), 2)
