"""TensorBoard's event files, ``events.out.tfevents.<seconds>.<host>.<pid>.<n>``.

A file is a row of records: eight bytes of length, four of checksum, the bytes of a protocol buffer, four
of checksum (TFRecord). Each buffer is an ``Event``: 1 wall time (double), 2 step, 3 version, 5 summary; a
summary holds values: 1 tag, 2 number (float), 8 tensor (tensorflow/core/util/event.proto,
framework/summary.proto and tensor.proto). Checksums are not verified.

Values of one step become one measurement under the names of ``metric_names``, with the wall time of the
last of them; its line is the number of the record, since such a file has no lines. Megatron's ``... vs
samples`` count samples, not steps, and are left out. Where no tag gives the time of a step, ``step_time`` is
the wall time from one step of the loss to the next over the steps between them, as steps are logged when
they end.

Empty: a version record alone. Cut off: the records that are whole.
"""

import re
import struct
from collections.abc import Iterator
from dataclasses import replace

from diagnose.model.event import Clock, Event, Line, Measurement
from diagnose.parsers.base import Document, FileParser
from diagnose.parsers.convert import short_host
from diagnose.parsers.gate import Gate
from diagnose.parsers.metric_names import ALIASES, metrics, with_nan_events

NAME = re.compile(r"(?:^|[/!])events\.out\.tfevents\.\d+\.(?P<host>[\w.-]+?)(?:\.\d+)*(?:\.v2)?$")
VERSION = b"brain.Event:"

FRAME = struct.Struct("<QI")
"""Length and its checksum in front of a record; another checksum is behind it."""

LARGEST = 16 << 20
"""Bytes of one record; images and graphs are larger than what is read here."""

Field = tuple[int, int | bytes]
"""Number and value: bytes for what has a length or a fixed size, else the integer."""


def accepts(name: str, head: bytes) -> bool:
    """Return whether a file begins with the record that names the version of the format."""
    return VERSION in head[:64] and head[3:8] == b"\0\0\0\0\0"


def read(document: Document) -> Iterator[Event | Measurement]:
    """Return the measurements of a file."""
    return with_nan_events(_timed(list(_measurements(document))))


def _measurements(document: Document) -> Iterator[Measurement]:
    """Yield what was logged of each step."""
    found = NAME.search(document.name)
    first = document.at("")
    first = replace(first, host=first.host or (short_host(found["host"]) if found else None))
    values: dict[str, object] = {}
    at: tuple[int, float, Line] | None = None
    for number, record in enumerate(_records(document.data), 1):
        time, step, scalars = _event(record)
        if not scalars:
            continue
        if at is not None and step != at[0]:
            yield from _measurement(at, values)
            values = {}
        values.update(scalars)
        at = step, time, replace(first, number=number)
    if at is not None:
        yield from _measurement(at, values)


def _measurement(at: tuple[int, float, Line], values: dict[str, object]) -> Iterator[Measurement]:
    step, time, line = at
    named = metrics(values)
    if named:
        text = ", ".join(f"{name} {value:.6g}" for name, value in named.items())
        text = f"step {step}: {text}"
        yield Measurement(
            replace(line, raw=text, text=text, time=time, clock=Clock.UTC), float(step), named
        )


def _timed(found: list[Measurement]) -> Iterator[Measurement]:
    """Yield the measurements, with times of steps made from wall times where none are logged."""
    known = any("step_time" in one.values for one in found)
    last: Measurement | None = None
    for one in found:
        if known or "loss" not in one.values:
            yield one
            continue
        step, time = one.step or 0.0, one.line.time or 0.0
        if last is not None and step > (last.step or 0.0) and time > (last.line.time or 0.0):
            each = (time - (last.line.time or 0.0)) / (step - (last.step or 0.0))
            yield replace(one, values={**one.values, "step_time": each})
        else:
            yield one
        last = one


def _records(data: bytes) -> Iterator[bytes]:
    """Yield the buffers that are whole."""
    at = 0
    while at + FRAME.size <= len(data):
        length, _ = FRAME.unpack_from(data, at)
        end = at + FRAME.size + length
        if length > LARGEST or end > len(data):
            return
        yield data[at + FRAME.size : end]
        at = end + 4


def _event(buffer: bytes) -> tuple[float, int, dict[str, object]]:
    """Return wall time, step and scalars by tag."""
    time, step, scalars = 0.0, 0, {}
    for number, value in _fields(buffer):
        if number == 1 and isinstance(value, bytes) and len(value) == 8:
            time = struct.unpack("<d", value)[0]
        elif number == 2 and isinstance(value, int):
            step = value
        elif number == 5 and isinstance(value, bytes):
            for inner, summary in _fields(value):
                if inner == 1 and isinstance(summary, bytes):
                    tag, scalar = _scalar(summary)
                    if scalar is not None and " vs " not in tag:
                        scalars[tag] = scalar
    return time, step, dict(scalars)


def _scalar(buffer: bytes) -> tuple[str, float | None]:
    tag, scalar = "", None
    for number, value in _fields(buffer):
        if not isinstance(value, bytes):
            continue
        if number == 1:
            tag = value.decode("utf-8", "replace")
        elif number == 2 and len(value) == 4:
            scalar = struct.unpack("<f", value)[0]
        elif number == 8:
            scalar = _tensor(value)
    return tag, scalar


def _tensor(buffer: bytes) -> float | None:
    """Return the value of a tensor with one, None for any other."""
    kind, content = 0, b""
    for number, value in _fields(buffer):
        if number == 1 and isinstance(value, int):
            kind = value
        elif number in (4, 5, 6) and isinstance(value, bytes):
            content = value
    form = {1: "<f", 2: "<d"}.get(kind)  # DT_FLOAT, DT_DOUBLE
    if form is None or len(content) != struct.calcsize(form):
        return None
    return float(struct.unpack(form, content)[0])


def _fields(buffer: bytes) -> Iterator[Field]:
    """Yield the fields of a protocol buffer; a damaged one ends where it makes no sense."""
    at = 0
    while at < len(buffer):
        key, at = _varint(buffer, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _varint(buffer, at)
            yield number, value
            continue
        if wire == 2:
            length, at = _varint(buffer, at)
        else:
            length = {1: 8, 5: 4}.get(wire, len(buffer) + 1)
        if length > len(buffer) - at:
            return
        yield number, buffer[at : at + length]
        at += length


def _varint(buffer: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(buffer) and shift < 64:
        byte = buffer[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return value, at


PARSERS = (
    FileParser(
        name="tensorboard",
        title="TensorBoard's event files: metrics by step and wall time",
        accepts=accepts,
        gate=Gate(holds=(VERSION,)),
        read=read,
        emits=(*ALIASES, "train.nan_loss", "train.nan_gradient"),
        sample="",
        alone=True,
    ),
)
