"""The idle share (p-1)/(v*m+p-1) of a pipeline: p stages, m micro-batches, v chunks a stage."""

from collections.abc import Iterator

from diagnose.model.event import Event, Nature, Value
from diagnose.model.reading import Reading

EVENTS = ("train.pipeline_bubble",)


def bubbles(reading: Reading) -> Iterator[Event]:
    """Yield the idle share of the pipeline that the printed arguments make."""
    arguments: dict[str, float] = {}
    last: Event | None = None
    for event in reading.events:
        value = event.fields.get("value")
        if event.name == "job.argument" and isinstance(value, int | float) and value > 0:
            name = str(event.fields.get("name"))
            arguments.setdefault(name, value)
            if name == "pipeline_model_parallel_size":
                last = event
    stages, batch = (
        arguments.get("pipeline_model_parallel_size"),
        arguments.get("global_batch_size"),
    )
    micro, replicas = arguments.get("micro_batch_size"), arguments.get("data_parallel_size")
    if last is None or not stages or stages < 2 or not (batch and micro and replicas):
        return
    rounds = batch / micro / replicas
    if rounds < 1:
        return
    chunks = arguments.get("virtual_pipeline_model_parallel_size", 1.0)
    fields: dict[str, Value] = {
        "stages": int(stages),
        "micro_batches": int(rounds),
        "chunks": int(chunks),
        "share": (stages - 1) / (chunks * rounds + stages - 1),
    }
    yield Event(
        name="train.pipeline_bubble", nature=Nature.MEASUREMENT, file=last.file, line=last.line,
        end_line=last.end_line, text=last.text, fields=fields, time=last.time, clock=last.clock,
        rank=last.rank, host=last.host, attempt=last.attempt,
    )  # fmt: skip
