import gzip
import io
import os
import socket
import tarfile
import zipfile
from pathlib import Path

import pytest

from diagnose.ingest import discover as discover_module
from diagnose.ingest import local
from diagnose.ingest.discover import Discovery, discover
from diagnose.ingest.source import Entry
from diagnose.ingest.stream import Codec


def build(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name}\n")


def names(found: Discovery) -> list[str]:
    return [source.name for source in found.sources]


def reasons(found: Discovery) -> dict[str, str]:
    return {entry["file"]: entry["reason"] for entry in found.skipped}


def test_a_folder_gives_its_files_in_the_order_of_names(tmp_path: Path) -> None:
    build(tmp_path, "b.log", "a/z.log", "a.log", "a/b/c.log", ".git/config", ".hidden", "a/.x/y")
    found = discover([str(tmp_path)])
    assert names(found) == ["a.log", "a/b/c.log", "a/z.log", "b.log"]
    assert found.skipped == []
    assert [folder.name for folder in found.folders] == [tmp_path.name]
    assert found.sources[0].size == 6


def test_a_single_file_is_named_by_its_name(tmp_path: Path) -> None:
    build(tmp_path, "deep/rank0.log")
    assert names(discover([str(tmp_path / "deep/rank0.log")])) == ["rank0.log"]


def test_several_paths_begin_with_their_last_names_made_unique(tmp_path: Path) -> None:
    build(tmp_path, "one/logs/a.log", "two/logs/a.log", "x/c.log", "y/c.log")
    paths = [str(tmp_path / part) for part in ("one/logs/", "two/logs", "x/c.log", "y/c.log")]
    found = discover(paths)
    assert names(found) == ["c.log", "c.log-2", "logs-2/a.log", "logs/a.log"]
    assert [folder.name for folder in found.folders] == ["logs", "logs-2"]


def test_nothing_is_read_twice(tmp_path: Path) -> None:
    build(tmp_path, "logs/a.log")
    folder = str(tmp_path / "logs")
    assert names(discover([folder, str(tmp_path / "logs/a.log"), folder])) == ["logs/a.log"]


def test_patterns_where_no_such_path_exists(tmp_path: Path) -> None:
    build(tmp_path, "n1/a.log", "n2/a.log", "n2/b.txt", "odd[1].log")
    assert names(discover([str(tmp_path / "n*/*.log")])) == ["n1/a.log", "n2/a.log"]
    assert names(discover([str(tmp_path / "**/b.txt")])) == ["n2/b.txt"]
    assert names(discover([str(tmp_path / "odd[1].log")])) == ["odd[1].log"]


def test_a_missing_path_among_good_ones_is_skipped(tmp_path: Path) -> None:
    build(tmp_path, "a.log")
    found = discover([str(tmp_path / "a.log"), str(tmp_path / "no"), str(tmp_path / "*.nope")])
    assert names(found) == ["a.log"]
    assert found.missing == [str(tmp_path / "no"), str(tmp_path / "*.nope")]
    assert set(reasons(found).values()) == {"no such file or folder"}


def test_an_empty_folder_is_nothing_missing(tmp_path: Path) -> None:
    found = discover([str(tmp_path)])
    assert (found.sources, found.skipped, found.missing) == ([], [], [])


def test_links(tmp_path: Path) -> None:
    build(tmp_path, "logs/a.log", "logs/sub/b.log", "elsewhere/c.log", "elsewhere/d/e.log")
    logs = tmp_path / "logs"
    (logs / "again.log").symlink_to(logs / "a.log")
    (logs / "loop").symlink_to(logs)
    (logs / "sub/up").symlink_to("..")
    (logs / "c.log").symlink_to(tmp_path / "elsewhere/c.log")
    (logs / "out").symlink_to(tmp_path / "elsewhere/d")
    (logs / "broken").symlink_to("nowhere")
    (logs / "self").symlink_to("self")
    found = discover([str(logs)])
    assert names(found) == ["a.log", "c.log", "sub/b.log"]
    elsewhere = "a link to a folder elsewhere; name it as a path of its own to have it read"
    assert reasons(found) == {
        "broken": "a link to nothing",
        "loop": "a link to a folder that it is in",
        "out": elsewhere,
        "self": "a link to itself",
        "sub/up": "a link to a folder that it is in",
    }


def test_a_link_given_as_the_path_is_followed(tmp_path: Path) -> None:
    build(tmp_path, "logs/a.log")
    (tmp_path / "latest").symlink_to("logs")
    assert names(discover([str(tmp_path / "latest")])) == ["a.log"]


def test_pipes_sockets_and_devices_are_skipped(tmp_path: Path) -> None:
    build(tmp_path, "a.log")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        found = discover([str(tmp_path), "/dev/null"])
    assert reasons(found) == {
        f"{tmp_path.name}/pipe": "a named pipe",
        f"{tmp_path.name}/socket": "a socket",
        "null": "a device",
    }


def test_permission_denied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(tmp_path, "a.log", "b.log", "locked/c.log")
    opened, scanned = os.open, os.scandir

    def refuse(path: str, *arguments: int) -> int:
        if path.endswith("a.log"):
            raise PermissionError(13, "Permission denied")
        return opened(path, *arguments)

    def refuse_folder(path: str) -> object:
        if path.endswith("locked"):
            raise PermissionError(13, "Permission denied")
        return scanned(path)

    monkeypatch.setattr(local.os, "open", refuse)
    monkeypatch.setattr(local.os, "scandir", refuse_folder)
    found = discover([str(tmp_path)])
    assert names(found) == ["b.log"]
    assert reasons(found) == {"a.log": "permission denied", "locked": "permission denied"}


def test_a_file_that_vanishes_between_listing_and_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(tmp_path, "a.log", "b.log")
    walk = local.walk

    def walk_and_remove(*arguments: object) -> object:
        for found in walk(*arguments):  # type: ignore[arg-type]
            if found.name == "a.log":
                Path(found.path).unlink()
            yield found

    monkeypatch.setattr(local, "walk", walk_and_remove)
    found = discover([str(tmp_path)])
    assert names(found) == ["b.log"]
    assert reasons(found) == {"a.log": "vanished since it was found"}


def test_codecs_are_told_by_content_not_by_name(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("x"))
    (tmp_path / "t").write_bytes(buffer.getvalue())
    (tmp_path / "g.log").write_bytes(gzip.compress(b"text"))
    (tmp_path / "plain.gz").write_bytes(b"text\n")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"text")[:12])
    with zipfile.ZipFile(tmp_path / "z", "w") as zipped:
        zipped.writestr("a.log", "x")
    with zipfile.ZipFile(tmp_path / "m.pt", "w") as zipped:
        zipped.writestr("m/data.pkl", "x")
    found = {source.name: source.codec for source in discover([str(tmp_path)]).sources}
    assert found == {
        "t": Codec.TAR, "g.log": Codec.GZ, "plain.gz": None, "cut.gz": Codec.GZ, "z": Codec.ZIP,
        "m.pt": None,
    }  # fmt: skip


def test_wanted_files_become_entries(tmp_path: Path) -> None:
    build(tmp_path, "step-5/latest", "a.log", "step-5/.other")
    binary = b"\x80\x02}" + bytes(range(256)) * 2
    (tmp_path / "step-5/.metadata").write_bytes(binary)
    (tmp_path / "step-5/__0_0.distcp").write_bytes(binary)
    wanted = {"step-5/.metadata", "step-5/__0_0.distcp", "step-5/latest"}
    found = discover([str(tmp_path)], wanted.__contains__)
    assert names(found) == ["a.log", "step-5/latest"]
    assert found.skipped == []
    entries = found.folders[0].entries
    assert [(entry.name, entry.size, entry.head) for entry in entries] == [
        ("step-5/.metadata", len(binary), binary[:64]),
        ("step-5/__0_0.distcp", len(binary), binary[:64]),
        ("step-5/latest", 14, b"step-5/latest\n"),
    ]
    assert entries[0].read(100, 5) == binary[100:105]
    (tmp_path / "step-5/.metadata").unlink()
    assert entries[0].read(100, 5) is None
    assert entries[0].modified is not None
    assert entries[0].stored is not None


def test_an_entry_without_a_file_cannot_be_read() -> None:
    assert Entry("model.pt", 900).read(0, 10) is None
    assert Entry("model.pt", 3, b"abc", data=b"abc").read(1, 9) == b"bc"


def test_entries_of_several_folders_are_relative_to_each(tmp_path: Path) -> None:
    build(tmp_path, "a/latest", "b/latest")
    found = discover([str(tmp_path / "a"), str(tmp_path / "b")], lambda name: name == "latest")
    assert [(f.name, [e.name for e in f.entries]) for f in found.folders] == [
        ("a", ["latest"]),
        ("b", ["latest"]),
    ]
    assert names(found) == ["a/latest", "b/latest"]


def test_a_folder_of_too_many_files_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discover_module, "MAX_FILES", 2)
    build(tmp_path, "a", "b", "c")
    found = discover([str(tmp_path)])
    assert names(found) == ["a", "b"]
    assert "more than 2 files" in reasons(found)[tmp_path.name]


def test_names_that_are_no_utf8_can_be_printed(tmp_path: Path) -> None:
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/a\xff.log"))).write_text("x")
    [source] = discover([str(tmp_path)]).sources
    assert source.name == "a?.log"
    assert source.open().read() == b"x"
