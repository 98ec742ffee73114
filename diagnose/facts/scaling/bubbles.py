"""The idle share (p-1)/(v*m+p-1) of a pipeline: p stages, m micro-batches, v chunks a stage."""

from collections.abc import Iterator, Mapping

from diagnose.calc import training
from diagnose.facts import settings
from diagnose.facts.points import event_from
from diagnose.model.event import Event, Value
from diagnose.model.reading import Reading

EVENT = "train.pipeline_bubble"

SAID_BY = "pipeline_model_parallel_size"
"""Argument whose line shows it."""

RATES = ("tflops", "mfu")
"""Metrics that say whether the GPUs are used well in spite of it."""


def bubbles(reading: Reading) -> Iterator[Event]:
    """Yield the idle share of the pipeline that the printed arguments make.

    Args:
        reading: Its arguments, and its series for ``rated``: how well the GPUs are used is logged.
    """
    lines = [
        event
        for event in reading.events
        if event.name == "job.argument" and event.fields.get("name") == SAID_BY
    ]
    arguments = settings.arguments(reading.events)
    layout = settings.parallel_layout(arguments)
    stages, rounds = layout["pp"], layout["micro_batches"]
    if not lines or not stages or stages < 2 or not rounds:
        return
    chunks = _chunks(arguments, stages)
    fields: dict[str, Value] = {
        "stages": stages,
        "micro_batches": rounds,
        "chunks": chunks,
        "share": training.bubble(stages, rounds, chunks),
        "rated": any(points.metric in RATES for points in reading.points),
    }
    yield event_from(lines[-1], EVENT, fields)


def _chunks(arguments: Mapping[str, Value], stages: int) -> int:
    """Return the model chunks of a stage: more than one in an interleaved schedule."""
    stated, layers, of_a_chunk, all_stages = (
        settings.whole(arguments.get(name))
        for name in (
            "virtual_pipeline_model_parallel_size",
            "num_layers",
            "num_layers_per_virtual_pipeline_stage",
            "pipeline_stages",
        )
    )
    if stated:
        return stated
    if layers and of_a_chunk:
        return max(1, layers // stages // of_a_chunk)
    return max(1, all_stages // stages) if all_stages else 1
