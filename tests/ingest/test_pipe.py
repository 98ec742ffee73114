"""Pipes are read where the user names them."""

import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from diagnose.ingest import discover as discover_module
from diagnose.ingest import pipe as pipe_module
from diagnose.ingest.discover import Discovery, discover
from diagnose.ingest.source import Source


def reasons(found: Discovery) -> dict[str, str]:
    return {entry["file"]: entry["reason"] for entry in found.skipped}


def content(source: Source) -> bytes:
    with source.open() as stream:
        return stream.read()


@contextmanager
def piped(data: bytes) -> Iterator[str]:
    """Give the path of a pipe that holds some bytes, as a shell gives it for ``<(command)``."""
    reading, writing = os.pipe()
    try:
        os.write(writing, data)
        os.close(writing)
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)


@pytest.mark.parametrize("data", [b"a line\nanother\n", b"", b"no end"])
def test_the_output_of_a_process(data: bytes) -> None:
    with piped(data) as path:
        found = discover([path])
    assert [content(source) for source in found.sources] == [data]
    assert found.skipped == []


def test_packed_output() -> None:
    with piped(gzip.compress(b"a line\n")) as path:
        [source] = discover([path]).sources
    assert content(source) == b"a line\n"


def test_headings_split_the_output_under_names_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("file\n")
    with piped(b"==> a.log <==\nx\n\n==> b.log <==\ny\n") as path:
        found = discover([str(tmp_path / "a.log"), path])
    assert {source.name: content(source) for source in found.sources} == {
        "a.log": b"file\n",
        "a.log-2": b"x\n",
        "b.log": b"y\n",
    }


def test_a_named_pipe_with_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    writing = os.open(path, os.O_WRONLY)
    os.write(writing, b"text\n")
    os.close(writing)
    found = discover([str(path)])
    os.close(reading)
    assert [content(source) for source in found.sources] == [b"text\n"]


def test_a_named_pipe_that_nobody_writes_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipe_module, "WAIT", 0)
    os.mkfifo(tmp_path / "pipe")
    found = discover([str(tmp_path / "pipe")])
    assert found.sources == []
    assert reasons(found) == {"pipe": "a named pipe that nobody writes to"}


def test_too_much_is_cut_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipe_module, "MAX_BYTES", 10)
    with piped(b"0123456789more") as path:
        found = discover([path])
    assert [content(source) for source in found.sources] == [b"0123456789"]
    assert "only that much of it was read" in next(iter(reasons(found).values()))


def test_a_pipe_in_a_folder_or_behind_a_pattern_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "p*"):
        assert reasons(discover([str(path)])) == {"pipe": "a named pipe"}


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "/dev/urandom"])
def test_devices_are_refused(path: str) -> None:
    assert set(reasons(discover([path])).values()) == {"a device"}


def test_the_terminal_on_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    leader, follower = os.openpty()
    status = os.fstat(follower)
    monkeypatch.setattr(pipe_module.os, "fstat", lambda descriptor: status)
    monkeypatch.setattr(pipe_module.os, "isatty", lambda descriptor: True)
    os.write(leader, b"pasted\n\x04")
    found = discover_module.discover([os.ttyname(follower)])
    os.close(leader)
    os.close(follower)
    assert [content(source) for source in found.sources] == [b"pasted\n"]
