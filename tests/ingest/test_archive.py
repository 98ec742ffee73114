import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest
import zstandard

from diagnose.errors import Unreadable
from diagnose.ingest import archive as archive_module
from diagnose.ingest import stream as stream_module
from diagnose.ingest.archive import members
from diagnose.ingest.source import Source
from diagnose.ingest.stream import Codec

Content = bytes | tarfile.TarInfo


def tar(files: dict[str, Content], mode: str = "w") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, content in files.items():
            info = content if isinstance(content, tarfile.TarInfo) else tarfile.TarInfo(name)
            data = b"" if isinstance(content, tarfile.TarInfo) else content
            info.name = name
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def special(kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo("x")
    info.type = kind
    info.linkname = "/etc/passwd"
    return info


def read(
    data: bytes, codec: Codec = Codec.TAR, name: str = "a.tar"
) -> tuple[dict[str, bytes | str], str | None]:
    """Return what each member holds or why it is not read, and why the archive broke off."""
    result: dict[str, bytes | str] = {}
    try:
        for member in members(Source(name, None, len(data), codec, data)):
            try:
                stream = member.open()
                parts = []
                while part := stream.read(1 << 16):
                    parts.append(part)
                result[member.name] = b"".join(parts)
            except Unreadable as error:
                result[member.name] = str(error)
    except Unreadable as error:
        return result, str(error)
    return result, None


FILES: dict[str, Content] = {"logs/rank0.log": b"zero\n", "logs/rank1.log": b"one\n"}
EXPECTED = {"a.tar!logs/rank0.log": b"zero\n", "a.tar!logs/rank1.log": b"one\n"}


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_reads_a_tar_however_it_is_packed(mode: str) -> None:
    assert read(tar(FILES, mode)) == (EXPECTED, None)


def test_reads_a_tar_packed_with_zstd() -> None:
    assert read(zstandard.compress(tar(FILES))) == (EXPECTED, None)


def test_reads_a_zip() -> None:
    found = read(zipped({"logs/": b"", "logs/rank0.log": b"zero\n"}), Codec.ZIP, "a.zip")
    assert found == ({"a.zip!logs/rank0.log": b"zero\n"}, None)


def test_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(tar(FILES))
    source = Source("a.tar", str(tmp_path / "a.tar"), 10240, Codec.TAR)
    assert [(member.name, member.size) for member in members(source)] == [
        ("a.tar!logs/rank0.log", 5),
        ("a.tar!logs/rank1.log", 4),
    ]


def test_a_packed_member_keeps_its_name() -> None:
    found, _ = read(tar({"a.log.gz": gzip.compress(b"text\n"), "b.zst": zstandard.compress(b"t")}))
    assert found == {"a.tar!a.log.gz": b"text\n", "a.tar!b.zst": b"t"}


def test_nested_archives_one_level_deep() -> None:
    inner = tar({"x.log": b"x", "deep.tar": tar({"y.log": b"y"})})
    found, reason = read(
        tar(
            {
                "in.tar": inner,
                "in.tgz": gzip.compress(inner),
                "in.zip": zipped({"z.log": b"z"}),
                "last": b"l",
            }
        )
    )
    assert reason is None
    assert found["a.tar!in.tar!x.log"] == b"x"
    assert found["a.tar!in.tgz!x.log"] == b"x"
    assert found["a.tar!in.zip!z.log"] == b"z"
    assert "nested too deep" in str(found["a.tar!in.tar!deep.tar"])
    assert found["a.tar!last"] == b"l"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../../etc/cron.d/x", "leads out"),
        ("a/../../x", "leads out"),
        ("a\\..\\x", "leads out"),
        ("/etc/passwd", "absolute path"),
        ("C:\\x", "absolute path"),
    ],
)
@pytest.mark.parametrize("codec", [Codec.TAR, Codec.ZIP])
def test_a_name_that_escapes_is_refused(name: str, reason: str, codec: Codec) -> None:
    data = tar({name: b"x", "ok": b"y"}) if codec is Codec.TAR else zipped({name: b"x", "ok": b"y"})
    found, broke = read(data, codec)
    assert broke is None
    texts = [text for text in found.values() if isinstance(text, str)]
    assert len(texts) == 1
    assert reason in texts[0]
    assert found["a.tar!ok"] == b"y"


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (tarfile.SYMTYPE, "a link"),
        (tarfile.LNKTYPE, "a link"),
        (tarfile.CHRTYPE, "a device"),
        (tarfile.BLKTYPE, "a device"),
        (tarfile.FIFOTYPE, "a pipe"),
    ],
)
def test_what_is_no_file_is_refused(kind: bytes, reason: str) -> None:
    found, _ = read(tar({"x": special(kind), "ok": b"y"}))
    assert found == {"a.tar!x": reason, "a.tar!ok": b"y"}


def test_folders_are_no_members() -> None:
    assert read(tar({"logs": special(tarfile.DIRTYPE)})) == ({}, None)


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_a_cut_off_archive_gives_what_it_has(mode: str) -> None:
    noise = bytes((number * 7919 >> 3) & 0xFF for number in range(200_000))
    data = tar({"a.log": b"whole\n", "b.log": noise}, mode)
    found, broke = read(data[: len(data) // 2])
    assert found["a.tar!a.log"] == b"whole\n"
    assert "cut off" in str(found.get("a.tar!b.log")) or "cut off" in str(broke)


def test_the_bytes_before_the_cut_are_given() -> None:
    data = gzip.compress(tar({"a.log": b"".join(b"line %d\n" % n for n in range(99_999))}))
    with pytest.raises(Unreadable, match="cut off"):
        for member in members(Source("a.tgz", None, len(data), Codec.TAR, data[: len(data) // 2])):
            stream = member.open()
            parts = []
            try:
                while part := stream.read(1000):
                    parts.append(part)
            except Unreadable:
                assert len(b"".join(parts)) > 200_000
                raise


@pytest.mark.parametrize("codec", [Codec.TAR, Codec.ZIP])
@pytest.mark.parametrize("data", [b"", b"garbage" * 200, b"PK\x03\x04" + b"x" * 99])
def test_garbage_is_a_reason(codec: Codec, data: bytes) -> None:
    found, broke = read(data, codec)
    assert found == {}
    assert broke is not None


def test_one_damaged_member_costs_no_other() -> None:
    data = bytearray(zipped({"a.log": b"a" * 1000, "b.log": b"b\n"}))
    data[36:42] = b"\xff" * 6
    found, broke = read(bytes(data), Codec.ZIP)
    assert broke is None
    assert isinstance(found["a.tar!a.log"], str)
    assert found["a.tar!b.log"] == b"b\n"


def test_a_cut_off_member_costs_no_other() -> None:
    found, broke = read(tar({"a.gz": gzip.compress(b"x" * 99)[:-9], "b.log": b"b\n"}))
    assert broke is None
    assert found["a.tar!b.log"] == b"b\n"


def test_a_member_may_be_left_unread() -> None:
    data = tar(FILES)
    names = [member.name for member in members(Source("a.tar", None, len(data), Codec.TAR, data))]
    assert names == list(EXPECTED)


@pytest.mark.parametrize("codec", [Codec.TAR, Codec.ZIP])
def test_a_bomb_is_stopped(codec: Codec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_module, "FREE_BYTES", 1 << 20)
    monkeypatch.setattr(stream_module, "MAX_RATIO", 10)
    zeros = bytes(8 << 20)
    data = tar({"a": zeros}, "w:gz") if codec is Codec.TAR else zipped({"a": zeros})
    found, broke = read(data, codec)
    assert "10 times its size" in f"{found} {broke}"


def test_too_many_members_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_module, "MAX_MEMBERS", 2)
    found, broke = read(tar({"a": b"1", "b": b"2", "c": b"3"}))
    assert list(found) == ["a.tar!a", "a.tar!b"]
    assert broke is not None
    assert "more than 2 members" in broke


def test_a_zip_with_a_password_is_a_reason() -> None:
    data = bytearray(zipped({"a.log": b"a"}))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    found, _ = read(bytes(data), Codec.ZIP)
    assert found == {"a.tar!a.log": "protected by a password"}


def test_a_checkpoint_in_an_archive_is_no_archive() -> None:
    checkpoint = zipped({"m/data.pkl": b"x"})
    found, _ = read(tar({"model.pt": checkpoint}))
    assert found == {"a.tar!model.pt": checkpoint}
