r"""Network interfaces as ``ip`` prints them (``ip a``, ``ip link``, ``ip -br addr``), and ``ifconfig``.

::

    5: ens1f0np0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP mode DEFAULT group default qlen 1000
        link/ether a0:88:c2:ab:12:c0 brd ff:ff:ff:ff:ff:ff
        inet 10.0.0.7/24 brd 10.0.0.255 scope global ens1f0np0

    lo               UNKNOWN        127.0.0.1/8 ::1/128
    ens1f0np0        UP             10.0.0.7/24 fe80::a288:c2ff:feab:12c0/64

Each is one ``net.interface`` with ``interface``, ``up`` (switched on), ``carrier`` (a cable with a peer), ``mtu`` in
bytes, ``link`` (ether, infiniband, loopback, ...), ``master`` (its bond or bridge) and ``addresses``, those of
the link alone (fe80::) left out. ``ip link`` prints no addresses, so an empty list says something only
where another interface of the same listing has one. Byte and error counters are not read here.

*Empty*: a container with loopback alone. *Cut off*: what is behind the cut is missing, the lines of an
interface without its first one are not read.
"""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, make_event

_EVENT = "net.interface"
_HEAD = LazyPattern(
    r"^\s*(?:\d+: )?(?P<name>[^\s:@<]+)(?:@[^\s:]+)?: (?:flags=\d+)?<(?P<flags>[\w,-]*)> +mtu (?P<mtu>\d+)"
    r"(?P<rest>.*)$"
)
_STATE = LazyPattern(r" state (\w+)")
_MASTER = LazyPattern(r" master (\S+)")
_LINK = LazyPattern(r"\blink/(\w+)")
_ADDRESS = LazyPattern(r"^\s*inet6? (?:addr:)? ?(?P<address>[0-9a-fA-F.:]+(?:/\d+)?)")
_DETAIL = LazyPattern(
    r"\s|link/|inet6? |valid_lft|altname|RX|TX|\d+ +\d+|ether |unspec |infiniband |loop |$"
)
"""How a line below the first one begins; a paste may have lost the blanks in front."""

_BRIEF_HEAD = LazyPattern(r"^lo\s+(?:UNKNOWN|UP|DOWN)\s")
_BRIEF = LazyPattern(
    r"^(?P<name>[\w.-]+)(?:@\S+)?\s+(?P<state>UNKNOWN|UP|DOWN|LOWERLAYERDOWN|DORMANT|NOTPRESENT|TESTING)\b"
    r"(?P<rest>.*)$"
)
_BRIEF_ADDRESS = LazyPattern(r"(?:\d+\.){3}\d+(?:/\d+)?|[0-9a-f]*:[0-9a-f:.]*/\d+")
_BRIEF_FLAGS = LazyPattern(r"<([\w,-]*)>")
_LINK_LOCAL = "fe80:"


def _ends(lines: list[Line], following: Line) -> bool:
    return _HEAD.match(following.text) is not None or _DETAIL.match(following.text) is None


def _read(lines: list[Line]) -> Iterator[Event]:
    head = _HEAD.match(lines[0].text)
    assert head is not None
    kinds = [found[1] for line in lines if (found := _LINK.search(line.text))]
    addresses = [found["address"] for line in lines[1:] if (found := _ADDRESS.match(line.text))]
    state, master = _STATE.search(head["rest"]), _MASTER.search(head["rest"])
    yield _interface(
        lines[0],
        head["name"],
        state[1] if state else None,
        head["flags"],
        addresses,
        mtu=int(head["mtu"]),
        link=kinds[0] if kinds else None,
        master=master[1] if master else None,
        end_line=lines[-1].number,
    )


def _read_brief(lines: list[Line]) -> Iterator[Event]:
    for line in lines:
        row = _BRIEF.match(line.text)
        if row is not None:
            flags = _BRIEF_FLAGS.search(row["rest"])
            addresses = _BRIEF_ADDRESS.findall(row["rest"]) if flags is None else []
            yield _interface(line, row["name"], row["state"], flags[1] if flags else "", addresses)


def _interface(
    line: Line,
    name: str,
    state: str | None,
    flags: str,
    addresses: list[str],
    *,
    mtu: int | None = None,
    link: str | None = None,
    master: str | None = None,
    end_line: int | None = None,
) -> Event:
    words = flags.split(",")
    known: list[Value] = [one for one in addresses if not one.lower().startswith(_LINK_LOCAL)]
    fields: dict[str, Value] = {
        "interface": name,
        "up": "UP" in words if flags else state != "DOWN",
        "carrier": _carrier(state, words),
        "state": state,
        "mtu": mtu,
        "link": link,
        "master": master,
        "addresses": known,
    }
    return make_event(_EVENT, Nature.MEASUREMENT, line, fields, end_line=end_line)


def _carrier(state: str | None, flags: list[str]) -> bool | None:
    """Return whether there is a carrier; None where the flags do not say it."""
    if "LOWER_UP" in flags or "RUNNING" in flags or state == "UP":
        return True
    if "NO-CARRIER" in flags or state in ("DOWN", "LOWERLAYERDOWN"):
        return False
    return None


IP = BlockParser(
    name="ip",
    title="ip a, ip link, ifconfig: network interfaces, their state, MTU and addresses",
    opens=("> mtu ", ">  mtu "),
    starts=lambda line: _HEAD.match(line.text) is not None,
    ends=_ends,
    read=_read,
    emits=(_EVENT,),
    sample=(
        "5: ens1f0np0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP mode DEFAULT group default qlen 1000\n"
        "    link/ether a0:88:c2:ab:12:c0 brd ff:ff:ff:ff:ff:ff\n"
        "    inet 10.0.0.7/24 brd 10.0.0.255 scope global ens1f0np0\n"
    ),
)

IP_BRIEF = BlockParser(
    name="ip-brief",
    title="ip -br addr and ip -br link: network interfaces, one a line",
    opens=("lo  ",),
    starts=lambda line: _BRIEF_HEAD.match(line.text) is not None,
    ends=lambda lines, following: _BRIEF.match(following.text) is None,
    read=_read_brief,
    emits=(_EVENT,),
    sample=(
        "lo               UNKNOWN        127.0.0.1/8 ::1/128 \n"
        "ens1f0np0        UP             10.0.0.7/24 fe80::a288:c2ff:feab:12c0/64 \n"
    ),
    maximum=500,
)

PARSERS = (IP, IP_BRIEF)
