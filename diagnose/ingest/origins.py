"""Output of many hosts with the host before each line, where the names are no clear ones.

``cl042: state: 4: ACTIVE`` has a host before it, ``driver: mlx5_core`` and ``ens1f0: <BROADCAST>``
have none, and the line alone does not tell. What tells is the whole: nearly every line begins with
one of few names that end in a number, and behind them stands what tools print of a machine. Then
the lines are put together by their names, which may be woven into one another, without the prefix.
"""

from collections import defaultdict

from diagnose.ingest.host import DOMAIN, OTHER_WORDS, short, states_host
from diagnose.ingest.lazy import LazyPattern

FEWEST_LINES = 4
"""Lines that each name stands before on average."""

SHARE = 0.8
"""Share of the lines that must begin with a name."""

INTERFACE = LazyPattern(r"(?:en[ops]|eth|ib|bond|br|veth|lo|team|hsn|roce|mlx|docker|virbr|wl)\w*")
"""Network devices, whose names end in numbers as well."""

PREFIX = LazyPattern(rb"([A-Za-z][\w.-]{0,80}): ?")


def by_origin(data: bytes, shown: bytes) -> list[tuple[str, list[int], bytes]] | None:
    """Return the text of each host, with the number of each line, from 0, in the data.

    Args:
        data: Whole lines.
        shown: One of the marks that show the state of a machine; it must stand behind a name.

    Returns:
        None where the lines do not begin with names, or with such as are known by themselves.
    """
    lines = data.split(b"\n")
    texts: dict[bytes, list[int]] = defaultdict(list)
    filled = 0
    for number, line in enumerate(lines):
        filled += bool(line.strip())
        found = PREFIX.match(line)
        if found is not None:
            texts[found[1]].append(number)
    hosts = {name: where for name, where in texts.items() if may_be_host(name.decode())}
    named = sum(map(len, hosts.values()))
    unclear = any(not states_host(name.decode()) for name in hosts)
    if not unclear or named < max(SHARE * filled, FEWEST_LINES * len(hosts)):
        return None
    if not any(shown in lines[number] for where in hosts.values() for number in where):
        return None
    return [
        (short(name.decode()), where, b"".join(_bare(lines[n], name) for n in where))
        for name, where in hosts.items()
    ]


def may_be_host(name: str) -> bool:
    """Return whether a word may be a host: a name that ends in a number and counts nothing else."""
    stem = short(name).rstrip("0123456789").lower()
    return (
        DOMAIN.fullmatch(name) is not None
        and stem != short(name).lower()
        and stem.rstrip("-") not in OTHER_WORDS
        and INTERFACE.fullmatch(name) is None
    )


def _bare(line: bytes, name: bytes) -> bytes:
    text = line[len(name) + 1 :]
    return text.removeprefix(b" ") + b"\n"
