import math

import pytest
from dialects import events, measured, records

from diagnose.parsers import steps_megatron as dialect

STAMPED = " [2026-01-05 10:14:22.481903] iteration     1200/   50000 | consumed samples:      1228800 | elapsed time per iteration (ms): 6214.7 | throughput per GPU (TFLOP/s/GPU): 402.1 | learning rate: 2.998000E-04 | global batch size:  1024 | lm loss: 2.713355E+00 | loss scale: 1.0 | grad norm: 0.412 | number of skipped iterations:   0 | number of nan iterations:   0 |"
OLD = " iteration       20/    1000 | consumed samples:        20480 | elapsed time per iteration (ms): 141096.8 | learning rate: 3.750E-05 | global batch size:  1024 | lm-loss: 1.244502E+01 | loss scale: -1.0 | grad norm: 0.000 | num zeros: 0.0 | number of skipped iterations:   0 | number of nan iterations:   0 |"
SECONDS = "node-07: iteration    31230/  115311 | consumed samples:     31000000 | elapsed time per iteration (s): 105.17 | learning rate: 5.9E-05 | global batch size:  2048 | lm loss: 2.2E+00 | grad norm: 0.24 | number of skipped iterations:   0 | number of nan iterations:   0 | samples per second: 19.5 | TFLOPs: 149.0 |"


def skipped(step, *, loss="", scale="8192.0", skips=0, nans=0, norm="1.5"):
    return (
        f" iteration {step:8d}/  159576 | consumed samples:       540656 | elapsed time per iteration (ms): 63274.6"
        f" | learning rate: 6.000E-05 | global batch size:   192 |{loss} loss scale: {scale} | grad norm: {norm} |"
        f" number of skipped iterations: {skips:3d} | number of nan iterations: {nans:3d} |\n"
    )


@pytest.mark.parametrize(
    "text, step, expected",
    [
        (STAMPED, 1200, {"step_time": 6.2147, "loss": 2.713355, "grad_norm": 0.412, "tflops": 402.1, "learning_rate": 2.998e-4, "consumed_samples": 1228800, "global_batch": 1024, "skipped_steps": 0, "nan_steps": 0, "loss_scale": 1.0}),
        (OLD, 20, {"step_time": 141.0968, "loss": 12.44502}),
        (SECONDS, 31230, {"step_time": 105.17, "samples_per_s": 19.5, "tflops": 149.0}),
        ("[default7]:" + STAMPED + "\r", 1200, {"loss": 2.713355}),
    ],
)  # fmt: skip
def test_an_iteration_line_is_read_in_base_units(text, step, expected):
    (record,) = measured(dialect, text + "\n")
    assert record.step == step
    assert {k: record.values[k] for k in expected} == pytest.approx(expected)


def test_a_gradient_norm_of_zero_was_not_computed():
    assert "grad_norm" not in measured(dialect, OLD)[0].values


def test_two_ranks_in_one_line_give_two_records():
    glued = STAMPED + STAMPED.replace("1200/", "1210/") + "\n"
    assert [record.step for record in measured(dialect, glued)] == [1200, 1210]


def test_of_a_line_cut_off_the_whole_columns_are_read():
    (record,) = measured(dialect, STAMPED[: STAMPED.index("713355")])
    assert "loss" not in record.values
    assert record.values["global_batch"] == 1024


@pytest.mark.parametrize(
    "text",
    [
        "",
        "the elapsed time per iteration grew after iteration 1200 of the job\n",
        "elapsed time per iteration: see iteration 1200/50000 for the loss: 2.1\n",
        "    save-interval ................................ 1000\n",
    ],
)
def test_prose_and_arguments_are_no_iterations(text):
    assert records(dialect, text) == []


def test_a_torn_number_costs_its_own_column_only():
    torn = STAMPED.replace("6214.7", "62.14.7")
    (record,) = measured(dialect, torn)
    assert "step_time" not in record.values
    assert record.values["loss"] == pytest.approx(2.713355)


LOSS = " lm loss: 7.024580E+00 |"


def test_a_loss_column_that_vanishes_in_bf16_is_a_nan():
    lines = [skipped(n, loss=LOSS if n == 1 else "", scale="1.0") for n in (1, 2, 3)]
    (event,) = events(dialect, "".join(lines))
    assert (event.name, event["step"], event["hidden"], event.line) == (
        "train.nan_loss",
        2,
        True,
        2,
    )


def test_a_loss_column_that_vanishes_in_a_skipped_step_is_no_nan():
    found = events(dialect, skipped(1, loss=LOSS) + skipped(2, skips=1))
    assert [(event.name, event["step"], event["new_scale"]) for event in found] == [
        ("train.overflow", 2, 8192.0)
    ]


def test_a_loss_column_that_vanishes_as_the_scale_falls_is_an_overflow():
    text = skipped(1, loss=LOSS, scale="16384.0") + skipped(2, scale="8192.0")
    (event,) = events(dialect, text)
    assert (event.name, event["step"], event["scale"], event["new_scale"]) == (
        "train.overflow", 2, 16384.0, 8192.0,
    )  # fmt: skip


def test_a_scale_that_falls_beside_a_loss_is_no_event():
    text = skipped(1, loss=LOSS, scale="16384.0") + skipped(2, loss=LOSS, scale="8192.0")
    assert events(dialect, text) == []


def test_a_log_that_never_prints_a_loss_is_no_nan():
    assert events(dialect, skipped(1) + skipped(2)) == []


def test_nan_iterations_and_nan_norms_tell_of_a_nan_loss():
    assert [e.name for e in events(dialect, skipped(1, loss=LOSS, nans=2))] == ["train.nan_loss"]
    assert [e.name for e in events(dialect, skipped(1, norm="nan"))] == ["train.nan_loss"]


TABLE = """{}
(min, max) time across ranks (ms):
    forward-backward ...............................: (5401.22, 5988.10)
    forward-compute ................................: (2401.00, 2988.00)
    backward-compute ...............................: (3000.00, 3012.00)
    optimizer ......................................: (150.04, 151.77)
"""
ALL = """{}
times across ranks (ms):
  forward-compute:
     rank  0: 2510.00
     rank  1: 2507.00
  backward-compute:
     rank  0: 100.00
     rank  1: 300.00
done
"""


def test_a_timer_table_gives_the_slowest_rank_and_the_fastest():
    record = measured(dialect, TABLE.format(STAMPED))[-1]
    assert record.step == 1200
    assert record.values == pytest.approx(
        {
            "compute_time": 6.0,
            "compute_time_min": 5.401,
            "optimizer_time": 0.15177,
            "optimizer_time_min": 0.15004,
        }
    )


def test_waiting_for_neighbour_stages_is_apart_from_collectives():
    text = "max time across ranks (ms):\n    forward-recv ...................: 200.00\n    backward-recv ..................: 300.00\n    all-grads-sync .................: 40.00\n"
    (record,) = measured(dialect, text)
    assert record.values == pytest.approx({"recv_wait": 0.5, "comm_time": 0.04})


def test_power_is_read_and_energy_is_not():
    line = STAMPED.replace(
        " learning rate",
        " energy per GPU (J/iter/GPU): 3700.1 | power per GPU (W/GPU): 600.2 | learning rate",
    )
    (record,) = measured(dialect, line + "\n")
    assert record.values["gpu_power"] == 600.2
    assert not [name for name in record.values if "energy" in name]


@pytest.mark.parametrize("label", ["actual seqlen", "curriculum seqlen"])
def test_the_sequence_length_of_a_step(label):
    lines = "".join(
        STAMPED.replace("1200/", f"12{n}0/").replace(
            " learning rate", f" {label}: {length} | learning rate"
        )
        + "\n"
        for n, length in ((0, " 2048"), (1, " 2048"), (2, " 4096"))
    )
    lengths = [one.values["sequence_length"] for one in measured(dialect, lines)]
    assert lengths == [2048, 2048, 4096]


def test_a_table_of_all_ranks_gives_one_record_a_rank():
    first, second = measured(dialect, ALL.format(STAMPED))[1:]
    assert (first.line.rank, second.line.rank) == (0, 1)
    assert (first.step, first.values, second.values) == (
        1200, {"compute_time": pytest.approx(2.61)}, {"compute_time": pytest.approx(2.807)},
    )  # fmt: skip


@pytest.mark.parametrize(
    "text, values",
    [
        (
            "time (ms) | forward-compute: 812.10 | backward-compute: 1623.55 | optimizer: 20.5\n",
            {"compute_time": 2.43565, "optimizer_time": 0.0205},
        ),
        ("time (ms) | save-checkpoint: 57514.53\n", {"checkpoint_time": 57.51453}),
    ],
)
def test_old_timers_stand_in_one_line(text, values):
    (record,) = measured(dialect, text)
    assert record.values == pytest.approx(values)


def test_deepspeed_timers_are_left_to_deepspeed():
    text = "[Rank 0] rank=0 time (ms) | forward_microstep: 1.0 | step_microstep: 2.0\n"
    assert records(dialect, text) == []


def test_nemo_lines_keep_their_step():
    text = "Training epoch 0, iteration 199/999 | lr: 0.0002998 | global_batch_size: 512 | global_step: 1199 | reduced_train_loss: nan | train_step_timing in s: 8.614 | consumed_samples: 102400\n"
    record, event = records(dialect, text)
    assert record.step == 1199
    assert record.values["step_time"] == 8.614
    assert math.isnan(record.values["loss"])
    assert event.name == "train.nan_loss"


def test_bridge_prints_a_step_time_without_a_step():
    text = "Step Time : 8.61s GPU utilization: 412.3MODEL_TFLOP/s/GPU\n"
    (record,) = measured(dialect, text)
    assert (record.step, record.values) == (None, {"step_time": 8.61, "tflops": 412.3})


def test_validation_is_not_training():
    text = (
        " validation loss at iteration 1000 | lm loss value: 2.61E+00 | lm loss PPL: 1.36E+01 | \n"
    )
    named = text.replace(
        " loss at iteration 1000 |", "-code loss at iteration 2000 on validation set |"
    )
    found = [(record.step, record.values) for record in measured(dialect, text + named)]
    assert found == [(1000, {"validation_loss": 2.61}), (2000, {"validation_loss": 2.61})]
