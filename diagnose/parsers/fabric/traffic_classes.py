r"""Which priorities an adapter protects from loss, and what it sorts packets by: ``mlnx_qos``, ``dcb``.

Samples::

    $ mlnx_qos -i ens1f0np0
    DCBX mode: OS controlled
    Priority trust state: dscp
    PFC configuration:
            priority    0   1   2   3   4   5   6   7
            enabled     0   0   0   1   0   0   0   0

    $ dcb pfc show dev ens1f0np0
    prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off

``roce.trust`` has ``value`` dscp or pcp, ``roce.pfc`` the protected priorities as text (``3``, ``3,4``, ``none``);
both ``device``, where the command names it. An adapter that trusts pcp reads the priority from the VLAN tag, so
packets without a tag are all of priority 0.

Empty: the driver has no such setting. Cut off: what is behind the cut is missing.
"""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Line, Nature, Value
from diagnose.parsers.base import BlockParser, Record, make_event

COMMAND = LazyPattern(
    r"\bmlnx_qos (?:.*\s)?-i (?P<device>[\w.-]+)|\bdcb (?:-\S+ )*pfc show dev (?P<shown>[\w.-]+)"
)
TRUST = LazyPattern(r"^\s*Priority trust state:\s*(?P<trust>dscp|pcp)\b")
PFC = LazyPattern(r"^\s*PFC configuration:\s*$")
ENABLED = LazyPattern(r"^\s*enabled\s+(?P<flags>[01](?:\s+[01])+)\s*$")
PRIORITIES = LazyPattern(r"^\s*prio-pfc (?P<flags>\d:(?:on|off)(?: \d:(?:on|off))*)\s*$")


def _starts(line: Line) -> bool:
    return any(one.search(line.text) for one in (COMMAND, TRUST, PFC, PRIORITIES))


def _ends(lines: list[Line], following: Line) -> bool:
    if COMMAND.search(following.text):
        return True
    again = TRUST.match(following.text) is not None
    return again and any(TRUST.match(line.text) for line in lines)


def read(lines: list[Line]) -> Iterator[Record]:
    """Return what an adapter trusts and protects."""
    command = COMMAND.search(lines[0].text)
    device = (command["device"] or command["shown"]) if command else None
    protecting = False
    for line in lines:
        fields: dict[str, Value] = {"device": device, "nic": device}
        if trust := TRUST.match(line.text):
            fields["value"] = trust["trust"]
            yield make_event("roce.trust", Nature.SETTING, line, fields, fact="roce.trust")
        elif PFC.match(line.text):
            protecting = True
        elif protecting and (enabled := ENABLED.match(line.text)):
            flags = enabled["flags"].split()
            fields["value"] = _listed(n for n, flag in enumerate(flags) if flag == "1")
            yield make_event("roce.pfc", Nature.SETTING, line, fields, fact="roce.pfc")
            protecting = False
        elif listed := PRIORITIES.match(line.text):
            pairs = [pair.split(":") for pair in listed["flags"].split()]
            fields["value"] = _listed(int(number) for number, state in pairs if state == "on")
            yield make_event("roce.pfc", Nature.SETTING, line, fields, fact="roce.pfc")


def _listed(priorities: Iterator[int]) -> str:
    return ",".join(map(str, priorities)) or "none"


PARSERS = (
    BlockParser(
        name="traffic-classes",
        title="mlnx_qos and dcb: priorities protected from loss",
        opens=("mlnx_qos ", "Priority trust state:", "PFC configuration:", "dcb pfc ", "prio-pfc "),
        starts=_starts,
        ends=_ends,
        read=read,
        emits=("roce.trust", "roce.pfc"),
        sample=(
            "Priority trust state: dscp\n"
            "PFC configuration:\n"
            "\tpriority    0   1   2   3   4   5   6   7\n"
            "\tenabled     0   0   0   1   0   0   0   0   \n"
        ),
        maximum=60,
    ),
)
