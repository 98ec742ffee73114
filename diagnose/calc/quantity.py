"""Quantities as people type and read them.

In logs allocators print powers of two under either spelling. Here ``GB`` is 10**9 and ``GiB`` is
2**30, since formulas are fed from data sheets.
"""

import re
from enum import StrEnum
from math import isfinite


class Unit(StrEnum):
    """What a number counts."""

    COUNT = "count"
    NUMBER = "number"
    SHARE = "share"
    BYTES = "bytes"
    RATE = "bytes/s"
    SECONDS = "s"
    FLOPS = "FLOP/s"
    OPERATIONS = "FLOP"
    SWITCH = "switch"


DECIMAL = {"": 0, "k": 3, "m": 6, "g": 9, "b": 9, "t": 12, "p": 15}
"""Powers of ten; models have billions of parameters, so ``B`` is one of them for counts."""

SIZES = {
    "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "pb": 10**15,
    "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}  # fmt: skip

TIMES = {
    "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86400.0,
}  # fmt: skip

EXAMPLES = {
    Unit.COUNT: "8 or 17B",
    Unit.NUMBER: "0.5",
    Unit.SHARE: "0.1% or 0.001",
    Unit.BYTES: "80GiB or 34GB",
    Unit.RATE: "50GB/s or 400Gb/s",
    Unit.SECONDS: "90s, 5min or 4h",
    Unit.FLOPS: "989TFLOP/s",
    Unit.OPERATIONS: "2.5e18",
}
"""How each is written, for messages and help."""

SYMBOLS = {
    Unit.BYTES: "B", Unit.RATE: "B/s", Unit.FLOPS: "FLOP/s", Unit.OPERATIONS: "FLOP",
}  # fmt: skip
"""What is printed behind a number with a prefix of thousands."""

SLOWEST = 1e9
"""FLOP/s; a smaller number without a unit is that of a data sheet with its unit left off."""

_QUANTITY = re.compile(r"\s*(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*([A-Za-z%/]*)\s*$")


def parse(text: str, unit: Unit) -> float:
    """Return the number that a text states, in base units.

    Args:
        text: As in ``EXAMPLES``.
        unit: What it counts.

    Raises:
        ValueError: It is not such a quantity; the message says how one is written.
    """
    found = _QUANTITY.match(text)
    factor = None if found is None else _factor(found[2], unit)
    if found is None or factor is None:
        raise ValueError(f"{text!r} is not a quantity here; write for example {EXAMPLES[unit]}")
    value = float(found[1]) * factor
    if not isfinite(value):
        raise ValueError(f"{text!r} is too large to compute with")
    if unit is Unit.SHARE and not 0 <= value <= 1:
        raise ValueError(f"{text!r} is not between 0 and 1 (0% and 100%)")
    if value < 0:
        raise ValueError(f"{text!r} is below zero")
    if unit is Unit.FLOPS and not found[2] and value < SLOWEST:
        raise ValueError(f"{text!r} has no unit; write {found[1]}TFLOP/s if that is meant")
    if unit is Unit.COUNT and not value.is_integer():
        raise ValueError(f"{text!r} is not a whole number")
    return value


def _factor(word: str, unit: Unit) -> float | None:
    if unit is Unit.SHARE:
        return {"": 1.0, "%": 0.01}.get(word)
    if unit is Unit.NUMBER:
        return 1.0 if not word else None
    if unit is Unit.SECONDS:
        return 1.0 if not word else TIMES.get(word.lower())
    if unit is Unit.BYTES:
        return 1.0 if not word else SIZES.get(word.lower())
    if unit is Unit.RATE:
        size, slash, time = word.partition("/")
        if not word:
            return 1.0
        if not slash or time != "s":
            return None
        bits = size.endswith("b")  # 400 Gb/s is 50 GB/s
        bytes_ = SIZES.get(size.lower())
        return None if bytes_ is None else bytes_ / 8 if bits else float(bytes_)
    power = DECIMAL.get(word.lower().removesuffix("flops").removesuffix("flop/s"))
    return None if power is None else 10.0**power


def show(value: float, unit: Unit) -> str:
    """Return a number with its unit, rounded to what a person reads.

    >>> show(34e9, Unit.BYTES), show(0.304, Unit.SHARE), show(1.36, Unit.SECONDS)
    ('34 GB', '30.4 %', '1.36 s')
    """
    if unit is Unit.SHARE:
        return f"{value * 100:.3g} %"
    if unit is Unit.SECONDS:
        return _time(value)
    if unit in SYMBOLS:
        amount, prefix = _prefixed(value)
        symbol = SYMBOLS[unit]
        return f"{amount:.4g} {prefix}{symbol}"
    return f"{value:,.0f}" if unit is Unit.COUNT else f"{value:.4g}"


def _prefixed(value: float) -> tuple[float, str]:
    for power, prefix in ((18, "E"), (15, "P"), (12, "T"), (9, "G"), (6, "M"), (3, "k")):
        if abs(value) >= 10**power:
            return value / 10**power, prefix
    return value, ""


def _time(value: float) -> str:
    for size, name in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if abs(value) >= 2 * size:
            return f"{value / size:.3g} {name}"
    return f"{value:.3g} s" if abs(value) >= 1 or not value else f"{value * 1000:.3g} ms"
