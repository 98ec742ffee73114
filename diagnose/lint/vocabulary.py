"""What parsers can emit: the names that rules may ask for."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from diagnose.engine.reader import suggestion
from diagnose.facts.training import DERIVED
from diagnose.model.event import ATTRIBUTES, Nature
from diagnose.parsers.base import IDENTITY, LineParser, Parser
from diagnose.parsers.metric_names import ALIASES


@dataclass(slots=True)
class Emitted:
    """One event as parsers declare it.

    Args:
        parsers: Names of those that emit it.
        fields: What it has; None where a parser does not declare it.
        natures: What kinds of statement it makes; empty where a parser does not declare it.
    """

    parsers: set[str] = field(default_factory=set)
    fields: set[str] | None = field(default_factory=set)
    natures: set[Nature] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """All names.

    Args:
        events: By name; a parser of files may list its metrics here as well.
        facts: Names of the facts that patterns state; other parsers do not declare theirs.
        metrics: Canonical names.
    """

    events: Mapping[str, Emitted]
    facts: frozenset[str]
    metrics: frozenset[str]

    def event_problem(self, name: str) -> str | None:
        """Return what is wrong with the name of an event."""
        if name in self.events:
            return None
        near = suggestion(name, self.events)
        return f"no parser emits the event '{name}'{self._with_parser(near)}"

    def field_problem(self, event: str, name: str) -> str | None:
        """Return what is wrong with a field of an event, None where that cannot be known."""
        emitted = self.events.get(event)
        if emitted is None or emitted.fields is None:
            return None
        if name in emitted.fields or name in ATTRIBUTES or name == "lasted":
            return None
        near = suggestion(name, emitted.fields | ATTRIBUTES)
        return f"the event '{event}' ({', '.join(sorted(emitted.parsers))}) has no '{name}'{near}"

    def series_problem(self, name: str) -> str | None:
        """Return what is wrong with the name of a metric."""
        if name in self.metrics:
            return None
        return f"no parser reads the metric '{name}'{suggestion(name, self.metrics)}"

    def fact_problem(self, name: str) -> str | None:
        """Return what may be wrong with the name of a fact."""
        if name in self.facts or name.startswith("env."):
            return None
        return f"no pattern states the fact '{name}'{suggestion(name, self.facts)}"

    def _with_parser(self, hint: str) -> str:
        """Return a hint that also says where the suggested event is emitted."""
        for name, emitted in self.events.items():
            if hint == f"; did you mean '{name}'?":
                return f"; did you mean '{name}' ({', '.join(sorted(emitted.parsers))})?"
        return hint


def vocabulary(parsers: Iterable[Parser]) -> Vocabulary:
    """Return the names that parsers declare."""
    events: dict[str, Emitted] = {}
    facts: set[str] = set()
    metrics = {*ALIASES, "data_share"}
    for name in DERIVED:
        events[name] = Emitted({"facts of training"}, None, {Nature.MEASUREMENT})
    for parser in parsers:
        if not isinstance(parser, LineParser):
            for name in parser.emits:
                emitted = events.setdefault(name, Emitted())
                emitted.parsers.add(parser.name)
                emitted.fields = None
            metrics.update(name for name in parser.emits if "." not in name)
            continue
        for pattern in parser.patterns:
            emitted = events.setdefault(pattern.event, Emitted())
            emitted.parsers.add(parser.name)
            emitted.natures.add(pattern.nature)
            if parser.refine is not None:
                emitted.fields = None
            elif emitted.fields is not None:
                groups = set(pattern.compiled.groupindex) | set(pattern.constants)
                emitted.fields |= groups - set(IDENTITY)
            if pattern.fact is not None:
                facts.add(pattern.fact)
    return Vocabulary(events, frozenset(facts), frozenset(metrics))
