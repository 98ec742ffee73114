"""What sizes, layout and rates say of how well the job uses its GPUs."""

from collections.abc import Iterator, Sequence

from diagnose.facts.job import JobModel
from diagnose.facts.scaling import bubbles, comm_ratios, efficiency, tensor_spans, utilisation
from diagnose.facts.sizes import Run
from diagnose.model.event import Clock, Event
from diagnose.model.reading import Reading

EVENTS = (bubbles.EVENT, efficiency.EVENT, tensor_spans.EVENT, utilisation.EVENT)


def derive(
    reading: Reading, job: JobModel, runs: Sequence[Run], by_file: dict[str, Clock]
) -> Iterator[Event]:
    """Add the metrics that follow from layout and rates, and yield the events.

    Args:
        reading: With ranks, hosts and attempts completed; its series are added to.
        job: Its sizes and placement.
        runs: Of the job at several sizes, by size; none where the input is one run.
        by_file: What the stamps of each file are measured against.
    """
    reading.points.extend(list(comm_ratios.comm_ratios(reading.points)))
    yield from bubbles.bubbles(reading)
    yield from tensor_spans.tensor_spans(reading.events, job)
    yield from efficiency.efficiencies(runs, reading.events)
    world = job.report.world_size
    yield from utilisation.utilisations(reading.events, reading.points, by_file, world)
