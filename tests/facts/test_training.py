"""Shares of waiting, lookups that fail, and the bubble of a pipeline."""

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Nature

from .build import event, points, reading


def named(case, name):
    return [one.fields for one in case.events if one.name == name]


def waits(shares):
    values = [0.4 / (1 - share) for share in shares]
    series = (
        points("step_time", values),
        points("data_time", [value * share for value, share in zip(values, shares, strict=True)]),
    )
    return named(build(reading(*series)), "train.data_stalls")


def test_a_stall_in_a_short_series():
    (stall,) = waits([0.01, 0.02, 0.01, 0.95, 0.01, 0.02])
    assert (stall["stalls"], stall["points"], stall["at_start"]) == (1, 6, False)
    assert stall["worst"] == pytest.approx(0.95)
    assert stall["wait"] == pytest.approx(7.6)
    assert 0.7 < stall["share"] < 0.8


def test_a_stall_of_the_first_step_alone_is_marked():
    assert [one["at_start"] for one in waits([0.95, 0.01, 0.02, 0.01, 0.01])] == [True]
    assert [one["at_start"] for one in waits([0.95, 0.01, 0.02, 0.01, 0.9])] == [False]


@pytest.mark.parametrize("shares", [[0.01] * 6, [0.95] * 4, [0.95] * 30])
def test_no_stall_or_a_series_of_another_length(shares):
    assert not waits(shares)


def test_the_wait_at_the_start_of_every_epoch():
    def found(waits, *, steps=(0, 20, 40, 60, 80, 100), epochs=(0, 0, 1, 1, 2, 2)):
        place = {"steps": list(steps)}
        series = (
            points("data_time", waits, **place),
            points("step_time", [wait + 0.4 for wait in waits], **place),
            points("epoch", list(epochs), **place),
        )
        return named(build(reading(*series)), "train.epoch_start_wait")

    (start,) = found([30, 0.1, 24, 0.1, 24, 0.1])
    assert (start["wait"], start["steps"], start["epochs"]) == (24, 40, 2)
    assert start["rest"] == pytest.approx(20)
    assert start["share"] == pytest.approx(24 / 44)
    assert not found([30, 0.1, 24, 0.1], steps=(0, 20, 40, 60), epochs=(0, 0, 1, 1))


def test_a_lookup_outside_a_table_says_how_far_the_run_was():
    fields = {"type": "IndexError", "message": "index out of range in self"}
    failed = event("python.error_line", line=9, fields=fields)
    asserted = event(
        "cuda.device_assert", line=9, fields={"assertion": "srcIndex < srcSelectDimSize"}
    )
    series = points("loss", [2.3, 2.3], steps=[880, 882], lines=[1, 2])
    (found,) = named(build(reading(failed, series)), "train.index_failed")
    assert (found["step"], found["steps_done"]) == (882, 882)
    assert not named(build(reading(asserted, series)), "train.index_failed"), "data or code"
    assert not named(build(reading(failed)), "train.index_failed")


def test_the_share_of_waiting_joins_the_line_or_the_step():
    same_line = build(reading(points("data_time", [0.5, 0.1]), points("step_time", [1.0, 1.0])))
    assert list(same_line.series("data_share")[0].values) == [0.5, 0.1]
    timers = build(
        reading(
            points("data_time", [0.5], steps=[20], lines=[9]),
            points("step_time", [2.0, 2.0], steps=[10, 20], lines=[1, 8]),
        )
    )
    assert list(timers.series("data_share")[0].values) == [0.25]


def test_the_first_batch_of_an_epoch_does_not_count():
    case = build(
        reading(
            points("data_time", [0.1, 9.0, 0.1], steps=[90, 100, 110]),
            points("step_time", [1.0, 10.0, 1.0], steps=[90, 100, 110]),
            points("epoch", [0, 1, 1], steps=[90, 100, 110]),
        )
    )
    assert list(case.series("data_share")[0].values) == [0.1, 0.1]


def test_waiting_without_a_step_time_is_no_share():
    assert not build(reading(points("data_time", [0.5]))).series("data_share")


def arguments(**values):
    return [
        event("job.argument", Nature.SETTING, line=i, fields={"name": name, "value": value},
              fact=f"arg.{name}")
        for i, (name, value) in enumerate(values.items(), start=1)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("chunks", "share"), [(None, 7 / 15), (2, 7 / 23)], ids=["plain", "interleaved"]
)
def test_the_bubble_of_a_pipeline(chunks, share):
    sizes = {
        "pipeline_model_parallel_size": 8, "global_batch_size": 64, "micro_batch_size": 1,
        "data_parallel_size": 8,
    }  # fmt: skip
    if chunks:
        sizes["virtual_pipeline_model_parallel_size"] = chunks
    (bubble,) = named(build(reading(*arguments(**sizes))), "train.pipeline_bubble")
    assert bubble["share"] == pytest.approx(share)
    assert (bubble["stages"], bubble["micro_batches"]) == (8, 8)


def test_no_bubble_without_a_pipeline_or_with_a_size_unknown():
    assert not named(
        build(reading(*arguments(pipeline_model_parallel_size=1, global_batch_size=8,
                                 micro_batch_size=1, data_parallel_size=1))),
        "train.pipeline_bubble",
    )  # fmt: skip
    assert not named(
        build(reading(*arguments(pipeline_model_parallel_size=8))), "train.pipeline_bubble"
    )
