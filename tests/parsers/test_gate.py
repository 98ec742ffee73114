"""A gate lets a file pass by its name, its bytes or a test, and never is narrower than the parser."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose.parsers import metrics_csv, scaling_table
from diagnose.parsers.gate import Gate, Look, Marks
from diagnose.parsers.metric_names import ALIASES, STEP_NAMES
from diagnose.parsers.serving import generated_text
from diagnose.parsers.serving.generated_marks import may_be_prose
from diagnose.parsers.table_head import may_be_table


def admits(gate, name, head):
    return gate.admits(Look(name, head, Marks([gate])))


@pytest.mark.parametrize(
    ("gate", "passing", "others"),
    [
        (Gate(), [("a", b"")], []),
        (Gate(names=("dump_",)), [("fr_dump_3", b"")], [("a.log", b"dump_")]),
        (Gate(starts=(b"{", b"[")), [("a", b"\xef\xbb\xbf\r\n {"), ("a", b"[")], [("a", b"a{")]),
        (Gate(holds=(b"ab", b"cd")), [("a", b"xcd")], [("a", b"ac"), ("a", b"")]),
        (Gate(least=3), [("a", b"abc")], [("a", b"ab")]),
        (
            Gate(names=("m.json",), starts=(b"{",), holds=(b"key",)),
            [("m.json", b""), ("a", b'{"key": 1}')],
            [("a", b'["key"]'), ("a", b"{}")],
        ),
        (
            Gate(holds=(b"key",), test=lambda head: head.isdigit()),
            [("a", b"12"), ("a", b"a key")],
            [("a", b"a")],
        ),
    ],
)
def test_a_file_passes_by_its_name_its_bytes_or_a_test(gate, passing, others):
    assert all(admits(gate, *one) for one in passing)
    assert not any(admits(gate, *one) for one in others)


def test_many_files_are_looked_at_as_a_few_are():
    marks = Marks([Gate(holds=(b"ab",)), Gate(holds=(b"cd", b"ab"))])
    few = marks.held(b"cd ab ab")
    for _ in range(100):
        marks.held(b"x" * (64 << 10))
    assert marks.held(b"cd ab ab") == few == {b"ab", b"cd"}


METRICS = [names[0] for names in ALIASES.values()]
DELIMITERS = st.sampled_from([",", "\t", ";", "|", ", "])
columns = st.sampled_from(
    [*STEP_NAMES, *METRICS, "gpus", "num_nodes", "World Size", "ranks", "throughput", "a b", "7"]
)
cells = columns.flatmap(lambda name: st.sampled_from([name, f'"{name}"', f"run 7 - {name}", f"# {name}"]))  # fmt: skip
headers = st.tuples(DELIMITERS, st.lists(cells, min_size=1, max_size=5))


@settings(max_examples=500, deadline=None)
@given(headers, st.sampled_from(["", "\ufeff", "# ", "text\n\n", "a,b\r\n"]))
def test_what_is_read_as_a_table_passes(header, before):
    text = (before + header[0].join(header[1]) + "\n").encode()
    if metrics_csv.accepts("a.csv", text) or scaling_table.accepts("a.csv", text):
        assert may_be_table(text)


@pytest.mark.parametrize(
    ("name", "delimiter"), list(product(STEP_NAMES, (",", "\t", ";"))), ids=repr
)
def test_every_name_of_a_step_passes(name, delimiter):
    text = f"{name}{delimiter}loss\n".encode()
    assert metrics_csv.accepts("a.csv", text) and may_be_table(text)


def test_lines_of_logs_are_no_tables():
    text = (
        b"node-03:81200:81510 [0] NCCL INFO Connected all rings, use ring PXN 0 GDR 1\n"
        b"2026-01-14 02:59:25,120 INFO train: step 1480/50000, loss 2.3190\n"
        b'[rank0]: File "train.py", line 12, in step\n'
    )
    assert not may_be_table(text)


words = st.sampled_from(["the", "sea", "is", "and", "deep", "It's", "Müller", "(of)", "12:30", "a.", "\n"])  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(words, min_size=30, max_size=120).map(" ".join))
def test_what_is_read_as_prose_passes(text):
    head = text.encode()
    assert not generated_text.accepts("a.txt", head) or may_be_prose(head)
