"""The beginning of a rule, made from a line of a log; what only a person can know is left open."""

import json
import re
from collections.abc import Sequence

from diagnose.engine.unknown import UNREAD, template
from diagnose.model.event import Event, Nature

OPEN = "TODO"
"""Stands where a person has to decide; lint names each such place."""

FRAGMENT = 8
"""Characters of a text that is the same in all lines of a kind."""

FRAGMENTS = 2
"""Such texts that a rule asks for, the longest ones."""

WORDS = 5
"""Words of an id made from a line."""

_GENERAL = re.compile(r"log\.|text:|python\.")
"""Events that say little of what is wrong."""

_MASK = re.compile(r"<(?:uuid|address|hex|pci|path|n)>")


def draft(
    line: str, text: str, events: Sequence[Event], *, source: str, identifier: str | None = None
) -> str:
    """Return a rule file.

    Args:
        line: As it stands in the log.
        text: The same, prefixes taken off.
        events: What the parsers read in it.
        source: Name of the file, for the test.
        identifier: Id of the rule; None makes one from the line.
    """
    event = _telling(events)
    masked = template(text)
    name = identifier or _identifier(event.name if event is not None else masked)
    lines = [
        f"id: {name}",
        f"title: {_quoted(_MASK.sub('...', masked)[:80])}",
        f"cause: {OPEN}  # an id of rules/causes.yaml; `diagnose rules list` shows them in use",
        "level: medium",
        *_match(event, masked),
        f"explanation: {OPEN} why this is so, with the values",
        f"playbook: {OPEN}  # `diagnose playbooks list`",
        "tests:",
        "  - name: the line it was made from",
        f"    logs: {{{_quoted(source)}: {_quoted(line)}}}",
        "    expect: {root: true}",
    ]
    for near in ("a line that looks like it and is no fault", "another such line"):
        lines += [
            f"  - name: {near}",
            f"    logs: {{{_quoted(source)}: {OPEN}}}",
            "    expect: {fires: false}",
        ]
    return "\n".join(lines) + "\n"


def _telling(events: Sequence[Event]) -> Event | None:
    """Return the event that says most of what is wrong, None where no parser knows the line."""
    known = [
        event
        for event in events
        if event.name != UNREAD
        and not _GENERAL.match(event.name)
        and event.nature is not Nature.ADVICE
    ]
    return max(known, key=lambda event: len(event.fields), default=None)


def _match(event: Event | None, masked: str) -> list[str]:
    if event is None:
        texts = ", ".join(_quoted(text) for text in _fragments(masked))
        return [f"match: {{text: [{texts}]}}"]
    fields = {name: value for name, value in event.fields.items() if value is not None}
    said = ", ".join(f"{name}: {str(value)[:40]}" for name, value in fields.items())
    lines = [f"match: {{event: {event.name}}}"]
    if said:
        lines.append(f"# narrow it with `where:`; this line has {' '.join(said.split())}")
    return lines


def _fragments(masked: str) -> list[str]:
    """Return the longest texts between the values of a line, in their order."""
    parts = [part.strip() for part in _MASK.split(masked)]
    longest = sorted(parts, key=len, reverse=True)[:FRAGMENTS]
    kept = [part for part in parts if part in longest and len(part) >= FRAGMENT]
    return kept or [max(parts, key=len)]


def _identifier(text: str) -> str:
    words = re.findall(r"[a-z]+", _MASK.sub(" ", text).lower())
    return "-".join(words[:WORDS]) or "new-rule"


def _quoted(text: str) -> str:
    """Return a text as a YAML scalar; JSON's quoting is YAML's as well."""
    return json.dumps(text, ensure_ascii=False)
