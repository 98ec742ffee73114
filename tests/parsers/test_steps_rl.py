import math

import pytest
from dialects import measured, records

from diagnose.parsers import steps_rl as dialect


@pytest.mark.parametrize(
    "text, values",
    [
        ("step:12 - actor/pg_loss:-0.0031 - actor/grad_norm:0.21 - actor/lr:1e-06 - timing_s/gen:92.1 - timing_s/step:160.2 - perf/max_memory_reserved_gb:2.0 - perf/throughput:1123.4", {"grad_norm": 0.21, "learning_rate": 1e-6, "step_time": 160.2, "memory_reserved": 2 * 2**30, "tokens_per_s_gpu": 1123.4}),
        ("\u2728 Global step 12: {'policy_loss': -0.0031, 'actor_lr': 1e-06, 'kl': 0.01, 'reward': 0.32, 'timing/step_time': 160.2}", {"learning_rate": 1e-6, "step_time": 160.2}),
    ],
)  # fmt: skip
def test_lines_are_read(text, values):
    (record,) = measured(dialect, f"(TaskRunner pid=4711) {text}\n")
    assert (record.step, record.values) == (12, pytest.approx(values))


def test_a_norm_that_is_no_number_is_reported():
    record, event = records(dialect, "step:12 - actor/grad_norm:nan - actor/lr:1e-06\n")
    assert math.isnan(record.values["grad_norm"])
    assert (event.name, event["step"]) == ("train.nan_gradient", 12)


@pytest.mark.parametrize("text", ["step:12 - done\n", "Global step 12: {'policy_loss': -0.0"])
def test_prose_and_cut_dicts_give_nothing(text):
    assert records(dialect, text) == []
