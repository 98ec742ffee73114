import math

import pytest

from diagnose.facts.case import build
from diagnose.facts.series import evaluate
from diagnose.model.event import Nature

from .build import event, points, reading

NOON = 1_772_366_400.0


def ranks(values_of, count=8, **more):
    return [
        points("compute_time", values_of(rank), file=f"rank{rank}.log", rank=rank, **more)
        for rank in range(count)
    ]


def of(*records, metric="loss", **question):
    return evaluate(build(reading(*records)), metric, **question)


def at_least(bound):
    return lambda value: value >= bound


def test_unknown_metric_or_statistic_has_no_result():
    assert of() is None
    assert of(points("loss", [1.0] * 50), stat="period") is None


def test_slow_rank_stands_out_from_its_peers():
    result = of(
        *ranks(lambda rank: [1.3 if rank == 5 else 1.0] * 10),
        metric="compute_time",
        by="rank",
        stat="ratio_to_peers",
    )
    assert result.outliers(at_least(1.1), at_least(0.8)) == [5]
    view = result.view(at_least(1.1), at_least(0.8))
    assert (view.outliers, view.ratio, view.value, view.before, view.after) == (
        [5],
        1.3,
        1.3,
        1.0,
        1.3,
    )
    assert view.evidence == [("rank5.log", 10)]
    assert view.points == 80
    assert result.view(at_least(2)) is None


def test_share_of_windows_decides():
    values = [1.0] * 7 + [2.0] * 3
    records = ranks(lambda rank: values if rank == 5 else [1.0] * 10)
    result = of(*records, metric="compute_time", by="rank", stat="ratio_to_peers")
    assert result.by_key[5].choose(lambda ratio: ratio >= 1.0, at_least(0.8))
    assert result.outliers(at_least(1.1), at_least(0.3)) == []
    slow = of(*ranks(lambda rank: [1.0, 1.3, 1.3, 1.3, 1.3] if rank == 5 else [1.0] * 5),
              metric="compute_time", by="rank", stat="ratio_to_peers")  # fmt: skip
    assert slow.outliers(at_least(1.1), at_least(0.8)) == [5]
    assert slow.outliers(at_least(1.1), at_least(0.9)) == []


def test_of_two_ranks_each_is_compared_with_the_other():
    records = ranks(lambda rank: [1.0 + rank] * 6, count=2)
    result = of(*records, metric="compute_time", by="rank", stat="ratio_to_peers")
    assert result.groups == {0: 0.5, 1: 2.0}


@pytest.mark.parametrize(("count", "length"), [(1, 10), (8, 4)])
def test_too_little_to_compare(count, length):
    records = ranks(lambda rank: [1.0] * length, count=count)
    assert of(*records, metric="compute_time", by="rank", stat="ratio_to_peers") is None


def test_series_of_unknown_rank_have_no_group():
    assert of(points("loss", [1.0] * 10), by="rank") is None
    assert of(points("loss", [1.0] * 10), by="file").groups == {"a.log": 1.0}


def test_hosts_and_job_join_their_ranks_by_the_median_of_a_step():
    records = [
        points("loss", [float(rank)] * 3, rank=rank, host=f"node-0{rank // 3}", file=f"{rank}.log")
        for rank in range(6)
    ]
    assert of(*records, by="host").groups == {"node-00": 1.0, "node-01": 4.0}
    assert of(*records).groups == {"job": 2.5}
    assert of(*records).by_key["job"].points == 3


def test_the_same_lines_in_two_files_count_once():
    values = [1.0] * 20 + [9.0]
    twice = [points("loss", values, file=file, rank=0) for file in ("console.log", "rank0.log")]
    assert of(*twice, by="rank").by_key[0].points == 21


def test_spike_with_its_place():
    values = [2.0, 2.02, 1.99, 2.01, 2.0, 1.98, 2.01, 2.0, 2.0, 8.0, 2.0]
    view = of(points("loss", values, first=101), stat="mad_z").view(at_least(8))
    assert view.at_step == 110
    assert view.evidence == [("a.log", 10)]
    assert (view.before, view.after, view.ratio) == (2.0, 8.0, 4.0)


def test_a_spot_has_the_stamp_of_its_point():
    loss = points("loss", [2.0] * 12 + [9.0], times=[NOON + i for i in range(13)])
    assert of(loss, stat="mad_z").by_key["job"].spots[0].time == NOON + 12
    assert of(points("loss", [2.0] * 12), stat="mad_z").by_key["job"].spots[0].time is None


def test_a_fall_satisfies_only_the_bound_below():
    values = [2.0] * 30 + [0.5] + [2.0] * 5
    result = of(points("loss", values), stat="mad_z")
    assert result.view(at_least(6)) is None
    assert result.view(lambda value: value <= -6).at_step == 31


def test_values_that_are_no_numbers_do_not_count():
    values = [2.0] * 12 + [math.nan, math.inf] + [2.0] * 3
    result = of(points("loss", values), stat="median")
    assert result.groups == {"job": 2.0}
    assert result.by_key["job"].points == 15
    assert of(points("loss", [math.nan] * 9)) is None


def test_change_of_level_at_its_step():
    view = of(
        points("step_time", [1.0] * 40 + [1.4] * 40), metric="step_time", stat="step_change"
    ).view(at_least(0.1))
    assert (view.at_step, view.value, view.ratio) == (41, 0.4, 1.4)


def test_too_few_points_give_no_result():
    assert of(points("loss", [1.0] * 8), stat="mad_z") is None
    assert of(points("loss", [1.0] * 9), stat="step_change") is None
    assert of(points("loss", [1.0] * 7), stat="p95") is None


@pytest.mark.parametrize(
    ("first", "count", "expected"),
    [
        pytest.param(1, 200, 180, id="start of the run"),
        pytest.param(1, 10, 8, id="short: a quarter at most"),
        pytest.param(5000, 200, 200, id="excerpt from the middle"),
    ],
)
def test_warm_up(first, count, expected):
    result = of(points("loss", [1.0] * count, first=first), skip=20)
    assert result.by_key["job"].points == expected


def test_warm_up_counts_steps_not_lines():
    steps = [100 * i for i in range(50)]
    assert of(points("loss", [1.0] * 50, steps=steps), skip=150).by_key["job"].points == 48


def test_last_points_count():
    assert of(points("loss", [1.0] * 50 + [2.0] * 10), last=10).groups == {"job": 2.0}


def test_epochs_that_count_steps_anew_stay_apart():
    steps = [*range(10), *range(10)]
    assert of(points("loss", [1.0] * 20, steps=steps)).by_key["job"].points == 20


def test_points_without_steps_are_kept():
    result = of(points("loss", [1.0] * 10, steps=[math.nan] * 10))
    assert result.by_key["job"].points == 10
    assert result.view(at_least(1)).at_step is None


def resumed(after):
    """Steps 1 to 30, a load of step 20, and steps from 21 on again."""
    before = [3 - 0.01 * step for step in range(30)]
    return (
        points(
            "loss", [*before, *after],
            steps=[*range(1, 31), *range(21, 21 + len(after))],
            lines=[*range(1, 31), *range(50, 50 + len(after))],
        ),
        event("ckpt.load_end", Nature.PROGRESS, line=40, fields={"step": 20}),
    )  # fmt: skip


def test_jump_after_resuming_is_compared_with_the_steps_before_the_saved_one():
    loss, load = resumed([3.6] * 8)
    view = of(loss, load, stat="before_after", at=load).view(at_least(4))
    assert view.before == pytest.approx(2.905)
    assert view.after == 3.6
    assert view.ratio == pytest.approx(1.239)
    assert view.at_step == 21


def test_the_first_points_behind_the_pivot_can_be_left_out():
    loss, load = resumed([9.0, 9.0, 2.8, 2.8, 2.8])
    result = of(loss, load, stat="before_after", at=load, skip=2)
    assert abs(result.groups["job"]) < 4


def test_smooth_resume_is_no_jump():
    loss, load = resumed([2.80 - 0.01 * step for step in range(8)])
    assert of(loss, load, stat="before_after", at=load).view(at_least(4)) is None


def test_pivot_in_another_file_is_placed_by_its_stamp():
    loss = points("loss", [2.0] * 10 + [3.0] * 10, times=[NOON + 10 * i for i in range(20)])
    stamp = event(file="b.log", line=1, time=NOON, host=None)
    pivot = event("ckpt.load_end", Nature.PROGRESS, file="b.log", line=2, time=NOON + 95)
    anchor = event(line=1, time=NOON)
    assert of(loss, stamp, anchor, pivot, stat="before_after", at=pivot).groups["job"] > 4


@pytest.mark.parametrize("place", ["b.log", "a.log"])
def test_pivot_that_cannot_be_placed_or_has_nothing_behind_it(place):
    pivot = event("ckpt.load_end", Nature.PROGRESS, file=place, line=90)
    assert of(points("loss", [2.0] * 20), pivot, stat="before_after", at=pivot) is None
    assert of(points("loss", [2.0] * 20), stat="before_after") is None
