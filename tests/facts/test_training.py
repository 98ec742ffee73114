"""Jumps of losses, falls of the loss scale, and the bubble of a pipeline."""

import math
from itertools import pairwise

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Nature

from .build import event, points, reading


def named(case, name):
    return [one.fields for one in case.events if one.name == name]


def jumps(values, *, first=5000, every=10, metric="loss", name="train.loss_jump"):
    steps = [first + every * i for i in range(len(values))]
    return named(build(reading(points(metric, values, steps=steps))), name)


STEADY = [2.31 + 0.01 * (i % 3) for i in range(40)]


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([2.78, 2.77, 2.77, 7.3, 8.7, 7.6], True),
        ([2.78, 2.77, 2.77, 3.9, 4.1, 4.4], True),
        ([2.78, 2.77, 2.77, 3.9, 2.8, 2.77], False),
        ([2.78, 2.77, 7.3], True),
        ([2.78, 7.3], False),
        (STEADY, False),
        ([*STEADY, 2.6, *STEADY], False),
        ([*STEADY, 3.4, 3.5, 3.4, 3.5], True),
        ([1.9, 1.4, 1.6, 1.1, 1.7, 1.0, 1.5, 0.9], False),
        ([0.001, 0.002, 0.001, 0.009, 0.008], False),
        ([], False),
    ],
)
def test_a_jump_of_the_loss(values, found):
    assert bool(jumps(values)) is found


def test_the_first_steps_of_a_run_may_do_anything():
    assert not jumps([12.4, 41.0, 43.0, 38.1], first=1, every=1)


def test_without_step_numbers_a_steep_head_is_no_level():
    nan = math.nan
    steep = points("loss", [9.0, 4.0, 2.0, 6.1, 6.2], steps=[nan] * 5)
    level = points("loss", [2.1, 2.0, 2.1, 6.1, 6.2], steps=[nan] * 5)
    assert not named(build(reading(steep)), "train.loss_jump")
    assert named(build(reading(level)), "train.loss_jump")


def test_a_jump_says_where_and_whether_it_came_back():
    (spike,) = jumps([2.36, 2.35, 2.36, 5.1, 3.0, 2.4, 2.35], first=100)
    assert (spike["step"], spike["before"], spike["after"]) == (130, 2.36, 5.1)
    assert (spike["recovered"], spike["recovered_step"]) == (True, 150)
    (lasting,) = jumps([2.36, 2.35, 2.36, 5.1, 5.2, 5.3, 5.2], first=100)
    assert lasting["recovered"] is False
    (cut,) = jumps([2.36, 2.35, 2.36, 5.1, 5.2], first=100)
    assert cut["recovered"] is None


def test_a_gradient_norm_jumps_by_a_factor_of_ten():
    def found(values):
        return jumps(values, metric="grad_norm", name="train.gradient_jump")

    assert found([0.4, 0.5, 0.4, 9.8])
    assert not found([0.4, 0.5, 0.4, 2.0, 0.4])


def test_each_attempt_is_judged_by_itself():
    load = event("ckpt.load_end", Nature.PROGRESS, line=5)
    series = points(
        "loss",
        [2.3, 2.3, 2.3, 2.3, 9.8, 9.7, 9.8],
        steps=[500, 510, 520, 530, 510, 520, 530],
        lines=[1, 2, 3, 4, 6, 7, 8],
    )
    assert not named(build(reading(load, series)), "train.loss_jump")


def falls(scales, *, first, every=10):
    steps = [first + every * i for i in range(len(scales))]
    return named(build(reading(points("loss_scale", scales, steps=steps))), "train.scale_fall")


@pytest.mark.parametrize(
    ("scales", "first", "halvings"),
    [
        ([65536, 65536, 8192, 4096, 4096], 9000, 4),
        ([65536, 65536, 32768, 32768], 9000, None),
        ([2.0**32, 2.0**28, 2.0**20, 2.0**16], 1, None),
        ([1.0, 1.0, 1.0], 9000, None),
        ([-1.0, -1.0], 9000, None),
    ],
)
def test_a_fall_of_the_loss_scale(scales, first, halvings):
    assert [fall["halvings"] for fall in falls(scales, first=first)] == (
        [] if halvings is None else [halvings]
    )


def test_halvings_far_apart_do_not_add_up():
    assert not falls([65536, 32768, 16384, 8192], first=9000, every=1000)


def reported(scales, *, stated=True, steps=None):
    """Return the falls among overflow records on lines 10, 20 and so on."""
    records = [
        event(
            "train.overflow", Nature.EFFECT, line=10 * place,
            fields={**({"scale": high} if stated else {}), "new_scale": low},
        )
        for place, (high, low) in enumerate(pairwise(scales), 1)
    ]  # fmt: skip
    series = [] if steps is None else [points("loss", [2.3] * len(steps), steps=steps, lines=[10 * i + 9 for i in range(len(steps))])]  # fmt: skip
    return [
        fall["halvings"] for fall in named(build(reading(*records, *series)), "train.scale_fall")
    ]


@pytest.mark.parametrize(
    ("scales", "options", "halvings"),
    [
        ([512.0, 256.0, 128.0, 64.0, 32.0], {}, [4]),
        ([512.0, 256.0, 128.0, 64.0], {}, []),
        ([65536.0, 32768.0, 16384.0, 8192.0, 4096.0], {}, []),
        ([65536.0, 32768.0, 16384.0, 8192.0], {"steps": [9000, 9001, 9002, 9003]}, [3]),
        ([65536.0, 32768.0, 16384.0, 8192.0], {"steps": [9000, 9400, 9800, 9900]}, []),
        ([512.0, 256.0, 128.0, 64.0, 32.0], {"steps": [1, 2, 3, 4]}, []),
        ([128.0, 64.0, 32.0, 16.0, 8.0], {"stated": False}, []),
        ([128.0, 64.0, 32.0, 16.0, 8.0], {"stated": False, "steps": [700, 701, 702, 703]}, [4]),
    ],
)
def test_a_fall_that_is_reported_halving_by_halving(scales, options, halvings):
    assert reported(scales, **options) == halvings


def test_a_raise_between_halvings_begins_anew():
    records = [
        event(
            "train.overflow", Nature.EFFECT, line=line, fields={"scale": 512.0, "new_scale": 256.0}
        )
        for line in range(1, 7)
    ]
    assert not named(build(reading(*records)), "train.scale_fall")


def twice(**second):
    values, steps = [2.3, 2.3, 2.3, 4.9, 4.8, 4.7], [500, 510, 520, 530, 540, 550]
    one = points("loss", values, steps=steps)
    other = points("loss", values, steps=second.pop("steps", steps), **second)
    return named(build(reading(one, other)), "train.jump_again")


def test_a_jump_that_comes_back_in_the_next_attempt():
    (again,) = twice(attempt=1, file="b.log")
    assert (again["step"], again["apart"]) == (530, 0)


def test_another_step_another_rank_or_one_run_seen_twice_is_no_second_jump():
    assert not twice(attempt=1, file="b.log", steps=[600, 610, 620, 630, 640, 650])
    assert not twice(file="b.log")
    assert not twice(file="b.log", rank=1, attempt=1)


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


def test_the_search_after_a_load_is_no_fall():
    load = event("ckpt.load_end", Nature.PROGRESS, line=1)
    series = points("loss_scale", [65536, 8192, 4096], steps=[9001, 9002, 9003], lines=[2, 3, 4])
    assert not named(build(reading(load, series)), "train.scale_fall")


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
