import gzip
import io
import random
import tarfile
import zipfile
from pathlib import Path
from typing import cast

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from diagnose.errors import Unreadable
from diagnose.ingest import archive as archive_module
from diagnose.ingest import stream as stream_module
from diagnose.ingest.archive import members
from diagnose.ingest.source import Source
from diagnose.ingest.stream import Codec

Content = bytes | tarfile.TarInfo


def tar(files: dict[str, Content], mode: str = "w", form: int = tarfile.PAX_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode, format=form) as archive:
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


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_reads_all_members_of_a_zip(method: int) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in EIGHT.items():
            archive.writestr(name, cast(bytes, content))
    found = read(buffer.getvalue(), Codec.ZIP)
    assert found == ({f"a.tar!{name}": content for name, content in EIGHT.items()}, None)


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


EIGHT: dict[str, Content] = {
    f"rank{number}.log": b"".join(b"rank %d line %d\n" % (number, n) for n in range(999))
    for number in range(8)
}


def test_damage_in_the_middle_of_a_packed_tar_is_told() -> None:
    data = bytearray(tar(EIGHT, "w:gz"))
    data[len(data) // 2] ^= 0xFF
    found, broke = read(bytes(data))
    assert found["a.tar!rank0.log"] == EIGHT["rank0.log"]
    assert broke is not None
    assert broke.startswith("damaged: ")


def test_a_wrong_checksum_at_the_end_of_a_packed_tar_is_told() -> None:
    data = bytearray(tar(EIGHT, "w:gz"))
    data[-5] ^= 0xFF
    found, broke = read(bytes(data))
    assert found == {f"a.tar!{name}": text for name, text in EIGHT.items()}
    assert broke == "damaged: its checksum is wrong"


@pytest.mark.parametrize("kind", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
@pytest.mark.parametrize("name", ["rank3.log", "d/" * 80 + "rank3.log"])
def test_one_damaged_header_costs_one_member_and_is_told(kind: int, name: str) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=kind) as archive:
        for number, content in enumerate(EIGHT.values()):
            info = tarfile.TarInfo(name if number == 3 else f"rank{number}.log")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    data = bytearray(buffer.getvalue())
    data[data.index(b"rank 3 line 0\n") - 512 + 150] ^= 0x01
    found, broke = read(bytes(data))
    assert list(found) == [f"a.tar!rank{number}.log" for number in range(8) if number != 3]
    assert all(found[f"a.tar!{name}"] == EIGHT[name] for name in ("rank2.log", "rank4.log"))
    assert broke is not None
    assert "bytes were passed over" in broke
    assert "files may be missing" in broke


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_the_text_of_a_member_is_given_up_to_the_cut(mode: str) -> None:
    noise = random.Random(3).randbytes(9000).hex().encode()
    data = tar({"a.log": noise}, mode)
    cut = data[: data.index(noise) + 700] if mode == "w" else data[:3000]
    parts = []
    reasons = []
    try:
        for member in members(Source("a.tar", None, len(cut), Codec.TAR, cut)):
            stream = member.open()
            try:
                while part := stream.read(1 << 20):
                    parts.append(part)
            except Unreadable as error:
                reasons.append(str(error))
    except Unreadable as error:
        reasons.append(str(error))
    assert noise.startswith(b"".join(parts))
    assert len(b"".join(parts)) == 700 if mode == "w" else len(b"".join(parts)) > 3000
    assert reasons == ["cut off before its end"] * 2


def test_a_tar_cut_off_in_a_header_is_told() -> None:
    data = tar({"a.log": b"a\n", "b.log": b"b\n"})
    assert read(data[: 1024 + 300]) == ({"a.tar!a.log": b"a\n"}, "cut off before its end")


def test_a_tar_may_end_without_its_end_mark() -> None:
    assert read(tar({"a.log": b"a\n"})[:1024]) == ({"a.tar!a.log": b"a\n"}, None)


def test_an_empty_tar_is_no_damage() -> None:
    assert read(tar({})) == ({}, None)


def test_garbage_behind_the_end_mark_is_no_damage() -> None:
    data = tar({"a.log": b"a\n"}) + b"tape block" * 99
    assert read(data) == ({"a.tar!a.log": b"a\n"}, None)


def test_one_tar_behind_another() -> None:
    data = tar({"a.log": b"a\n"}) + tar({"b.log": b"b\n"})
    assert read(data) == ({"a.tar!a.log": b"a\n", "a.tar!b.log": b"b\n"}, None)


def test_a_sparse_member_gives_its_text() -> None:
    info = tarfile.TarInfo("a.log")
    info.size = 1024
    info.pax_headers = {
        "GNU.sparse.major": "1",
        "GNU.sparse.minor": "0",
        "GNU.sparse.name": "a.log",
        "GNU.sparse.realsize": "1048576",
    }
    stored = b"1\n1048064\n512\n".ljust(512, b"\x00") + b"x" * 511 + b"\n"
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(info, io.BytesIO(stored))
    assert read(buffer.getvalue()) == ({"a.tar!a.log": b"x" * 511 + b"\n"}, None)


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_huge_extended_header_is_not_held_in_memory(kind: bytes) -> None:
    info = tarfile.TarInfo("x")
    info.type = kind
    info.size = 1 << 40
    found, broke = read(info.tobuf(tarfile.GNU_FORMAT) + tar({"a.log": b"a\n"}))
    assert found == {"a.tar!a.log": b"a\n"}
    assert broke is not None


@given(st.integers(0, 10 * 512), st.integers(1, 255), st.integers(0, 1))
def test_no_damage_to_a_tar_is_silent_or_fatal(place: int, change: int, form: int) -> None:
    texts: dict[str, Content] = {"a.log": b"a" * 600, "b" * 120: b"b" * 600, "c.log": b"c" * 600}
    data = bytearray(tar(texts, form=(tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)[form]))
    data[place] ^= change
    found, broke = read(bytes(data))
    assert broke is not None or len(found) == 3


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


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_zip_member_with_a_wrong_checksum_is_given_and_told(method: int) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr("a.log", b"all of it\n")
        crc = archive.getinfo("a.log").CRC.to_bytes(4, "little")
    data = buffer.getvalue().replace(crc, b"\x01\x02\x03\x04")
    [member] = members(Source("a.zip", None, len(data), Codec.ZIP, data))
    stream = member.open()
    assert stream.read() == b"all of it\n"
    with pytest.raises(Unreadable, match=r"^damaged: its checksum is wrong$"):
        stream.read()


def test_damage_in_a_small_zip_member_costs_nothing_before_it() -> None:
    data = bytearray(zipped({"a.log": EIGHT["rank0.log"], "b.log": b"b\n"}))  # type: ignore[dict-item]
    data[1000:1100] = b"\xff" * 100
    parts = {}
    for member in members(Source("a.zip", None, len(data), Codec.ZIP, bytes(data))):
        stream = member.open()
        parts[member.name] = stream.read(1 << 20)
        stream.close()
    assert parts["a.zip!b.log"] == b"b\n"
    assert len(parts["a.zip!a.log"]) > 2000
    assert parts["a.zip!a.log"][:2000] == EIGHT["rank0.log"][:2000]  # type: ignore[index]


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
