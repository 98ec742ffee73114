import math

import pytest
from dialects import events, measured, records

from diagnose.parsers import steps_counted as dialect


@pytest.mark.parametrize(
    "text, step, values",
    [
        (
            "2026-01-05 10:00:00,123 - mmdet - INFO - Epoch [2][150/4000]\tlr: 1.0e-02, eta: 1 day, 2:10:03, time: 0.412, data_time: 0.011, memory: 4100, loss_cls: 0.412, acc: 91.2, loss: 0.8311",
            8150,
            {"learning_rate": 0.01, "step_time": 0.412, "data_time": 0.011, "loss": 0.8311, "epoch": 2},
        ),
        ("Epoch:[3/19](100/2400) loss:5.251 lr:0.0002 epoch_Time:98.0min:", 7300, {"loss": 5.251, "learning_rate": 2e-4, "epoch": 3}),
        ("Epoch: [1]  [ 20/500]  lr: 0.00002  closs: 1.08 (1.13)  time: 4.5  data: 0.1  max mem: 51000", 520, {"learning_rate": 2e-5, "step_time": 4.5, "data_time": 0.1, "epoch": 1}),
        (
            "2026-01-05,10:00:00 | INFO | Train Epoch: 2 [  6400/90000 (7%)] Loss: 0.97 (1.02) Data (t): 0.150 Batch (t): 0.550, 36.1/s LR: 0.001 Logit Scale: 99.9",
            None,
            {"loss": 0.97, "step_time": 0.55, "learning_rate": 1e-3, "epoch": 2},
        ),
        ("Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.291", None, {"loss": 2.291, "epoch": 1}),
        ("Train loss 1200 0.231841 Grad Norm 0.41 1.73s/it", 1200, {"loss": 0.231841, "grad_norm": 0.41, "step_time": 1.73}),
        (
            "[node7:0/4] 2026-01-05 10:00:00,123 (trainer:762) INFO: 3epoch:train:1001-2000batch: iter_time=0.002, forward_time=0.1, loss_ctc=80.1, loss=60.5, backward_time=0.2, optim_step_time=0.05, optim0_lr0=0.001, train_time=0.41",
            None,
            {"loss": 60.5, "data_time": 0.002, "step_time": 0.41, "epoch": 3},
        ),
        ("data: 31ms, mem: 24882M", None, {"data_time": 0.031}),
    ],
)  # fmt: skip
def test_each_kind_of_counter(text, step, values):
    (record,) = measured(dialect, f"{text}\r\n")
    got = {name: record.values.get(name) for name in values}
    assert (record.step, got) == (step, pytest.approx(values))


def test_a_loss_by_a_name_of_its_own_counts_where_it_is_no_number():
    line = "[{}] policy_std 1.2 / image_loss 812.1 / model_loss {} / fps 2.0\n"
    found = measured(dialect, line.format(2000, "93.0") + line.format(3000, "inf"))
    assert [(record.step, record.values) for record in found] == [(3000, {"loss": math.inf})]
    (event,) = events(dialect, line.format(3000, "inf"))
    assert (event.name, event["step"]) == ("train.nan_loss", 3000)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Epoch: [2][140/5005]\tTime 0.412 (0.437)\tData 0.006 (0.021)\tLoss 4.1021 (4.2310)",
        "Epoch(val) [2][140/200]  loss: 0.31",
        "Epoch [2][4000]\tbbox_mAP: 0.412, loss: 0.31",
        "Epoch [2][150/4000] acc: 91.2",
        "Test Epoch: 2 [640/10000 (6%)] Loss: 0.31",
        "3epoch:valid:1-200batch: loss=60.5",
        "Train loss 0.231841",
        "Train loss 12 of 40 runs was read",
        "[12] see the loss / gain table of the paper",
        "[2000] return 1.2 / length 81.0",
        "data: 31 files, mem: 24882M",
        "the data: 31ms, loss of it",
    ],
)
def test_what_is_no_step_of_training_or_another_parsers_gives_nothing(text):
    assert records(dialect, text + "\n") == []
