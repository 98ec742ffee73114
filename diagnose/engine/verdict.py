"""What is cause and what is consequence: from matches to the findings of the report.

Rules only propose. Here their matches become nodes of the cascade graph, the graph gives the roots,
and every finding gets its role and its confidence.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from diagnose.engine import cascade, weigh
from diagnose.engine.match import RuleOutcome
from diagnose.engine.node import Node
from diagnose.engine.records import Match
from diagnose.facts.case import Case
from diagnose.model.event import Event
from diagnose.model.report import Culprit, Role
from diagnose.model.taxonomy import Cause, stage_order

Suppressor = Callable[[Match, Culprit], dict[str, str] | None]


@dataclass(slots=True)
class Judged:
    """One finding with its role.

    Args:
        node: The finding in the graph.
        role: What it is in this incident.
        rivals: Other findings that were weighed as the cause, with the reason against each.
    """

    node: Node
    role: Role
    rivals: list[tuple[Node, str]] = field(default_factory=list)


def judge(
    outcomes: Sequence[RuleOutcome],
    causes: Mapping[str, Cause],
    case: Case,
    suppressed: Suppressor,
) -> list[Judged]:
    """Return all findings in the order of the report.

    Args:
        outcomes: Of all rules.
        causes: The vocabulary.
        case: The evidence.
        suppressed: Returns the suppression that applies to a match, if any.
    """
    nodes = [
        _node(match, causes, case, suppressed) for outcome in outcomes for match in outcome.matches
    ]
    cascade.connect(nodes, case)
    for node in nodes:
        node.confidence = weigh.confidence(node, case)
    nodes = _merged(nodes)
    if case.reading.partial is not None:
        for node in nodes:
            node.confidence = min(node.confidence, weigh.partial_limit(node))
    chosen = [node for node in cascade.roots(nodes) if node.confidence >= weigh.NAMED]
    chosen = _one_per_cause(chosen)
    _name_keys(nodes)
    judged = [Judged(node, _role(node, chosen)) for node in nodes]
    for one in judged:
        if one.role == "root":
            one.rivals = _rivals(one.node, judged)
    return sorted(judged, key=_order)


def _node(
    match: Match,
    causes: Mapping[str, Cause],
    case: Case,
    suppressed: Suppressor,
) -> Node:
    culprit = _complete(match.culprit, case)
    return Node(
        key=match.rule.id,
        rule=match.rule,
        cause=causes[match.rule.cause],
        match=match,
        events=list(match.events),
        culprit=culprit,
        confidence=match.confidence,
        count=match.count,
        cleared=match.cleared,
        suppressed=suppressed(match, culprit),
    )


def _complete(culprit: Culprit, case: Case) -> Culprit:
    """Add the host of a guilty rank, GPU or NIC and the rank of a guilty GPU where known.

    Never the ranks of a guilty host: they are its victims.
    """
    ranks = set(culprit.ranks)
    hosts = {case.job.host_of_address(host) or host for host in culprit.hosts}
    gpus = [_on_host(gpu, culprit, case) for gpu in culprit.gpus]
    nics = [_on_host(nic, culprit, case) for nic in culprit.nics]
    for gpu in gpus:
        place, _, name = gpu.rpartition("/")
        guilty = case.job.rank_of_gpu(place, name.removeprefix("gpu")) if place else None
        ranks |= {guilty} if guilty is not None else set()
    hosts |= {part.rpartition("/")[0] for part in (*gpus, *nics) if "/" in part}
    hosts |= {host for rank in ranks if (host := case.job.host_of(rank)) is not None}
    return Culprit(
        ranks=sorted(ranks),
        hosts=sorted(hosts),
        gpus=sorted(set(gpus)),
        nics=sorted(set(nics)),
        files=sorted(set(culprit.files)),
    )


def _on_host(part: str, culprit: Culprit, case: Case) -> str:
    """Return a GPU or NIC as ``host/name``, bare where no single host is known."""
    if "/" in part:
        return part
    hosts = set(culprit.hosts) or {
        host for rank in culprit.ranks if (host := case.job.host_of(rank)) is not None
    }
    name = f"gpu{part}" if part.isdigit() else part
    return f"{hosts.pop()}/{name}" if len(hosts) == 1 else name


def _merged(nodes: list[Node]) -> list[Node]:
    """Merge findings of one rule in one attempt that nothing explains, into the first."""
    kept: list[Node] = []
    first: dict[tuple[str, int, bool, bool], Node] = {}
    others: dict[tuple[str, int, bool, bool], list[Node]] = defaultdict(list)
    for node in nodes:
        attempt = node.first.attempt if node.first else 0
        group = (node.rule.id, attempt, node.cleared, node.suppressed is not None)
        into = first.get(group)
        if into is None or node.explained_by or into.explained_by:
            first.setdefault(group, node)
            kept.append(node)
        else:
            others[group].append(node)
    for group, nodes_of in others.items():
        _absorb(first[group], nodes_of)
    return kept


def _absorb(into: Node, others: list[Node]) -> None:
    """Put findings into one; a rule may speak of each of thousands of hosts."""
    into.culprit = Culprit(
        **{
            name: sorted({one for node in (into, *others) for one in getattr(node.culprit, name)})
            for name in ("ranks", "hosts", "gpus", "nics", "files")
        }
    )
    shown: dict[tuple[str, int], list[Event]] = defaultdict(list)
    for event in into.events:
        shown[event.file, event.line].append(event)
    for node in others:
        for event in node.events:
            of_line = shown[event.file, event.line]
            if event not in of_line:
                of_line.append(event)
                into.events.append(event)
        into.count += node.count
        into.confidence = max(into.confidence, node.confidence)
        for effect in node.explains:
            effect.explained_by.remove(node)
            if effect not in into.explains:
                into.explains.append(effect)
                effect.explained_by.append(into)


def _one_per_cause(chosen: list[Node]) -> list[Node]:
    """Keep of the roots that say the same of the same culprit only the surest.

    Of an open cause the one that names the culprit says more than the surest that names nobody.
    """
    kept: list[Node] = []
    for node in sorted(chosen, key=_says_most):
        same = [one for one in kept if one.cause is node.cause and _agree(one, node)]
        if same:
            same[0].confidence = weigh.agreeing([same[0], node])
        else:
            kept.append(node)
    return kept


def _says_most(node: Node) -> tuple[bool, float, str]:
    return node.cause.open and not node.culprit, -node.confidence, node.key


def _agree(one: Node, other: Node) -> bool:
    for kind in ("ranks", "hosts"):
        first, second = set(getattr(one.culprit, kind)), set(getattr(other.culprit, kind))
        if first and second and first.isdisjoint(second):
            return False
    return True


def _role(node: Node, chosen: Sequence[Node]) -> Role:
    if node.is_context:
        return "context"
    if node in chosen:
        return "root"
    if node.explained_by:
        return "cascade"
    return "contributing"


def _name_keys(nodes: Sequence[Node]) -> None:
    """Give each finding the key ``rule@who``, made unique."""
    taken: Counter[str] = Counter()
    for node in nodes:
        key = f"{node.rule.id}@{_who(node.culprit)}"
        taken[key] += 1
        node.key = key if taken[key] == 1 else f"{key}#{taken[key]}"


def _who(culprit: Culprit) -> str:
    if culprit.hosts:
        return culprit.hosts[0] if len(culprit.hosts) == 1 else f"{len(culprit.hosts)}-hosts"
    if culprit.ranks:
        return (
            f"rank{culprit.ranks[0]}" if len(culprit.ranks) == 1 else f"{len(culprit.ranks)}-ranks"
        )
    return "job"


def _rivals(root: Node, judged: Sequence[Judged]) -> list[tuple[Node, str]]:
    rivals: dict[str, tuple[Node, str]] = {}
    explained = root.reach()
    for other in judged:
        node = other.node
        if node.cause.id == root.cause.id or other.role in ("root", "context"):
            continue
        if node in explained:
            reason = "it is explained by this finding"
        elif other.role == "contributing" and node.confidence < weigh.NAMED:
            reason = "too little evidence"
        elif other.role == "contributing":
            reason = "it explains less of what was seen"
        else:
            continue
        best = rivals.get(node.cause.id)
        if best is None or best[0].confidence < node.confidence:
            rivals[node.cause.id] = (node, reason)
    return sorted(rivals.values(), key=lambda rival: (-rival[0].confidence, rival[0].key))


ROLES: tuple[Role, ...] = ("root", "contributing", "cascade", "context")


def _order(one: Judged) -> tuple[int, float, int, str]:
    node = one.node
    return ROLES.index(one.role), -node.confidence, stage_order(node.cause.stage), node.key
