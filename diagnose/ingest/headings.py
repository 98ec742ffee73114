"""Output of several hosts in one text, told apart by the headings between it.

================================ ==================================================================
``----------------``             dshbak and ``clush -b``: a host, or a folded list whose hosts all
``node-[17-20] (4)``             printed what follows
``----------------``
``node17 | CHANGED | rc=0 >>``   Ansible
``== node17 ==``, ``## node17``   what scripts echo; also ``node17:`` and ``node17`` on a line alone
``root@node17:~# ibstat``        a prompt before a command that shows the machine it runs on, and
``$ ssh node17 ibstat``         one that is sent to a host
================================ ==================================================================

A heading holds until the next one, a command until the next prompt. What a line says of its host
itself counts more. The text stays as it is, but that what a folded list stands for is repeated for
each of its hosts.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from diagnose.ingest.host import is_host, short, states_host
from diagnose.ingest.lazy import LazyPattern
from diagnose.ingest.nodeset import expand
from diagnose.ingest.origins import by_origin, may_be_host
from diagnose.ingest.prompts import NAME, commands, local

LARGEST = 256 << 10
"""Bytes up to which a text may be a paste with prompts, whatever it holds."""

MOST_COPIED = 32 << 20
"""Bytes that folded output may become; the hosts behind that are left out."""

TOOLS = (b"Infiniband device '", b"CA '", b"hca_id:", b"Operational Info", b"physical_state ")
"""What shows that a larger text is the state of machines as well."""

FOLDED = LazyPattern(
    rb"\n-{14,17}\r?\n(" + NAME + rb"[^\s()]*)(?: \(\d+\))?\r?\n-{14,17}(?=\r?(?:\n|\Z))"
)
ANSIBLE = LazyPattern(rb"\n(" + NAME + rb") \| [A-Za-z]+!? \| rc=-?\d+ >>")
ECHOED = LazyPattern(
    rb"\n(?:#{1,80}|[=*<>-]{2,80})[ \t]*(?:(?:[Hh]ost|[Nn]ode|HOST|NODE):? )?("
    + NAME
    + rb")[ \t]*:?"
    rb"[ \t]*[=*#<>-]{0,80}[ \t]*(?=\r?(?:\n|\Z))"
)
ALONE = LazyPattern(
    rb"\n(?:(?:[Hh]ost(?:name)?|[Nn]ode|HOST|NODE) ?[:=] ?)?("
    + NAME
    + rb")(:?)[ \t]*\r?\n(?=([^\r\n]{1,200}))"
)
SHOWN = LazyPattern(
    rb"\s*(?:[A-Z][a-z]{2} [A-Z][a-z]{2} +\d[^\n]{0,40}\n\s*)?"
    rb"(?:Infiniband device '|CA:? '|hca_id:|(?:\d+/)?\d*:? ?link \S+/\d|device\s+node GUID"
    rb"|/sys/|DEV\s+PORT|Settings for |NIC statistics:|driver: |\d+: [\w@.-]+: <|mlx5_\S+ port "
    rb"|Operational Info|# Port |(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] |GPU0\tGPU1"
    rb"|Priority trust state:|LLDP neighbors:|-{40,}\r?\nLLDP )"
)
"""How the output of such a command begins, with a date before it or not."""

Hosts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Heading:
    """Where the output of some hosts begins.

    Args:
        start: Offset of its line.
        hosts: Whose it is; none for a prompt whose command shows no machine.
        command: It holds until the next prompt, and then the heading above it again.
    """

    start: int
    hosts: Hosts
    command: bool = False


@dataclass(frozen=True, slots=True)
class Sections:
    """Whose the lines of a text are.

    Args:
        data: The text, with folded output once for each of its hosts.
        lines: For each of its lines the number, from 0, of the line it was; None if none changed.
        starts: Offsets at which sections begin, rising; the next one is another host's.
        owners: The host of each section; None where no heading holds.
        open: The hosts whose heading holds at the end.
    """

    data: bytes
    lines: Sequence[int] | None
    starts: Sequence[int]
    owners: Sequence[str | None]
    open: Hosts

    def at(self, offset: int) -> int:
        """Return the number of the section at an offset, -1 before the first."""
        return bisect_right(self.starts, offset) - 1


def divide(data: bytes, holding: Hosts = ()) -> Sections | None:
    """Return the sections of a text, None where no heading stands in it and none holds.

    Args:
        data: Whole lines.
        holding: The hosts of a heading before this text.
    """
    tool = next((tool for tool in TOOLS if tool in data), None)
    if tool is not None and (hosts := by_origin(data, tool)) is not None:
        return _put_together(hosts, holding)
    headings = sorted(_headings(data, tool is not None), key=lambda one: one.start)
    if not headings and not holding:
        return None
    parts, at, above, command = [], 0, holding, None
    for heading in headings:
        parts.append((at, heading.start, above if command is None else command))
        at = heading.start
        if heading.command:
            command = heading.hosts or None
        else:
            above, command = heading.hosts, None
    parts.append((at, len(data), above if command is None else command))
    return _laid_out(data, [part for part in parts if part[0] < part[1]], above)


def _laid_out(data: bytes, parts: list[tuple[int, int, Hosts]], above: Hosts) -> Sections:
    folded = any(len(hosts) > 1 for _, _, hosts in parts)
    if folded and not data.endswith(b"\n"):
        data += b"\n"
        parts[-1] = (parts[-1][0], len(data), parts[-1][2])
    texts: list[bytes] = []
    numbers: list[int] = []
    starts: list[int] = []
    owners: list[str | None] = []
    size = line = copied = 0
    for start, end, hosts in parts:
        text = data[start:end]
        ends = text.count(b"\n")
        for host in hosts or (None,):
            if not owners or owners[-1] != host:
                starts.append(size)
                owners.append(host)
            size += len(text)
            if folded:
                texts.append(text)
                numbers.extend(range(line, line + ends))
            copied += len(text)
            if copied > MOST_COPIED:
                break
        line += ends
    return Sections(b"".join(texts) if folded else data, numbers or None, starts, owners, above)


def _put_together(hosts: list[tuple[str, list[int], bytes]], holding: Hosts) -> Sections:
    starts: list[int] = []
    size = 0
    for _, _, text in hosts:
        starts.append(size)
        size += len(text)
    lines = [number for _, numbers, _ in hosts for number in numbers]
    owners = [host for host, _, _ in hosts]
    return Sections(b"".join(text for _, _, text in hosts), lines, starts, owners, holding)


def _headings(data: bytes, tools: bool) -> Iterator[Heading]:
    # A line end before the first line as well: then the place of a match, which begins with
    # the line end, is the offset of the line in the data.
    text = b"\n" + data
    if b"\n-------" in text:
        for found in FOLDED.finditer(text):
            if hosts := _folded(found[1]):
                yield Heading(found.start(), hosts)
    if b" | rc=" in data:
        for found in ANSIBLE.finditer(text):
            yield Heading(found.start(), (short(found[1].decode()),))
    for found in ECHOED.finditer(text):
        name = found[1].decode()
        if states_host(name) or (may_be_host(name) and SHOWN.match(text, found.end())):
            yield Heading(found.start(), (short(name),))
    if tools or len(data) <= LARGEST:
        yield from _alone(text)
        for start, host in commands(text):
            yield Heading(start, (host,) if host else (), command=True)


def _alone(text: bytes) -> Iterator[Heading]:
    for found in ALONE.finditer(text):
        name, following = found[1].decode(), found[3]
        plain = not following.startswith(found[1])
        shown = SHOWN.match(text, found.start(3)) or local(following)
        if _numbered(name) and (shown or (found[2] and plain and is_host(name))):
            yield Heading(found.start(), (short(name),))


def _folded(text: bytes) -> Hosts:
    names = expand(text.decode())
    good = names and all(_numbered(name) for name in names)
    return tuple(short(name) for name in names) if good else ()


def _numbered(name: str) -> bool:
    """Return whether a word at a place of its own is a host: any name with a number in it."""
    return states_host(name) or may_be_host(name)
