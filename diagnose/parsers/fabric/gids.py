r"""Tables of RoCE addresses as ``show_gids`` prints them.

::

    DEV	PORT	INDEX	GID					IPv4  		VER	DEV
    ---	----	-----	---					------------  	---	---
    mlx5_0	1	0	fe80:0000:0000:0000:0e42:a1ff:fea4:94a8			v1	eth2
    mlx5_0	1	3	0000:0000:0000:0000:0000:ffff:0a08:0311	10.8.3.17  	v2	eth2
    n_gids_found=2

Each row is one ``ib.gid`` with ``device``, ``port``, ``index``, ``gid``, ``version`` (``v1``, ``v2``,
None on InfiniBand), ``kind`` (``link-local``, ``ipv4`` or ``ipv6``), ``netdev`` and ``whole``: the
table was read to its end, so an index that is not in it does not exist. Columns are told by their
form, so a paste that turned tabs into blanks reads the same; the IPv4 column only repeats the GID.

*Empty*: ``n_gids_found=0``, as in a container without the interfaces of its adapters. *Cut off*: rows
without a heading are read; without the last line ``whole`` is False.
"""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature
from diagnose.parsers.base import BlockParser, make_event
from diagnose.parsers.convert import gid_kind

_HEADING = LazyPattern(r"^\s*DEV\s+PORT\s+INDEX\s+GID\b")
_RULE = LazyPattern(r"^[\s-]+$")
_ROW = LazyPattern(
    r"^\s*(?P<device>[A-Za-z][\w.-]*)\s+(?P<port>\d+)\s+(?P<index>\d+)\s+"
    r"(?P<gid>(?:[0-9a-fA-F]{4}:){7}[0-9a-fA-F]{4})(?P<rest>.*)$"
)
_VERSION = LazyPattern(r"\b(?P<version>v[12])\b\s*(?P<netdev>\S+)?")
_END = LazyPattern(r"^\s*n_gids_found=\d+")


def _starts(line: Line) -> bool:
    return _HEADING.match(line.text) is not None or _ROW.match(line.text) is not None


def _ends(lines: list[Line], following: Line) -> bool:
    if _END.match(lines[-1].text):
        return True
    return not any(one.match(following.text) for one in (_ROW, _RULE, _END))


def _read(lines: list[Line]) -> Iterator[Event]:
    whole = _END.match(lines[-1].text) is not None
    for line in lines:
        row = _ROW.match(line.text)
        if row is None:
            continue
        version = _VERSION.search(row["rest"])
        yield make_event("ib.gid", Nature.MEASUREMENT, line, {
            "device": row["device"],
            "nic": row["device"],
            "port": int(row["port"]),
            "index": int(row["index"]),
            "gid": row["gid"].lower(),
            "version": version["version"] if version else None,
            "kind": gid_kind(row["gid"]),
            "netdev": version["netdev"] if version else None,
            "whole": whole,
        })  # fmt: skip


PARSERS = (
    BlockParser(
        name="show-gids",
        title="show_gids: addresses of RoCE adapters by index",
        opens=("INDEX", "fe80:0000:0000:0000:", "0000:0000:0000:0000:"),
        starts=_starts,
        ends=_ends,
        read=_read,
        emits=("ib.gid",),
        sample=(
            "DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV\n"
            "---\t----\t-----\t---\t\t\t\t\t------------  \t---\t---\n"
            "mlx5_0\t1\t0\tfe80:0000:0000:0000:0e42:a1ff:fea4:94a8\t\t\tv1\teth2\n"
            "mlx5_0\t1\t3\t0000:0000:0000:0000:0000:ffff:0a08:0311\t10.8.3.17  \tv2\teth2\n"
            "n_gids_found=2\n"
        ),
        maximum=2_000,
    ),
)
