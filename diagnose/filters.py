"""How numbers, spans, names and lists are written, in texts of rules and in reports."""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import Undefined

RANGE_LIMIT = 10
"""Ranges that the filters ``ranges`` and ``ranks`` print before they count the rest."""

HOST_LIMIT = 8
"""Names that the filter ``hosts`` prints before it counts the rest."""

LONGEST = 1e15
"""From here on the filter ``amount`` shows numbers with an exponent."""

UNKNOWN = "(unknown)"

_PLACEHOLDER = re.compile(r"<[a-z][a-z_]*>")


def ranges(numbers: object) -> str:
    """Return ``0-7,12`` for a list of whole numbers; ten ranges at most, then ``and N more``.

    >>> ranges([3, 1, 2, 9, None]), ranges(range(0, 3000, 3))
    ('1-3,9', '0,3,6,9,12,15,18,21,24,27 and 990 more')
    """
    if (placeholder := _unfilled(numbers)) is not None:
        return placeholder
    known = sorted({int(number) for number in _many(numbers)})
    if not known:
        return UNKNOWN
    spans: list[list[int]] = []
    for number in known:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    first, others = spans[:RANGE_LIMIT], spans[RANGE_LIMIT:]
    shown = ",".join(str(low) if low == high else f"{low}-{high}" for low, high in first)
    return _with_rest(shown, sum(high - low + 1 for low, high in others))


def ranks(numbers: object) -> str:
    """Return ``rank 3`` or ``ranks 0-7,12`` for a list of ranks.

    >>> ranks([3]), ranks([0, 1, 2])
    ('rank 3', 'ranks 0-2')
    """
    shown = ranges(numbers)
    return f"ranks {shown}" if "-" in shown or "," in shown else f"rank {shown}"


def size(count: float | str | None) -> str:
    """Return ``16.0 GiB`` for a number of bytes.

    >>> size(17179869184), size(512)
    ('16.0 GiB', '512 B')
    """
    if count is None:
        return UNKNOWN
    if (placeholder := _unfilled(count)) is not None:
        return placeholder
    amount = float(count)
    if abs(amount) < 1024:
        return f"{amount:g} B"
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        amount /= 1024
        if abs(amount) < 1024:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1024:.1f} PiB"


def duration(seconds: float | str | None) -> str:
    """Return a span of time in the two units that matter.

    >>> [duration(value) for value in (0.25, 1.5, 90, 1800, 3900, 172800)]
    ['250 ms', '1.5 s', '1 min 30 s', '30 min', '1 h 5 min', '2 d']
    """
    if seconds is None:
        return UNKNOWN
    if (placeholder := _unfilled(seconds)) is not None:
        return placeholder
    span = float(seconds)
    if span < 0:
        return f"-{duration(-span)}"
    if span < 1:
        return f"{span * 1000:.3g} ms" if span else "0 s"
    if round(span, 1) < 60:
        return f"{round(span, 1):g} s"
    whole = round(span)
    for large, small, ratio in (("min", "s", 60), ("h", "min", 60), ("d", "h", 24)):
        whole, rest = divmod(whole, ratio)
        if large == "d" or whole < (60 if large == "min" else 24):
            return f"{whole} {large} {rest} {small}" if rest else f"{whole} {large}"
        whole = whole if rest * 2 < ratio else whole + 1
    return f"{whole} d"


def percent(share: float | str | None) -> str:
    """Return a share as whole per cent, with one digit below ten.

    >>> percent(7 / 23), percent(0.034), percent(1), percent(None)
    ('30 %', '3.4 %', '100 %', '(unknown)')
    """
    if share is None:
        return UNKNOWN
    if (placeholder := _unfilled(share)) is not None:
        return placeholder
    shown = float(share) * 100
    return f"{round(shown, 1):g} %" if abs(shown) < 9.95 else f"{shown:.0f} %"


def amount(value: float | str | None, unit: str | None = "") -> str:
    """Return a number of at most four digits with its unit, whole from a thousand on.

    >>> amount(62.40323, "%"), amount(12345.6, "tokens/s"), amount(0.52, "share")
    ('62.4 %', '12,346 tokens/s', '0.52')

    Args:
        value: In the unit.
        unit: As in a baseline file; shares are shown bare.
    """
    if value is None:
        return UNKNOWN
    if (placeholder := _unfilled(value)) is not None:
        return placeholder
    number = float(value)
    if unit == "bytes":
        return size(number)
    shown = f"{number:,.0f}" if 1000 <= number < LONGEST else f"{number:.4g}"
    return f"{shown} {unit}" if unit and unit != "share" else shown


def hosts(names: object, limit: int = HOST_LIMIT) -> str:
    """Return a list of names, those after the first few as ``and N more``.

    >>> hosts(["node-02", "node-01"]), hosts(["node-01", "node-02", "node-03"], 1), hosts([])
    ('node-02, node-01', 'node-01 and 2 more', '(unknown)')

    Args:
        names: In the order they are shown.
        limit: How many are shown.
    """
    known = list(dict.fromkeys(str(name) for name in _many(names)))
    if not known:
        return UNKNOWN
    return _with_rest(", ".join(known[:limit]), len(known) - limit)


def _with_rest(shown: str, rest: int) -> str:
    return f"{shown} and {rest:,} more" if rest > 0 else shown


def quote(value: object) -> str:
    """Return a value quoted for a shell, the members of a list one by one.

    A placeholder such as ``<host>`` stays as it is: the reader has to fill it in.

    >>> quote("a b"), quote(["x", "y z"]), quote("<host>")
    ("'a b'", "x 'y z'", '<host>')
    """
    texts = [str(member) for member in _many(value)]
    return " ".join(
        text if _PLACEHOLDER.fullmatch(text) else shlex.quote(text) for text in texts
    ) or shlex.quote("")


def _unfilled(value: object) -> str | None:
    """Return ``<ranks>`` for a placeholder or a list of one, which every filter lets through."""
    members = _many(value)
    only = members[0] if len(members) == 1 else None
    return only if isinstance(only, str) and _PLACEHOLDER.fullmatch(only) else None


def _many(value: object) -> list[Any]:
    members = list(value) if is_many(value) else [value]  # type: ignore[call-overload]
    return [member for member in members if member is not None]


def is_many(value: object) -> bool:
    """Return whether a value is a list or the like, no text and no map."""
    if isinstance(value, Undefined | str | bytes | Mapping):
        return False
    return isinstance(value, Sequence | set | frozenset) or hasattr(value, "__next__")
