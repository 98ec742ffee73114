"""What machines are known to give: ``rules/bandwidths.yaml``."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from diagnose import shipped
from diagnose.facts.baseline.gpu_names import same_model

SAME_RATE = 0.05
"""Share by which the rates of two networks may differ and still be one kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plateau:
    """Bus bandwidth of one kind of machine in large messages, in GB/s.

    Args:
        gpu: Model.
        gpus: Of one node.
        ring: What any healthy machine of the kind gives.
        best: All-reduce with all that it has.
        form: Form factor, None where all of the model are alike.
        nodes: That it is for; the fewest where a network is crossed.
        network: Gb/s of all adapters of one node, None where none is crossed.
    """

    gpu: str
    gpus: int
    ring: float
    best: float
    form: str | None = None
    nodes: int = 1
    network: float | None = None

    def is_of(self, model: str) -> bool:
        """Return whether a printed name of a GPU may be of this kind."""
        return same_model(f"{self.gpu} {self.form}" if self.form else self.gpu, model)


@cache
def plateaus() -> tuple[Plateau, ...]:
    """Return all kinds, in the order in which they are tried.

    Raises:
        InstallationError: The shipped rules are missing.
    """
    entries: list[Mapping[str, Any]] = shipped.table("bandwidths")["plateaus"]
    return tuple(Plateau(**entry) for entry in entries)


def nodes_of(gpus: int) -> tuple[Plateau, ...]:
    """Return the kinds of single nodes with so many GPUs."""
    return tuple(one for one in plateaus() if one.nodes == 1 and one.gpus == gpus)


def plateau_of(model: str, gpus: int, nodes: int, network: float | None) -> Plateau | None:
    """Return what is known of a kind of machine, None if nothing is.

    Args:
        model: Name that the driver prints.
        gpus: Of one node.
        nodes: How many.
        network: Gb/s of all adapters of one node, None if unknown.
    """
    for one in plateaus():
        enough = one.nodes == nodes or (one.network is not None and one.nodes < nodes)
        if one.gpus == gpus and enough and one.is_of(model) and _same_network(one, network):
            return one
    return None


def _same_network(known: Plateau, found: float | None) -> bool:
    if known.network is None:
        return True
    return found is not None and abs(found - known.network) <= SAME_RATE * known.network
