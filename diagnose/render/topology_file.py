"""An inventory as the YAML file that ``--topology`` reads."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from diagnose.model.hostlist import fold
from diagnose.model.topology import Host, HostClass, Nic, Routing, Topology, is_guid

HEAD = """\
# Hosts, adapters and switches as these logs show them: {source}
# Written by diagnose {version}. Complete and correct it: racks, power, switches, partitions, roles
# of adapters; docs/topology.md describes the keys. In use: diagnose LOGS --topology {file}
"""
GUESSED_RAILS = "  # guessed: the order of the adapters"
GUESSED_ROLE = "  # guessed: NCCL does not use it here"


def render(topology: Topology, *, source: str, version: str) -> str:
    """Return the text of a topology file; the same topology gives the same text.

    Args:
        topology: What to write.
        source: The logs it is from, in words.
        version: Of the program.
    """
    file = _printable(topology.file)
    lines = [HEAD.format(source=_printable(source), version=version, file=file)]
    if topology.rails:
        lines.append(f"rails: {_several(topology.rails)}{GUESSED_RAILS}\n")
    kinds = list(dict.fromkeys(host.kind for host in topology.hosts.values()))
    lines += ["\nclasses:\n", *(line for kind in kinds for line in _class(kind))]
    lines.append("\nhosts:\n")
    guids: dict[str, dict[str, str]] = {name: {} for name in topology.hosts}
    for key, (name, device) in topology.ports.items():
        if is_guid(key):
            guids[name][device] = key
    for _, group in groupby(topology.hosts.values(), lambda host: _alike(host, guids[host.name])):
        head, *rest = _hosts(list(group), topology.rails, guids, several=len(kinds) > 1)
        lines += [f"  - {head}\n", *(f"    {line}\n" for line in rest)]
    if routing := list(_routing(topology.routing)):
        lines += ["\nrouting:\n", *routing]
    return "".join(lines)


def _class(kind: HostClass) -> Iterator[str]:
    keys = {"gpu": kind.gpu, "gpus": kind.gpus}
    stated = [f"    {key}: {_text(value)}\n" for key, value in keys.items() if value is not None]
    if not stated and not kind.nics:
        yield f"  {kind.name}: {{}}\n"
        return
    yield from (f"  {kind.name}:\n", *stated)
    if kind.nics:
        yield "    nics:\n"
    for _, group in groupby(kind.nics, _same_nic):
        nics = list(group)
        guessed = GUESSED_ROLE if nics[0].role != "compute" else ""
        yield f"      - {{{', '.join(_nics(nics))}}}{guessed}\n"


def _same_nic(nic: Nic) -> tuple[object, ...]:
    """Return what adapters of one entry have in common."""
    return nic.role, nic.rate, nic.link_layer, nic.rail is None, nic.pci is None, nic.netdev is None


def _nics(nics: Sequence[Nic]) -> Iterator[str]:
    yield f"device: {_several([nic.device for nic in nics])}"
    for key in ("rail", "pci", "netdev"):
        values = [value for nic in nics if (value := getattr(nic, key)) is not None]
        if values:
            yield f"{key}: {_several(values)}"
    first = nics[0]
    if first.role != "compute":
        yield f"role: {first.role}"
    if first.rate is not None:
        yield f"rate: {first.rate:g}"
    if first.link_layer is not None:
        yield f"link_layer: {first.link_layer}"


def _alike(host: Host, guids: Iterable[str]) -> tuple[object, ...]:
    """Return what hosts of one entry have in common."""
    return host.kind.name, sorted(host.leaves.items()), sorted(host.addresses), sorted(guids)


def _hosts(
    hosts: Sequence[Host],
    rails: Iterable[str],
    guids: Mapping[str, Mapping[str, str]],
    *,
    several: bool,
) -> Iterator[str]:
    first = hosts[0]
    yield f"name: {_several([host.name for host in hosts])}"
    if several:
        yield f"class: {first.kind.name}"
    used = {nic.rail for nic in first.kind.nics}
    if first.leaves and list(first.leaves) == [rail for rail in rails if rail in used]:
        yield f"leaf: {_several(list(first.leaves.values()))}"
    elif first.leaves:
        leaves = (f"{_text(rail)}: {_text(leaf)}" for rail, leaf in first.leaves.items())
        yield f"leaf: {{{', '.join(leaves)}}}"
    if first.addresses:
        yield "addresses:"
    for interface in first.addresses:
        yield f"  {_text(interface)}: {_several([host.addresses[interface] for host in hosts])}"
    if guids[first.name]:
        yield "guids:"
    for device in guids[first.name]:
        keys = ", ".join(json.dumps(guids[host.name][device]) for host in hosts)
        yield f"  {_text(device)}: [{keys}]"


def _routing(routing: Routing) -> Iterator[str]:
    for key in ("gid_index", "mtu"):
        if (value := getattr(routing, key)) is not None:
            yield f"  {key}: {value}\n"


def _several(names: Iterable[str]) -> str:
    """Return names as one pattern, else as a list of patterns."""
    patterns = [_text(pattern) for pattern in fold(list(names))]
    return patterns[0] if len(patterns) == 1 else f"[{', '.join(patterns)}]"


_WORD = re.compile(r"[A-Za-z_][\w.-]*")
_RESERVED = ("true", "false", "yes", "no", "on", "off", "null", "y", "n")
"""Words that YAML takes for something else."""


def _text(value: object) -> str:
    """Return a value that YAML reads back as it is: a bare word, else in double quotes."""
    text = str(value)
    if isinstance(value, int) or (_WORD.fullmatch(text) and text.lower() not in _RESERVED):
        return text
    return json.dumps(_printable(text), ensure_ascii=False)


def _printable(text: str) -> str:
    """Return a text without what YAML forbids and what would end a comment."""
    return "".join(one if one.isprintable() else "?" for one in text)
