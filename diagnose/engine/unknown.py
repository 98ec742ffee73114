"""Error lines that no rule knows, grouped by what is left when the values are masked."""

import re
from collections.abc import Mapping, Sequence

from diagnose.model.event import Event, Nature
from diagnose.model.report import UnknownError

SHOWN = 5
"""Kinds of unknown errors that a report lists."""

CONSEQUENCES = frozenset({Nature.EFFECT, Nature.TEARDOWN, Nature.ADVICE})
"""Lines that a parser knows as consequences are no unknown errors, whatever else reads them."""

UNREAD = "log.error"
"""A line that calls itself an error and that no dialect reads."""

END = 100
"""Lines at the end of a source in which such a line may be what the job ended in."""

MASKS = (
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.I), "<uuid>"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"), "<address>"),
    (re.compile(r"\b0x[0-9a-f]+\b", re.I), "<hex>"),
    (re.compile(r"\b(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\b", re.I), "<pci>"),
    (re.compile(r"(?:/[\w.+-]+){2,}"), "<path>"),
    (re.compile(r"\d+(?:\.\d+)?"), "<n>"),
)


def unknown_errors(
    events: Sequence[Event], cited: set[int], lines: Mapping[str, int]
) -> list[UnknownError]:
    """Return the most frequent kinds of error that no finding cites.

    Args:
        events: All events of the case.
        cited: ``id()`` of the events that findings rest on.
        lines: Number of lines of each source.
    """
    known = {
        (event.file, line)
        for event in events
        if id(event) in cited or event.nature in CONSEQUENCES
        for line in range(event.line, event.end_line + 1)
    }
    groups: dict[str, list[Event]] = {}
    for event in events:
        # Several events of one line, as an exception and its message, are one error.
        # A line that only a rule's own text selects is judged by that rule alone.
        if event.nature is not Nature.ERROR or event.name.startswith("text:"):
            continue
        if event.name == UNREAD and event.line <= lines.get(event.file, 0) - END:
            continue
        if (event.file, event.line) not in known:
            known.add((event.file, event.line))
            groups.setdefault(template(event.text), []).append(event)
    found = [
        UnknownError(
            template=text,
            count=sum(event.count for event in group),
            ranks=sorted({event.rank for event in group if event.rank is not None}),
            first={"file": group[0].file, "line": group[0].line},
        )
        for text, group in groups.items()
    ]
    found.sort(key=lambda error: (-error.count, error.first["file"], error.first["line"]))
    return found[:SHOWN]


def template(text: str) -> str:
    """Return a line with its values masked, at most 200 characters."""
    for pattern, mask in MASKS:
        text = pattern.sub(mask, text)
    return text.strip()[:200]
