"""What hosts and processes state of themselves, by subject, ready to be compared.

A subject is a variable, a fact of ``compared`` in ``rules/variables.yaml``, or one of these:

========================== =======================================================================
``nccl.link_layers``        Link layers of the adapters in use
``nccl.bootstrap_network``  First two numbers of the address that bootstrap uses
``nccl.socket_network``     The same of the first data interface
``nccl.net_path``           Whether any channel between hosts has GPUDirect RDMA
``nccl.local_path``         Whether any channel inside the host has peer access
========================== =======================================================================

Channels are sampled, and sending may go without what receiving has, so only *any* counts of them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from diagnose.facts.variables import table
from diagnose.model.event import Event, Value

FEWEST = 4
"""Members among which one that differs is the odd one; of two or three nobody knows which."""

MAJORITY = 0.75
"""Share of the members that must agree before the others are odd."""

Subject = tuple[int, str, Value, str]
"""Attempt, subject, build variant (of packages) and the kind of event that states it."""

Writer = tuple[int | None, str, int | None]
"""The rank, else file and process."""

NETWORKS = {
    "nccl.bootstrap_interface": "nccl.bootstrap_network",
    "nccl.socket.interfaces": "nccl.socket_network",
}
"""Event with addresses to the subject they give."""

WITHOUT_FACT = frozenset({*NETWORKS, "nccl.ib.devices", "nccl.channel"})
"""Events that state a subject and no fact."""

BEST = ("with GPUDirect RDMA", "P2P")
"""Paths that count for a host where any of its channels has them."""


@dataclass(slots=True)
class Member:
    """A host or rank with one value.

    Args:
        value: As text that is equal for equal values.
        event: The statement.
    """

    value: str
    event: Event

    @property
    def shown(self) -> str:
        """The value as it stands in the logs, where it is a single one."""
        stated = self.event.fields.get("value")
        same = isinstance(stated, str) and stated.upper() == self.value.upper()
        return str(stated) if same else self.value


@dataclass(slots=True)
class Stated:
    """What was stated of one subject.

    Args:
        hosts: By host, by writer, the values with their first event.
        values: All of them.
    """

    hosts: dict[str | None, dict[Writer, dict[str, Event]]] = field(default_factory=dict)
    values: set[str] = field(default_factory=set)

    def add(self, event: Event, value: str, *, last: bool) -> None:
        """Note a value; ``last`` forgets what the writer stated before."""
        known = event.rank is not None
        writer = (event.rank, "", None) if known else (None, event.file, event.pid)
        values = self.hosts.setdefault(event.host, {}).setdefault(writer, {})
        if last:
            values.clear()
        values.setdefault(value, event)
        self.values.add(value)

    def of_hosts(self) -> dict[str, Member]:
        """Return what each host that is known states."""
        return {host: of_host(writers) for host, writers in self.hosts.items() if host is not None}


def collect(events: Iterable[Event]) -> dict[Subject, Stated]:
    """Return what was stated, by subject; of a variable a process states twice, the last."""
    found: dict[Subject, Stated] = {}
    for event in events:
        if event.fact is None and event.name not in WITHOUT_FACT:
            continue
        for name, value in _statements(event):
            key = (event.attempt, name, event.fields.get("variant"), event.name)
            found.setdefault(key, Stated()).add(event, value, last=event.fact == "env")
    return found


def _statements(event: Event) -> Iterator[tuple[str, str]]:
    """Yield subject and value of what an event states."""
    value = event.fields.get("value")
    if event.fact == "env":
        if isinstance(value, str) and "$" not in value:
            yield str(event.fields["name"]), _spelled(str(event.fields["name"]), value)
    elif event.fact is not None and event.fact in table().compared and value is not None:
        yield event.fact, str(value)
    if event.name in NETWORKS:
        addresses = event.fields.get("addresses")
        if isinstance(addresses, list) and addresses and (net := _network(str(addresses[0]))):
            yield NETWORKS[event.name], net
    elif event.name == "nccl.ib.devices" and (layers := event.fields.get("layers")):
        yield "nccl.link_layers", ", ".join(map(str, layers if isinstance(layers, list) else []))
    elif event.name == "nccl.channel":
        yield from _path(event)


def _spelled(name: str, value: str) -> str:
    """Return a value so that two spellings of one are the same text."""
    variable = table().variables.get(name)
    return value.upper() if variable and variable.kind == "words" else value


def _network(address: str) -> str | None:
    """Return the first half of an IPv4 address; the mask is printed nowhere."""
    parts = address.split(".")
    return ".".join([*parts[:2], "x.x"]) if len(parts) == 4 else None


def _path(event: Event) -> Iterator[tuple[str, str]]:
    transport = str(event.fields.get("transport"))
    if transport.startswith("NET/"):
        gdr = "with" if event.fields.get("gdr") else "without"
        yield "nccl.net_path", f"{gdr} GPUDirect RDMA"
    elif transport.startswith("P2P"):
        yield "nccl.local_path", "P2P"
    elif transport.startswith("SHM"):
        yield "nccl.local_path", "SHM"


def of_writer(values: Mapping[str, Event]) -> Member:
    """Return the best path of a process, of anything else all that it states."""
    for best in BEST:
        if best in values:
            return Member(best, values[best])
    texts = sorted(values)
    return Member(" and ".join(texts), values[texts[0]])


def of_host(writers: Mapping[Writer, Mapping[str, Event]]) -> Member:
    """Return what most of a host's writers state, all of it where they disagree."""
    members = [of_writer(values) for values in writers.values()]
    for best in BEST:
        if found := [one for one in members if one.value == best]:
            return found[0]
    usual = usual_of(members)
    if usual is not None:
        return next(one for one in members if one.value == usual)
    merged: dict[str, Event] = {}
    for one in members:
        merged.setdefault(one.value, one.event)
    return of_writer(merged)


def usual_of(members: Iterable[Member]) -> str | None:
    """Return the value on which enough members agree, None where they do not."""
    votes = Counter(one.value for one in members)
    value, most = votes.most_common(1)[0]
    total = sum(votes.values())
    if most == total:
        return value
    return value if total >= FEWEST and most >= MAJORITY * total else None
