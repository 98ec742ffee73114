"""Logs on another host, over ssh."""

import io
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import paramiko
import pytest

from diagnose.ingest.discover import discover
from diagnose.ingest.refusal import UNREACHABLE
from diagnose.ingest.source import Entry

ROOT = Path(__file__).parents[2]

PASSWORD = "s3cret"


class Door(paramiko.ServerInterface):
    def check_auth_password(self, username: str, password: str) -> int:
        known = password == PASSWORD
        return paramiko.AUTH_SUCCESSFUL if known else paramiko.AUTH_FAILED

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return paramiko.OPEN_SUCCEEDED

    def get_allowed_auths(self, username: str) -> str:
        return "password"


class Files(paramiko.SFTPServerInterface):
    def list_folder(self, path: str) -> "list[paramiko.SFTPAttributes] | int":
        try:
            return [
                paramiko.SFTPAttributes.from_stat(item.stat(follow_symlinks=False), item.name)
                for item in os.scandir(path)
            ]
        except OSError as error:
            return paramiko.SFTPServer.convert_errno(error.errno or 0)

    def stat(self, path: str) -> "paramiko.SFTPAttributes | int":
        try:
            return paramiko.SFTPAttributes.from_stat(Path(path).stat())
        except OSError as error:
            return paramiko.SFTPServer.convert_errno(error.errno or 0)

    def open(self, path: str, flags: int, attr: object) -> "paramiko.SFTPHandle | int":
        handle = paramiko.SFTPHandle(flags)
        try:
            handle.readfile = io.BytesIO(Path(path).read_bytes())  # type: ignore[attr-defined]
        except OSError as error:
            return paramiko.SFTPServer.convert_errno(error.errno or 0)
        return handle


@pytest.fixture
def host() -> Iterator[str]:
    key = paramiko.RSAKey.generate(2048)
    doors: list[paramiko.Transport] = []

    def serve(listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            transport = paramiko.Transport(connection)
            transport.add_server_key(key)
            transport.set_subsystem_handler("sftp", paramiko.SFTPServer, Files)
            doors.append(transport)
            transport.start_server(server=Door())

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        for door in doors:
            door.close()
        thread.join()


def test_a_folder_on_another_host(host: str, tmp_path: Path) -> None:
    text = b"line of a log\n" * 50_000
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b.log").write_bytes(text)
    (tmp_path / "ckpt.pt").write_bytes(bytes(range(256)) * 20)
    (tmp_path / "latest.log").symlink_to("a/b.log")
    found = discover([f"ssh://someone:{PASSWORD}@{host}{tmp_path}"], lambda name: "ckpt" in name)
    [source] = found.sources
    with source.open(14) as stream:
        assert (source.name, stream.read()) == ("a/b.log", text[14:])
    [entry] = found.folders[0].entries
    assert (entry.name, entry.size, entry.read(250, 8)) == (
        "ckpt.pt",
        5120,
        bytes(range(250, 256)) + b"\0\1",
    )
    assert entry.modified == int((tmp_path / "ckpt.pt").stat().st_mtime)
    assert found.skipped == [
        {
            "file": "latest.log",
            "reason": "a link; name it as a path of its own to have it read",
        }
    ]


def test_a_server_that_speaks_no_ssh(tmp_path: Path) -> None:
    def hang_up(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=hang_up, args=(listener,)).start()
        url = f"ssh://someone@127.0.0.1:{listener.getsockname()[1]}/logs"
        command = [sys.executable, "-m", "diagnose", url]
        ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert ended.returncode == 3
    reason = f"{url.replace('someone@', '')}: {UNREACHABLE}"
    assert ended.stderr == f"Error: nothing could be read. {reason}\n"


def test_what_is_not_there_and_who_is_not_let_in(host: str, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("x\n")
    found = discover(
        [
            f"sftp://someone:{PASSWORD}@{host}{tmp_path}/nothing",
            f"sftp://someone:wrong@{host}{tmp_path}/a.log",
            f"sftp://someone:{PASSWORD}@{host}{tmp_path}/*.log",
        ]
    )
    assert [source.name for source in found.sources] == ["a.log"]
    assert [tuple(one.values()) for one in found.skipped] == [
        (
            f"sftp://{host}{tmp_path}/a.log",
            "no valid credentials were found",
        ),
        (f"sftp://{host}{tmp_path}/nothing", "no such file or folder"),
    ]
    assert Entry("a", 2, path=f"sftp://someone:{PASSWORD}@{host}{tmp_path}/no").read(0, 2) is None
