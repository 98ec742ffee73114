"""Values of environment variables that have no effect, or another one than was meant.

====================== ===========================================================================
``env.refused_value``   A value outside of what the program takes: it is refused, ignored or read
                        as something else
``env.risky_value``     A legal value that seldom does what was meant, shown by the rest of the logs
====================== ===========================================================================

``problem`` says what is wrong: ``quotes``, ``empty``, ``one-letter``, ``address``, ``alias``,
``filter``, ``number``, ``range``, ``unit`` or ``word`` of a refused one; ``unusual``, ``prefix`` or
``timeout`` of a risky one. What is legal stands in ``rules/variables.yaml``.

A value with a ``$`` is a script's, which its shell has still to fill in; nothing is said of it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from diagnose.facts.variables import Table, Variable, derived, distinct, table
from diagnose.model.event import Event, Value

EVENTS = ("env.refused_value", "env.risky_value")

BETWEEN = re.compile(r"[,;:]")
"""What separates the members of a list of words, and a function from its algorithms (2.24)."""

ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}(?:/\d+)?|[0-9a-fA-F]*:[0-9a-fA-F:]*:[0-9a-fA-F:]*")

WHOLE = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|\d+)")

ACK_UNIT = 4.096e-6
"""Seconds of acknowledge timeout 0 (InfiniBand specification, local ACK timeout)."""

Problem = tuple[str, str]
"""Its name, and what is expected instead in words."""


def values(events: Sequence[Event], version: str | None) -> Iterator[Event]:
    """Yield what is wrong with the values of variables, each host and value once.

    Args:
        events: All of the input, with hosts completed.
        version: Of NCCL, as the logs state it.
    """
    known = table()
    settings = list(distinct(events))
    for event in settings:
        variable = known.variables.get(str(event.fields["name"]))
        value = event.fields["value"]
        if variable is None or not isinstance(value, str) or "$" in value:
            continue
        if problem := refused(variable, value):
            yield _event(event, "env.refused_value", variable, version, problem)
        elif problem := unusual(variable, value):
            yield _event(event, "env.risky_value", variable, version, problem)
    yield from _prefixes(settings, events, known, version)
    yield from _late(settings, events, known, version)


def _event(
    event: Event, name: str, variable: Variable, version: str | None, problem: Problem
) -> Event:
    fields: dict[str, Value] = {
        "variable": variable.name,
        "value": event.fields["value"],
        "problem": problem[0],
        "expected": problem[1],
        "does": variable.does,
        "steers": variable.steers,
        "default": variable.default(version),
    }
    return derived(event, name, fields)


def refused(variable: Variable, value: str) -> Problem | None:
    """Return why a program does not take a value, None where it does."""
    if value[:1] in ("'", '"') or value[-1:] in ("'", '"'):
        return "quotes", "the value without the quotes, which are compared like letters"
    check = {"whole": _number, "words": _words, "interfaces": _interfaces}.get(variable.kind)
    return check(variable, value) if check else None


def _number(variable: Variable, value: str) -> Problem | None:
    least, most = variable.range
    expected = f"a whole number{_bounds(least, most)}"
    if variable.unit:
        expected += f" ({variable.unit})"
    if not value:
        return None
    if WHOLE.fullmatch(value) is None:
        return "number", expected
    number = int(value, 16 if "x" in value.lower() else 10)
    if (least is None or number >= least) and (most is None or number <= most):
        return None
    return ("unit" if variable.unit else "range"), expected


def _bounds(least: float | None, most: float | None) -> str:
    if most is None:
        return "" if least is None else f" from {least} on"
    return f" from {least} to {most}"


def _words(variable: Variable, value: str) -> Problem | None:
    wrong = [
        word
        for part in BETWEEN.split(value)
        if (word := part.strip().lstrip("^=").lower()) and word not in variable.words
    ]
    if not wrong:
        return None
    return "word", "one of " + ", ".join(word.upper() for word in variable.words)


def _interfaces(variable: Variable, value: str) -> Problem | None:
    """Check names of interfaces; NCCL leaves a value of one letter out (misc/socket.cc)."""
    expected = "the name of an interface, such as eth0"
    if len(value) <= 1:
        return ("one-letter" if value else "empty"), expected
    if variable.exact and value[0] in "^=":
        return "filter", expected + ", without ^ and ="
    for name in value.lstrip("^=").split(","):
        if ADDRESS.fullmatch(name):
            return "address", expected + " and not its address"
        if ":" in name:
            return "alias", expected + " without the number of an alias"
    return None


def unusual(variable: Variable, value: str) -> Problem | None:
    """Return what is odd about a legal value, None where nothing is."""
    least, most = variable.usual
    if variable.kind != "whole" or WHOLE.fullmatch(value) is None:
        return None
    number = int(value, 16 if "x" in value.lower() else 10)
    if (least is not None and number < least) or (most is not None and number > most):
        expected = f"{least}" if least == most else f"a number{_bounds(least, most)}"
        return "unusual", expected
    return None


def _prefixes(
    settings: Iterable[Event], events: Iterable[Event], known: Table, version: str | None
) -> Iterator[Event]:
    """Yield adapter filters that match more than they name: ``mlx5_1`` also takes ``mlx5_10``."""
    listed: dict[str | None, set[str]] = {}
    for event in events:
        if event.name == "nccl.ib.devices" and isinstance(hcas := event.fields.get("hcas"), list):
            listed.setdefault(event.host, set()).update(map(str, hcas))
    for event in settings:
        variable = known.variables.get(str(event.fields["name"]))
        value = event.fields["value"]
        if variable is None or variable.kind != "adapters" or not isinstance(value, str):
            continue
        if not value or value[0] in "^=":
            continue
        names = {name.partition(":")[0] for name in value.split(",")}
        present = listed.get(event.host, set())
        more = sorted(
            device
            for device in present - names
            if any(device.startswith(name) and name in present for name in names)
        )
        if more:
            problem = "prefix", f"={value} to leave {', '.join(more)} out"
            yield _event(event, "env.risky_value", variable, version, problem)


def _late(
    settings: Iterable[Event], events: Iterable[Event], known: Table, version: str | None
) -> Iterator[Event]:
    """Yield acknowledge timeouts under which the collective's own timeout comes first."""
    shortest = min(
        (
            limit
            for event in events
            if event.name == "c10d.watchdog_timeout"
            and isinstance(limit := event.fields.get("timeout"), int | float)
            and limit > 0
        ),
        default=None,
    )
    if shortest is None:
        return
    variable = known.variables["NCCL_IB_TIMEOUT"]
    retries = known.variables["NCCL_IB_RETRY_CNT"].default(version or known.oldest)
    for event in settings:
        value = str(event.fields["value"])
        if event.fields["name"] != variable.name or refused(variable, value):
            continue
        if not value.isdecimal() or not isinstance(retries, int):
            continue
        waits = ACK_UNIT * 2 ** int(value) * retries
        if int(value) and waits > shortest:
            expected = f"one that gives up before the collective does (now {waits:.0f} s"
            problem = "timeout", f"{expected}, the collective {shortest:.0f} s)"
            yield _event(event, "env.risky_value", variable, version, problem)
