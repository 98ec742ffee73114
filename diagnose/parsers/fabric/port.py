"""The event ``ib.port``: one port of an adapter, whichever tool showed it.

The tools spell states and rates each in their own way. Fields: ``device``, ``port``, ``state``
(NOP, DOWN, INIT, ARMED, ACTIVE, ACTIVE_DEFER), ``phys_state`` (LinkUp, Polling, Disabled, Sleep,
PortConfigurationTraining, LinkErrorRecovery, PhyTest), ``rate_gbps``, ``lanes``, ``speed`` (the word of
the rate table: EDR, HDR, NDR), ``link_layer`` (InfiniBand or Ethernet), ``gid``, ``lid``, ``sm_lid``,
``tool``, ``board`` (type of the adapter), ``firmware``, ``active_mtu`` and ``max_mtu`` (bytes), ``netdev``.
What a tool does not print is None, never 0.
"""

import re
from collections.abc import Mapping

from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import make_event

FIELDS = (
    "device", "port", "state", "phys_state", "rate_gbps", "lanes", "speed", "link_layer", "gid",
    "lid", "sm_lid", "tool", "board", "firmware", "active_mtu", "max_mtu", "netdev",
)  # fmt: skip

STATES = {
    "active": "ACTIVE", "armed": "ARMED", "initializing": "INIT", "initialize": "INIT",
    "init": "INIT", "down": "DOWN", "nop": "NOP", "active_defer": "ACTIVE_DEFER",
    "activedefer": "ACTIVE_DEFER", "active defer": "ACTIVE_DEFER",
}  # fmt: skip
"""Kernel, libibmad and libibverbs spellings, in small letters."""

PHYSICAL = {
    "linkup": "LinkUp", "polling": "Polling", "disabled": "Disabled", "disable": "Disabled",
    "sleep": "Sleep", "sleeping": "Sleep", "portconfigurationtraining": "PortConfigurationTraining",
    "portconfigurationtrainning": "PortConfigurationTraining", "linkerrorrecovery": "LinkErrorRecovery",
    "linkerrorrecover": "LinkErrorRecovery", "phytest": "PhyTest", "nostatechange": "NoStateChange",
}  # fmt: skip
"""The same of physical states, without blanks and underscores."""

LANE_GBPS = {
    "SDR": 2.5, "DDR": 5.0, "QDR": 10.0, "FDR10": 10.0, "FDR": 14.0, "EDR": 25.0, "HDR": 50.0,
    "NDR": 100.0, "XDR": 200.0,
}  # fmt: skip
"""Gb/s of one lane, as the rates are named."""


def port_event(line: Line, tool: str, found: Mapping[str, Value], end_line: int) -> Event:
    """Return the event of a port.

    Args:
        line: Where it is shown.
        tool: That shows it.
        found: What it shows, by the names above; ``host`` where it names one.
        end_line: Last line of the record.
    """
    fields: dict[str, Value] = {name: found.get(name) for name in FIELDS}
    fields["tool"] = tool
    fields["nic"] = fields["device"]
    if found.get("host"):
        fields["host"] = found["host"]
    return make_event("ib.port", Nature.MEASUREMENT, line, fields, end_line=end_line)


def state_of(text: str | None) -> str | None:
    """Return the logical state from ``4: ACTIVE``, ``Initializing`` or ``PORT_DOWN``."""
    word = (text or "").rpartition(":")[2].strip().removeprefix("PORT_").lower()
    return STATES.get(word)


def physical_of(text: str | None) -> str | None:
    """Return the physical state from ``5: LinkUp``, ``LINK_ERROR_RECOVERY`` or ``Phy Test``."""
    word = re.sub(r"[\s_]", "", (text or "").rpartition(":")[2]).lower()
    return PHYSICAL.get(word)


def whole_number(text: str | None, base: int = 10) -> int | None:
    """Return a LID or a size; None where the text begins with no number."""
    found = re.match(r"\s*(?:0x)?([0-9a-fA-F]+)\b", text or "")
    try:
        return int(found[1], base) if found else None
    except ValueError:
        return None


def rate_of(text: str | None) -> dict[str, Value]:
    """Return rate, lanes and speed from the kernel's ``400 Gb/sec (4X NDR)``.

    Kernels older than the speed print ``10 Gb/sec (4X)`` on a healthy link.
    """
    found = re.match(r"\s*([\d.]+) Gb/sec(?: \((\d+)X(?: ([A-Z0-9]+))?\))?", text or "")
    if found is None:
        return {}
    lanes = int(found[2]) if found[2] else None
    return {"rate_gbps": float(found[1]), "lanes": lanes, "speed": found[3]}
