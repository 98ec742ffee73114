"""What the curves of loss, gradient norm and loss scale say beyond their single values."""

from collections.abc import Iterator

from diagnose.facts.attempts import Attempts
from diagnose.facts.clock import Clocks
from diagnose.facts.losses import jumps, overflow_runs, repeated_jumps, resumes, scale_falls, skips
from diagnose.facts.losses.resume_state import State
from diagnose.facts.losses.runs import Series, find_runs, loads_by_file
from diagnose.model.event import Clock, Event
from diagnose.model.reading import Reading

EVENTS = (
    *jumps.EVENTS, overflow_runs.FALL, *repeated_jumps.EVENTS, *resumes.EVENTS, skips.STREAK,
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
    found = list(jumps.jumps(reading, attempts, by_file))
    for jump in found:
        jump.attempt = attempts.at(jump.file, jump.line, jump.attempt)
    yield from found
    yield from repeated_jumps.derive(
        [jump for jump in found if jump.name == "train.loss_jump"], clocks
    )
    loads, series = loads_by_file(reading.events), Series.of(reading)
    losses = [one for one in reading.points if one.metric == "loss"]
    runs = find_runs(losses, loads, attempts)
    state = State(series, reading.events)
    yield from resumes.resumes(runs, series, state, clocks, by_file)
    yield from scale_falls.scale_falls(reading, attempts, by_file)
    yield from overflow_runs.falls(reading)
    yield from skips.streaks(reading, attempts, loads, found, by_file)
