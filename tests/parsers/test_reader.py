"""From bytes to records: places, windows, interleaved blocks, chunks."""

import io

import pytest

from diagnose.ingest import pieces
from diagnose.ingest.envelope import NOBODY
from diagnose.ingest.pieces import Pieces
from diagnose.model.event import Measurement, Nature
from diagnose.parsers.base import (
    BlockParser,
    BulkParser,
    LineParser,
    Note,
    Pattern,
    make_event,
)
from diagnose.parsers.collect import Collector
from diagnose.parsers.kept import events_of, series_of
from diagnose.parsers.reader import Reader

ALARM = Pattern(
    event="test.alarm",
    regex=r"ALARM (?P<code>\d+)",
    nature=Nature.ERROR,
    source="a test",
    sample="ALARM 7",
    types={"code": int},
)
LINES = LineParser(name="alarms", title="Alarms", patterns=(ALARM,))


def read_block(lines):
    if len(lines) < 2:
        raise Note("a record was cut off")
    yield make_event(
        "test.block",
        Nature.ERROR,
        lines[0],
        {"body": [line.text for line in lines[1:]]},
        end_line=lines[-1].number,
    )


BLOCKS = BlockParser(
    name="blocks",
    title="Blocks",
    opens=("BEGIN block",),
    starts=lambda line: line.text.startswith("BEGIN block"),
    ends=lambda lines, line: not line.text.startswith("  "),
    read=read_block,
    emits=("test.block",),
    sample="BEGIN block\n  a\n",
)


def read_bulk(block):
    start = 0
    while (place := block.data.find(b"tick ", start)) >= 0:
        start = place + 5
        line = block.line_at(place)
        yield Measurement(line, float(line.text.split()[1]), {"loss": 1.0})


BULK = BulkParser(
    name="ticks", title="Ticks", opens=("tick ",), read=read_bulk, emits=("loss",), sample="tick 1"
)
READER = Reader([LINES, BLOCKS, BULK])


def read(data, identity=NOBODY):
    into = Collector("a.log")
    READER.read("a.log", identity, Pieces(io.BytesIO(data)), into)
    return into


def alarms(into):
    return [
        (event.line, event["code"])
        for event in events_of(into.records())
        if event.name == "test.alarm"
    ]


def test_each_line_with_the_literal_is_matched_once():
    into = read(b"quiet\nALARM 7 ALARM 8\nALARM x\r\nALARM 9\r\n")
    assert alarms(into) == [(2, 7), (4, 9)]


def test_a_redraw_before_the_message_is_another_text_on_the_same_line():
    assert alarms(read(b"one\n 10%\r 20%\rALARM 3\nALARM 4")) == [(2, 3), (3, 4)]


def test_in_a_very_long_line_every_literal_is_found():
    data = (
        b"x" * 20_000 + b" ALARM 5 " + b"y" * 20_000 + b" ALARM 6 " + b"z" * 9_000 + b"\nALARM 7\n"
    )
    assert alarms(read(data)) == [(1, 5), (1, 6), (2, 7)]


class TestBlocks:
    def test_lines_of_other_writers_are_left_out(self):
        data = (
            b"[rank1]: BEGIN block\n[rank2]: BEGIN block\n[rank1]:   a\n[rank2]:   c\n"
            b"[rank1]:   b\n[rank2]: done\n[rank1]: done\n"
        )
        found = {event.rank: event["body"] for event in events_of(read(data).records())}
        assert found == {1: ["  a", "  b"], 2: ["  c"]}

    @pytest.mark.parametrize("piece", [1 << 20, 20_000])
    def test_lines_of_hundreds_of_others_may_stand_between(self, piece, monkeypatch):
        monkeypatch.setattr(pieces, "PIECE", piece)
        data = b"".join(
            b"[rank%d]: %s\r\n" % (rank, text)
            for text in (b"BEGIN block", b"  a", b"  b", b"done", b"  c")
            for rank in range(300)
        )
        bodies = [event["body"] for event in events_of(read(data).records())]
        assert bodies == [["  a", "  b"]] * 300

    def test_bare_lines_right_behind_a_prefixed_first_line_belong_to_it(self):
        data = b"[rank1]: BEGIN block\n  a\n  b\n[rank2]: other\n  c\n"
        assert [event["body"] for event in events_of(read(data).records())] == [["  a", "  b"]]

    def test_a_line_end_of_two_bytes_is_no_empty_line(self):
        (event,) = events_of(read(b"BEGIN block\r\n  a\r\n  b\r\nother\r\n").records())
        assert (event["body"], event.end_line) == (["  a", "  b"], 3)

    def test_a_cut_off_record_is_noted(self):
        into = read(b"BEGIN block\nother\n")
        assert events_of(into.records()) == []
        assert into.notes == {"blocks: a record was cut off": 1}


@pytest.mark.parametrize("size", range(14, 80, 3))
def test_records_are_neither_lost_nor_doubled_wherever_a_piece_ends(size, monkeypatch):
    data = b"".join(
        b"tick %d\nALARM %d\nBEGIN block\n  body %d\nend\n" % (number, number, number)
        for number in range(20)
    )
    whole = read(data)
    monkeypatch.setattr(pieces, "PIECE", size)
    cut = read(data)
    assert events_of(cut.records()) == events_of(whole.records())
    assert repr(series_of("a.log", cut.records())) == repr(
        series_of("a.log", whole.records())
    )  # NaN equals nothing, so compare as text
