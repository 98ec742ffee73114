import pytest
from communication import check_table, one

from diagnose.parsers import c10d
from diagnose.parsers import c10d_dump as module


def test_pattern_table():
    check_table(module)


def test_dump_signal_names_the_first_observer_and_carries_the_counters():
    text = "[rank2]:[E321 02:07:10.001234567 ProcessGroupNCCL.cpp:1670] [PG ID 0 PG GUID 0(default_pg) Rank 2] Received a dump signal due to a collective timeout from  rank 3 and we will try our best to dump the debug info. Last enqueued NCCL work: 1579, last completed NCCL work: 1579."
    observed = one(module, text)
    progress = one(c10d, text)
    assert (observed.name, observed.rank, observed.fields["by_rank"]) == (
        "c10d.dump_signal_observed",
        2,
        3,
    )
    assert (progress.name, progress.fields["pending"]) == ("c10d.progress", 0)


@pytest.mark.parametrize(
    ("text", "rank", "pg_rank", "communicator"),
    [
        ("[PG ID 0 PG GUID 0(default_pg) Rank 137] Broadcasting flight recorder dump signal to other processes via TCPStore.", 137, 137, "0"),
        ("[PG ID 2 PG GUID 9(TENSOR_MODEL_PARALLEL_GROUP) Rank 1] First PG on this rank to signal dumping.", None, 1, "9"),
        ("[rank9]:[E321 02:07:08.1 ProcessGroupNCCL.cpp:1682] [PG ID 2 PG GUID 9 Rank 1] First PG on this rank to signal dumping.", 9, 1, "9"),
        ("[Rank 4] Received a dump signal from this local rank and will start to dump the debug info.", 4, 4, None),
    ],
)  # fmt: skip
def test_a_rank_in_a_group_is_global_only_in_the_default_group(text, rank, pg_rank, communicator):
    event = one(module, text)
    assert (event.rank, event.fields["pg_rank"], event.communicator) == (
        rank,
        pg_rank,
        communicator,
    )
    assert event.fields["by_rank"] == pg_rank
