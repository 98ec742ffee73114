"""Which GPU is meant: tools count them, kernels and NCCL name their PCI address."""

from collections.abc import Iterable, Mapping

from diagnose.facts.placement import Process
from diagnose.model.event import Event

COUNTING = ("dcgm.",)
"""Beginnings of the names of records that give a GPU as nvidia-smi counts it."""

OF_A_PROCESS = ("cuda.error", "nccl.cuda_failure")
"""Errors of the GPU that the process itself uses, which they do not name by its address."""


def gpu_indexes(events: Iterable[Event]) -> dict[str, dict[str, int]]:
    """Return by host the index of each PCI address, from the rows of nvidia-smi's tables."""
    found: dict[str, dict[str, int]] = {}
    for event in events:
        index = event.fields.get("index")
        if event.host and event.gpu and isinstance(index, int):
            found.setdefault(event.host, {})[event.gpu] = index
    return found


def address_gpus(
    events: Iterable[Event],
    indexes: Mapping[str, Mapping[str, int]],
    processes: Iterable[Process],
) -> None:
    """Give counted GPUs their address where it is known, so that one GPU has one name, in place.

    Args:
        events: Those that only count, see ``COUNTING``.
        indexes: As of ``gpu_indexes``.
        processes: Those that state both are asked as well.
    """
    addresses = {
        (host, str(index)): address
        for host, table in indexes.items()
        for address, index in table.items()
    }
    for process in processes:
        if process.host and process.gpu and process.nvml_dev is not None:
            addresses.setdefault((process.host, str(process.nvml_dev)), process.gpu)
    for event in events:
        if event.host and event.gpu:
            event.gpu = addresses.get((event.host, event.gpu), event.gpu)


def place_errors(events: Iterable[Event], placements: Mapping[int, Process]) -> None:
    """Give errors of a rank the address of its GPU where it is known, in place.

    Args:
        events: Those ``OF_A_PROCESS``, with ranks and attempts completed.
        placements: By global rank.
    """
    for event in events:
        if event.rank is None:
            continue
        own = placements.get(event.rank)
        if own is not None and own.gpu is not None and own.attempt == event.attempt:
            event.gpu = own.gpu
