import pytest
from communication import check_table, cut_anywhere, holds, names, one, read

from diagnose.parsers import c10d_desync as module

REPORT = """\
\t - [0] Timeout at collective: ALLREDUCE, #315
\t - To our best knowledge, ranks [3, 5] are the lagging ranks that caused this timeout. They never joined any collectives
\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:
\t   - [1, 2] joined but didn't finish collective #183 (count from 1)
\t     [7] finished collective #182, but didn't join collective #183 (count from 1)
\t - Snapshot of ranks' latest states:
\t   #182 finished ranks:
\t     [7] finished ALLREDUCE
"""


def test_pattern_table():
    check_table(module)


def test_report_names_each_rank():
    found = [
        (event.rank, event.fields["state"], event.line)
        for event in read(module, REPORT)
        if event.name == "c10d.desync_rank"
    ]
    assert found == [
        (3, "never-joined", 2),
        (5, "never-joined", 2),
        (1, "not-finished", 4),
        (2, "not-finished", 4),
        (7, "not-joined", 5),
    ]
    last = [one for one in read(module, REPORT) if one.name == "c10d.desync_rank"][-1]
    assert (last.fields["finished"], last.fields["missing"], last.fields["ranks"]) == (
        182,
        183,
        [7],
    )


PRINT = "SequenceNumber={seq}, OpType={op}, TensorShape=[{shape}], TensorDtypes={dtype}, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cpu))"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "RuntimeError: Detected mismatch between collectives on ranks. Rank 1 is running collective: CollectiveFingerPrint("
            + PRINT.format(seq=6, op="BROADCAST", shape="20", dtype="Float")
            + ", but Rank 0 is running collective: CollectiveFingerPrint("
            + PRINT.format(seq=5, op="ALLREDUCE", shape="10, 3", dtype="Half")
            + ".Collectives differ in the following aspects: Sequence number: 6vs 5",
            {"rank": 1, "op": "BROADCAST", "shape": "20", "dtype": "Float", "seq": 6, "other_rank": 0, "other_op": "ALLREDUCE", "other_shape": "10, 3", "other_dtype": "Half"},
        ),
        (
            "Detected mismatch between collectives on ranks. Rank 1 is running collective: CollectiveFingerPrint(SequenceNumber=6OpType=BARRIER), but Rank 0 is running collective: CollectiveFingerPrint(SequenceNumber=6OpType=ALLREDUCE)",
            {"op": "BARRIER", "seq": 6, "shape": None, "other_op": "ALLREDUCE"},
        ),
        ("Detected mismatch between collectives on ranks. Rank 1 is running collective: CollectiveFingerPrint(OpType=BROADCAST, TensorShape=[1", {"op": "BROADCAST", "rank": 1, "other_op": "absent"}),
    ],
)  # fmt: skip
def test_fingerprints(text, expected):
    event = one(module, text)
    assert event.name == "c10d.mismatch"
    assert holds(event, expected) == {}


@pytest.mark.parametrize(
    "text",
    [
        "[7] finished ALLREDUCE",
        "ranks [] are the lagging ranks",
        "Rank 1 is running collective: CollectiveFingerPrint(OpType=BROADCAST)",
        "Failed to retrieve TORCH_NCCL_DESYNC_DEBUG report.",
    ],
)
def test_near_misses(text):
    assert names(module, text) == []


def test_cut_records():
    cut_anywhere(module, REPORT)


SNAPSHOT = """\t - Snapshot of ranks' latest states:
\t   #182 finished ranks:
\t     [7] finished ALLREDUCE
\t   #315 started ranks:
\t     [0, 1, 2] started ALLREDUCE
\t     [3] started BROADCAST
\t   #317 started ranks:
\t     [4, 5, 6] started _ALLGATHER_BASE
next line"""


def test_the_snapshot_shows_two_operations_under_one_number():
    found = read(module, SNAPSHOT)
    states = [event for event in found if event.name == "c10d.desync_state"]
    assert [(one["number"], one["op"], one["ranks"]) for one in states] == [
        (182, "ALLREDUCE", [7]),
        (315, "ALLREDUCE", [0, 1, 2]),
        (315, "BROADCAST", [3]),
        (317, "_ALLGATHER_BASE", [4, 5, 6]),
    ]
    (odd,) = (event for event in found if event.name == "c10d.desync_mismatch")
    assert (odd["number"], odd["usual_op"], odd["odd"]) == (315, "ALLREDUCE", [3])


def test_halves_that_differ_name_nobody():
    text = SNAPSHOT.replace("[0, 1, 2]", "[0]")
    (odd,) = (event for event in read(module, text) if event.name == "c10d.desync_mismatch")
    assert (odd["odd"], odd["usual_op"]) == ([], None)


def test_one_operation_under_each_number_is_no_mismatch():
    text = SNAPSHOT.replace("BROADCAST", "ALLREDUCE")
    assert "c10d.desync_mismatch" not in {event.name for event in read(module, text)}


def test_a_cut_snapshot():
    cut_anywhere(module, SNAPSHOT)


def test_fingerprints_on_lines_of_their_own_are_one_mismatch():
    text = (
        "RuntimeError: Detected mismatch between collectives on ranks.\n"
        "Rank 3: _ALLGATHER_BASE, TensorShape=[20]\n"
        "Rank 0:  _ALLGATHER_BASE, TensorShape=[10]\n"
    )
    event = one(module, text)
    fields = event.fields
    assert (event.name, event.rank, fields["other_rank"]) == ("c10d.mismatch", 3, 0)
    assert (fields["shape"], fields["other_shape"]) == ("20", "10")


def test_a_mismatch_without_its_ranks_is_no_event():
    text = "RuntimeError: Detected mismatch between collectives on ranks.\nTraceback (most recent call last):\n"
    assert names(module, text) == []
