"""Everything that follows from records taken together and stands in no single line."""

from diagnose.facts import (
    bandwidth,
    call_sites,
    checkpoints,
    collectives,
    differences,
    ended_workers,
    endpoints,
    exits,
    fabric,
    fingerprints,
    gpu_clocks,
    index_failures,
    inits,
    losses,
    memory_growth,
    nccl_calls,
    pace,
    resume_points,
    scaling,
    serving,
    settings,
    several_jobs,
    stacks,
    stragglers,
    variable_values,
    variables,
    waiting,
)
from diagnose.facts.attempts import Attempts
from diagnose.facts.baseline import known
from diagnose.facts.clock import Clocks
from diagnose.facts.topology import known as of_topology
from diagnose.model.event import Clock, Event
from diagnose.model.reading import Reading

DERIVED = (
    *known.EVENTS,
    *of_topology.EVENTS,
    *checkpoints.EVENTS,
    *collectives.EVENTS,
    *bandwidth.EVENTS,
    *gpu_clocks.EVENTS,
    *fabric.EVENTS,
    *call_sites.EVENTS,
    *differences.EVENTS,
    *endpoints.EVENTS,
    *ended_workers.EVENTS,
    *exits.EVENTS,
    *fingerprints.EVENTS,
    *index_failures.EVENTS,
    *inits.EVENTS,
    *losses.EVENTS,
    *memory_growth.EVENTS,
    *nccl_calls.EVENTS,
    *pace.EVENTS,
    *resume_points.EVENTS,
    *scaling.EVENTS,
    *serving.EVENTS,
    *several_jobs.EVENTS,
    *stacks.EVENTS,
    *stragglers.EVENTS,
    *variable_values.EVENTS,
    *variables.EVENTS,
    *waiting.EVENTS,
)
"""Names of the derived events."""


def derive(reading: Reading, attempts: Attempts, clocks: Clocks, by_file: dict[str, Clock]) -> None:
    """Add the derived events and series to a reading.

    Args:
        reading: With ranks, hosts and attempts completed; changed in place.
        attempts: Of the input.
        clocks: Of the input, repaired.
        by_file: What the stamps of each file are measured against.
    """
    nccl = settings.versions(reading.events)["nccl"]
    nccl_calls.count_repeats(reading.events)
    stacks.name_pids(reading.events)
    found = [
        *checkpoints.saves(reading, clocks),
        *checkpoints.gaps(reading),
        *checkpoints.open_saves(reading, clocks),
        *losses.derive(reading, attempts, clocks, by_file),
        *memory_growth.growths(reading, by_file),
        *pace.derive(reading, attempts, clocks, by_file),
        *bandwidth.derive(reading.events, reading.topology),
        *gpu_clocks.derive([one for one in reading.events if one.name == "nvidia_smi.monitor"]),
        *fabric.derive(reading.events, clocks),
        *call_sites.derive(reading.events),
        *differences.derive(reading.events),
        *endpoints.derive(reading),
        *ended_workers.derive(reading.events),
        *exits.derive(reading.events, clocks),
        *fingerprints.derive(reading.events),
        *index_failures.derive(reading),
        *nccl_calls.derive(reading.events),
        *serving.derive(reading.events, clocks),
        *several_jobs.derive(reading.events),
        *variables.names(reading.events, nccl),
        *variable_values.values(reading.events, nccl),
        *stacks.derive(reading.events),
    ]
    insert(reading, attempts.placed(found))


def insert(reading: Reading, found: list[Event]) -> None:
    """Add derived events to a reading, in the order of sources and lines."""
    if not found:
        return
    place = {source.name: number for number, source in enumerate(reading.sources)}
    reading.events.extend(found)
    reading.events.sort(key=lambda one: (place.get(one.file, len(place)), one.file, one.line))
