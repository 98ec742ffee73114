"""What the curves of loss, gradient norm and loss scale say beyond their single values."""

from collections.abc import Iterator

from diagnose.facts.attempts import Attempts
from diagnose.facts.clock import Clocks
from diagnose.facts.losses import (
    first_nans,
    gradient_rows,
    jumps,
    last_climbs,
    overflow_runs,
    overflow_streaks,
    precursors,
    repeated_jumps,
    repeats,
    resumes,
    rises,
    same_ranks,
    scale_falls,
    spike_clusters,
)
from diagnose.facts.losses.resume_state import State
from diagnose.facts.losses.runs import Series, find_runs, loads_by_file, of_few_writers
from diagnose.model.event import Clock, Event
from diagnose.model.reading import Reading

EVENTS = (
    *jumps.EVENTS, *repeated_jumps.EVENTS, *repeats.EVENTS, *resumes.EVENTS,
    *gradient_rows.EVENTS, overflow_runs.FALL, overflow_streaks.STREAK, spike_clusters.NAME,
    rises.RISE, same_ranks.NAME, first_nans.NAME, last_climbs.NAME,
)  # fmt: skip


def derive(
    reading: Reading, attempts: Attempts, clocks: Clocks, by_file: dict[str, Clock]
) -> Iterator[Event]:
    """Yield the events that follow from these curves.

    Args:
        reading: With ranks, hosts and attempts completed.
        attempts: Of the input.
        clocks: Of the input, repaired.
        by_file: What the stamps of each file are measured against.
    """
    loads, series = loads_by_file(reading.events), Series.of(reading)
    losses, norms = (
        find_runs((one for one in reading.points if one.metric == metric), loads, attempts)
        for metric in ("loss", "grad_norm")
    )
    found = list(jumps.loss_jumps(losses, by_file))
    precursors.add(found, losses, series)
    state = State(series, reading.events)
    yield from found
    yield from jumps.gradient_jumps(norms, by_file)
    yield from gradient_rows.gradient_rows(norms, series, by_file)
    yield from repeated_jumps.derive(found, clocks)
    yield from spike_clusters.clusters(found, series)
    few = of_few_writers(losses)
    yield from rises.rises(few, state.chance, by_file)
    yield from last_climbs.climbs(few, reading.events, by_file)
    yield from repeats.repeats(few, series, by_file)
    yield from same_ranks.same_ranks((run.points for run in losses), by_file)
    yield from resumes.resumes(few, series, state, clocks, by_file)
    yield from first_nans.first_nans(reading.events)
    yield from scale_falls.scale_falls(reading, attempts, by_file)
    yield from overflow_runs.falls(reading)
    yield from overflow_streaks.streaks(reading, attempts, loads, found, by_file)
