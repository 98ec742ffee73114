"""Metrics as JSON: one object a line, or the ``log_history`` of ``trainer_state.json``.

W&B export, LLaMA-Factory, ms-swift and home-made loggers write lines; Hugging Face the latter.
A record needs a step under one of its usual names and one known metric; columns for rank, host and
time say whose it is. Nested objects are read one level deep (``{"train": {"loss": 1}}``). Means since
the start (LLaMA-Factory's ``throughput``, ms-swift's ``train_speed``) are left out: the time of a step
is made of ``elapsed_time``.

*Empty*: no record was written. *Cut off*: a last line that is no whole object is left out.
"""

import json
from collections.abc import Iterator
from itertools import chain, islice

from diagnose.model.event import Event, Line, Measurement
from diagnose.parsers.base import Document, FileParser, Note
from diagnose.parsers.gate import Gate
from diagnose.parsers.metric_names import ALIASES, metrics, step_of, with_nan_events
from diagnose.parsers.metric_rows import Row, holds_records, measure, record_of


def accepts(name: str, head: bytes) -> bool:
    """Return whether most first lines are objects and one of them is a metric record."""
    if is_trainer_state(name, head):
        return True
    return holds_records(head.decode("utf-8-sig", "replace"))


def is_trainer_state(name: str, head: bytes) -> bool:
    """Return whether a file is Hugging Face's ``trainer_state.json``."""
    return name.endswith(".json") and head.lstrip().startswith(b"{") and b'"log_history"' in head


def read(document: Document) -> Iterator[Event | Measurement]:
    """Read a metric file.

    Raises:
        Note: Lines before the last are not JSON, or the trainer state is cut off.
    """
    lines = document.lines()
    first = next(lines, None)
    if first is None:
        return
    opening = list(islice(lines, 400))
    head = "\n".join(line.text for line in [first, *opening]).encode()
    if is_trainer_state(document.name, head):
        yield from with_nan_events(_trainer_state(document))
    else:
        yield from with_nan_events(_records(chain([first], opening, lines)))


def _trainer_state(document: Document) -> Iterator[Measurement]:
    try:
        state = json.loads(document.text())
    except ValueError as error:
        raise Note(f"not a whole JSON object: {error}") from None
    history = state.get("log_history") if isinstance(state, dict) else None
    records = [r for r in history if isinstance(r, dict)] if isinstance(history, list) else []
    lines = list(document.lines())
    places = [line for line in lines if '"step":' in line.text]
    if len(places) != len(records):
        places = [lines[0]] * len(records)
    for line, record in zip(places, records, strict=True):
        if "train_runtime" in record:  # means over the whole run
            continue
        if values := metrics(record):
            yield Measurement(line, step_of(record), values)


def _records(lines: Iterator[Line]) -> Iterator[Measurement]:
    bad: list[int] = []
    yield from measure(_rows(lines, bad))
    if bad:
        raise Note(f"{len(bad)} lines are not JSON, the first is line {bad[0]}")


def _rows(lines: Iterator[Line], bad: list[int]) -> Iterator[Row]:
    broken: int | None = None
    for line in lines:
        text = line.text.strip().lstrip("\ufeff")
        if not text:
            continue
        if broken is not None:
            bad.append(broken)
        record = record_of(text)
        broken = line.number if record is None else None
        if record is not None:
            yield line, record


PARSERS = (
    FileParser(
        name="metrics-jsonl",
        title="Metric records as JSON lines, and trainer_state.json",
        accepts=accepts,
        gate=Gate(starts=(b"{",)),
        read=read,
        emits=(*ALIASES, "train.nan_loss", "train.nan_gradient"),
        sample='{"step": 10, "loss": 1.7313, "lr": 9.9e-05, "step_time": 0.52, "rank": 0}\n{"step": 11, "loss": 1.7290, "lr": 9.9e-05, "step_time": 0.53, "rank": 0}\n',
    ),
)
