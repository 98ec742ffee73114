r"""How GPUs and adapters of a host are connected: ``nvidia-smi topo -m``.

::

        GPU0	GPU1	NIC0	NIC1	CPU Affinity	NUMA Affinity	GPU NUMA ID
    GPU0	 X 	NV18	PIX	SYS	0-47,96-143	0		N/A
    GPU1	NV18	 X 	SYS	NODE	48-95,144-191	1		N/A

Each GPU is one event ``nvidia_smi.topology``: ``index``; ``nvlinks``, the bonded links to the GPU it has most
of; ``nvlinks_least``, those to the GPU it has fewest to; ``nvlinks_usual``, what most pairs of the host
have; ``weak_peers``, GPUs to which it has fewer than that, and ``weakest``, whether no GPU
of the host has more of these; ``nic_distance``, the path to its nearest adapter (``PIX``, ``PXB``, ``PHB``, ``NODE``, ``SYS``, near to far);
``nic_steps`` the same as a number from 0, and ``nic_steps_best`` the smallest on the host; ``paths``, those
to all adapters as ``mlx5_0 PIX``, by the legend where it was kept; ``flat``, that no path of the host
goes over a PCIe switch, as in a virtual machine, which shows no topology.

A machine without NVLink has 0 everywhere, which is no fault. Older releases name the adapter itself
(``mlx5_0``) in the heading and write ``SOC`` for ``SYS``; machines with ConnectX-8 have columns ``DD0`` beside
``NIC0``, the direct paths. Empty: one GPU and no adapter. Cut off: a row with fewer cells than the
heading has columns for GPUs and adapters is left out.
"""

from collections import Counter
from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature
from diagnose.parsers.base import BlockParser, make_event

_HEADING = LazyPattern(r"^\s*(?:GPU\d{1,3}\s+)+(?:\S+\s+)*?CPU Affinity")
_ROW = LazyPattern(
    r"^\s*(?P<name>GPU\d{1,3}|NIC\d{1,3}|DD\d{1,3}|[a-z][\w-]*\d)\s+(?:X|NV\d+|PIX|PXB|PHB|NODE|SYS|SOC)\b"
)
_NAME = LazyPattern(r"^\s*(?P<column>(?:NIC|DD)\d{1,3}): (?P<device>\S+)\s*$")
_LEGEND = LazyPattern(r"^\s*(?:$|(?:NIC )?Legend:|[A-Z]+#?\s+= |(?:NIC|DD)\d{1,3}: )")
_GPU = LazyPattern(r"GPU(\d{1,3})$")

NEAR_TO_FAR = ("PIX", "PXB", "PHB", "NODE", "SYS")
"""One bridge, several bridges, the host bridge, two host bridges of one NUMA node, two sockets."""

SWITCHED = ("PIX", "PXB")
"""Paths over PCIe switches alone."""


def _columns(heading: str) -> list[str]:
    return heading.partition("CPU Affinity")[0].split()


def _rows(lines: list[Line]) -> dict[str, tuple[Line, list[str]]]:
    """Return the cells of each row below the GPU and adapter columns."""
    columns = _columns(lines[0].text)
    found = {}
    for line in lines[1:]:
        if _ROW.match(line.text):
            name, *cells = line.text.replace("SOC", "SYS").split()
            if len(cells) >= len(columns):
                found[name] = line, cells[: len(columns)]
    return found


def _ends(lines: list[Line], following: Line) -> bool:
    return _ROW.match(following.text) is None and _LEGEND.match(following.text) is None


def _read(lines: list[Line]) -> Iterator[Event]:
    columns = _columns(lines[0].text)
    gpus = {
        name: (line, dict(zip(columns, cells, strict=True)))
        for name, (line, cells) in _rows(lines).items()
        if _GPU.match(name)
    }
    links = {name: _nvlinks(paths) for name, (_, paths) in gpus.items()}
    counts = Counter(count for peers in links.values() for count in peers.values())
    usual = max(counts, key=lambda count: (counts[count], count), default=0)
    weak = {
        name: [_index(peer) for peer, count in peers.items() if count < usual]
        for name, peers in links.items()
    }
    most = max(map(len, weak.values()), default=0)
    steps = {name: _nearest(paths) for name, (_, paths) in gpus.items()}
    best = min((step for step in steps.values() if step is not None), default=None)
    devices = {row["column"]: row["device"] for line in lines if (row := _NAME.match(line.text))}
    flat = not any(cell in SWITCHED for _, paths in gpus.values() for cell in paths.values())
    for name, (line, _) in gpus.items():
        step = steps[name]
        yield make_event("nvidia_smi.topology", Nature.SETTING, line, {
            "index": _index(name),
            "gpu": str(_index(name)),
            "nvlinks": max(links[name].values(), default=0),
            "nvlinks_least": min(links[name].values(), default=0),
            "nvlinks_usual": usual,
            "weak_peers": [*weak[name]],
            "weakest": len(weak[name]) == most,
            "nic_distance": NEAR_TO_FAR[step] if step is not None else None,
            "nic_steps": step,
            "nic_steps_best": best,
            "paths": [
                f"{devices.get(column, column)} {path}"
                for column, path in gpus[name][1].items()
                if not _GPU.match(column) and path in NEAR_TO_FAR
            ],
            "flat": flat,
        })  # fmt: skip


def _index(name: str) -> int:
    return int(name.removeprefix("GPU"))


def _nvlinks(paths: dict[str, str]) -> dict[str, int]:
    """Return the bonded links to each other GPU, 0 where the path goes over PCIe."""
    return {
        peer: int(path[2:]) if path.startswith("NV") and path[2:].isdigit() else 0
        for peer, path in paths.items()
        if _GPU.match(peer) and path != "X"
    }


def _nearest(paths: dict[str, str]) -> int | None:
    distances = [
        NEAR_TO_FAR.index(path)
        for name, path in paths.items()
        if not _GPU.match(name) and path in NEAR_TO_FAR
    ]
    return min(distances, default=None)


PARSERS = (
    BlockParser(
        name="nvidia-smi-topo",
        title="nvidia-smi topo -m: NVLink between GPUs, and how near each one's adapter is",
        opens=("CPU Affinity",),
        starts=lambda line: _HEADING.match(line.text) is not None,
        ends=_ends,
        read=_read,
        emits=("nvidia_smi.topology",),
        sample=(
            "\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
            "GPU0\t X \tNV18\tPIX\tSYS\t0-47,96-143\t0\t\tN/A\n"
            "GPU1\tNV18\t X \tSYS\tNODE\t48-95,144-191\t1\t\tN/A\n"
        ),
        maximum=200,
    ),
)
