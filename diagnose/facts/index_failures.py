"""Lookups outside a table, and how far the run had come.

``train.index_failed``
    PyTorch's error on the CPU, whose text says that the index or label was out of range, as
    ``message``. An assertion in a kernel is none: it does not show whether data or code gave the
    index. ``step`` is the last one above it; ``steps_done`` counts from the start of the run,
    or from the first step shown if it was resumed. Without steps in the file there is no event.
"""

from collections.abc import Iterator

from diagnose.facts.attempts import step_counters
from diagnose.facts.points import step_before, whole
from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event
from diagnose.model.reading import Reading

EVENTS = ("train.index_failed",)

_ON_CPU = LazyPattern(r"index out of range in self|Target -?\d+ is out of bounds")
"""PyTorch, aten/src/ATen/native: EmbeddingBag.cpp, LossNLL.cpp."""


def derive(reading: Reading) -> Iterator[Event]:
    """Yield the failed lookups behind steps."""
    failed = [one for one in reading.events if _message(one)]
    if not failed:
        return
    counters = {(one.file, one.attempt): one for one in step_counters(reading.points)}
    resumed = {one.file for one in reading.events if one.name.startswith("ckpt.load")}
    for event in failed:
        points = counters.get((event.file, event.attempt))
        step = step_before(points, event.line) if points is not None else None
        if points is None or step is None:
            continue
        first = whole(points.steps[0]) if event.file in resumed else 0
        yield Event(
            name=EVENTS[0], nature=event.nature, file=event.file, line=event.line,
            end_line=event.end_line, text=event.text,
            fields={
                "message": _message(event), "step": step, "steps_done": step - (first or 0),
            },
            time=event.time, clock=event.clock, rank=event.rank, local_rank=event.local_rank,
            host=event.host, attempt=event.attempt,
        )  # fmt: skip


def _message(event: Event) -> str | None:
    if event.name == "python.error_line" and event.fields.get("type") == "IndexError":
        text = str(event.fields.get("message"))
        return text if _ON_CPU.match(text) else None
    return None
