"""Tests of collectives against what machines of their kind give.

``bench.judged`` is a test with a plateau whose expectation is known, or which crosses nodes. Of
one node the expectation is that of ``rules/bandwidths.yaml``. Across nodes it is a row of that
table for a network of this rate, else what a flat ring over all adapters gives: all of them
together, or less where the links inside a node are slower. ``expected_busbw`` is what any healthy
machine reaches, ``best_busbw`` what it can reach with NVLS, ``ratio`` and ``of_best`` what was
measured over either; ``basis`` is ``table`` or ``network``. ``adapters`` and ``adapter_gbps`` are
those of one node, ``of_one_adapter`` what was measured over the rate of one of them, and
``in_node_busbw`` what the table has for one such node.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from diagnose.facts.bandwidth.adapters import Adapters, Network
from diagnose.facts.bandwidth.known import Plateau, plateau_of
from diagnose.model.event import Event, Value

EVENTS = ("bench.judged",)

RINGS = frozenset({"all_reduce", "all_gather", "reduce_scatter"})
"""Collectives whose bus bandwidth is that of a ring, whatever the number of ranks."""


def derive(tests: Sequence[Event], adapters: Adapters) -> Iterator[Event]:
    """Yield each test that can be judged, at its place."""
    for test in tests:
        measured, nodes = test.number("plateau_busbw"), test.fields.get("nodes")
        gpus, model = test.fields.get("gpus_per_node"), test.fields.get("gpu_model")
        if test.fields.get("collective") not in RINGS or not measured or not isinstance(gpus, int):
            continue
        if not isinstance(nodes, int) or not isinstance(model, str):
            continue
        hosts = test.fields.get("hosts")
        network = adapters.network([*map(str, hosts)] if isinstance(hosts, list) else [])
        inside = plateau_of(model, gpus, 1, None)
        expected = (
            _of_one_node(inside) if nodes == 1 else _across(model, gpus, nodes, network, inside)
        )
        if expected or nodes > 1:
            reduces = test.fields.get("collective") == "all_reduce"
            fields = {**_shown(test), **_network(network, measured), **(expected or _UNKNOWN)}
            fields["in_node_busbw"] = inside.ring if inside is not None else None
            level, best = expected.get("expected_busbw"), expected.get("best_busbw")
            fields["ratio"] = measured / level if isinstance(level, float) else None
            fields["of_best"] = measured / best if isinstance(best, float) and reduces else None
            yield replace(test, name=EVENTS[0], fields=fields, fact=None)


_UNKNOWN: dict[str, Value] = {"expected_busbw": None, "best_busbw": None, "basis": None}


def _of_one_node(inside: Plateau | None) -> dict[str, Value]:
    if inside is None:
        return {}
    return _expectation(inside.ring, inside.best, "table")


def _across(
    model: str, gpus: int, nodes: int, network: Network | None, inside: Plateau | None
) -> dict[str, Value]:
    total = None if network is None else network.adapters * network.gbps
    known = plateau_of(model, gpus, nodes, total)
    if known is not None:
        return _expectation(known.ring, known.best, "table")
    if network is None:
        return {}
    ring = network.busbw(gpus)
    return _expectation(min(ring, inside.ring) if inside is not None else ring, None, "network")


def _expectation(ring: float, best: float | None, basis: str) -> dict[str, Value]:
    reachable = None if best is None else float(best)
    return {"expected_busbw": float(ring), "best_busbw": reachable, "basis": basis}


def _shown(test: Event) -> dict[str, Value]:
    names = (
        "tool", "collective", "ranks", "nodes", "hosts", "gpus_per_node", "gpu_model",
        "plateau_busbw", "plateau_size",
    )  # fmt: skip
    return {name: test.fields.get(name) for name in names}


def _network(network: Network | None, measured: float) -> dict[str, Value]:
    if network is None:
        return {"adapters": None, "adapter_gbps": None, "of_one_adapter": None}
    one = measured / (network.gbps / 8)
    return {"adapters": network.adapters, "adapter_gbps": network.gbps, "of_one_adapter": one}
