"""Reads a topology file: the inventory of hosts, adapters, switches and partitions of a cluster.

Wherever several things have a value, one pattern gives all of them: as many names as there are
things are one each, fewer that divide their number are one for so many of them in a row.
"""

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_network
from pathlib import Path as FilePath
from typing import Any, get_args

from diagnose.engine.name_patterns import Patterns
from diagnose.engine.positions import YamlText, loaded, opened
from diagnose.engine.read_topology_hosts import HostReader
from diagnose.engine.reader import Path, Reader
from diagnose.engine.schema import Key
from diagnose.errors import Problem, RuleErrors
from diagnose.model.topology import (
    MEMBER,
    Host,
    HostClass,
    Layer,
    Nic,
    Partition,
    Reach,
    Role,
    Routing,
    Topology,
)
from diagnose.parsers.convert import pci

TOPOLOGY_KEYS: Mapping[str, Key] = {
    "rails": Key("pattern or list", "[]", "names of the rails, in order: '[0-7]'"),
    "classes": Key("map of classes", "{}", "kinds of hosts by name: GPUs and adapters"),
    "hosts": Key("list", "required", "hosts, many in one entry: names, addresses, switches"),
    "partitions": Key("list", "[]", "InfiniBand partitions and their members"),
    "routing": Key("map", "{}", "how the network is set up"),
}
CLASS_KEYS: Mapping[str, Key] = {
    "gpu": Key("text", "not stated", "model of the GPUs, such as H100"),
    "gpus": Key("whole number", "not stated", "how many GPUs a host has"),
    "nics": Key("list", "[]", "network adapters, several of a kind in one entry"),
}
NIC_KEYS: Mapping[str, Key] = {
    "device": Key("pattern or list", "required", "RDMA devices: 'mlx5_[0-7]'"),
    "rail": Key("pattern or list", "none", "the rail of each"),
    "role": Key("compute | storage | management", "compute", "what they are for"),
    "rate": Key("number", "not stated", "Gb/s of the link"),
    "link_layer": Key("InfiniBand | Ethernet", "not stated", "what the link is"),
    "pci": Key("pattern or list", "not stated", "PCI address of each"),
    "netdev": Key("pattern or list", "not stated", "network interface of each"),
    "gpu": Key("pattern or list", "not stated", "index of the GPU that each serves"),
}
PARTITION_KEYS: Mapping[str, Key] = {
    "name": Key("text", "required", "how the partition is called"),
    "pkey": Key("whole number", "required", "its key: 0x8001 or 0x0001"),
    "hosts": Key("pattern or list", "required", "its members"),
}
ROUTING_KEYS: Mapping[str, Key] = {
    "reach": Key("full | rail-only", "not stated", "whether rails reach one another"),
    "gid_index": Key("whole number", "not stated", "index of the GID of RoCE"),
    "mtu": Key("256 | 512 | 1024 | 2048 | 4096", "not stated", "bytes of an RDMA packet"),
    "traffic_class": Key("0-255", "not stated", "ToS byte of RoCE packets"),
    "subnets": Key("map of rail to network", "{}", "IP network of each rail"),
}
MTUS = (256, 512, 1024, 2048, 4096)

SIZE_LIMIT = 16 << 20
"""Bytes of a file; ten thousand hosts with addresses and GUIDs of their own have less."""

MOST_CLASS = 0xFF
MOST_PKEY = 0xFFFF


def read_topology(path: FilePath) -> Topology:
    """Return a topology file.

    Raises:
        RuleErrors: It cannot be opened or is wrong; all its mistakes are named with their place.
    """
    return parse_topology(opened(path, SIZE_LIMIT))


def parse_topology(text: YamlText) -> Topology:
    """Return the topology that a text holds.

    Raises:
        RuleErrors: It is wrong; all its mistakes are named with their place.
    """
    data = loaded(text)
    if data is None:
        raise RuleErrors([Problem(text.name, 1, 1, "is empty; a topology lists 'hosts'")])
    reader = Reader()
    topology = _Reading(reader, text).topology(data)
    problems = {*text.duplicate_keys(), *map(text.problem, reader.mistakes)}
    if problems or topology is None:
        raise RuleErrors(sorted(problems, key=lambda one: (one.line, one.column, one.message)))
    return topology


class _Reading:
    """One reading of a file.

    Args:
        reader: Collects the mistakes.
        text: The file, for the lines of hosts.
    """

    def __init__(self, reader: Reader, text: YamlText) -> None:
        self.reader = reader
        self.patterns = Patterns(reader)
        self.text = text
        self.rails: tuple[str, ...] = ()

    def topology(self, data: object) -> Topology | None:
        reader = self.reader
        values = reader.mapping(data, (), TOPOLOGY_KEYS)
        if values is None:
            return None
        self.rails = tuple(self.patterns.words(values.get("rails"), ("rails",)))
        if len(set(self.rails)) < len(self.rails):
            reader.wrong(("rails",), "a rail stands here twice")
        routing = self._routing(values.get("routing", {}), ("routing",))
        entries = reader.any_mapping(values.get("classes", {}), ("classes",)) or {}
        classes = {
            name: self._class(name, entry, ("classes", name)) for name, entry in entries.items()
        }
        hosts = HostReader(reader, self.text, self.rails, classes, routing)
        for place, entry in enumerate(reader.sequence(values.get("hosts"), ("hosts",))):
            hosts.entry(entry, ("hosts", place))
        if not hosts.hosts and not reader.mistakes:
            reader.wrong(("hosts",), "'hosts' is empty: expected a list of hosts")
        given = enumerate(reader.sequence(values.get("partitions"), ("partitions",)))
        partitions = [
            self._partition(entry, hosts.hosts, ("partitions", place)) for place, entry in given
        ]
        return Topology(
            file=self.text.name,
            rails=self.rails,
            hosts=hosts.hosts,
            names=hosts.names,
            ports=hosts.ports,
            partitions=tuple(one for one in partitions if one is not None),
            routing=routing,
        )

    def _class(self, name: str, data: object, path: Path) -> HostClass:
        reader = self.reader
        values = reader.mapping(data, path, CLASS_KEYS) or {}
        nics: list[Nic] = []
        for place, entry in enumerate(reader.sequence(values.get("nics"), (*path, "nics"))):
            nics += self._nics(entry, (*path, "nics", place))
        for key in ("device", "netdev", "pci"):
            known = [value for nic in nics if (value := getattr(nic, key)) is not None]
            for twice in sorted({value for value in known if known.count(value) > 1}):
                reader.wrong((*path, "nics"), f"two adapters have the {key} '{twice}'")
        return HostClass(
            name=name,
            gpu=reader.text(values["gpu"], (*path, "gpu")) if "gpu" in values else None,
            gpus=reader.whole(values["gpus"], (*path, "gpus"), 0, "8")
            if "gpus" in values
            else None,
            nics=tuple(nics),
        )

    def _nics(self, data: object, path: Path) -> Iterator[Nic]:
        reader = self.reader
        values = reader.mapping(data, path, NIC_KEYS)
        if values is None:
            return
        devices = self.patterns.words(values.get("device"), (*path, "device"))
        each: dict[str, Sequence[Any]] = {
            key: self.patterns.spread(values.get(key), len(devices), (*path, key))
            for key in ("rail", "pci", "netdev", "gpu")
        }
        self.patterns.known(each["rail"], self.rails, (*path, "rail"), "rail")
        each["pci"] = [self._pci(one, (*path, "pci")) for one in each["pci"]]
        each["gpu"] = [self._index(one, (*path, "gpu")) for one in each["gpu"]]
        role = reader.choice(values.get("role", "compute"), (*path, "role"), get_args(Role))
        layer = None
        if "link_layer" in values:
            where = (*path, "link_layer")
            layer = reader.choice(values["link_layer"], where, get_args(Layer))
        rate = reader.number(values["rate"], (*path, "rate"), "400") if "rate" in values else None
        if rate is not None and not 0 < rate < 1e6:
            message = f"expected the rate in Gb/s, such as 400, found {values['rate']}"
            reader.wrong((*path, "rate"), message)
        for place, device in enumerate(devices):
            own = {key: found[place] for key, found in each.items()}
            yield Nic(device=device, role=role or "compute", rate=rate, link_layer=layer, **own)

    def _partition(self, data: object, hosts: Mapping[str, Host], path: Path) -> Partition | None:
        reader = self.reader
        values = reader.mapping(data, path, PARTITION_KEYS)
        if values is None:
            return None
        given = {key: value for key, value in values.items() if value is not None}
        name = reader.text(given["name"], (*path, "name")) if "name" in given else None
        pkey = (
            reader.whole(given["pkey"], (*path, "pkey"), 1, "0x8001") if "pkey" in given else None
        )
        if pkey is not None and (pkey > MOST_PKEY or not pkey & MEMBER):
            message = f"expected a key from 0x0001 to 0xffff other than 0x8000, found {pkey:#06x}"
            reader.wrong((*path, "pkey"), message)
        members = self.patterns.words(given.get("hosts"), (*path, "hosts"))
        if hosts:  # else their own mistake is said already
            self.patterns.known(members, hosts, (*path, "hosts"), "host")
        if name is None or pkey is None:
            return None
        return Partition(name=name, pkey=pkey & MEMBER, hosts=frozenset(members))

    def _routing(self, data: object, path: Path) -> Routing:
        reader = self.reader
        values = reader.mapping(data, path, ROUTING_KEYS) or {}
        found: dict[str, Any] = {}
        if "reach" in values:
            found["reach"] = reader.choice(values["reach"], (*path, "reach"), get_args(Reach))
        for key, example in (("gid_index", "3"), ("traffic_class", "106"), ("mtu", "4096")):
            if key in values:
                found[key] = reader.whole(values[key], (*path, key), 0, example)
        if found.get("mtu") not in (None, *MTUS):
            message = f"expected one of {', '.join(map(str, MTUS))}, found {values['mtu']}"
            reader.wrong((*path, "mtu"), message)
        if (found.get("traffic_class") or 0) > MOST_CLASS:
            message = f"expected a number up to {MOST_CLASS}, found {values['traffic_class']}"
            reader.wrong((*path, "traffic_class"), message)
        given = reader.any_mapping(values.get("subnets", {}), (*path, "subnets")) or {}
        self.patterns.known(given, self.rails, (*path, "subnets"), "rail")
        subnets = {}
        for rail, subnet in given.items():
            try:
                subnets[rail] = ip_network("" if subnet is None else str(subnet))
            except ValueError as error:
                message = f"{error}; expected a network such as 10.20.0.0/16"
                reader.wrong((*path, "subnets", rail), message)
        return Routing(subnets=subnets, **found)

    def _pci(self, text: str | None, path: Path) -> str | None:
        if text is None:
            return None
        try:
            if ":" in text:
                return pci(text)
        except ValueError:
            pass
        self.reader.wrong(path, f"'{text}' is no PCI address; expected '0000:5d:00.0'")
        return None

    def _index(self, text: str | None, path: Path) -> int | None:
        if text is None or text.isdecimal():
            return None if text is None else int(text)
        self.reader.wrong(path, f"expected a number such as 0, or '[0-7]', found '{text}'")
        return None
