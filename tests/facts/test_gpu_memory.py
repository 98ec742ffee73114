"""What other records say about an allocation that failed on the GPU."""

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Clock, Nature

from .build import event, init, points, reading

GIB = 1 << 30
LIB = "/opt/venv/lib/python3.11/site-packages/torch/"


def oom(line=50, **more):
    fields = more.pop("fields", {})
    return event("torch.oom", line=line, fields={"gpu_index": 0, **fields}, **more)


def traceback(*frames, line=50, **more):
    return event("python.exception", line=line, fields={"frames": [*frames]}, **more)


def test_the_traceback_that_ends_in_the_text_tells_phase_and_code():
    failed = oom(rank=1)
    build(
        reading(
            failed,
            traceback("/app/train.py:7 step", LIB + "_tensor.py:626 backward", rank=1),
            traceback("/app/train.py:9 save", LIB + "serialization.py:9 save", rank=2),
        )
    )
    assert (failed["phase"], failed["code"]) == ("backward", "/app/train.py:7 step")
    assert failed["frame"] == LIB + "_tensor.py:626 backward"


def test_a_traceback_elsewhere_tells_nothing():
    failed = oom()
    build(reading(failed, traceback(LIB + "_tensor.py:626 backward", line=20)))
    assert (failed["phase"], failed["code"]) == (None, None)


@pytest.mark.parametrize(
    ("counters", "step", "done"),
    [
        ([], None, None),
        ([points("loss", [1.0] * 30)], 30, 30),
        ([points("loss", [1.0] * 30, lines=range(60, 90))], None, 0),
        ([points("loss", [1.0] * 60, lines=range(1, 61))], 49, 49),
        ([points("loss", [1.0] * 3, steps=[100, 200, 300])], 300, 300),
        ([points("loss", [1.0] * 3, steps=[900, 910, 920])], 920, 21),
        ([points("loss", [1.0] * 30, file="b.log"), points("loss", [1.0] * 4)], 4, 4),
        ([points("loss", [1.0] * 30, file="b.log")], 30, 30),
    ],
    ids=[
        "none logged",
        "before",
        "behind",
        "around",
        "every hundredth",
        "a late begin",
        "own file",
        "other file",
    ],
)
def test_steps_before(counters, step, done):
    failed = oom()
    build(reading(failed, *counters))
    assert (failed["step"], failed["steps_done"]) == (step, done)


def test_steps_of_a_resumed_run_count_from_where_it_resumed():
    failed = oom()
    loaded = event("ckpt.load_done", Nature.PROGRESS, line=1)
    build(reading(failed, loaded, points("loss", [1.0] * 10, first=5001, lines=range(2, 12))))
    assert (failed["step"], failed["steps_done"]) == (5010, 10)


def test_steps_of_an_earlier_start_do_not_count():
    failed = oom()
    restart = event("torchrun.restart", Nature.EFFECT, line=20)
    build(reading(failed, restart, points("loss", [1.0] * 9)))
    assert (failed["step"], failed["steps_done"]) == (None, 0)


def test_steps_of_another_file_are_held_against_the_stamp():
    failed = oom(time=1000.0, file="b.log", clock=Clock.LOCAL)
    stamped = event("train.record", Nature.PROGRESS, time=900.0, line=1)
    counter = points("loss", [1.0] * 5, times=[960.0, 980.0, 1200.0, 1300.0, 1400.0])
    build(reading(failed, stamped, counter))
    assert failed["step"] == 2


def test_steps_of_a_rank_may_stand_in_several_files_and_are_not_those_of_others():
    failed = oom(rank=1, file="b.log")
    counters = [
        points("loss", [1.0] * 5, rank=1, file="b.log"),
        points("loss", [1.0] * 3, first=6, rank=1, file="b.json"),
        points("loss", [1.0] * 30, rank=0, file="a.log"),
    ]
    build(reading(failed, *counters))
    assert (failed["step"], failed["steps_done"]) == (8, 8)


def test_growth_is_a_straight_line_through_allocated_memory():
    failed = oom()
    build(reading(failed, points("memory_allocated", [40 * GIB + n * GIB / 4 for n in range(40)])))
    assert failed["growth"] == pytest.approx(GIB / 4)
    assert failed["growth_fit"] == pytest.approx(1.0)
    assert failed["growth_points"] == 40


@pytest.mark.parametrize(
    "values", [[1.0 * GIB] * 19, [n % 2 * GIB for n in range(40)], [9.0 * GIB] * 40]
)
def test_no_growth(values):
    failed = oom()
    build(reading(failed, points("memory_allocated", values)))
    assert not failed["growth"] or failed["growth_fit"] < 0.1


@pytest.mark.parametrize(
    ("metric", "shown"),
    [("memory_reserved", True), ("memory_peak", True), ("memory_used", True), ("loss", False)],
)
def test_other_metrics_of_memory_show_growth_as_well(metric, shown):
    failed = oom(fields={"capacity": 42 * GIB, "reserved_unallocated": GIB})
    build(reading(failed, points(metric, [n * GIB for n in range(40)])))
    assert (failed["growth"] is not None) is shown
    assert failed["growth_of"] == (metric if shown else None)


def test_growth_of_what_lies_unused_is_no_growth():
    failed = oom(fields={"reserved_unallocated": 30 * GIB})
    build(reading(failed, points("memory_reserved", [n * GIB for n in range(40)])))
    assert failed["growth"] is None


def test_flat_reserved_memory_was_seen():
    failed = oom(fields={"reserved_unallocated": GIB})
    build(reading(failed, points("memory_reserved", [40.0 * GIB] * 40)))
    assert (failed["growth"], failed["growth_points"]) == (0, 40)


def test_memory_that_is_not_of_this_gpu_is_no_growth():
    failed = oom(fields={"capacity": 80 * GIB})
    build(reading(failed, points("memory_used", [200 * GIB + n * GIB for n in range(40)])))
    assert (failed["growth"], failed["growth_points"]) == (None, 0)


def test_growth_is_told_by_step():
    failed = oom()
    rising = points("memory_allocated", [n * GIB for n in range(40)], steps=range(0, 400, 10))
    build(reading(failed, rising))
    assert failed["growth"] == pytest.approx(GIB / 10)
    assert (failed["growth_per"], failed["grown"]) == ("step", pytest.approx(39 * GIB))


@pytest.mark.parametrize(("counted", "unit"), [(True, "step"), (False, "record")])
def test_memory_lines_without_a_step_belong_to_the_step_above_them(counted, unit):
    failed = oom(line=100)
    nan = [float("nan")] * 40
    memory = points(
        "memory_allocated", [n * GIB for n in range(40)], steps=nan, lines=range(2, 82, 2)
    )
    counter = points("loss", [1.0] * 40, steps=range(0, 400, 10), lines=range(1, 81, 2))
    build(reading(failed, memory, *([counter] if counted else [])))
    assert failed["growth"] == pytest.approx(GIB / 10 if counted else GIB)
    assert failed["growth_per"] == unit


def test_memory_of_another_rank_is_not_this_ones():
    failed = oom(rank=1)
    build(reading(failed, points("memory_allocated", [n * GIB for n in range(40)], rank=0)))
    assert failed["growth"] is None


def setting(value, **more):
    fields = {"name": "PYTORCH_CUDA_ALLOC_CONF", "value": value}
    return event("nccl.env", Nature.SETTING, fields=fields, fact="env", **more)


@pytest.mark.parametrize(
    ("settings", "expandable"),
    [
        ([], None),
        ([setting("expandable_segments:True")], True),
        ([setting("max_split_size_mb:128, expandable_segments: true")], True),
        ([setting("max_split_size_mb:128")], False),
        ([setting("expandable_segments:True", rank=0), setting("backend:native", rank=1)], False),
        ([setting("expandable_segments:True", rank=1), setting("backend:native", rank=0)], True),
        ([setting("backend:native"), setting("expandable_segments:True", rank=0)], True),
    ],
)
def test_settings_of_the_allocator(settings, expandable):
    failed = oom(rank=1)
    build(reading(failed, *settings))
    assert failed["expandable"] is expandable


def test_one_rank_alone_and_all_of_them():
    first, peer = oom(rank=1), event("c10d.watchdog_timeout", rank=0)
    build(reading(first, peer))
    assert (first["alone"], first["ranks_failed"]) == (True, 1)
    first, second = oom(rank=1), oom(rank=0, line=51)
    build(reading(first, second))
    assert (first["alone"], second["ranks_failed"]) == (False, 2)


def test_the_only_log_there_is_makes_no_rank_alone():
    failed = oom(rank=1)
    build(reading(failed))
    assert failed["alone"] is False


def test_ranks_whose_processes_the_text_lists_share_the_gpu():
    failed = oom(rank=0, host="node-07", fields={"other_pids": [72, 9999]})
    inits = [init(n, 2, line=n + 1, rank=n, host="node-07", pid=71 + n, cuda_dev=0) for n in (0, 1)]
    build(reading(*inits, failed))
    assert failed["shared_with"] == [1]
    assert failed["own_gpu"] == 0


def test_ranks_that_list_the_same_process_share_the_gpu():
    ranks = [oom(rank=n, line=50 + n, host="node-07", fields={"other_pids": [9, 80 + n]}) for n in (0, 1)]  # fmt: skip
    elsewhere = oom(rank=2, line=60, host="node-08", fields={"other_pids": [9]})
    build(reading(*ranks, elsewhere))
    assert [one["shared_with"] for one in ranks] == [[1], [0]]
    assert elsewhere["shared_with"] is None


def other(library, line=50, **fields):
    return event("cuda.oom_other", line=line, fields={"library": library, **fields})


@pytest.mark.parametrize(
    ("library", "frame", "first"),
    [
        ("runtime", LIB + "cuda/__init__.py:529 set_device", True),
        ("runtime", LIB + "nn/modules/module.py:1329 convert", True),
        ("runtime", "/app/ops.py:3 forward", False),
        ("cublas", LIB + "cuda/__init__.py:529 set_device", False),
        ("xla", "/app/main.py:3 main", True),
    ],
)
def test_first_call_to_cuda(library, frame, first):
    failed = other(library)
    build(reading(failed, traceback(frame)))
    assert failed["first_call"] is first


def test_figures_of_tensorflows_pool_belong_to_the_failure_above_them():
    figures = event("cuda.pool_figures", Nature.MEASUREMENT, line=60, fields={"limit": 10, "in_use": 7})  # fmt: skip
    failed, later = other("tensorflow"), other("tensorflow", line=70)
    build(reading(failed, figures, later))
    assert (failed["unused"], failed["limit"], failed["allocated"]) == (3, 10, 7)
    assert "unused" not in later.fields


def test_two_gpus_of_one_host_that_are_both_number_0_are_the_only_ones_seen():
    failed = [oom(rank=n, host="node-07", line=60 + n) for n in (0, 1)]
    inits = [
        init(
            n, 2, line=n + 1, rank=n, host="node-07", pid=71 + n, cuda_dev=0, gpu=f"0000:{n}b:00.0"
        )
        for n in (0, 1)
    ]
    build(reading(*inits, *failed))
    assert [one["sees_one_gpu"] for one in failed] == [True, True]


@pytest.mark.parametrize(("value", "seen"), [("3", True), ("0,1,2,3", False), ("", False)])
def test_a_mask_of_one_gpu(value, seen):
    failed = oom(rank=3)
    fields = {"name": "CUDA_VISIBLE_DEVICES", "value": value}
    mask = event("nccl.env", Nature.SETTING, fields=fields, fact="env", rank=3)
    build(reading(mask, failed))
    assert failed["sees_one_gpu"] is seen


@pytest.mark.parametrize(
    ("frames", "engine"),
    [
        (["/opt/venv/lib/python3.11/site-packages/vllm/worker.py:8 execute_model"], True),
        (["/app/train.py:8 step"], False),
        ([], True),
    ],
    ids=["its own frames", "frames of training", "no frames of its own"],
)
def test_whose_code_failed_beside_a_serving_engine(frames, engine):
    failed = oom()
    seen = event("inference.frame", Nature.MEASUREMENT, line=3, fields={"phase": "serving"})
    build(reading(seen, failed, *([traceback(*frames)] if frames else [])))
    assert failed["engine"] is engine
