"""What the numbers of Xids and SXids mean.

The tables are ``rules/xid.yaml`` and ``rules/sxid.yaml``, read when the first such line is met.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, Literal

from diagnose import shipped
from diagnose.model.event import Value

Table = Literal["xid", "sxid"]

OTHER = "other"
"""The ``code`` of an entry that stands for every number not listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """What a text changes in the meaning of its number.

    Args:
        says: Searched for in the text.
        changes: New values by field of ``Meaning``.
    """

    says: str
    changes: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """One entry of a table; the files say what the words stand for.

    Args:
        title: The key ``name``.
        registers: By register of an NVLink error, which bits hint at what.
        subcodes: Which sub-codes of an NVLink event hint at what.
        variants: Tried in order.
    """

    title: str
    family: str
    role: str
    severity: str
    action: str
    meaning: str
    cause: str | None = None
    reach: str | None = None
    hint: str | None = None
    lasts: bool = False
    registers: Mapping[int, Mapping[str, Sequence[int]]] = field(default_factory=dict)
    subcodes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    variants: tuple[Variant, ...] = ()

    def said(self, text: str) -> "Meaning":
        """Return the meaning with what a text changes in it."""
        for variant in self.variants:
            if re.search(variant.says, text):
                return replace(self, **variant.changes)
        return self

    def values(self) -> dict[str, Value]:
        """Return what an event carries of it."""
        return {name: getattr(self, name) for name in CARRIED}


CARRIED = (
    "title", "family", "role", "severity", "action", "meaning", "cause", "reach", "hint", "lasts",
)  # fmt: skip
"""Fields of a meaning that are fields of the event."""

UNLISTED = Meaning(
    title="unlisted",
    family="unknown",
    role="unknown",
    severity="medium",
    action="ignore",
    meaning="a number that is not in the table",
)
"""Of a number that neither the table nor its ``other`` knows."""


def meaning(table: Table, code: int, text: str = "") -> Meaning:
    """Return what a number means.

    Args:
        table: Which numbers.
        code: The number.
        text: What stands behind it.
    """
    known = load(table)
    return known.get(code, known.get(OTHER, UNLISTED)).said(text)


@cache
def load(table: Table) -> Mapping[int | str, Meaning]:
    """Return a table by number."""
    return {
        code: _meaning(entry) for entry in shipped.table(table) for code in _codes(entry["code"])
    }


_KEYS = {one.name for one in fields(Meaning)}


def _meaning(entry: Mapping[str, Any]) -> Meaning:
    values = {"title": entry["name"]} | {key: entry[key] for key in _KEYS & entry.keys()}
    variants = tuple(
        Variant(says=one["says"], changes={key: one[key] for key in _KEYS & one.keys()})
        for one in entry.get("variants", ())
    )
    return Meaning(**{**values, "variants": variants})


def _codes(stated: Any) -> Iterator[int | str]:
    for part in stated if isinstance(stated, list) else [stated]:
        first, dash, last = str(part).partition("-")
        if dash:
            yield from range(int(first), int(last) + 1)
        else:
            yield OTHER if part == OTHER else int(part)
