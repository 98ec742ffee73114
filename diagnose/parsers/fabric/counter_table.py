"""What the counters of ports and adapters mean, and how much growth is too much.

The table is ``rules/counters.yaml``, read when the first counter is met.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

from diagnose import shipped
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import make_event

EVENT = "ib.counters"

SECONDS = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0}

NUMBER = re.compile(r"\d+")

NO_CABLE = re.compile(
    r"(?:lo$|dummy|docker|veth|virbr|br-|br\d|cni|cali|flannel|cilium|lxc|kube|nodelocal|ovs|tun|tap"
    r"|vxlan|geneve|tunl|sit\d|ip6|podman|weave|nerdctl)"
)
"""Beginnings of the names of devices behind which there is no wire."""


@dataclass(frozen=True, slots=True)
class Limit:
    """More than so many in so many seconds is too much; any at all where ``seconds`` is None."""

    count: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Meaning:
    """One counter of the table; the file says what the words stand for.

    Args:
        name: As the kernel spells it.
        maximum: Largest value, where the counter stops there.
        factor: To the unit that texts use.
        less: A counter whose events this one counts as well.
        of: The counter of the packets of which it counts a part.
    """

    name: str
    kind: str
    warn: Limit | None = None
    fail: Limit | None = None
    maximum: int | None = None
    factor: int = 1
    less: str | None = None
    of: str | None = None


Counter = tuple[str, int, Line]
"""A counter as a tool spells it, its value, and the line that shows it."""


def reading(
    counters: Sequence[Counter], device: str | None, port: int | None, tool: str, **more: Value
) -> Iterator[Event]:
    """Yield one reading of a port, with those of its counters that the table lists.

    A device without a cable, such as a bridge of containers, has none that matter.

    Args:
        counters: In the order of the text; of two spellings of one counter the first counts.
        device: Adapter, network device or switch.
        port: Its port, None where it has but one.
        tool: What printed them.
        more: Further fields, such as ``host``.
    """
    if device is not None and NO_CABLE.match(device):
        return
    by_name: dict[str, tuple[Meaning, int, Line]] = {}
    for name, value, line in counters:
        meaning = meaning_of(name)
        if meaning is not None:
            by_name.setdefault(meaning.name, (meaning, value, line))
    if not by_name:
        return
    known = [*by_name.values()]
    first = min((line for _, _, line in known), key=lambda line: line.number)
    fields: dict[str, Value] = {
        "device": device,
        "nic": device,
        "port": port,
        "name": f"{device}/{port}",
        "tool": tool,
        "counters": [*by_name],
        "values": [value * meaning.factor for meaning, value, _ in known],
        "lines": [line.number - first.number for _, _, line in known],
        "ended": [
            meaning.name
            for meaning, value, _ in known
            if meaning.maximum is not None and value >= meaning.maximum
        ],
        **{name: value for name, value in more.items() if value is not None},
    }
    yield make_event(
        EVENT, Nature.MEASUREMENT, first, fields, end_line=max(line.number for _, _, line in known)
    )


def number(text: str) -> int | None:
    """Return a counter's value, None for ``N/A (no PMA)`` and other words."""
    try:
        return int(text, 0) if text[:2].lower() == "0x" else int(text)
    except ValueError:
        return None


@lru_cache(maxsize=8192)
def meaning_of(name: str) -> Meaning | None:
    """Return what a counter means under any of its spellings, None where it is not listed.

    A counter of a priority or a lane keeps its number: ``rx_prio3_pause``.
    """
    exact = _table().get(name)
    if exact is not None:
        return exact
    digits = NUMBER.findall(name)
    general = _table().get(NUMBER.sub("N", name)) if len(digits) == 1 else None
    if general is None:
        return None
    of = None if general.of is None else general.of.replace("N", digits[0], 1)
    return replace(general, name=general.name.replace("N", digits[0], 1), of=of)


@cache
def _table() -> dict[str, Meaning]:
    found: dict[str, Meaning] = {}
    for row in shipped.table("counters"):
        meaning = Meaning(
            row["name"], row["kind"], _limit(row, "warn"), _limit(row, "fail"),
            row.get("maximum"), row.get("factor", 1), row.get("less"),
            row.get("of"),
        )  # fmt: skip
        for name in (row["name"], *row.get("also", ())):
            found[name] = meaning
    return found


def _limit(row: dict[str, Any], name: str) -> Limit | None:
    """Return the limit of ``any`` or ``120/hour``."""
    text = row.get(name)
    if text is None:
        return None
    if text == "any":
        return Limit(0, None)
    count, _, per = text.partition("/")
    return Limit(int(count), SECONDS[per])
