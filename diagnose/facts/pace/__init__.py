"""What the times of steps say of how fast and how evenly the job runs."""

from collections.abc import Iterator

from diagnose.facts.attempts import Attempts
from diagnose.facts.clock import Clocks
from diagnose.facts.pace import data_shares, data_waits, levels, save_times, stalls, waves
from diagnose.facts.pace.joining import pace_of
from diagnose.facts.pace.segments import find_segments
from diagnose.model.event import Clock, Event
from diagnose.model.reading import Reading

EVENTS = (*data_waits.EVENTS, *levels.EVENTS, *stalls.EVENTS, *waves.EVENTS)


def derive(
    reading: Reading, attempts: Attempts, clocks: Clocks, by_file: dict[str, Clock]
) -> Iterator[Event]:
    """Add the metrics that follow from the times of steps, and yield the events.

    Args:
        reading: With ranks, hosts and attempts completed; its series are added to.
        attempts: Of the input.
        clocks: Of the input, repaired.
        by_file: What the stamps of each file are measured against.
    """
    reading.points.extend(data_shares.data_shares(reading.points))
    yield from data_waits.stalls(reading.points, by_file)
    yield from data_waits.epoch_starts(reading.points, by_file)
    yield from save_times.saves(reading, by_file)
    single = {event.file for event in reading.events if event.name == "train.single_step_times"}
    pace = pace_of(reading.points, attempts, single)
    if pace is not None:
        found = find_segments(pace.seconds)
        yield from levels.changes(reading, pace, found, by_file)
        yield from stalls.stalls(reading, pace, found, by_file)
        yield from waves.waves(reading, pace, found, by_file)
