"""Checks of ``explains`` and ``explained_by``, the edges between rules."""

from collections.abc import Iterator
from fnmatch import fnmatchcase

from diagnose.engine.reader import Mistake, Path, suggestion
from diagnose.engine.rule_set import RuleSet
from diagnose.engine.schema import Rule

CAUSE = "cause:"


def check(rule: Rule, ruleset: RuleSet) -> Iterator[Mistake]:
    """Yield targets that do not exist and edges that lead back to the rule itself."""
    for key, edges in (("explains", rule.explains), ("explained_by", rule.explained_by)):
        for place, edge in enumerate(edges):
            path: Path = (key, place)
            other = ruleset.find(edge.target)
            if mistake := _target(rule, edge.target, ruleset):
                yield Mistake(path, mistake)
            elif other is not None:
                cause, effect = (rule, other) if key == "explains" else (other, rule)
                way = _way(effect.id, cause.id, ruleset)
                if way:
                    circle = " -> ".join((cause.id, *way))
                    yield Mistake(path, f"the rules explain one another in a circle: {circle}")


def _target(rule: Rule, target: str, ruleset: RuleSet) -> str | None:
    """Return what is wrong with the target of an edge."""
    known = {*ruleset.rules, *ruleset.aliases, *ruleset.disabled}
    if target.startswith(CAUSE):
        if _causes(target, ruleset):
            return None
        near = suggestion(target.removeprefix(CAUSE), ruleset.causes)
        return f"no cause matches '{target}'{near}"
    if ruleset.aliases.get(target, target) == rule.id:
        return "the rule explains itself; take it out"
    near = suggestion(target, known - {rule.id})
    return None if target in known else f"there is no rule '{target}'{near}"


def _causes(target: str, ruleset: RuleSet) -> list[str]:
    pattern = target.removeprefix(CAUSE)
    return [cause for cause in ruleset.causes if fnmatchcase(cause, pattern)]


def _way(start: str, goal: str, ruleset: RuleSet) -> tuple[str, ...]:
    """Return the rules from one to another over edges that name rules; () if none.

    Edges to causes are left out: a pattern such as ``cause:comms.*`` often covers its own rule,
    and the verdict never draws an edge from a finding to itself.
    """
    ways: dict[str, tuple[str, ...]] = {start: (start,)}
    waiting = [start]
    while waiting:
        name = waiting.pop(0)
        if name == goal:
            return ways[name]
        for other in _effects(name, ruleset):
            if other not in ways:
                ways[other] = (*ways[name], other)
                waiting.append(other)
    return ()


def _effects(name: str, ruleset: RuleSet) -> Iterator[str]:
    """Yield the rules that a rule explains by their ids, by its own list or by theirs."""
    here = ruleset.rules.get(name)
    for edge in here.explains if here else ():
        other = ruleset.find(edge.target)
        if other is not None and not other.explained_by:
            yield other.id
    for other in ruleset.rules.values():
        if any(ruleset.find(edge.target) is here for edge in other.explained_by if here):
            yield other.id
