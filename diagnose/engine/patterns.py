"""The ``text:`` and ``regex:`` of rules as parsers, so that the scan finds their lines.

Each such condition is an event of its own, ``text:<rule id>:<n>``. These parsers can be pickled, so
that machines without the rules of a team can find the lines its rules ask for.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256

from diagnose.engine.schema import EventCondition, Rule
from diagnose.model.event import Event, Line, Value
from diagnose.parsers.base import LineParser, Pattern
from diagnose.parsers.convert import address, pci, seconds, short_host, size

CONVERT: Mapping[str, Callable[[str], Value]] = {
    "int": int,
    "float": float,
    "bytes": size,
    "duration": seconds,
    "rank": int,
    "host": short_host,
    "ip": address,
    "pci": pci,
}


def rule_patterns(rules: Iterable[Rule]) -> list[LineParser]:
    """Return one parser for each rule that selects text itself."""
    return [_parser(rule) for rule in rules if rule.texts]


def text_digests(rules: Iterable[Rule]) -> dict[str, str]:
    """Return what rules select by text, by event: equal digests select the same lines."""
    return {condition.event: _digest(condition) for rule in rules for condition in rule.texts}


def _digest(condition: EventCondition) -> str:
    asked = condition.text, condition.regex, condition.capture, condition.own_nature
    return sha256(repr(asked).encode()).hexdigest()[:16]


def weak_texts(rule: Rule) -> list[str]:
    """Return what is wrong with the required literals of a rule's text selections."""
    from diagnose.ingest.pattern import proves  # only where rules are judged

    found: list[str] = []
    for condition in rule.texts:
        pattern = _pattern(rule, condition)
        if not pattern.required:
            found.append(
                f"no text of 4 bytes or more must stand in the lines of "
                f"{condition.regex or condition.text!r}; add a longer literal"
            )
        elif condition.literals and not proves(pattern.regex, condition.literals):
            found.append(f"the given literals are not in every match of {condition.regex!r}")
    return found


@dataclass(frozen=True, slots=True)
class Whole:
    """Drops the events of lines that lack one of the texts their condition asks for.

    Args:
        texts: By the name of the event.
    """

    texts: Mapping[str, tuple[str, ...]]

    def __call__(self, event: Event, line: Line) -> Event | None:
        """Return the event, or None where a text is missing."""
        wanted = self.texts.get(event.name, ())
        return event if all(text in line.text for text in wanted) else None


@dataclass(frozen=True, slots=True)
class OrNull:
    """Reads as null what is not of its type.

    Args:
        convert: Reads what is.
    """

    convert: Callable[[str], Value]

    def __call__(self, text: str) -> Value:
        """Return the value of a captured text."""
        try:
            return self.convert(text)
        except ValueError:
            return None


def _parser(rule: Rule) -> LineParser:
    texts = {condition.event: condition.text for condition in rule.texts if condition.text}
    return LineParser(
        name=f"rule:{rule.id}",
        title=f"lines that the rule {rule.id} asks for",
        patterns=tuple(_pattern(rule, condition) for condition in rule.texts),
        refine=Whole(texts) if texts else None,
    )


def _pattern(rule: Rule, condition: EventCondition) -> Pattern:
    return Pattern(
        event=condition.event,
        regex=condition.regex or "",
        nature=condition.own_nature,
        source=f"rule {rule.id}",
        sample="",
        types={name: OrNull(CONVERT[kind]) for name, kind in condition.capture},
        literals=condition.literals,
    )
