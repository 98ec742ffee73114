"""What stands behind the number of an Xid, where a driver prints it.

The bodies come from closed firmware and differ by release, so each is optional: a text that is not
known gives no fields.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Value
from diagnose.parsers.convert import pci
from diagnose.parsers.xid_table import Meaning

NVLINK_EVENTS = frozenset(range(144, 151))
"""Blackwell's; their text holds the unit, a word of severity and status words."""

BODIES: tuple[tuple[frozenset[int], LazyPattern[str]], ...] = (
    (frozenset({13}), LazyPattern(r"\((?P<place>GPC \d+, TPC \d+, SM \d+)\): (?P<reason>[^,.]+)")),
    (frozenset({31}), LazyPattern(r"ENGINE (?P<engine>\w+).*?faulted @ (?P<address>0x[0-9a-f_]+)")),
    (frozenset({31, 108}), LazyPattern(r"Fault is of type (?P<fault>\w+)")),
    (frozenset({31}), LazyPattern(r"(?P<access>ACCESS_TYPE_\w+)")),
    (frozenset({48, 63, 64, 94, 95, 171, 172}), LazyPattern(r"(?:physAddr:? |\()(?P<address>0x[0-9a-f]{6,})")),
    (frozenset({94, 95}), LazyPattern(r"(?P<contained>Contained|Uncontained): (?P<place>.+?)\. ")),
    (frozenset({94, 95}), LazyPattern(r"\bRST: (?P<reset>Yes|No), D-RST: (?P<drain>Yes|No)")),
    (frozenset({74, 136, 137}), LazyPattern(r"\blink (?P<link>\d+)")),
    (frozenset({74, 136}), LazyPattern(r"to remote PCI:(?P<remote>[0-9A-Fa-f:.]+)")),
    (frozenset({119}), LazyPattern(r"Expected function \d+ \((?P<function>\w+)\)")),
    (frozenset({154}), LazyPattern(r"to 0x\w+ \((?P<recovery>[^)]+)\)")),
    (NVLINK_EVENTS, LazyPattern(r"^(?P<unit>[A-Z][A-Z_0-9/]+) ")),
    (NVLINK_EVENTS, LazyPattern(r"\b(?P<printed>Fatal|Nonfatal)\b")),
    (NVLINK_EVENTS, LazyPattern(r"\bLink (?P<link>-?\d+)")),
)  # fmt: skip
"""By number, what to look for; each group is a field."""

WORDS = LazyPattern(r"\((0x[0-9A-Fa-f]+(?:[ ,]+0x[0-9A-Fa-f]+)*)\)")
"""Registers of an older link error, status words of a newer link event."""

WORST_FIRST = (
    "peer", "secondary", "hardware", "signal", "parity", "software", "host", "repeated", "ignore",
)  # fmt: skip
"""Of several hints the first of these counts: another device's fault before this one's."""


def details(code: int, message: str, meaning: Meaning) -> dict[str, Value]:
    """Return the fields that the text behind a number gives.

    ``hint`` says what the registers or the sub-code of a link error point at, see ``xid.yaml``.

    Args:
        code: The number.
        message: What stands behind it.
        meaning: Its entry, for the bits and sub-codes.
    """
    found: dict[str, Value] = {}
    for codes, pattern in BODIES:
        match = pattern.search(message) if code in codes else None
        if match is not None:
            found |= match.groupdict()
    if "link" in found:
        found["link"] = int(str(found["link"]))
    if "printed" in found:
        found["printed"] = str(found["printed"]).lower()
    if "remote" in found:
        found["remote"] = pci(str(found["remote"]))
    words = WORDS.search(message)
    if words is not None and (meaning.registers or meaning.subcodes):
        numbers = [int(word, 16) for word in re.split(r"[ ,]+", words[1])]
        found |= _hints(numbers, meaning)
    return found


def _hints(words: Sequence[int], meaning: Meaning) -> dict[str, Value]:
    if meaning.subcodes:
        subcode = words[0] >> 20 & 0x3F
        return {"subcode": subcode, "hint": _first([subcode], [meaning.subcodes])}
    hints = [
        _first(_bits(word), [meaning.registers[place]])
        for place, word in enumerate(words)
        if place in meaning.registers
    ]
    return {"hint": next((hint for hint in WORST_FIRST if hint in hints), None)}


def _first(values: Sequence[int], tables: Iterable[Mapping[str, Sequence[int]]]) -> str | None:
    hinted = {hint for table in tables for hint, of in table.items() if set(of) & set(values)}
    return next((hint for hint in WORST_FIRST if hint in hinted), None)


def _bits(word: int) -> list[int]:
    return [bit for bit in range(32) if word >> bit & 1]
