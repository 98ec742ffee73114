"""Checks of ``explains``, the edges between rules."""

from collections.abc import Iterator
from fnmatch import fnmatchcase

from diagnose.engine.load import RuleSet
from diagnose.engine.reader import Mistake, Path, suggestion
from diagnose.engine.schema import Rule

CAUSE = "cause:"


def check(rule: Rule, ruleset: RuleSet) -> Iterator[Mistake]:
    """Yield targets that do not exist and edges that lead back to the rule itself."""
    known = {*ruleset.rules, *ruleset.aliases, *ruleset.disabled}
    for place, edge in enumerate(rule.explains):
        path: Path = ("explains", place)
        if edge.target.startswith(CAUSE):
            if not _causes(edge.target, ruleset):
                near = suggestion(edge.target.removeprefix(CAUSE), ruleset.causes)
                yield Mistake(path, f"no cause matches '{edge.target}'{near}")
        elif ruleset.aliases.get(edge.target, edge.target) == rule.id:
            yield Mistake(path, "the rule explains itself; take it out")
        elif edge.target not in known:
            near = suggestion(edge.target, known - {rule.id})
            yield Mistake(path, f"there is no rule '{edge.target}'{near}")
        else:
            way = _way_back(rule, edge.target, ruleset)
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
