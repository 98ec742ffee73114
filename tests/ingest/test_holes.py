"""NULs in front of a text are left out, and nothing else is."""

import gzip
import io
from pathlib import Path

import pytest

from diagnose.ingest import holes
from diagnose.ingest.archive import members
from diagnose.ingest.discover import discover
from diagnose.ingest.holes import behind_nulls, leading_nulls
from diagnose.ingest.paste import split
from diagnose.ingest.source import Source
from diagnose.ingest.stream import Codec
from tests.ingest.test_archive import tar

TEXT = b"first line\nsecond line\n"
PICKLE = b"\x80\x02}" + bytes(range(256)) * 9


def content(source: Source) -> bytes:
    with source.open() as stream:
        return stream.read()


@pytest.mark.parametrize("nulls", [512, 64 << 10, (1 << 20) + 5, 3 << 20])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_log_cut_by_copytruncate(tmp_path: Path, nulls: int, sparse: bool) -> None:
    with (tmp_path / "a.log").open("wb") as file:
        file.write(b"" if sparse else bytes(nulls))
        file.seek(nulls)
        file.write(TEXT)
    [source] = discover([str(tmp_path)]).sources
    assert (source.size, source.skip) == (len(TEXT), nulls)
    assert content(source) == TEXT
    with source.open(6) as stream:
        assert stream.read() == TEXT[6:]


def test_file_systems_that_know_no_holes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(holes.os, "SEEK_DATA", raising=False)
    (tmp_path / "a").write_bytes(bytes(5000) + TEXT)
    with (tmp_path / "a").open("rb") as file:
        assert leading_nulls(file, "a", 5000 + len(TEXT)) == 5000


def test_bytes_that_are_in_no_file_have_no_holes() -> None:
    data = bytes(5000) + TEXT
    assert leading_nulls(io.BytesIO(data), "a", len(data)) == 5000


@pytest.mark.parametrize(
    "data",
    [
        bytes(100_000), bytes(100_000) + PICKLE, bytes(100) + TEXT, TEXT + bytes(100_000), b"",
        "text\n".encode("utf-16-be"),
    ],
)  # fmt: skip
def test_what_is_no_text_behind_nulls_stays_whole(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a").write_bytes(data)
    [source] = discover([str(tmp_path)]).sources
    assert (source.size, source.skip) == (len(data), 0)
    assert content(source) == data


def test_a_hole_to_the_end(tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as file:
        file.truncate(10 << 20)
    with (tmp_path / "a").open("rb") as file:
        assert leading_nulls(file, "a", 10 << 20) == 0


def test_in_a_compressed_file(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(bytes(200_000) + TEXT))
    [source] = discover([str(tmp_path)]).sources
    assert content(source) == TEXT


def test_in_an_archive() -> None:
    data = tar({"a.log": bytes(200_000) + TEXT, "b.log": TEXT})
    source = Source("a.tar", None, len(data), Codec.TAR, data)
    assert [member.open().read() for member in members(source)] == [TEXT, TEXT]


def test_in_a_pasted_text() -> None:
    assert [source.data for source in split(bytes(2000) + TEXT)] == [TEXT]
    assert [source.data for source in split(bytes(2000))] == [bytes(2000)]


@pytest.mark.parametrize("behind", [b"", PICKLE])
def test_a_stream_without_text_still_shows_nulls(behind: bytes) -> None:
    stream = behind_nulls(io.BufferedReader(io.BytesIO(bytes(300_000) + behind)), "a")
    assert stream.read() == bytes(64 << 10)
