import codecs
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnose.ingest.unwrap import recode, unwrap


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a \x1b[31mNC\x1b[0;1mCL\x1b[0m b\n", b"a NCCL b\n"),
        (b"^[[36mx^[[0m\n", b"x\n"),
        (b"#033[0mx\n", b"x\n"),
        (b"\\u001b[0mx\\u001b[31m\n", b"x\n"),
        (b"\x1b]0;title\x07x\x1b(B\n", b"x\n"),
        (b"up\x1b[A\x1b[2K\n", b"up\n"),
        (b"cut \x1b[", b"cut \x1b["),
        (b"a[0m b^[c\n", b"a[0m b^[c\n"),
    ],
)
def test_escapes_go_and_lines_stay(data: bytes, expected: bytes) -> None:
    clean = unwrap(data)
    assert (clean.data, clean.lines) == (expected, None)


def test_clean_bytes_come_back_as_they_are() -> None:
    data = b"node-a:1:2 [0] NCCL INFO x\r\n\n{'loss': 1.0}\n"
    assert unwrap(data).data is data
    assert unwrap(b"").data == b""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            {"log": "NCCL WARN\n", "stream": "stderr", "time": "2025-07-04T11:22:33.1Z"},
            b"2025-07-04T11:22:33.1Z stderr F NCCL WARN",
        ),
        (
            {"message": "x", "@timestamp": "2025-07-04 11:22:33"},
            b"2025-07-04T11:22:33 stdout F x",
        ),
        ({"textPayload": "x", "timestamp": "2025-07-04T11:22:33Z"}, b"2025-07-04T11:22:33Z stdout F x"),
        ({"message": "x", "timestamp": 1751628153250}, b"2025-07-04T11:22:33.250000Z stdout F x"),
        ({"line": "x", "ts": "1751628153250000000"}, b"2025-07-04T11:22:33.250000Z stdout F x"),
        ({"log": "x", "stream": "stderr"}, b"x"),
    ],
)  # fmt: skip
def test_envelopes_become_lines(line: dict[str, object], expected: bytes) -> None:
    clean = unwrap(json.dumps(line).encode() + b"\n")
    assert (clean.data, clean.lines) == (expected + b"\n", None)


@pytest.mark.parametrize(
    "line",
    [
        '{"step": 1, "loss": 2.5, "time": 1751628153, "message": "ok"}',
        '{"loss": 2.5, "log": "x", "stream": "stdout"}',
        '{"message": "no time and no stream"}',
        '{"message": 5, "time": "2025-07-04T11:22:33Z"}',
        '{"message": "cut off", "time": "2025',
        '{"log": ["x"], "stream": "stdout"}',
        '["log"]',
        '{"message": "x", "time": "noon"}',
    ],
)
def test_records_of_metrics_and_broken_json_stay(line: str) -> None:
    data = line.encode() + b"\n"
    assert unwrap(data).data == data


def test_a_text_of_several_lines_keeps_its_number() -> None:
    record = json.dumps({"message": "a\nb", "time": "2025-07-04T11:22:33Z"})
    clean = unwrap(f"first\n{record}\nlast\n".encode())
    assert clean.data.count(b"\n") == 4
    assert clean.lines == [0, 1, 1, 2]


def test_partial_lines_of_a_container_runtime_are_joined() -> None:
    head = b"2025-07-04T11:22:33Z "
    data = (
        head + b"stderr P NC\n" + head + b"stdout F other\n" + head + b"stderr P CL \n"
        + head + b"stderr F WARN\n" + head + b"stderr F next P x\n"
    )  # fmt: skip
    clean = unwrap(data)
    assert clean.data.split(b"\n") == [
        head + b"stderr F NCCL WARN",
        head + b"stdout F other",
        head + b"stderr F next P x",
        b"",
    ]
    assert clean.lines == [0, 1, 4]


def test_docker_cuts_long_lines() -> None:
    first = {"log": "x" * 16384, "stream": "stdout", "time": "2025-07-04T11:22:33Z"}
    second = first | {"log": "end\n"}
    clean = unwrap(json.dumps(first).encode() + b"\n" + json.dumps(second).encode() + b"\n")
    assert clean.data.endswith(b"xxend\n")
    assert clean.lines == [0]


def test_a_partial_line_without_its_end_is_kept() -> None:
    clean = unwrap(b"2025-07-04T11:22:33Z stderr P half\n")
    assert clean.data == b"2025-07-04T11:22:33Z stderr F half\n"


PIECES = st.sampled_from(
    [b"x\n", b"\n", b"\x1b[0m", b'{"log":"a\\nb","stream":"stdout","time":"2025-07-04T11:22:33Z"}\n',
     b"2025-07-04T11:22:33Z stdout P a\n", b"2025-07-04T11:22:33Z stdout F b\n", b"{", b'"msg"', b"\xff"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=20).map(lambda parts: b"".join(parts) + b"\n"))
def test_every_clean_line_has_a_number_of_the_original(data: bytes) -> None:
    clean = unwrap(data)
    lines = clean.data.count(b"\n") + (not clean.data.endswith(b"\n") and bool(clean.data))
    originals = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    if clean.lines is None:
        assert lines == originals
    else:
        assert len(clean.lines) == lines
        assert list(clean.lines) == sorted(clean.lines)
        assert not clean.lines or clean.lines[-1] < originals


@pytest.mark.parametrize(
    "encoding", ["utf-16", "utf-32", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-8"]
)
def test_recodes_to_utf8_without_a_mark(encoding: str) -> None:
    text = "Größe: a line of text\r\n" * 5000
    with recode(io.BytesIO(text.encode(encoding))) as stream:
        assert stream.read() == text.encode()


def test_recodes_big_endian_with_a_mark_and_an_odd_last_byte() -> None:
    data = codecs.BOM_UTF16_BE + "abc\n".encode("utf-16-be") + b"\x00"
    assert recode(io.BytesIO(data)).read() == "abc\n\ufffd".encode()


def test_reads_lines_of_a_recoded_stream() -> None:
    stream = recode(io.BytesIO("one\ntwo".encode("utf-16")))
    assert list(stream) == [b"one\n", b"two"]


@given(st.binary(max_size=100))
def test_recode_never_raises(data: bytes) -> None:
    recode(io.BytesIO(data)).read()
