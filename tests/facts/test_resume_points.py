"""The checkpoint to resume from, the work behind it, and layouts that differ from the run's."""

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Nature

from .build import event, points, reading


def newest(step=500, parent="/data/ckpt", **fields):
    return event(
        "ckpt.newest_complete",
        Nature.MEASUREMENT,
        fields={"step": step, "path": f"{parent}/step-{step}", "parent": parent, "newer": [], **fields},
    )  # fmt: skip


def folder(**fields):
    known = {"path": "/data/ckpt/step-500", "run": "/data/ckpt/step", "step": 500, "layout": "verl"}
    return event("ckpt.folder", Nature.MEASUREMENT, fields={**known, "reshards": False, **fields})


def world(size):
    return event("job.argument", Nature.SETTING, fact="arg.world_size", fields={"value": size})


def found(case, name):
    return [one for one in case.events if one.name == name]


def steps(last, seconds=2.0):
    numbers = list(range(1, last + 1))
    return points("step_time", values=[seconds] * last, steps=numbers)


def test_the_work_behind_the_newest_checkpoint_is_counted():
    case = build(reading(newest(500), steps(520)))
    (point,) = found(case, "ckpt.resume_point")
    assert (point["last"], point["steps"], point["seconds"]) == (520, 20, 40.0)
    assert case.job.report.checkpoint == {
        "step": 500, "path": "/data/ckpt/step-500", "newer": [], "steps": 20, "seconds": 40.0,
    }  # fmt: skip


def test_a_checkpoint_beyond_the_logs_has_no_work_behind_it():
    (point,) = found(build(reading(newest(500), steps(20))), "ckpt.resume_point")
    assert (point["steps"], point["ahead"]) == (None, False)


@pytest.mark.parametrize("path", ["/data/ckpt/latest", "/data/ckpt", "/data/ckpt/"])
def test_it_is_ahead_of_a_run_that_found_nothing_in_its_folder(path):
    fresh = event("ckpt.load_fresh", Nature.EFFECT, fields={"path": path})
    (point,) = found(build(reading(newest(500), fresh, steps(20))), "ckpt.resume_point")
    assert point["ahead"] is True


def test_a_run_that_found_nothing_elsewhere_is_another_one():
    fresh = event("ckpt.load_fresh", Nature.EFFECT, fields={"path": "/other/latest"})
    (point,) = found(build(reading(newest(500), fresh, steps(20))), "ckpt.resume_point")
    assert point["ahead"] is False


def test_runs_that_differ_give_no_one_checkpoint():
    case = build(reading(newest(500), newest(700, parent="/data/other")))
    assert case.job.report.checkpoint is None
    assert len(found(case, "ckpt.resume_point")) == 2
    assert build(reading()).job.report.checkpoint is None


@pytest.mark.parametrize(
    "fields, what, saved, current",
    [
        ({"world_size": 4}, "world size", 4, 8),
        ({"layout": "deepspeed", "zero_ranks": 16}, "world size", 16, 8),
    ],
)
def test_another_world_size_is_told(fields, what, saved, current):
    (differs,) = found(build(reading(folder(**fields), world(8))), "ckpt.layout_differs")
    assert (differs["what"], differs["saved"], differs["current"]) == (what, saved, current)
    assert (differs["reshards"], differs["loaded"]) == (False, False)


def test_parallel_sizes_of_megatron_are_compared():
    sizes = [
        event("job.argument", Nature.SETTING, fact=f"arg.{name}", fields={"value": value})
        for name, value in (("tensor_model_parallel_size", 4), ("pipeline_model_parallel_size", 2))
    ]
    case = build(reading(folder(layout="megatron", tp=8, pp=2), *sizes))
    assert [(e["what"], e["saved"]) for e in found(case, "ckpt.layout_differs")] == [
        ("tensor parallel size", 8)
    ]


@pytest.mark.parametrize("fields", [{"world_size": 8}, {}, {"zero_ranks": 8}])
def test_the_same_or_an_unknown_size_is_no_difference(fields):
    assert found(build(reading(folder(**fields), world(8))), "ckpt.layout_differs") == []


def test_an_older_checkpoint_of_another_size_does_not_count():
    old = folder(world_size=4, step=100, path="/data/ckpt/step-100")
    assert found(build(reading(old, folder(world_size=8), world(8))), "ckpt.layout_differs") == []


def test_files_of_random_states_are_compared_with_the_ranks():
    load = event("ckpt.load_start", Nature.PROGRESS, fields={"path": "/data/ckpt/step-500"})
    case = build(reading(folder(layout="hf", rng_files=2), world(8), load))
    (count,) = found(case, "ckpt.rng_count")
    assert (count["files"], count["ranks"], count["loaded"]) == (2, 8, True)
    assert found(build(reading(folder(rng_files=8), world(8))), "ckpt.rng_count") == []
