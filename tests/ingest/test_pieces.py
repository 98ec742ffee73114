"""The scan finds every place and keeps the line numbers of the original text."""

import gc
import io
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnose.ingest import pieces
from diagnose.ingest.literals import Literal, Matcher, places_by_search
from diagnose.ingest.pieces import Piece, Pieces

alphabet = st.sampled_from([b"a", b"b", b"ab", b"\n", b"\r", b"\x00", b"abab", b" ", b"\xff"])
texts = st.lists(alphabet, max_size=60).map(b"".join)
long = [b"abababab", b"abab\nabab", b"bababa"]
literal = st.builds(
    Literal, st.sampled_from([b"ab", b"aba", b"b", b"\xffa", b"ba\n", *long]), st.booleans()
)


@given(texts, st.lists(literal, min_size=1, max_size=4, unique=True))
def test_the_fast_scan_finds_what_a_search_for_each_literal_finds(text, literals):
    matcher = Matcher(tuple(literals))
    matcher.compile()
    assert matcher.places(text) == places_by_search(literals, text)


@given(texts, st.lists(literal, min_size=1, max_size=4, unique=True))
def test_so_does_the_way_for_little_text(text, literals):
    assert Matcher(tuple(literals)).places(text) == places_by_search(literals, text)


def test_the_literals_are_compiled_once_the_text_is_no_longer_little():
    matcher = Matcher((Literal(b"abc"),), 10)
    assert matcher.places(b"abc ab") == [(3, 0)]
    assert "_database" not in vars(matcher)
    assert matcher.places(b"abcabc") == [(3, 0), (6, 0)]
    assert "_database" in vars(matcher)


def test_no_literals_find_nothing():
    assert Matcher(()).places(b"anything") == []


def rejoined(data: bytes, start: int = 0, stop: int | None = None) -> tuple[bytes, Pieces]:
    pieces = Pieces(io.BytesIO(data[max(start - 1, 0) :]), start, stop)
    return b"".join(piece.data for piece in pieces), pieces


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(pieces, "PIECE", 16)


@pytest.mark.usefixtures("small_pieces")
class TestPieces:
    data = b"".join(b"line %d of a log\n" % number for number in range(40)) + b"no end"

    def test_pieces_end_at_line_ends_and_lose_nothing(self):
        pieces = list(Pieces(io.BytesIO(self.data)))
        assert b"".join(piece.data for piece in pieces) == self.data
        assert all(piece.data.endswith(b"\n") for piece in pieces[:-1])

    def test_line_numbers_are_those_of_the_whole_text(self):
        for piece in Pieces(io.BytesIO(self.data)):
            for offset in (piece.data.find(b"line"), piece.data.rfind(b"line")):
                if offset >= 0:
                    wanted = int(piece.data[offset + 5 :].split()[0]) + 1
                    assert piece.line_number(offset) == wanted

    def test_line_numbers_go_back_as_well(self):
        before = Piece(b"x\n" * 10, 0)
        piece = Piece(b"a\nb\nc\n", 20, before)
        assert [piece.line_number(at) for at in (4, 0, 2, 5)] == [13, 11, 12, 13]

    @pytest.mark.parametrize("cut", range(1, 120, 7))
    def test_two_chunks_cut_anywhere_hold_each_line_once(self, cut):
        first, one = rejoined(self.data, start=0, stop=cut)
        second, other = rejoined(self.data, start=cut, stop=len(self.data))
        assert first + second == self.data
        assert first.endswith(b"\n")
        assert one.line_ends + other.line_ends == self.data.count(b"\n")

    @pytest.mark.parametrize("stop", [None, 32, len(data)])
    def test_what_was_read_is_let_go_of_without_a_search_for_cycles(self, stop):
        gc.collect()
        gc.disable()
        try:
            stream = io.BytesIO(self.data)
            for piece in Pieces(stream, stop=stop):
                assert piece.upcoming is not piece
            known = weakref.ref(stream)
            del stream, piece
            assert known() is None
        finally:
            gc.enable()

    def test_a_very_long_line_is_cut_and_the_next_one_is_whole(self):
        data = b"x" * 300 + b"\nnext line\n"
        pieces = list(Pieces(io.BytesIO(data)))
        assert [piece.cut for piece in pieces] == [True, *[False] * (len(pieces) - 1)]
        assert pieces[0].data == b"x" * 32
        assert pieces[-1].data.endswith(b"next line\n")
        assert pieces[-1].line_number(pieces[-1].data.find(b"next")) == 2

    def test_a_progress_bar_redrawn_for_days_is_not_a_long_line(self):
        data = b"".join(b"\r%3d%%" % (number % 100) for number in range(200)) + b"\nend\n"
        pieces = list(Pieces(io.BytesIO(data)))
        assert b"".join(piece.data for piece in pieces) == data
        assert pieces[-1].line_number(pieces[-1].data.rfind(b"end")) == 2


@given(st.binary(max_size=200), st.integers(1, 200))
def test_any_bytes_any_cut_nothing_is_read_twice(data, cut):
    cut = min(cut, len(data))
    whole, pieces = rejoined(data)
    _, first = rejoined(data, start=0, stop=cut)
    _, second = rejoined(data, start=cut, stop=len(data))
    assert pieces.read == len(data)
    assert first.line_ends + second.line_ends == pieces.line_ends == data.count(b"\n")
