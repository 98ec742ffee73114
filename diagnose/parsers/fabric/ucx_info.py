"""Transports that UCX has, as ``ucx_info -d`` prints them.

::

    # Memory domain: mlx5_0
    #      Transport: rc_mlx5
    #         Device: mlx5_0:1
    #           Type: network
    #            bandwidth: 45962.68/ppn + 0.00 MB/sec

Each listing is one ``ucx.transports`` with ``transports`` (each once), ``devices`` of the network, ``failed``
(devices of which an interface could not be opened), ``rdma`` (a transport over verbs is among them) and ``gdr``
(GPUDirect copies are). A build without these parts lists the transports that it has and says nothing of the others.

*Empty*: UCX was not asked. *Cut off*: a listing that begins in its middle gives what is left of it; one
that ends early lacks transports, so ``whole`` says that memory domains of the host itself were reached.
"""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature
from diagnose.parsers.base import BlockParser, make_event

_LINE = LazyPattern(r"^\s*#\s+(?P<key>Memory domain|Transport|Device|Type):\s+(?P<value>\S+)")
_FAILED = LazyPattern(r"^\s*#\s+< failed to open interface >")
_INSIDE = LazyPattern(r"^\s*(?:#|$)")
_VERBS = ("rc", "dc", "ud", "srd", "gga")
"""Families of transports over verbs; each has a suffix for the driver, such as ``rc_mlx5``."""

_HOST = ("self", "sysv", "posix", "cma", "xpmem", "knem")


def _read(lines: list[Line]) -> Iterator[Event]:
    transports: list[str] = []
    devices: list[str] = []
    failed: list[str] = []
    domains: list[str] = []
    for line in lines:
        if _FAILED.match(line.text) and devices:
            failed.append(devices[-1])
        row = _LINE.match(line.text)
        if row is None:
            continue
        if row["key"] == "Memory domain":
            domains.append(row["value"])
        elif row["key"] == "Transport":
            transports.append(row["value"])
        elif row["key"] == "Device":
            devices.append(row["value"])
    yield make_event("ucx.transports", Nature.SETTING, lines[0], {
        "transports": [*sorted(set(transports))],
        "devices": [*sorted(set(devices))],
        "failed": [*sorted(set(failed))],
        "rdma": any(one.split("_")[0] in _VERBS for one in transports),
        "gdr": "gdr_copy" in transports,
        "cuda": any(one.startswith("cuda") for one in transports),
        "whole": any(one in _HOST for one in domains),
    }, end_line=lines[-1].number)  # fmt: skip


PARSERS = (
    BlockParser(
        name="ucx-info",
        title="ucx_info -d: transports and devices of UCX",
        opens=("Memory domain: ",),
        starts=lambda line: _LINE.match(line.text) is not None,
        ends=lambda lines, following: _INSIDE.match(following.text) is None,
        read=_read,
        emits=("ucx.transports",),
        sample=(
            "# Memory domain: self\n#      Transport: self\n#         Device: memory\n"
            "# Memory domain: mlx5_0\n#      Transport: rc_mlx5\n#         Device: mlx5_0:1\n"
            "#           Type: network\n#            bandwidth: 45962.68/ppn + 0.00 MB/sec\n"
        ),
        maximum=3_000,
    ),
)
