"""Event files are written here byte by byte, as the format's documents say."""

import math
import struct

import pytest

from diagnose import api
from diagnose.ingest.sniff import NOBODY
from diagnose.model.event import Clock, Measurement
from diagnose.parsers.document import WholeDocument
from diagnose.parsers.tensorboard import accepts, read

FILE = "events.out.tfevents.1767600000.node-07.4242.0"
START = 1_767_600_000.0


def varint(value):
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def field(number, wire, payload):
    head = varint(number << 3 | wire)
    return head + (varint(len(payload)) if wire == 2 else b"") + payload


def scalar(tag, value, kind="simple"):
    if kind == "simple":
        number = field(2, 5, struct.pack("<f", value))
    else:
        form, code = ("<f", 1) if kind == "float" else ("<d", 2)
        place = 4 if kind != "double list" else 6
        tensor = field(1, 0, varint(code)) + field(place, 2, struct.pack(form, value))
        number = field(8, 2, tensor)
    return field(1, 2, field(1, 2, tag.encode()) + number)


def record(payload):
    return struct.pack("<QI", len(payload), 0) + payload + b"\0\0\0\0"


def event(step, time, *scalars):
    summary = field(5, 2, b"".join(scalars)) if scalars else b""
    return record(
        field(1, 1, struct.pack("<d", START + time)) + field(2, 0, varint(step)) + summary
    )


HEAD = record(field(1, 1, struct.pack("<d", START)) + field(3, 2, b"brain.Event:2"))


def found(*events, name=FILE):
    document = WholeDocument(name, NOBODY, HEAD + b"".join(events))
    return [one for one in read(document) if isinstance(one, Measurement)]


def test_it_is_known_by_its_first_record():
    assert accepts(FILE, HEAD + event(1, 1.0))
    assert not accepts(FILE, b"brain.Event:2 is the version of the format\n")
    assert not accepts("a.log", b"")


def test_values_of_one_step_are_one_measurement():
    first, second = found(
        event(10, 5.0, scalar("lm loss", 2.5)),
        event(10, 5.0, scalar("learning-rate", 1e-4)),
        event(20, 9.0, scalar("lm loss", 2.25)),
    )
    assert (first.step, first.values["loss"]) == (10, 2.5)
    assert first.values["learning_rate"] == pytest.approx(1e-4)
    assert (first.line.host, first.line.time, first.line.clock) == ("node-07", START + 5, Clock.UTC)
    assert second.values == {"loss": 2.25, "step_time": 0.4}


@pytest.mark.parametrize("kind", ["float", "double", "double list"])
def test_a_number_in_a_tensor(kind):
    (one,) = found(event(1, 1.0, scalar("train/loss", 2.5, kind)))
    assert one.values["loss"] == 2.5


def test_a_logged_time_of_a_step_is_kept():
    steps = [
        event(n, n * 9.0, scalar("lm loss", 2.5), scalar("iteration-time", 1.5)) for n in (1, 2)
    ]
    assert [one.values["step_time"] for one in found(*steps)] == [1.5, 1.5]


def test_an_axis_of_samples_is_left_out():
    assert found(event(512_000, 1.0, scalar("lm loss vs samples", 2.5))) == []


def test_tags_of_megatron_are_read_by_what_they_mean():
    tags = {
        "lm loss": 2.5, "iteration-time": 2.0, "throughput": 400.0, "mem-allocated-bytes": 1024.0,
        "batch-generator-time": 0.25, "forward-compute-time": 0.5, "backward-compute-time": 1.0,
        "forward-recv-time": 0.125, "lm loss vs samples": 2.5,
    }  # fmt: skip
    (one,) = found(event(10, 1.0, *(scalar(tag, value) for tag, value in tags.items())))
    assert one.values == {
        "loss": 2.5, "step_time": 2.0, "tflops": 400.0, "memory_allocated": 1024.0,
        "data_time": 0.25, "compute_time": 1.5, "recv_wait": 0.125,
    }  # fmt: skip


def test_a_large_step_and_an_infinite_loss():
    (one,) = found(event(3_000_000, 1.0, scalar("loss", math.inf)))
    assert (one.step, one.values["loss"]) == (3_000_000, math.inf)


@pytest.mark.parametrize("cut", range(1, 43, 6))
def test_a_file_that_breaks_off_gives_what_is_whole(cut):
    data = HEAD + event(1, 1.0, scalar("loss", 2.5)) + event(2, 2.0, scalar("loss", 2.4))
    steps = [
        one.step
        for one in read(WholeDocument(FILE, NOBODY, data[:-cut]))
        if isinstance(one, Measurement)
    ]
    assert steps in ([1.0], [1.0, 2.0])


@pytest.mark.parametrize("junk", [b"\xff" * 40, b"\x0a\xff\xff\xff\xff\x7f", bytes(range(64))])
def test_a_damaged_record_does_no_harm(junk):
    assert [one.step for one in found(record(junk), event(1, 1.0, scalar("loss", 2.5)))] == [1.0]


def test_a_loss_that_is_not_a_number_is_found_in_a_folder(tmp_path):
    losses = [2.5, 2.4, 2.3, math.nan, math.nan, math.nan]
    steps = [event(n, 2.0 * n, scalar("train/loss", loss)) for n, loss in enumerate(losses, 1)]
    (tmp_path / FILE).write_bytes(HEAD + b"".join(steps))
    report = api.run([str(tmp_path)])
    assert report.inputs.skipped == []
    assert [one.id for one in report.findings if one.role == "root"] == ["nan-loss"]
