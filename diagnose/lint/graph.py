"""Checks of ``explains`` and ``explained_by``, the edges between rules."""

from collections.abc import Iterator
from fnmatch import fnmatchcase

from diagnose.engine.load import RuleSet
from diagnose.engine.reader import Mistake, Path, suggestion
from diagnose.engine.schema import Rule

CAUSE = "cause:"


def check(rule: Rule, ruleset: RuleSet) -> Iterator[Mistake]:
    """Yield targets that do not exist and edges that lead back to the rule itself."""
    for place, edge in enumerate(rule.explains):
        path: Path = ("explains", place)
        yield from _target(rule, edge.target, path, ruleset)
        if _is_other(rule, edge.target, ruleset):
            yield from _circle(rule, edge.target, path, ruleset)
    for place, edge in enumerate(rule.explained_by):
        path = ("explained_by", place)
        yield from _target(rule, edge.target, path, ruleset)
        behind = ruleset.find(edge.target)
        if behind is not None and behind is not rule:
            yield from _circle(behind, rule.id, path, ruleset)


def _target(rule: Rule, target: str, path: Path, ruleset: RuleSet) -> Iterator[Mistake]:
    known = {*ruleset.rules, *ruleset.aliases, *ruleset.disabled}
    if target.startswith(CAUSE):
        if not _causes(target, ruleset):
            near = suggestion(target.removeprefix(CAUSE), ruleset.causes)
            yield Mistake(path, f"no cause matches '{target}'{near}")
    elif ruleset.aliases.get(target, target) == rule.id:
        yield Mistake(path, "the rule explains itself; take it out")
    elif target not in known:
        near = suggestion(target, known - {rule.id})
        yield Mistake(path, f"there is no rule '{target}'{near}")


def _is_other(rule: Rule, target: str, ruleset: RuleSet) -> bool:
    found = ruleset.find(target)
    return found is not None and found is not rule


def _circle(rule: Rule, target: str, path: Path, ruleset: RuleSet) -> Iterator[Mistake]:
    way = _way_back(rule, target, ruleset)
    if way:
        circle = " -> ".join((rule.id, *way))
        yield Mistake(path, f"the rules explain one another in a circle: {circle}")


def _causes(target: str, ruleset: RuleSet) -> list[str]:
    pattern = target.removeprefix(CAUSE)
    return [cause for cause in ruleset.causes if fnmatchcase(cause, pattern)]


def _way_back(rule: Rule, target: str, ruleset: RuleSet) -> tuple[str, ...]:
    """Return the rules from a target back to the rule over edges that name rules; () if none.

    Edges to causes are left out: a pattern such as ``cause:comms.*`` often covers its own rule,
    and the verdict never draws an edge from a finding to itself.
    """
    start = ruleset.aliases.get(target, target)
    ways: dict[str, tuple[str, ...]] = {start: (start,)}
    waiting = [start]
    while waiting:
        name = waiting.pop(0)
        if name == rule.id:
            return ways[name]
        here = ruleset.rules.get(name)
        for edge in here.explains if here else ():
            other = ruleset.aliases.get(edge.target, edge.target)
            if other not in ways:
                ways[other] = (*ways[name], other)
                waiting.append(other)
    return ()
