import builtins
import bz2
import gc
import gzip
import io
import lzma
import pickle
import random
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from diagnose.errors import Unreadable
from diagnose.ingest import stream as stream_module
from diagnose.ingest.source import Source
from diagnose.ingest.stream import Codec, codec_of

TEXT = b"".join(b"line %d of a log\n" % number for number in range(50_000))

PACKERS: dict[Codec, Callable[[bytes], bytes]] = {
    Codec.GZ: gzip.compress,
    Codec.BZ2: bz2.compress,
    Codec.XZ: lzma.compress,
    Codec.ZST: zstandard.compress,
}

CHECKED: dict[Codec, Callable[[bytes], bytes]] = {
    **PACKERS,
    Codec.ZST: zstandard.ZstdCompressor(write_checksum=True).compress,
}
"""With a checksum behind the text, as the command-line programs write it."""


def stored(path: Path, data: bytes, codec: Codec | None = None) -> Source:
    path.write_bytes(data)
    return Source(path.name, str(path), len(data), codec)


def read_all(source: Source, size: int = 1 << 20) -> tuple[bytes, str | None]:
    """Return what can be read and why reading stopped, if it did."""
    parts = []
    with source.open() as stream:
        try:
            while part := stream.read(size):
                parts.append(part)
        except Unreadable as error:
            return b"".join(parts), str(error)
    return b"".join(parts), None


@pytest.mark.parametrize("codec", PACKERS)
@pytest.mark.parametrize("size", [1 << 20, 1000])
def test_unpacks(tmp_path: Path, codec: Codec, size: int) -> None:
    packed = PACKERS[codec](TEXT)
    assert codec_of(packed) is codec
    assert read_all(stored(tmp_path / "a", packed, codec), size) == (TEXT, None)


@pytest.mark.parametrize("codec", PACKERS)
def test_members_one_behind_another_are_one_stream(tmp_path: Path, codec: Codec) -> None:
    packed = PACKERS[codec](b"one\n") + PACKERS[codec](b"two\n")
    assert read_all(stored(tmp_path / "a", packed, codec)) == (b"one\ntwo\n", None)


@pytest.mark.parametrize("codec", PACKERS)
def test_a_cut_off_file_gives_what_it_has_and_then_the_reason(tmp_path: Path, codec: Codec) -> None:
    packed = PACKERS[codec](TEXT * 20)
    data, reason = read_all(stored(tmp_path / "a", packed[: len(packed) * 2 // 3], codec))
    assert (TEXT * 20).startswith(data)
    assert codec is Codec.BZ2 or len(data) > len(TEXT) // 2
    assert reason == "cut off before its end"


@pytest.mark.parametrize("codec", [Codec.GZ, Codec.XZ, Codec.ZST])
@pytest.mark.parametrize("lost", [1, 4])
def test_a_file_without_its_last_bytes_gives_all_of_its_text(
    tmp_path: Path, codec: Codec, lost: int
) -> None:
    packed = CHECKED[codec](b"a short log\n")
    found = read_all(stored(tmp_path / "a", packed[:-lost], codec))
    assert found == (b"a short log\n", "cut off before its end")


@pytest.mark.parametrize("codec", [Codec.GZ, Codec.ZST])
@pytest.mark.parametrize("text", [b"a short log\n", random.Random(5).randbytes(6 << 20)])
def test_a_wrong_checksum_comes_behind_all_of_the_text(
    tmp_path: Path, codec: Codec, text: bytes
) -> None:
    packed = bytearray(CHECKED[codec](text))
    packed[-5 if codec is Codec.GZ else -1] ^= 0xFF
    found = read_all(stored(tmp_path / "a", bytes(packed), codec))
    assert found == (text, "damaged: its checksum is wrong")


@pytest.mark.parametrize("codec", PACKERS)
def test_damage_in_a_second_frame_costs_nothing_of_the_first(tmp_path: Path, codec: Codec) -> None:
    second = bytearray(PACKERS[codec](b"two\n"))
    second[len(second) // 2 :] = b"\xff" * (len(second) - len(second) // 2)
    packed = PACKERS[codec](b"one\n") + bytes(second)
    data, reason = read_all(stored(tmp_path / "a", packed, codec))
    assert data.startswith(b"one\n")
    assert reason is not None


@pytest.mark.parametrize("at", [300, 2500, 8000])
def test_damage_in_a_small_file_costs_nothing_before_it(tmp_path: Path, at: int) -> None:
    text = b"".join(b"line %d of a log\n" % (number * 7919) for number in range(4000))
    whole = gzip.compress(text)
    data, reason = read_all(stored(tmp_path / "a", whole[:at] + b"\xff" * 400, Codec.GZ))
    cut, _ = read_all(stored(tmp_path / "b", whole[:at], Codec.GZ))
    assert data.startswith(cut)
    assert text.startswith(cut)
    assert len(cut) > at
    assert reason is not None


@pytest.mark.parametrize("codec", PACKERS)
@pytest.mark.parametrize("zeros", [4, 5000])
def test_zeros_behind_the_end_are_padding(tmp_path: Path, codec: Codec, zeros: int) -> None:
    packed = PACKERS[codec](b"one\n") + bytes(zeros)
    assert read_all(stored(tmp_path / "a", packed, codec)) == (b"one\n", None)


@pytest.mark.parametrize("codec", PACKERS)
@pytest.mark.parametrize("behind", [b"x", b"more text, not packed\n" * 200])
def test_something_else_behind_the_end_is_told(tmp_path: Path, codec: Codec, behind: bytes) -> None:
    data, reason = read_all(stored(tmp_path / "a", PACKERS[codec](b"one\n") + behind, codec))
    assert data == b"one\n"
    assert reason == f"something that is not {codec} follows its end; that part was not read"


def test_a_table_for_seeking_behind_zstd_is_no_text(tmp_path: Path) -> None:
    packed = zstandard.compress(b"one\n") + b"\x5e\x2a\x4d\x18\x04\x00\x00\x00abcd"
    assert read_all(stored(tmp_path / "a", packed, Codec.ZST)) == (b"one\n", None)


def test_many_frames_in_one_chunk(tmp_path: Path) -> None:
    packed = b"".join(gzip.compress(b"%d\n" % number) for number in range(500))
    text = b"".join(b"%d\n" % number for number in range(500))
    assert read_all(stored(tmp_path / "a", packed, Codec.GZ), 7) == (text, None)


@pytest.mark.parametrize("codec", PACKERS)
def test_garbage_behind_the_magic_number_is_a_reason(tmp_path: Path, codec: Codec) -> None:
    packed = PACKERS[codec](TEXT)[:12] + b"\xff" * 500
    data, reason = read_all(stored(tmp_path / "a", packed, codec))
    assert data == b""
    assert reason is not None


def test_a_file_that_grows_ends_where_it_was_found(tmp_path: Path) -> None:
    source = stored(tmp_path / "a.log", b"old\n")
    with (tmp_path / "a.log").open("ab") as file:
        file.write(b"new\n")
    assert read_all(source) == (b"old\n", None)


def test_begins_in_the_middle_of_a_plain_file(tmp_path: Path) -> None:
    with stored(tmp_path / "a.log", b"0123456789").open(4) as stream:
        assert stream.read() == b"456789"


def test_reads_lines(tmp_path: Path) -> None:
    with stored(tmp_path / "a.gz", gzip.compress(b"a\nb\n\nc"), Codec.GZ).open() as stream:
        assert stream.readline() == b"a\n"
        assert stream.readline(1) == b"b"
        assert list(stream) == [b"\n", b"\n", b"c"]


def test_a_pasted_text_is_read_from_memory() -> None:
    assert read_all(Source("<stdin>", None, 2, None, b"x\n")) == (b"x\n", None)
    packed = gzip.compress(b"x\n")
    assert read_all(Source("<stdin>", None, len(packed), Codec.GZ, packed)) == (b"x\n", None)


def test_vanished(tmp_path: Path) -> None:
    source = stored(tmp_path / "a.log", b"x")
    (tmp_path / "a.log").unlink()
    with pytest.raises(Unreadable, match="vanished"):
        source.open()


def test_replaced_by_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.log").mkdir()
    with pytest.raises(Unreadable, match="no longer a regular file"):
        Source("a.log", str(tmp_path / "a.log"), 1).open()


def test_permission_denied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = stored(tmp_path / "a.log", b"x")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(builtins, "open", refuse)
    with pytest.raises(Unreadable, match="permission denied"):
        source.open()


def test_a_disk_error_while_reading_is_a_reason() -> None:
    class Failing(io.BytesIO):
        def read1(self, size: int | None = -1, /) -> bytes:
            raise OSError(5, "Input/output error")

    with pytest.raises(Unreadable, match="input/output error"):
        stream_module.Stream(Failing()).read(1)


@pytest.mark.parametrize("codec", PACKERS)
def test_a_bomb_is_stopped(tmp_path: Path, codec: Codec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_module, "FREE_BYTES", 1 << 20)
    monkeypatch.setattr(stream_module, "MAX_RATIO", 10)
    data, reason = read_all(stored(tmp_path / "a", PACKERS[codec](bytes(8 << 20)), codec))
    assert len(data) <= 1 << 20
    assert reason is not None
    assert "10 times its size" in reason


def test_a_container_has_no_bytes_of_its_own() -> None:
    with pytest.raises(Unreadable):
        Source("a.tar", "a.tar", 1, Codec.TAR).open()


def test_can_be_sent_to_another_process() -> None:
    source = Source("a.log", "/x/a.log", 1, Codec.GZ)
    assert pickle.loads(pickle.dumps(source)) == source


@pytest.mark.parametrize("codec", [Codec.GZ, Codec.ZST])
def test_a_look_at_a_packed_file_is_let_go_of_without_a_search_for_cycles(codec: Codec) -> None:
    packed = {Codec.GZ: gzip.compress, Codec.ZST: zstandard.compress}[codec](TEXT)
    gc.collect()
    gc.disable()
    try:
        raw = io.BytesIO(packed)
        assert not stream_module.is_packed_tar(raw, codec)
        known = weakref.ref(raw)
        del raw
        assert known() is None
    finally:
        gc.enable()
