"""What parsers can emit: the names that rules may ask for."""

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import ModuleType
from typing import Any

from diagnose.engine.reader import suggestion
from diagnose.facts.analyses import derived_names
from diagnose.model.event import ATTRIBUTES, Nature, Scalar
from diagnose.parsers import convert
from diagnose.parsers.base import IDENTITY, LineParser, Parser, Pattern
from diagnose.parsers.metric_names import ALIASES

FACTS_BY_PREFIX = ("env.", "arg.")
"""Facts named after what the logs hold: environment variables and command-line arguments."""

DERIVING = "worked out from other records"
"""Stands for the parser of an event that no line shows by itself."""

_GROUP = re.compile(r"\(\?P<(\w+)>")
_WORD = re.compile(r"\w+")
_NUMERIC = (int, float, convert.size, convert.seconds, convert.milliseconds)
"""Converters that make numbers."""


@dataclass(slots=True)
class Emitted:
    """One event as parsers declare it.

    Args:
        parsers: Names of those that emit it.
        fields: What it has; None where a parser does not declare it.
        words: Words of the modules that complete it; a field that is not among ``fields`` is one
            of them.
        numeric: Fields that are numbers in all of its patterns.
        natures: What kinds of statement it makes; empty where a parser does not declare it.
    """

    parsers: set[str] = field(default_factory=set)
    fields: set[str] | None = field(default_factory=set)
    words: frozenset[str] = frozenset()
    numeric: set[str] = field(default_factory=set)
    natures: set[Nature] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """All names.

    Args:
        events: By name; a parser of files may list its metrics here as well.
        facts: Names of the facts that patterns state.
        metrics: Canonical names.
        choices: Values that a fact may have, where all patterns that state it say which.
        modules: Of all parsers; those of files and blocks name their facts nowhere else.
    """

    events: Mapping[str, Emitted]
    facts: frozenset[str]
    metrics: frozenset[str]
    choices: Mapping[str, frozenset[str]] = field(default_factory=dict)
    modules: tuple[ModuleType, ...] = ()

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
        if name in emitted.fields or name in emitted.words or name in ATTRIBUTES:
            return None
        if name == "lasted":
            return None
        near = suggestion(name, emitted.fields | ATTRIBUTES)
        return f"the event '{event}' ({', '.join(sorted(emitted.parsers))}) has no '{name}'{near}"

    def is_number(self, event: str, name: str) -> bool:
        """Return whether a field of an event is known to be a number."""
        emitted = self.events.get(event)
        return emitted is not None and name in emitted.numeric

    def series_problem(self, name: str) -> str | None:
        """Return what is wrong with the name of a metric."""
        if name in self.metrics:
            return None
        return f"no parser reads the metric '{name}'{suggestion(name, self.metrics)}"

    def fact_problem(self, name: str) -> str | None:
        """Return what is wrong with the name of a fact."""
        if name in self.facts or name.startswith(FACTS_BY_PREFIX):
            return None
        if any(f'"{name}"' in _source(module) for module in self.modules):
            return None
        return f"no parser states the fact '{name}'{suggestion(name, self.facts)}"

    def choice_problem(self, fact: str, value: str) -> str | None:
        """Return what is wrong with the value of a fact, None where that cannot be known."""
        known = self.choices.get(fact)
        if known is None or value.lower() in map(str.lower, known):
            return None
        return f"no parser states {fact} '{value}'{suggestion(value, known)}"

    def _with_parser(self, hint: str) -> str:
        """Return a hint that also says where the suggested event is emitted."""
        for name, emitted in self.events.items():
            if hint == f"; did you mean '{name}'?":
                return f"; did you mean '{name}' ({', '.join(sorted(emitted.parsers))})?"
        return hint


def vocabulary(parsers: Iterable[Parser]) -> Vocabulary:
    """Return the names that parsers declare."""
    events: dict[str, Emitted] = {}
    facts: dict[str, set[Scalar]] = {}
    metrics = {*ALIASES, "data_share", "comm_ratio"}
    modules: dict[ModuleType, None] = {}
    for name in derived_names():
        events[name] = Emitted({DERIVING}, None, natures={Nature.MEASUREMENT})
    for parser in parsers:
        if isinstance(parser, LineParser):
            _add_patterns(parser, events)
            for pattern in parser.patterns:
                if pattern.fact is not None:
                    facts.setdefault(pattern.fact, set()).add(_stated(pattern))
            continue
        for name in parser.emits:
            emitted = events.setdefault(name, Emitted())
            emitted.parsers.add(parser.name)
            emitted.fields = None
        metrics.update(name for name in parser.emits if "." not in name)
        modules |= dict.fromkeys(_modules(parser.read))
    choices = {
        fact: frozenset(map(str, values)) for fact, values in facts.items() if None not in values
    }
    return Vocabulary(events, frozenset(facts), frozenset(metrics), choices, tuple(modules))


def _stated(pattern: Pattern) -> Scalar:
    """Return the value that every record of a pattern states, None where the record says it."""
    value = pattern.constants.get("value")
    return None if isinstance(value, list) else value


def _add_patterns(parser: LineParser, events: dict[str, Emitted]) -> None:
    # What ``refine`` adds is declared nowhere, but its module names it.
    completing = _modules(parser.refine) if parser.refine is not None else []
    added = frozenset[str]().union(*map(_words, completing))
    for pattern in parser.patterns:
        emitted = events.setdefault(pattern.event, Emitted())
        numeric = {name for name, made in pattern.types.items() if made in _NUMERIC}
        emitted.numeric = emitted.numeric & numeric if emitted.parsers else numeric
        emitted.parsers.add(parser.name)
        emitted.natures.add(pattern.nature)
        if emitted.fields is not None:
            emitted.fields |= _declared(pattern)
        emitted.words |= added


def _declared(pattern: Pattern) -> set[str]:
    return {*_GROUP.findall(pattern.regex), *pattern.constants}.difference(IDENTITY)


def _modules(function: Callable[..., Any]) -> list[ModuleType]:
    module = sys.modules.get(getattr(function, "__module__", ""))
    return [] if module is None else [module]


@lru_cache(maxsize=256)
def _words(module: ModuleType) -> frozenset[str]:
    return frozenset(_WORD.findall(_source(module)))


@lru_cache(maxsize=256)
def _source(module: ModuleType) -> str:
    return inspect.getsource(module)
