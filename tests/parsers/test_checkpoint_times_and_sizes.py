"""Late writers, slow saves, files left from before, and files that are too small."""

import pytest

from diagnose.ingest.source import Entry
from diagnose.parsers.checkpoint.judge import Tree, judge

MIB = 1 << 20
START = 1_785_578_400.0
HOUR = 3600.0


def dcp(step, times, at=START, sizes=None):
    return [
        Entry(f"ckpt/step-{step}/__{n}_0.distcp", (sizes or {}).get(n, 100 * MIB), modified=at + time)
        for n, time in enumerate(times)
    ] + [Entry(f"ckpt/step-{step}/.metadata", 4096, modified=at + max(times) + 1)]  # fmt: skip


def events(name, *groups, exact=True):
    entries = [entry for group in groups for entry in group]
    return [event for event in judge(Tree("in", entries, exact=exact)) if event.name == name]


def test_a_rank_that_writes_long_after_the_others_is_named():
    (late,) = events("ckpt.slow_writers", dcp(500, [3, 1, 2, 4, 2, 402, 1, 3]))
    assert (late["ranks"], late["kind"], late["late"], late["writers"]) == ([5], "rank", 401, 8)


@pytest.mark.parametrize(
    "times",
    [
        [1, 2, 3, 25],
        [0, 0, 0, 0],
        [10, 70, 130, 190, 250],
        [0, 1, 2, 200_000],
        [1, 400, 2],
        [0, 60, 0, 60, 60],
    ],
    ids=["seconds", "copied", "one after the other", "days apart", "too few", "whole minutes"],
)
def test_nobody_is_named_where_times_tell_nothing(times):
    assert events("ckpt.slow_writers", dcp(500, times)) == []


def test_ranks_of_zero_are_data_parallel_ranks_unless_the_model_is_whole():
    def zero(models):
        return [
            Entry(f"ckpt/global_step500/zero_pp_rank_{n}_mp_rank_{m:02d}_optim_states.pt", MIB,
                  modified=START + (400 if n == 3 else n))
            for n in range(6) for m in range(models)
        ]  # fmt: skip

    assert [(e["kind"], e["ranks"]) for e in events("ckpt.slow_writers", zero(1))] == [("rank", [3])]  # fmt: skip
    assert [(e["kind"], e["ranks"]) for e in events("ckpt.slow_writers", zero(2))] == [("dp", [3])]


def test_a_save_that_takes_far_longer_than_others_as_large_is_told():
    usual = [dcp(n, [0, 10, 11, 12], START + n * HOUR) for n in (1, 2, 3)]
    slow = dcp(4, [0, 200, 220, 240], START + 4 * HOUR)
    assert [e["step"] for e in events("ckpt.slow_write", *usual, slow)] == [4]
    assert events("ckpt.slow_write", *usual, dcp(4, [0, 10, 14, 20], START + 4 * HOUR)) == []
    larger = dcp(4, [0, 200, 220, 240], START + 4 * HOUR, sizes=dict.fromkeys(range(4), 900 * MIB))
    assert events("ckpt.slow_write", *usual, larger) == []


def test_a_file_older_than_the_save_before_was_left_over():
    before = [dcp(n, [0, 1, 2, 3], START + n * HOUR) for n in (1, 2, 3)]
    mixed = dcp(4, [0, -2 * HOUR, 2, 3], START + 4 * HOUR)
    (found,) = events("ckpt.mixed_steps", *before, mixed)
    assert (found["step"], found["paths"], found["by"]) == (4, ["__1_0.distcp"], "time")
    seconds = [dcp(n, [0, 0.1, 0.2, 0.3], START + n) for n in (1, 2, 3)]
    assert events("ckpt.mixed_steps", *seconds, dcp(4, [0, -2, 0.2, 0.3], START + 4)) == []
    spread = dcp(4, [0, -60, 2, 3], START + 4 * HOUR)
    assert events("ckpt.mixed_steps", *before, spread) == []


def test_a_zero_shard_smaller_than_its_siblings_stands_out():
    def zero(sizes):
        return [
            Entry(f"ckpt/global_step500/zero_pp_rank_{n}_mp_rank_00_optim_states.pt", size * MIB)
            for n, size in enumerate(sizes)
        ]

    (small,) = events("ckpt.size_outlier", zero([100, 100, 40, 100, 100]))
    assert (small["size"], small["median"], small["against"]) == (40 * MIB, 100 * MIB, "other ranks")  # fmt: skip
    assert events("ckpt.size_outlier", zero([100, 120, 40, 90, 100])) == []
    assert events("ckpt.size_outlier", zero([100, 40])) == []


def test_stages_of_a_pipeline_may_differ_in_size():
    entries = [
        Entry(f"ckpt/iter_0000500/mp_rank_00_00{p}/model_optim_rng.pt", size * MIB)
        for p, size in enumerate((400, 100, 100, 300))
    ]
    assert events("ckpt.size_outlier", entries) == []
