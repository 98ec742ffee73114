"""Lines that are read as columns must say the same as lines that are read one by one."""

import io

from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.ingest.envelope import NOBODY
from diagnose.ingest.pieces import Pieces
from diagnose.model.event import Rows
from diagnose.parsers import steps_megatron
from diagnose.parsers.collect import Collector
from diagnose.parsers.kept import events_of, series_of
from diagnose.parsers.reader import PieceBlock, Reader

READER = Reader(steps_megatron.PARSERS)


def line(
    step,
    *,
    prefix="",
    second=22,
    loss=" lm loss: 2.713355E+00 |",
    scale="1.0",
    norm="0.412",
    skips=0,
    time="6214.7",
    end="\n",
):
    return (
        f"{prefix} [2026-01-05 10:14:{second:02d}.481903] iteration {step:8d}/   50000 | consumed samples: {step * 1024:12d}"
        f" | elapsed time per iteration (ms): {time} | learning rate: 2.998000E-04 | global batch size:  1024 |{loss}"
        f" loss scale: {scale} | grad norm: {norm} | num zeros: {step} | number of skipped iterations: {skips:3d}"
        f" | number of nan iterations:   0 |{end}"
    )


def collected(text, *, by_line=False):
    """Return events and series of a text, read as it is or one line by itself."""
    into = Collector("a.log")
    prefix_at = PieceBlock.prefix_at
    if by_line:
        PieceBlock.prefix_at = lambda self, offset: None
    try:
        READER.read("a.log", NOBODY, Pieces(io.BytesIO(text.encode())), into)
    finally:
        PieceBlock.prefix_at = prefix_at
    return events_of(into.records()), series_of("a.log", into.records())


def rows_of(text):
    piece = next(iter(Pieces(io.BytesIO(text.encode()))))
    return [one for one in _records(piece) if isinstance(one, Rows)]


def _records(piece):
    found = []

    class Listening(Collector):
        def add(self, record):
            found.append(record)

    READER.read("a.log", NOBODY, [piece], Listening("a.log"))
    return found


ODD = {
    "plain": {},
    "loss that is no number": {"loss": " lm loss: nan |"},
    "no loss": {"loss": ""},
    "no gradient norm": {"norm": "0.000"},
    "gradient norm that is no number": {"norm": "nan"},
    "another scale": {"scale": "0.5"},
    "a skip": {"skips": 1},
    "a torn number": {"time": "62.14.7"},
    "a minute that is none": {"second": 61},
    "another rank": {"prefix": "[rank3]:"},
    "two in one line": {"end": ""},
    "a carriage return": {"end": "\r\n"},
    "another column": {"loss": " lm loss: 2.7E+00 | z_loss: 1.0E-04 |"},
    "other text": {"end": "\nsaving checkpoint at iteration  2000 to /ckpt\n"},
}


@given(
    st.lists(st.tuples(st.sampled_from(sorted(ODD)), st.integers(0, 59)), max_size=12),
    st.integers(1, 5),
)
@settings(max_examples=200, deadline=None)
def test_columns_say_the_same_as_single_lines(kinds, plain):
    parts = []
    for step, (kind, second) in enumerate(kinds):
        for number in range(plain):
            parts.append(line(step * 10 + number, second=second))
        parts.append(line(step * 10 + 9, **{"second": second} | ODD[kind]))
    text = "".join(parts)
    assert repr(collected(text)) == repr(collected(text, by_line=True))


def test_lines_of_one_shape_become_columns():
    text = "".join(line(step) for step in range(100))
    (rows,) = rows_of(text)
    assert list(rows.lines) == list(range(2, 101))
    assert rows.values["loss"][0] == 2.713355


def test_other_lines_between_are_passed_over():
    text = "".join(line(step) + "    forward-compute ....: (1.0, 2.0)\n" for step in range(10))
    (rows,) = rows_of(text)
    assert list(rows.lines) == list(range(3, 20, 2))
