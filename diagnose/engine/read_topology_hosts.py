"""Reads the hosts of a topology file: names, addresses, switches and places, many in one entry."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from ipaddress import ip_address

from diagnose.engine.name_patterns import Patterns
from diagnose.engine.positions import YamlText
from diagnose.engine.reader import Path, Reader, suggestion
from diagnose.engine.schema import Key
from diagnose.model.topology import NO_CLASS, Host, HostClass, Routing, port_key
from diagnose.parsers.convert import short_host

HOST_KEYS: Mapping[str, Key] = {
    "name": Key("pattern or list", "required", "names of the hosts: 'node-[001-512]'"),
    "class": Key("name of a class", "the only class", "how they are built"),
    "aliases": Key("pattern or list of patterns", "none", "other names, one pattern a kind"),
    "addresses": Key("map of interface to pattern", "{}", "IP addresses; a single one counts up"),
    "guids": Key("map of device to pattern", "{}", "GUIDs of InfiniBand ports"),
    "leaf": Key("pattern, list or map by rail", "not stated", "switch that each rail goes to"),
    "rack": Key("pattern or list", "not stated", "rack of each"),
    "power": Key("pattern or list", "not stated", "what feeds each"),
    "location": Key("pattern or list", "not stated", "room, row or building of each"),
}

PLACES = ("rack", "power", "location")


class HostReader:
    """One reading of the hosts.

    Args:
        reader: Collects the mistakes.
        text: The file, for the lines of hosts.
        rails: Names of the rails, in order.
        classes: Kinds of hosts by name.
        routing: With the subnets that addresses have to be in.
    """

    def __init__(
        self,
        reader: Reader,
        text: YamlText,
        rails: Sequence[str],
        classes: Mapping[str, HostClass],
        routing: Routing,
    ) -> None:
        self.reader = reader
        self.patterns = Patterns(reader)
        self.text = text
        self.rails = rails
        self.classes = classes
        self.subnets = routing.subnets
        self.hosts: dict[str, Host] = {}
        self.names: dict[str, str] = {}
        self.ports: dict[str, tuple[str, str]] = {}

    def entry(self, data: object, path: Path) -> None:
        """Add the hosts of one entry, with their names and addresses."""
        reader = self.reader
        values = reader.mapping(data, path, HOST_KEYS)
        if values is None:
            return
        full = self.patterns.words(values.get("name"), (*path, "name"))
        names = [short_host(name) for name in full]
        line, _ = self.text.place(path)
        count = len(names)
        self._new(names, (*path, "name"))
        kind = self._kind(values.get("class"), path)
        places = {key: self.patterns.spread(values.get(key), count, (*path, key)) for key in PLACES}
        leaves = self._leaves(values.get("leaf"), kind, count, (*path, "leaf"))
        addresses = dict(self._addresses(values.get("addresses"), kind, names, path))
        self._guids(values.get("guids"), kind, names, path)
        self._call(zip(full, names, strict=True), (*path, "name"))
        self._aliases(values.get("aliases"), names, (*path, "aliases"))
        for place, name in enumerate(names):
            self.hosts[name] = Host(
                name=name,
                line=line,
                kind=kind,
                leaves=leaves[place],
                addresses={interface: found[place] for interface, found in addresses.items()},
                **{key: found[place] for key, found in places.items()},
            )

    def _new(self, names: Sequence[str], path: Path) -> None:
        """Note hosts that stand in the file twice."""
        twice = [name for name in names if name in self.hosts]
        if twice:
            line = self.hosts[twice[0]].line
            more = f" and {len(twice) - 1} more" if len(twice) > 1 else ""
            message = f"{twice[0]}{more} stands in line {line} as well; a host stands in one entry"
            self.reader.wrong(path, message)
        elif taken := [name for name in names if name in self.names]:
            owner = self.names[taken[0]]
            self.reader.wrong(path, f"'{taken[0]}' is another name of {owner} already")
        elif len(set(names)) < len(names):
            name = next(name for name in names if names.count(name) > 1)
            self.reader.wrong(path, f"{name} stands here twice; a host stands in one entry")

    def _kind(self, data: object, path: Path) -> HostClass:
        if data is None:
            if len(self.classes) > 1:
                known = ", ".join(sorted(self.classes))
                self.reader.wrong(path, f"'class' is missing; the file has several: {known}")
            return next(iter(self.classes.values()), NO_CLASS)
        found = self.reader.choice(data, (*path, "class"), self.classes)
        return self.classes.get(found or "", NO_CLASS)

    def _leaves(
        self, data: object, kind: HostClass, count: int, path: Path
    ) -> Sequence[Mapping[str, str]]:
        """Return the switches of each host by rail; hosts with the same ones share the map."""
        if data is None:
            return [{}] * count
        used = {nic.rail for nic in kind.nics}
        rails = [rail for rail in self.rails if rail in used] or list(self.rails) or [""]
        if isinstance(data, dict):
            columns = {
                str(rail): self.patterns.spread(names, count, (*path, str(rail)))
                for rail, names in data.items()
            }
            self.patterns.known(columns, self.rails, path, "rail")
            rows = zip(*columns.values(), strict=True)
            return [dict(zip(columns, row, strict=True)) for row in rows]
        names = self.patterns.names(data, path)
        if len(names) == 1:
            names = names * len(rails)
        sets, rest = divmod(len(names), len(rails))
        if rest or not sets or count % sets:
            self.reader.wrong(
                path,
                f"{len(names)} switches for {len(rails)} rails of {count} hosts; expected one, "
                f"one a rail, or several such sets that divide the hosts evenly",
            )
            return [{}] * count
        starts = range(0, len(names), len(rails))
        groups = [
            dict(zip(rails, names[start : start + len(rails)], strict=True)) for start in starts
        ]
        return [groups[place * sets // count] for place in range(count)]

    def _addresses(
        self, data: object, kind: HostClass, names: Sequence[str], path: Path
    ) -> Iterator[tuple[str, Sequence[str]]]:
        path = (*path, "addresses")
        given = {} if data is None else self.reader.any_mapping(data, path) or {}
        for interface, pattern in given.items():
            where = (*path, interface)
            if pattern is None:
                self.reader.wrong(where, "expected an IP address, such as 10.0.0.7, found nothing")
            found = self._counted(self.patterns.names(pattern, where), len(names), where)
            if not found:
                continue
            yield interface, found
            self._own(found, names, interface, where)
            nic = kind.nic(interface)
            subnet = self.subnets.get(nic.rail or "") if nic else None
            outside = [one for one in found if subnet and ip_address(one) not in subnet]
            if outside:
                message = f"{outside[0]} is not in {subnet}, the subnet of rail {nic and nic.rail}"
                self.reader.wrong(where, message)

    def _counted(self, texts: Sequence[str], count: int, path: Path) -> Sequence[str]:
        """Return one address for each host; a single one is the first, the others count up."""
        try:
            keys = [str(ip_address(text)) for text in texts]
        except ValueError as error:
            self.reader.wrong(path, f"{error}; expected an IP address, such as 10.0.0.7")
            return []
        if len(keys) == 1:
            try:
                return [str(ip_address(keys[0]) + place) for place in range(count)]
            except ValueError:
                message = f"{keys[0]} cannot count up over {count} hosts; expected one address each"
                self.reader.wrong(path, message)
                return []
        return self.patterns.one_each(keys, count, path)

    def _guids(self, data: object, kind: HostClass, names: Sequence[str], path: Path) -> None:
        path = (*path, "guids")
        given = {} if data is None else self.reader.any_mapping(data, path) or {}
        for device, pattern in given.items():
            where = (*path, device)
            if kind.nic(device) is None:
                known = [nic.device for nic in kind.nics]
                message = f"unknown adapter '{device}'{suggestion(device, known)}"
                self.reader.wrong(where, message, at_key=True)
            texts = self.patterns.one_each(self.patterns.names(pattern, where), len(names), where)
            found = [port_key(text) or "" for text in texts]
            wrong = next(
                (text for text, key in zip(texts, found, strict=True) if len(key) != 16), None
            )
            if wrong is not None:
                message = f"'{wrong}' is no GUID; expected 16 hexadecimal digits, in quotes"
                self.reader.wrong(where, message)
            else:
                self._own(found, names, device, where)

    def _own(self, keys: Sequence[str], names: Sequence[str], interface: str, path: Path) -> None:
        """Give addresses to hosts, and note those that somebody else has."""
        taken: list[tuple[str, str, str]] = []
        for key, name in zip(keys, names, strict=False):  # none where they did not fit
            owner = self.ports.setdefault(key, (name, interface))
            if owner != (name, interface):
                taken.append((key, name, owner[0]))
        if taken:
            key, name, owner_name = taken[0]
            more = f", and {len(taken) - 1} more" if len(taken) > 1 else ""
            message = f"{key} of {name} belongs to {owner_name} as well{more}"
            self.reader.wrong(path, f"{message}; an address has one owner")

    def _call(self, pairs: Iterable[tuple[str, str]], path: Path) -> None:
        """Note other names of hosts, and those that mean two hosts."""
        for name, host in pairs:
            owner = host if name == host else self.names.setdefault(name, host)
            if owner != host or (name != host and name in self.hosts):
                message = f"'{name}' names {host}; it is a name of another host already"
                self.reader.wrong(path, message)
                return

    def _aliases(self, data: object, names: Sequence[str], path: Path) -> None:
        patterns = data if isinstance(data, list) else [data]
        for place, pattern in enumerate(patterns if data is not None else ()):
            where = (*path, place) if isinstance(data, list) else path
            found = self.patterns.one_each(self.patterns.words(pattern, where), len(names), where)
            self._call(zip(found, names, strict=False), where)
            self._call(zip(map(short_host, found), names, strict=False), where)
