"""What the readers of metric records share: from rows of named values to measurements.

Not a parser. The first rows of a file tell what its columns do not state: whether times without a unit
are in milliseconds, whether ``time`` is the time of a step or a clock, and whether the time of a step is
logged at all. Where it is not, it is made of the seconds since the start (``step_clock``).
"""

import json
from collections.abc import Iterator, Mapping
from itertools import chain, islice

from diagnose.model.event import Line, Measurement
from diagnose.parsers.metric_names import (
    bare_time_factor,
    canonical,
    located,
    metrics,
    number,
    step_of,
)
from diagnose.parsers.step_clock import StepClock, elapsed

PROBE = 400
"""Rows looked at to learn what the columns do not state."""

BACKWARD = 0.1
"""Share of the steps at which a clock may go back."""

HEAD_LINES = 20
"""First lines that tell whether a text is one of records in JSON."""

Row = tuple[Line, dict[str, object]]


def record_of(text: str) -> dict[str, object] | None:
    """Return an object in JSON with the names of nested ones joined by ``/``, None for other text."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    flat: dict[str, object] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            flat |= {f"{name}/{inner}": deep for inner, deep in value.items()}
        else:
            flat[name] = value
    return flat


def holds_records(head: str) -> bool:
    """Return whether most first lines of a text are objects and one of them is a metric record."""
    texts = [text for line in head.splitlines()[:HEAD_LINES] if (text := line.strip())]
    if not texts or not texts[0].startswith("{"):
        return False
    records = [record for text in texts if (record := record_of(text)) is not None]
    whole = len(records) >= max(1, 0.8 * (len(texts) - 1))
    return whole and any(step_of(r) is not None and metrics(r) for r in records)


def measure(rows: Iterator[Row]) -> Iterator[Measurement]:
    """Yield the measurement of each row that has a step and a metric.

    Where no row has a step there is one for each epoch, and its number counts.
    """
    probe = list(islice(rows, PROBE))
    factor, time_is_step = _factor(probe), _time_is_step(probe)
    count = step_of if any(step_of(row) is not None for _, row in probe) else _whole_epoch
    is_timed = time_is_step or any("step_time" in metrics(row) for _, row in probe)
    clock = StepClock()
    for line, row in chain(probe, rows):
        values = metrics(row, bare_times=factor, time_is_step=time_is_step)
        step = count(row)
        if not values or step is None:
            continue
        place = located(line, row)
        reading = None if is_timed else elapsed(row)
        if reading is not None:
            time = clock.step_time((place.rank, place.host), step, *reading)
            if time is not None and "loss" in values:
                values["step_time"] = time
        yield Measurement(place, step, values)


def _whole_epoch(row: Mapping[str, object]) -> float | None:
    epoch = number(row.get("epoch"))
    return epoch if epoch is not None and epoch.is_integer() else None


def _time_is_step(rows: list[Row]) -> bool:
    """Return whether ``time`` is no clock: a clock goes back at a restart only."""
    times = [
        (step, time)
        for _, row in rows
        if (time := number(row.get("time"))) is not None and (step := step_of(row)) is not None
    ]
    moves = [b[1] - a[1] for a, b in zip(times, times[1:], strict=False) if b[0] > a[0]]
    return sum(move < 0 for move in moves) > BACKWARD * len(moves)


def _factor(rows: list[Row]) -> float:
    """Return the factor to seconds of times without a unit, learnt from one writer's rows."""
    series = []
    writer: tuple[int | None, str | None] | None = None
    for line, row in rows:
        place = located(line, row)
        writer = writer or (place.rank, place.host)
        time = _bare_time(row)
        if (place.rank, place.host) == writer and time is not None:
            series.append((place.time, step_of(row), time))
    return bare_time_factor(series)


def _bare_time(row: Mapping[str, object]) -> float | None:
    name = next((n for n in row if canonical(n) == ("step_time", 1.0, False)), None)
    return number(row[name]) if name else None
