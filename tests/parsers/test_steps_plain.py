import math
from dataclasses import replace

import pytest
from dialects import Block, events, measured, records

from diagnose.model.event import Measurement
from diagnose.parsers import steps_plain as dialect

TITAN = "[rank0]:[titan] 2026-01-05 10:00:00,123 - root - INFO - step: 10  loss:  8.12345  grad_norm:  1.2345  memory: 45.00GiB(57.70%)  tps: 7,123  tflops: 412.34  mfu: 41.69%"
TITAN_OLD = "2024-05-05 10:00:00,123 - root - INFO - step: 10  loss: 10.8424  memory: 45.00GiB(57.70%)  wps: 7,123  mfu: 41.69%"
TITAN_NO_FLOPS = (
    "step:  6  loss:  2.4664  memory: 38.00GiB(40.00%)  tps: 96,480  tflops: 0.00  mfu: 0.00%"
)
MIND = "2026-01-05 10:00:02,108 - INFO - { Epoch:[  2/  3], step:[    2/ 6500], loss: 10.633, per_step_time: 1752ms, lr: 1e-05, overflow cond: False, loss_scale: 1.0, global_norm: [1.5], train_throughput_per_npu: 170.738T"
PADDLE = "[    INFO] - loss: 12.06, learning_rate: 2e-06, global_step: 1, current_memory_allocated: 7.55, interval_runtime: 1.15, interval_tokens_per_second_per_device: 889.04, interval_steps_per_second: 0.5, progress_or_epoch: 0.0"
GIB = 2**30


@pytest.mark.parametrize(
    "text, step, values",
    [
        ("step 10 | loss 2.31 | step_time 2.01s | mem 58.20GiB", 10, {"loss": 2.31, "step_time": 2.01, "memory_used": 58.2 * GIB}),
        ("step 10 loss 2.31 allocated_memory=3.00GB reserved_memory=4.00 GB", 10, {"loss": 2.31, "memory_allocated": 3 * GIB, "memory_reserved": 4 * GIB}),
        ("step: 10, loss: 2.31, max mem: 2048MB, CPU mem: 90GB, mem: 12", 10, {"loss": 2.31, "memory_peak": 2 * GIB}),
        (TITAN, 10, {"loss": 8.12345, "grad_norm": 1.2345, "memory_reserved": 45 * GIB, "tokens_per_s_gpu": 7123, "tflops": 412.34, "mfu": 0.4169}),
        (TITAN_OLD, 10, {"loss": 10.8424, "memory_reserved": 45 * GIB, "tokens_per_s_gpu": 7123}),
        (TITAN_NO_FLOPS, 6, {"loss": 2.4664, "memory_reserved": 38 * GIB, "tokens_per_s_gpu": 96480}),
        ("validate step: 500  loss:  2.1234  memory: 45.00GiB(57.70%)  tps: 7,123", 500, {"validation_loss": 2.1234, "memory_reserved": 45 * GIB, "tokens_per_s_gpu": 7123}),
        ("iter 100: loss 3.4121, time 135.12ms, mfu -100.00%", 100, {"loss": 3.4121, "step_time": 0.13512}),
        ("step 250: train loss 3.1021, val loss 3.1532", 250, {"validation_loss": 3.1532}),
        (MIND, 6502, {"loss": 10.633, "step_time": 1.752, "learning_rate": 1e-5, "loss_scale": 1, "grad_norm": 1.5}),
        (PADDLE, 1, {"loss": 12.06, "learning_rate": 2e-6, "tokens_per_s_gpu": 889.04, "step_time": 2.0}),
        ("step    12 | loss: 7.2551 | lr 2.1e-05 | norm: 1.82 | dt: 338.00ms | tok/sec: 155117", 12, {"loss": 7.2551, "learning_rate": 2.1e-5, "grad_norm": 1.82, "step_time": 0.338, "tokens_per_s": 155117}),
        ("step    1/74 | train loss 5.356185 | norm 30.0 | lr 1.9e-05 | 150.20 ms | 54000 tok/s", 1, {"loss": 5.356185, "grad_norm": 30, "learning_rate": 1.9e-5, "step_time": 0.1502, "tokens_per_s": 54000}),
        ("INFO Step [120/5000], Loss: 2.31, Time: 0.52s", 120, {"loss": 2.31, "step_time": 0.52}),
        ("Epoch [3/20], Batch [6/40], Loss: 2.31", 126, {"loss": 2.31}),
        ("Epoch[1] Batch[7] Speed: 88.10 samples/sec, train_loss=5.2,", None, {"loss": 5.2}),
        ("epoch: 3/20 - batch: 6/40 - total_loss: 0.22 - time: 0.54 - data_time: 0.5 - lr: 0.009", 126, {"loss": 0.22, "step_time": 0.54, "data_time": 0.5}),
        ("step:70 smpl:4K ep:6 loss:0.81 grdn:2.10 lr:3.0e-05 updt_s:0.250 data_s:3.1", 70, {"loss": 0.81, "compute_time": 0.25, "data_time": 3.1, "step_time": 3.35}),
        ("global_step=7 train_loss=1.5 time=3.1", 7, {"loss": 1.5}),
        ("iteration:  2500/500000   0% | elapsed time: 07:41:19 | per_token_loss: 3.1525 | lr: 9.990E-06 |", 2500, {"loss": 3.1525, "learning_rate": 9.99e-6}),
    ],
)  # fmt: skip
def test_each_layout_is_read_in_base_units(text, step, values):
    found = [record for record in measured(dialect, f"{text}\r\n") if record.values]
    (record,) = found
    got = {name: record.values.get(name) for name in values}
    assert (record.step, got) == (step, pytest.approx(values))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Epoch[1] Batch[7] Speed: 88.10 samples/sec, FaceLoss=nan,\n", 1),
        ("Epoch[1] Batch[7] Speed: 88.10 samples/sec, FaceLoss=31.2,\n", 0),
        ("epoch 2 batch 3 D_loss inf G_loss 0.2\n", 1),
    ],
)
def test_a_loss_by_another_name_counts_where_it_is_no_number(text, found):
    assert len(events(dialect, text)) == found


def test_torchtitan_without_a_flop_count_has_no_utilisation():
    (record,) = measured(dialect, TITAN_NO_FLOPS)
    assert not {"tflops", "mfu"} & set(record.values)


def test_a_running_mean_that_is_nan_until_the_timer_starts_is_no_nan_loss():
    text = (
        "step:9/5100 train_loss:8.70 train_time:81991ms step_avg:nanms\n"
        "step:11/5100 train_loss:8.60 train_time:170ms step_avg:170.00ms\n"
        "step:13/5100 train_loss:8.50 train_time:570ms step_avg:190.00ms\n"
        "step:13/5100 val_loss:8.40 train_time:570ms step_avg:190.00ms\n"
    )
    found = measured(dialect, text)
    assert events(dialect, text) == []
    assert [record.values.get("step_time") for record in found] == [None, None, 0.2, None]
    assert found[-1].values == {"validation_loss": 8.40}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "At this iteration of the design the loss of packets is step by step reduced\n",
        "step 3 of the guide explains the loss function\n",
        "Traceback: loss = criterion(output, target)  # step 5\n",
        "iteration 12 failed, no loss was computed\n",
        "step: 10  lo",
        "epoch loss step\n",
        "packet loss 0.1 at step 5\n",
    ],
)
def test_prose_with_the_words_gives_nothing(text):
    assert records(dialect, text) == []


@pytest.mark.parametrize("word", ["nan", "NaN", "inf"])
def test_a_loss_that_is_no_number_is_kept_and_reported_once(word):
    text = f"step 1 loss 2.0\nstep 2 loss {word}\nstep 3 loss {word}\n"
    losses = [record.values["loss"] for record in measured(dialect, text)]
    assert [math.isfinite(loss) for loss in losses] == [True, False, False]
    (event,) = events(dialect, text)
    assert (event.name, event["step"], event.line) == ("train.nan_loss", 2, 2)


def test_megatron_lines_are_left_to_megatron():
    text = " iteration     1200/   50000 | consumed samples: 1228800 | lm loss: 2.713355E+00 |\n"
    assert records(dialect, text) == []


def test_garbage_collection_is_measured_without_its_first_call():
    line = (
        "[titan] 2026-01-05 10:00:13,530 - root - INFO - [GC] {} GC collection took 0.31 seconds\n"
    )
    found = measured(dialect, line.format("Initial") + line.format("Performing periodic"))
    assert [(record.line.number, record.values) for record in found] == [(2, {"gc_time": 0.31})]


def test_lines_of_paddle_are_left_to_its_own_reader():
    text = "[2026-01-05 10:00:00,508] [    INFO] - global step 100, epoch: 0, batch: 99, loss: 3.1, avg_reader_cost: 0.01 sec, avg_batch_cost: 0.2 sec\n"
    (record,) = measured(dialect, text)
    assert record.values == {"loss": 3.1, "data_time": 0.01, "step_time": 0.2}


@pytest.mark.parametrize(
    "text, values",
    [
        ("step 10 | loss 2.1 | 0.52 s/it", {"loss": 2.1, "step_time": 0.52}),
        ("step 10 | loss 2.1 | 520 ms/step", {"loss": 2.1, "step_time": 0.52}),
        ("step 10 | loss 2.1 | 2.0 it/s", {"loss": 2.1, "step_time": 0.5}),
        ("step=10 loss=2.1 data_time=0.1 step_time=0.5", {"loss": 2.1, "data_time": 0.1, "step_time": 0.5}),
        ("step=10 loss=2.1 step_time=0.5", {"loss": 2.1}),
        ("INFO loss=2.1 step=10 lr=0.1", {"loss": 2.1, "learning_rate": 0.1}),
        ("loss=2.1 step=10 lr=0.1", {"loss": 2.1, "learning_rate": 0.1}),
        ("INFO:tensorflow:loss = 2.1, step = 10 (12.3 sec)", {"loss": 2.1}),
        ("I0105 10:00:00.123456 12345 solver.cpp:228] Iteration 10 (4.0 iter/s, 5s/20 iters), loss = 2.1", {"loss": 2.1, "step_time": 0.25}),
        ("epoch: 1/9, iter: 10/400000, mem: 7543Mb, iter_time: 0.5s, data_time: 0.25s, total_loss: 2.1, iou_loss: 1.5", {"loss": 2.1, "step_time": 0.5, "data_time": 0.25, "epoch": 1}),
        ("epoch=1 loss=2.1 global_step=10", {"loss": 2.1}),
        ("global_step: 10, loss: 2.1, data_time: 0.1, step_time: 0.5", {"loss": 2.1, "data_time": 0.1, "step_time": 0.5}),
    ],
)  # fmt: skip
def test_order_and_unit_of_pairs(text, values):
    (record,) = measured(dialect, text + "\n")
    assert (record.step, record.values) == (10, pytest.approx(values))


@pytest.mark.parametrize(
    "text", ["Validation loss: 2.1, step: 10", "eval loss=2.1 step=10", "val_loss=2.1 step=10"]
)
def test_a_loss_of_a_validation_in_front_of_the_step_is_not_of_training(text):
    assert all("loss" not in record.values for record in measured(dialect, text + "\n"))


def test_an_evaluation_of_paddle_is_no_step():
    text = "[2026-01-05 10:01:00,508] [    INFO] - eval_loss: 3.1, eval_runtime: 12.3, eval_samples_per_second: 10\n"
    (record,) = measured(dialect, text)
    assert (record.step, record.values) == (None, {"validation_loss": 3.1})


@pytest.mark.parametrize(
    "text, step, values",
    [
        ("step 10, loss = 2.1 (850.0 examples/sec; 0.15 sec/batch)", 10, {"loss": 2.1, "samples_per_s": 850, "step_time": 0.15}),
        ("Training iter 10, loss=2.1 (1.5s)", 10, {"loss": 2.1, "step_time": 1.5}),
        ("Iter 10: Train loss 2.1, Learning Rate 1.0e-05, It/sec 4.0, Tokens/sec 300.5, Peak mem 8.0 GB", 10, {"loss": 2.1, "learning_rate": 1e-5, "step_time": 0.25, "tokens_per_s": 300.5, "memory_peak": 8 * GIB}),
        ("epoch: [0/9], iter: 10, lr: 0.1, loss: 2.1, reader_cost: 0.5 s, batch_cost: 2.0 s, ips: 89.4", 10, {"loss": 2.1, "data_time": 0.5, "step_time": 2.0, "learning_rate": 0.1}),
        ("run_7; step 000010/200000; rtime 0.5; itime 2.0; loss = 2.1", 10, {"loss": 2.1, "data_time": 0.5, "step_time": 2.0}),
        ("Epoch: 2, Step: 10, accuracy: 0.97, box loss: 8.1, all_loss: 2.1, lr:0.01", 10, {"loss": 2.1, "learning_rate": 0.01}),
        ("epoch 2/50 - it 10/100 - loss: 2.1 - acc: 0.3", 210, {"loss": 2.1, "epoch": 2}),
        ("Epoch 2/5, Step 10/100, step time: 500.0 ms", 210, {"step_time": 0.5, "epoch": 2}),
        ("iters: 10, epoch: 2 | loss: 2.1", 10, {"loss": 2.1, "epoch": 2}),
        ("Epoch[1] Batch [10]\tSpeed: 88.5 samples/sec\taccuracy=0.1", None, {"samples_per_s": 88.5}),
        ("Iter[1] Batch [10]    Speed: 88.5 samples/sec", None, {"samples_per_s": 88.5}),
    ],
)  # fmt: skip
def test_scripts_name_the_same_things_otherwise(text, step, values):
    (record,) = measured(dialect, text + "\n")
    assert (record.step, record.values) == (step, pytest.approx(values))


def test_a_step_that_goes_on_with_the_epochs_is_one_of_the_run():
    line = "Epoch {}/4, Step {}/400, loss: 2.1\n"
    of_run = "".join(line.format(step // 100 + 1, step) for step in range(50, 400, 50))
    of_epochs = "".join(line.format(epoch, step) for epoch in (1, 2) for step in (100, 300))
    assert [record.step for record in measured(dialect, of_run)] == list(range(50, 400, 50))
    assert [record.step for record in measured(dialect, of_epochs)] == [500, 700, 900, 1100]


@pytest.mark.parametrize(
    "text",
    [
        "it 5 shows a loss of money",
        "step 10 val_loss nan",
        "step 10: best_val_loss: nan",
        "step 3 took a long time: 5 s",
        "Speed: 88.5 samples/sec on average",
        "990\timages/sec: 195.8 +/- 0.5 (jitter = 15.2)\t7.106",
        "iters: 10 of the loop",
        "Epoch[1] Batch [10]\tValidation-accuracy=0.31",
    ],
)
def test_more_that_is_no_step_of_training(text):
    assert records(dialect, text + "\n") == []


def test_memory_of_the_host_is_told_from_that_of_the_gpu():
    (record,) = measured(dialect, "step: 10, loss: 2.1, CPU mem: 90GB, GPU mem: 12GB\n")
    assert record.values == {"loss": 2.1, "host_memory": 90 * GIB, "memory_used": 12 * GIB}


def test_a_time_without_a_unit_counts_where_the_stamps_confirm_it():
    text = "".join(f"step {step} loss 2.1 time 4000\n" for step in range(0, 70, 10))
    block = Stamped(text, seconds=40.0)
    found = [record for record in dialect.read_plain(block) if isinstance(record, Measurement)]
    assert {record.values["step_time"] for record in found} == {4.0}
    found = [record for record in dialect.read_plain(Stamped(text, seconds=7.0))]
    assert all("step_time" not in record.values for record in found)


class Stamped(Block):
    """Lines that are so many seconds apart."""

    def __init__(self, text, seconds):
        super().__init__(text)
        self.seconds = seconds

    def line_at(self, offset):
        line = super().line_at(offset)
        return replace(line, time=line.number * self.seconds)
