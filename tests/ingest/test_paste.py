import gzip
import io
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnose.ingest.paste import split
from diagnose.ingest.stream import Codec


def parts(data: bytes) -> list[tuple[str, bytes | None]]:
    return [(source.name, source.data) for source in split(data)]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", [("<stdin>", b"")]),
        (b"a\nb\n", [("<stdin>", b"a\nb\n")]),
        (b"==> a.log <==\n1\n2\n", [("a.log", b"1\n2\n")]),
        (
            b"before\n==> a.log <==\n1\n\n==> b.log <==\n2\n",
            [("<stdin>", b"before\n"), ("a.log", b"1\n"), ("b.log", b"2\n")],
        ),
        (b"\n\n==> a b.log <==\n1", [("a b.log", b"1")]),
        (
            b"==> a <==\r\n1\r\n\r\n==> a <==\r\n2\r\n",
            [("a", b"1\r\n"), ("a-2", b"2\r\n")],
        ),
        (b"==> a <==\n\n==> b <==\n", [("a", b""), ("b", b"")]),
        (b"==> a <==\n1\n\n\n==> b <==\n2\n", [("a", b"1\n\n"), ("b", b"2\n")]),
        (b"==> <stdin> <==\n1\n", [("<stdin>-2", b"1\n")]),
        (b"==> a\x1b[0m <==\n1\n", [("a�[0m", b"1\n")]),
    ],
)
def test_splits_at_headings(data: bytes, expected: list[tuple[str, bytes]]) -> None:
    assert parts(data) == expected


@pytest.mark.parametrize(
    "data",
    [b" ==> a <==\n1\n", b"x ==> a <==\n", b"==>  <==\n", b"==> a <== b\n", b"==> a\n<==\n"],
)
def test_what_only_looks_like_a_heading_is_text(data: bytes) -> None:
    assert parts(data) == [("<stdin>", data)]


def test_compressed_bytes_are_one_source() -> None:
    [source] = split(gzip.compress(b"==> a <==\n"))
    assert (source.name, source.codec, source.open().read()) == (
        "<stdin>",
        Codec.GZ,
        b"==> a <==\n",
    )


def test_a_packed_tar_is_an_archive() -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("x"))
    [source] = split(buffer.getvalue())
    assert source.codec is Codec.TAR


@given(st.binary(max_size=200))
def test_any_bytes_give_sources_of_their_own_size(data: bytes) -> None:
    sources = split(data)
    assert len({source.name for source in sources}) == len(sources) > 0
    assert all(source.size == len(source.data or b"") for source in sources)
