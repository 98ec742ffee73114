"""Lookups that fail, and the bubble of a pipeline."""

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Nature

from .build import event, points, reading


def named(case, name):
    return [one.fields for one in case.events if one.name == name]


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
