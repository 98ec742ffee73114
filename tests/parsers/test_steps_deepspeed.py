import pytest
from dialects import measured, records

from diagnose.parsers import steps_deepspeed as dialect

HEAD = "[2026-01-05 10:00:10,101] [INFO] [logging.py:107:log_dist] [Rank 0] "


@pytest.mark.parametrize(
    "text, step, values",
    [
        (HEAD + "step=100, skipped=3, lr=[1.9e-05, 1.9e-05], mom=[(0.9, 0.95), (0.9, 0.95)]", 100, {"skipped_steps_total": 3, "learning_rate": 1.9e-5}),
        ("[timer.py:264:stop] epoch=0/micro_step=800/global_step=100, RunningAvgSamplesPerSec=58.73, CurrSamplesPerSec=61.35, MemAllocated=6.0GB, MaxMemAllocated=19.5GB", 100, {"samples_per_s": 61.35, "memory_allocated": 6 * 2**30, "memory_peak": 19.5 * 2**30}),
        ("[timer.py:97:stop] 0/1200, SamplesPerSec=463.9", 1200, {"samples_per_s": 463.9}),
        ("[timer.py:97:stop] 0/20, RunningAvgSamplesPerSec=4.1, CurrSamplesPerSec=4.2, MemAllocated=1.0GB, MaxMemAllocated=2.0GB", 20, {"samples_per_s": 4.2, "memory_allocated": 2**30, "memory_peak": 2 * 2**30}),
        (HEAD + "time (ms) | fwd: 808.80 | bwd: 2483.36 | bwd_inner: 1642.48 | bwd_allreduce: 840.08 | step: 20.22", None, {"compute_time": 2.45128, "comm_time": 0.84008, "optimizer_time": 0.02022}),
        ("MA 11.0 GB         Max_MA 15.0 GB         CA 20.0 GB         Max_CA 20 GB ", None, {"memory_allocated": 11 * 2**30, "memory_peak": 15 * 2**30, "memory_reserved": 20 * 2**30}),
        (HEAD + "time (ms) | pipe_send_output: 1.0 | pipe_send_grad: 2.0 | pipe_recv_input: 3.0 | pipe_recv_grad: 4.0", None, {"recv_wait": 0.007}),
        ("rank=0 time (ms) | train_batch: 9000.0 | forward: 800.0 | pipe_send_output: 500.0 | comms: 6000.0 | backward: 1200.0 | reduce_grads: 3000.0 | step: 900.0 | _step_step: 890.0", None, {"compute_time": 2.0, "comm_time": 6.0, "optimizer_time": 0.9}),
        ("RANK=3 MEMSTATS tag device=cuda:3 current alloc=11.0GB (delta=-0.5GB max=15.0GB) current cache=20.0GB (delta=0.0GB max=20.0GB)", None, {"memory_allocated": 11 * 2**30, "memory_peak": 15 * 2**30, "memory_reserved": 20 * 2**30}),
        ("steps: 10 loss: 2.1234 iter time (s): 1.234 samples/sec: 830.123", 10, {"loss": 2.1234, "step_time": 1.234, "samples_per_s": 830.123}),
    ],
)  # fmt: skip
def test_each_kind_of_line_is_read(text, step, values):
    (record,) = measured(dialect, f"worker-3: {text}\r\n")
    assert (record.step, record.values) == (step, pytest.approx(values))


def test_timers_belong_to_the_step_line_before_them():
    text = f"{HEAD}step=7, skipped=0, lr=[0.1], mom=[0.9]\n{HEAD}time (ms) | fwd: 1.0 | step: 2.0\n"
    assert [record.step for record in measured(dialect, text)] == [7, 7]


@pytest.mark.parametrize(
    "text",
    [
        HEAD
        + "time (ms) | fwd_microstep: 101.10 | bwd_microstep: 310.42 | step_microstep: 20.22\n",
        "we skipped=ped the step= of 10, lr=[\n",
        "steps: ten loss: 2.1 iter time (s): 1.2\n",
        HEAD + "step=100, skipp",
    ],
)
def test_micro_steps_prose_and_cut_lines_give_nothing(text):
    assert records(dialect, text) == []


def test_a_nan_loss_of_the_pipeline_engine_is_reported():
    text = "steps: 10 loss: nan iter time (s): 1.234 samples/sec: 830.123\n"
    assert [getattr(record, "name", None) for record in records(dialect, text)] == [
        None,
        "train.nan_loss",
    ]


def test_skipped_steps_are_counted_from_line_to_line():
    line = HEAD + "step={}, skipped={}, lr=[0.1], mom=[0.9]\n"
    rows = ((100, 3), (110, 3), (120, 5), (110, 2))
    text = "".join(line.format(*row) for row in rows)
    found = [record.values.get("skipped_steps") for record in measured(dialect, text)]
    assert found == [None, 0, 2, None], "a restart begins to count anew"
