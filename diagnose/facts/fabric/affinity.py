"""GPUs whose way to the network is longer than it could be.

``gpu.far_from_nic`` is a GPU whose nearest adapter (of those NCCL uses, where that is known) is
reached over the host bridges of a socket (``path`` NODE) or over another socket (SYS), while a
GPU beside it, or the same GPU on most other hosts (``basis`` siblings or hosts), has one behind
its own PCIe switch (``best``). ``adapters`` counts those of the host, ``gpus`` its GPUs: fewer
adapters than GPUs make some far by design.

A virtual machine shows no topology, so its paths say nothing and are left out.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace

from diagnose.facts.fabric.adapters import Adapters, place
from diagnose.facts.records import Named
from diagnose.facts.stated import FEWEST, MAJORITY
from diagnose.model.event import Event, Value

EVENTS = ("gpu.far_from_nic",)

NEAR_TO_FAR = ("PIX", "PXB", "PHB", "NODE", "SYS")
NEAR = NEAR_TO_FAR[:2]
FAR = NEAR_TO_FAR[3:]

Nearest = tuple[str, list[str]]
"""The path, and the adapters that have it."""


def derive(named: Named, adapters: Adapters) -> Iterator[Event]:
    """Yield the GPUs that are far from every adapter, at their row of the matrix."""
    found: dict[str, dict[int, tuple[Event, Nearest]]] = defaultdict(dict)
    for event in named.get("nvidia_smi.topology", ()):
        nearest = None if event.fields.get("flat") else _nearest(event, adapters)
        index = event.number("index")
        if nearest is not None and index is not None:
            found[place(event)][int(index)] = event, nearest
    votes: dict[int, Counter[str]] = defaultdict(Counter)
    for gpus in found.values():
        for index, (_, (path, _)) in gpus.items():
            votes[index][path] += 1
    for gpus in found.values():
        best = min((path for _, (path, _) in gpus.values()), key=NEAR_TO_FAR.index)
        for index, (event, (path, devices)) in sorted(gpus.items()):
            usual = _usual(votes[index])
            better = usual if usual in NEAR else best
            if path in FAR and better in NEAR:
                fields: dict[str, Value] = {
                    "index": index,
                    "path": path,
                    "nearest": [*devices],
                    "best": better,
                    "basis": "hosts" if usual in NEAR else "siblings",
                    "adapters": len(_paths(event, adapters)),
                    "gpus": len(gpus),
                }
                yield replace(event, name=EVENTS[0], fields=fields, fact=None)


def _paths(event: Event, adapters: Adapters) -> list[tuple[str, str]]:
    """Return device and path of the adapters that count."""
    paths = event.fields.get("paths")
    pairs = [str(one).rsplit(" ", 1) for one in paths] if isinstance(paths, list) else []
    # without the legend the columns are numbers, which no list of NCCL's has
    used = [
        (device, path) for device, path in pairs if adapters.used(place(event), device) is not False
    ]
    return used or [(device, path) for device, path in pairs]


def _nearest(event: Event, adapters: Adapters) -> Nearest | None:
    paths = _paths(event, adapters)
    if not paths:
        return None
    nearest = min((path for _, path in paths), key=NEAR_TO_FAR.index)
    return nearest, [device for device, path in paths if path == nearest]


def _usual(votes: "Counter[str]") -> str | None:
    """Return the path that most hosts have for a GPU, None where there are too few hosts."""
    path, most = votes.most_common(1)[0]
    total = votes.total()
    return path if total >= FEWEST and most >= MAJORITY * total else None
