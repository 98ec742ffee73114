"""Addresses: what a walk finds, what is shown of them, and what goes wrong on the way."""

import contextlib
import io
import socket
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import fsspec
import pytest
from fsspec.registry import _registry

from diagnose.ingest import contact, ranges, server
from diagnose.ingest import discover as discover_module
from diagnose.ingest.address import shown
from diagnose.ingest.discover import Discovery, discover
from diagnose.ingest.ranges import as_file
from diagnose.ingest.refusal import UNREACHABLE, Missing, refusal
from diagnose.ingest.source import Entry, Source, read_pieces
from diagnose.ingest.stream import Codec
from tests.ingest.test_archive import tar


def names(found: Discovery) -> list[str]:
    return [source.name for source in found.sources]


def reasons(found: Discovery) -> dict[str, str]:
    return {entry["file"]: entry["reason"] for entry in found.skipped}


def content(source: Source) -> bytes:
    with source.open() as stream:
        return stream.read()


@pytest.fixture
def memory() -> Iterator[fsspec.AbstractFileSystem]:
    system = fsspec.filesystem("memory")
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


def build(memory: fsspec.AbstractFileSystem, *paths: str) -> None:
    for path in paths:
        memory.pipe_file(path, f"{path}\n".encode())


def test_a_folder_gives_its_files_in_the_order_of_names(memory: fsspec.AbstractFileSystem) -> None:
    build(memory, "/run/b.log", "/run/a/z.log", "/run/a.log", "/run/a/b/c.log", "/run/.git/x")
    build(memory, "/run/.hidden", "/run/a/.x/y", "/elsewhere/d.log")
    for url in ("memory://run", "memory://run/", "memory:///run"):
        found = discover([url])
        assert names(found) == ["a.log", "a/b/c.log", "a/z.log", "b.log"]
        assert found.skipped == []
        assert [folder.name for folder in found.folders] == ["run"]
        assert content(found.sources[1]) == b"/run/a/b/c.log\n"


def test_a_hidden_file_that_is_wanted(memory: fsspec.AbstractFileSystem) -> None:
    build(memory, "/run/ckpt/.metadata", "/run/ckpt/.other")
    found = discover(["memory://run"], lambda name: name.endswith(".metadata"))
    [entry] = found.folders[0].entries
    assert (entry.name, entry.size, entry.head) == ("ckpt/.metadata", 20, b"/run/ckpt/.metadata\n")
    assert (entry.read(5, 4), entry.read(15, 100), entry.read(100, 5)) == (b"ckpt", b"data\n", b"")


def test_several_paths_begin_with_their_last_names(memory: fsspec.AbstractFileSystem) -> None:
    build(memory, "/one/logs/a.log", "/two/logs/a.log", "/x/c.log")
    found = discover(["memory://one/logs/", "memory://two/logs", "memory://x/c.log"])
    assert names(found) == ["c.log", "logs-2/a.log", "logs/a.log"]


def test_nothing_is_read_twice(memory: fsspec.AbstractFileSystem) -> None:
    build(memory, "/logs/a.log")
    assert names(discover(["memory://logs", "memory://logs/a.log"])) == ["logs/a.log"]


def test_addresses_beside_paths_of_this_machine(
    memory: fsspec.AbstractFileSystem, tmp_path: Path
) -> None:
    build(memory, "/logs/a.log")
    (tmp_path / "b.log").write_text("b\n")
    found = discover([str(tmp_path / "b.log"), "memory://logs", f"file://{tmp_path}/b.log"])
    assert names(found) == ["b.log", "logs/a.log"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("memory://jobs/n*/*.log", ["n1/a.log", "n2/a.log"]),
        ("memory://jobs/n[2]/?.log", ["n2/a.log"]),
        ("memory://jobs/**/b.txt", ["n2/b.txt"]),
        ("memory://jobs/n*", ["n1/a.log", "n2/a.log", "n2/b.txt"]),
        ("memory://jo*/n1/a.log", ["jobs/n1/a.log"]),
        ("memory://jobs/odd[1].log", ["odd[1].log"]),
        ("memory://jobs/.h*/*", [".h/c.log"]),
        ("memory://jobs/*/c.log", []),
    ],
)
def test_patterns_where_nothing_has_that_address(
    memory: fsspec.AbstractFileSystem, pattern: str, expected: list[str]
) -> None:
    build(memory, "/jobs/n1/a.log", "/jobs/n2/a.log", "/jobs/n2/b.txt", "/jobs/odd[1].log")
    build(memory, "/jobs/.h/c.log")
    found = discover([pattern])
    assert names(found) == expected
    assert found.missing == ([] if expected else [pattern])


def test_packed_files_are_told_by_their_content(memory: fsspec.AbstractFileSystem) -> None:
    text = b"line\n" * 100_000
    memory.pipe_file("/run/plain", text)
    memory.pipe_file("/run/archive", tar({"a.log": text}))
    memory.pipe_file("/run/nulls", bytes(3 << 20) + text)
    found = discover(["memory://run"])
    assert {one.name: (one.codec, one.skip) for one in found.sources} == {
        "archive": (Codec.TAR, 0),
        "nulls": (None, 3 << 20),
        "plain": (None, 0),
    }
    assert content(found.sources[1]) == text


def test_a_folder_of_too_many_files_is_cut(
    memory: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discover_module, "MAX_FILES", 2)
    build(memory, "/run/a", "/run/b", "/run/c")
    found = discover(["memory://run"])
    assert names(found) == ["a", "b"]
    assert "more than 2 files" in reasons(found)["run"]


def test_a_link_and_what_is_no_file_are_named(
    memory: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(memory, "/run/a.log", "/run/latest", "/run/pipe", "/run/unknown")
    listing = type(memory).ls

    def ls(system: object, path: str, detail: bool = True) -> list[dict[str, object]]:
        odd = {"/run/latest": {"type": "link"}, "/run/pipe": {"type": "other"}}
        odd["/run/unknown"] = {"size": None}  # type: ignore[dict-item]
        return [info | odd.get(info["name"], {}) for info in listing(system, path, detail)]

    monkeypatch.setattr(type(memory), "ls", ls)
    found = discover(["memory://run"])
    assert names(found) == ["a.log"]
    assert reasons(found) == {
        "latest": "a link; name it as a path of its own to have it read",
        "pipe": "not a regular file",
        "unknown": "its size is not known",
    }


def test_a_folder_that_may_not_be_listed_costs_no_other(
    memory: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(memory, "/run/a.log", "/run/locked/b.log")
    listing = type(memory).ls

    def ls(system: object, path: str, detail: bool = True) -> object:
        if path.endswith("locked"):
            raise PermissionError(13, "Permission denied")
        return listing(system, path, detail)

    monkeypatch.setattr(type(memory), "ls", ls)
    found = discover(["memory://run"])
    assert (names(found), reasons(found)) == (["a.log"], {"locked": "permission denied"})


def test_a_file_that_vanishes_between_listing_and_reading(
    memory: fsspec.AbstractFileSystem,
) -> None:
    build(memory, "/run/a.log")
    [source] = discover(["memory://run"]).sources
    memory.rm("/run/a.log")
    assert Entry("a.log", 11, path="memory://run/a.log").read(0, 5) is None
    with source.open() as stream, pytest.raises(Missing, match="no such file or folder"):
        stream.read()


def test_a_file_is_read_in_growing_steps_and_can_be_sought_in(
    memory: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = bytes(range(256)) * 40_000
    memory.pipe_file("/a", data)
    asked: list[tuple[int, int]] = []
    cat_file = type(memory).cat_file

    def noted(system: object, path: str, start: int, end: int, **options: object) -> object:
        asked.append((start, end))
        return cat_file(system, path, start, end, **options)

    monkeypatch.setattr(type(memory), "cat_file", noted)
    with as_file("memory://a", len(data)) as file:
        assert file.read() == data
        first, second, third = 256 << 10, (256 << 10) * 9, (256 << 10) * 9 + (4 << 20)
        assert asked == [
            (0, first), (first, second), (second, third), (third, len(data)),
        ]  # fmt: skip
        file.seek(-22, io.SEEK_END)
        assert (file.tell(), file.read(), file.read()) == (len(data) - 22, data[-22:], b"")
        assert len(asked) == 4
        file.seek(7)
        assert (file.read(3), file.read(2)) == (data[7:10], data[10:12])
        assert len(asked) == 5


def test_many_pieces_take_few_turns(
    memory: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = bytes(range(250)) * 100
    memory.pipe_file("/a", data)
    turns: list[str] = []

    def counted(url: str, question: object) -> object:
        turns.append(url)
        return server.ask(url, question)  # type: ignore[arg-type]

    monkeypatch.setattr(ranges, "ask", counted)
    there = Entry("a", len(data), path="memory://a", tail=data[-100:])
    gone = Entry("b", 5, path="memory://b")
    here = Entry("c", 3, data=b"abc")
    asked = [(there, start, 7) for start in range(0, 24_900, 83)]
    expected: list[bytes | None] = [data[start : start + 7] for _, start, _ in asked]
    assert list(read_pieces(asked)) == expected
    assert len(turns) == -(-len(asked) // ranges.AT_ONCE)
    assert list(read_pieces([(here, 1, 9), (gone, 0, 2), (there, 24_990, 99), (there, 3, 0)])) == [
        b"bc", None, data[24_990:], b"",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("url", "printed"),
    [
        ("s3://bucket/run-17/a.log", "s3://bucket/run-17/a.log"),
        ("ssh://someone:s3cret@node-01/logs/a@b.log", "ssh://node-01/logs/a@b.log"),
        ("sftp://someone:s3@cret@node-01:22/logs", "sftp://node-01:22/logs"),
        ("https://token@host/a.log?X-Signature=s3cret#x", "https://host/a.log"),
        ("HTTP://host/a.log?s3cret", "HTTP://host/a.log"),
        ("s3://bucket/rank?.log", "s3://bucket/rank?.log"),
        ("./a?b@c", "./a?b@c"),
    ],
)
def test_what_gives_access_is_not_shown(url: str, printed: str) -> None:
    assert shown(url) == printed


class Whole(SimpleHTTPRequestHandler):
    """Knows no ranges, like the server that comes with Python, and says no size on demand."""

    def log_message(self, *arguments: object) -> None:
        pass

    def send_header(self, keyword: str, value: str) -> None:
        if not (keyword == "Content-Length" and "unsized" in self.path):
            super().send_header(keyword, value)


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Whole, directory=tmp_path)) as httpd:
        thread = threading.Thread(target=httpd.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_port}"
        httpd.shutdown()
        thread.join()


@pytest.mark.parametrize("name", ["a.log", "unsized.log", "empty.log"])
def test_a_server_that_gives_whole_files_only(web: str, tmp_path: Path, name: str) -> None:
    text = b"" if name == "empty.log" else b"line of a log\n" * 100_000
    (tmp_path / name).write_bytes(text)
    [source] = discover([f"{web}/{name}?token=s3cret"]).sources
    assert (source.name, source.size, content(source)) == (name, len(text), text)


def test_a_page_that_is_not_there(web: str) -> None:
    found = discover([f"{web}/nothing.log?token=s3cret", f"{web}/*.log"])
    assert reasons(found) == {
        f"{web}/nothing.log": "no such file or folder",
        f"{web}/*.log": "no such file or folder",
    }


def test_a_server_that_is_not_there() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/a.log"
        assert reasons(discover([url])) == {url: UNREACHABLE}


class Deaf(fsspec.AbstractFileSystem):
    """Tries again and again, connected or not, and in the end has an answer."""

    protocol = "gs"
    cachable = False
    peer: tuple[str, int] | None = None
    seconds = 0.5

    def info(self, path: str, **_: object) -> dict[str, object]:
        with contextlib.ExitStack() as connected:
            if self.peer is not None:
                connected.enter_context(socket.create_connection(self.peer))
            time.sleep(self.seconds)
        raise FileNotFoundError


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Deaf]]:
    monkeypatch.setattr(contact, "REACH", 0.2)
    server._server.cache_clear()
    monkeypatch.setitem(_registry, "gs", Deaf)
    yield Deaf
    server._server.cache_clear()


def test_a_server_that_takes_no_connection_is_given_up_soon(deaf: type[Deaf]) -> None:
    assert reasons(discover(["gs://bucket/run"])) == {"gs://bucket/run": UNREACHABLE}


def test_a_server_that_is_slow_is_waited_for(
    deaf: type[Deaf], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as slow:
        monkeypatch.setattr(deaf, "peer", slow.getsockname())
        assert discover(["gs://bucket/run"]).missing == ["gs://bucket/run"]


def test_a_connection_to_somebody_else_says_nothing_of_a_server(deaf: type[Deaf]) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as other,
        socket.create_connection(other.getsockname()),
    ):
        assert reasons(discover(["gs://bucket/run"])) == {"gs://bucket/run": UNREACHABLE}


def test_a_kind_of_store_that_may_connect_elsewhere_is_waited_for(
    deaf: type[Deaf], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "EXTRA", frozenset())
    assert discover(["gs://bucket/run"]).missing == ["gs://bucket/run"]


def test_a_server_that_answered_once_is_waited_for(
    deaf: type[Deaf], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deaf, "info", lambda self, path: {"type": "directory"})
    monkeypatch.setattr(deaf, "ls", lambda self, path, detail: time.sleep(0.5) or [], raising=False)
    assert discover(["gs://bucket/run"]).skipped == []


def test_a_server_that_says_nothing_is_not_asked_for_each_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "WAIT", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as dumb:
        url = f"http://127.0.0.1:{dumb.getsockname()[1]}/a.log"
        assert reasons(discover([url])) == {url: "gave no answer in time"}
        monkeypatch.setattr(server, "WAIT", 1_000_000.0)
        assert Entry("a.log", 5, path=url).read(0, 5) is None


def test_without_fsspec(monkeypatch: pytest.MonkeyPatch) -> None:
    server._server.cache_clear()
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    found = discover(["s3://bucket/run"])
    assert reasons(found) == {
        "s3://bucket/run": "to read s3:// run pip install 'diagnose-ai[remote]'"
    }
    assert found.missing == []


def test_a_store_whose_package_is_not_installed() -> None:
    reason = "to read abfs:// fsspec needs a package that is not installed"
    assert str(refusal(ImportError("Install adlfs"), "abfs")) == reason


def test_an_address_that_nothing_knows() -> None:
    assert reasons(discover(["foo://x/y"])) == {
        "foo://x/y": "foo:// is no kind of address that can be read"
    }


def test_fsspec_is_not_loaded_for_paths_of_this_machine(tmp_path: Path) -> None:
    import subprocess

    (tmp_path / "a:").mkdir()
    (tmp_path / "a:/b.log").write_text("x\n")
    code = (
        "import sys; from diagnose.ingest.discover import discover\n"
        "print(len(discover(sys.argv[1:]).sources), 'fsspec' in sys.modules)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "1 False\n"


class StatusError(Exception):
    status = 503


class HttpError(Exception):
    code = 403


class ClientError(Exception):
    response = {"ResponseMetadata": {"HTTPStatusCode": 416}}


class RefreshError(Exception):
    pass


def led_by(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (StatusError("s3cret"), "the server answered with status 503"),
        (HttpError(), "permission denied"),
        (ClientError(), "the server answered with status 416"),
        (led_by(FileNotFoundError("https://s3cret"), HttpError()), "permission denied"),
        (
            led_by(OSError(), RefreshError()),
            "no valid credentials were found",
        ),
        (socket.gaierror(), UNREACHABLE),
        (ConnectionResetError(), UNREACHABLE),
        (TimeoutError(), "gave no answer in time"),
        (KeyError("s3cret"), "cannot be read (KeyError)"),
    ],
)
def test_reasons_hold_no_text_of_an_exception(error: Exception, reason: str) -> None:
    assert str(refusal(error, "gs")) == reason
