"""Sources, events and series of a part as blocks of columns; see ``partial_columns``."""

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from diagnose.model.event import Clock, Event, Nature, Points
from diagnose.model.reading import SourceSummary
from diagnose.scanning.partial_columns import (
    NUMBER,
    TEXT,
    VALUE,
    WHOLE,
    TextsIn,
    TextsOut,
    checked,
    maybe,
)

Block = dict[str, Any]

EVENTS = 16_384
"""Events of one block."""

VALUES = 1 << 18
"""Values of series from which on a block is full."""

SOURCE = {
    "bytes": WHOLE,
    "lines": WHOLE,
    "rank": maybe(WHOLE),
    "local_rank": maybe(WHOLE),
    "host": maybe(TEXT),
    "attempt": WHOLE,
    "first_time": maybe(NUMBER),
    "last_time": maybe(NUMBER),
    "clock": TEXT,
}

EVENT = {
    "file": TEXT,
    "line": WHOLE,
    "text": TEXT,
    "time": maybe(NUMBER),
    "rank": maybe(WHOLE),
    "local_rank": maybe(WHOLE),
    "host": maybe(TEXT),
    "gpu": maybe(TEXT),
    "nic": maybe(TEXT),
    "communicator": maybe(TEXT),
    "pid": maybe(WHOLE),
    "stream": maybe(TEXT),
    "attempt": WHOLE,
    "count": WHOLE,
}

SERIES = {
    "metric": TEXT,
    "file": TEXT,
    "rank": maybe(WHOLE),
    "host": maybe(TEXT),
    "attempt": WHOLE,
}

NATURES = {one.value: one for one in Nature}
CLOCKS = {one.value: one for one in Clock}


@dataclass(slots=True)
class _Shape:
    """Events that say the same thing with the same fields.

    Args:
        head: Name, nature, fact, clock and the names of the fields.
        events: In their order.
    """

    number: int
    head: list[Any]
    events: list[Event]

    def columns(self) -> list[list[Any]]:
        return [*map(list, zip(*(one.fields.values() for one in self.events), strict=True))]


def sources_out(sources: Sequence[SourceSummary], texts: TextsOut) -> Block:
    """Return what is known of sources but for their names."""
    columns = {name: [*map(attrgetter(name), sources)] for name in SOURCE if name != "clock"}
    columns["clock"] = [one.clock.value for one in sources]
    new = texts.learn(columns.values())
    return {
        "new": new,
        "columns": {name: texts.packed(column) for name, column in columns.items()},
        "speakers": [[*map(list, one.speakers.items())] for one in sources],
    }


def sources_in(block: Block, names: Sequence[str], texts: TextsIn) -> list[SourceSummary]:
    """Return the sources of a block; see ``events_in`` for what it raises."""
    texts.add(block["new"])
    count = len(names)
    columns = [texts.unpacked(block["columns"][name], count, SOURCE[name]) for name in SOURCE]
    clocks = [CLOCKS[clock] for clock in columns.pop()]
    speakers = [_speakers(pairs) for pairs in checked(block["speakers"], frozenset({list}))]
    rows = zip(names, *columns, clocks, speakers, strict=True)
    return [
        SourceSummary(
            name=name, bytes=size, lines=lines, rank=rank, local_rank=local_rank, host=host,
            attempt=attempt, first_time=first, last_time=last, clock=clock, speakers=spoken,
        )
        for name, size, lines, rank, local_rank, host, attempt, first, last, clock, spoken in rows
    ]  # fmt: skip


def _speakers(pairs: list[Any]) -> dict[int, float | None]:
    ranks = checked([rank for rank, _ in pairs], WHOLE)
    return dict(zip(ranks, checked([time for _, time in pairs], maybe(NUMBER)), strict=True))


def events_out(events: Sequence[Event], texts: TextsOut) -> Block:
    """Return events, of which there is at least one."""
    shapes: dict[tuple[Any, ...], _Shape] = {}
    order = []
    for event in events:
        head = event.name, event.nature.value, event.fact, event.clock.value, *event.fields
        shape = shapes.get(head)
        if shape is None:
            head_out = [*head[:4], [*event.fields]]
            shape = shapes[head] = _Shape(len(shapes), head_out, [])
        shape.events.append(event)
        order.append(shape.number)
    columns = {name: [*map(attrgetter(name), events)] for name in EVENT}
    fields = [shape.columns() for shape in shapes.values()]
    new = texts.learn([*columns.values(), *(column for group in fields for column in group)])
    return {
        "new": new,
        "shapes": [shape.head for shape in shapes.values()],
        "order": order,
        "columns": {name: texts.packed(column) for name, column in columns.items()},
        "more_lines": texts.packed([one.end_line - one.line for one in events]),
        "fields": [[texts.packed(column) for column in group] for group in fields],
    }


def events_in(block: Block, texts: TextsIn) -> list[Event]:
    """Return the events of a block.

    Raises:
        LookupError: Something is missing in it.
        TypeError: Something else stands where columns belong.
        ValueError: Columns are of unequal length, or values of a wrong type.
    """
    texts.add(block["new"])
    order = checked(block["order"], WHOLE)
    count = len(order)
    columns = {
        name: texts.unpacked(block["columns"][name], count, kinds) for name, kinds in EVENT.items()
    }
    more = texts.unpacked(block["more_lines"], count, WHOLE)
    lines = columns["line"]
    ends = [line + rest if rest else line for line, rest in zip(lines, more, strict=True)]
    counts = Counter(order)
    shapes, rows = {}, {}
    heads = zip(block["shapes"], block["fields"], strict=True)
    for number, ((name, nature, fact, clock, keys), group) in enumerate(heads):
        checked([name, *keys], TEXT)
        checked([fact], maybe(TEXT))
        shapes[number] = name, NATURES[nature], fact, CLOCKS[clock]
        rows[number] = iter(_fields(keys, group, counts[number], texts))
    names, natures, facts, clocks = zip(*(shapes[number] for number in order), strict=True)
    fields = [next(rows[number]) for number in order]
    return [*map(_event, names, natures, facts, clocks, ends, fields, *columns.values())]


def _fields(
    keys: Sequence[str], group: Sequence[Any], count: int, texts: TextsIn
) -> list[dict[str, Any]]:
    """Return the fields of the events of one shape."""
    if len(keys) != len(group):
        raise ValueError(f"{len(group)} columns for {len(keys)} fields")
    if not keys:
        return [{} for _ in range(count)]
    columns = [texts.unpacked(column, count, VALUE) for column in group]
    # The lengths are known to be equal; asking again takes a tenth of all the time.
    return [dict(zip(keys, row)) for row in zip(*columns)]  # noqa: B905


def _event(
    name: str, nature: Nature, fact: str | None, clock: Clock, end_line: int,
    fields: dict[str, Any], file: str, line: int, text: str, time: float | None, rank: int | None,
    local_rank: int | None, host: str | None, gpu: str | None, nic: str | None,
    communicator: str | None, pid: int | None, stream: str | None, attempt: int, count: int,
) -> Event:  # fmt: skip
    return Event(
        name=name, nature=nature, file=file, line=line, end_line=end_line, text=text, fields=fields,
        time=time, clock=clock, rank=rank, local_rank=local_rank, host=host, gpu=gpu, nic=nic,
        communicator=communicator, pid=pid, stream=stream, attempt=attempt, count=count, fact=fact,
    )  # fmt: skip


def series_out(series: Sequence[Points], texts: TextsOut) -> Iterator[Block]:
    """Yield series; those that share their steps, times and lines go on sharing them."""
    start, values = 0, 0
    for end, one in enumerate(series, 1):
        values += len(one.values)
        if values >= VALUES or end == len(series):
            yield _series_block(series[start:end], texts)
            start, values = end, 0


def _series_block(series: Sequence[Points], texts: TextsOut) -> Block:
    tables: dict[int, int] = {}
    shared = []
    for one in series:
        if id(one.lines) not in tables:
            tables[id(one.lines)] = len(tables)
            shared.append([one.steps.tolist(), one.times.tolist(), one.lines.tolist()])
    columns = {name: [*map(attrgetter(name), series)] for name in SERIES}
    return {
        "new": texts.learn(columns.values()),
        "columns": {name: texts.packed(column) for name, column in columns.items()},
        "table": [tables[id(one.lines)] for one in series],
        "tables": shared,
        "values": [one.values.tolist() for one in series],
    }


def series_in(block: Block, texts: TextsIn) -> list[Points]:
    """Return the series of a block; see ``events_in`` for what it raises."""
    texts.add(block["new"])
    values = [array("d", one) for one in block["values"]]
    columns = [
        texts.unpacked(block["columns"][name], len(values), kinds) for name, kinds in SERIES.items()
    ]
    tables = [
        (array("d", steps), array("d", times), array("q", lines))
        for steps, times, lines in block["tables"]
    ]
    found = []
    rows = zip(*columns, block["table"], values, strict=True)
    for metric, file, rank, host, attempt, table, measured in rows:
        steps, times, lines = tables[table]
        if not len(steps) == len(times) == len(lines) == len(measured):
            raise ValueError("columns of a series differ in length")
        found.append(
            Points(
                metric=metric,
                file=file,
                rank=rank,
                host=host,
                attempt=attempt,
                steps=steps,
                times=times,
                lines=lines,
                values=measured,
            )  # fmt: skip
        )
    return found
