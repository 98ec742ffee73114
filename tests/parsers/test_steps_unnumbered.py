import math

import pytest
from dialects import events, measured, records

from diagnose.parsers import steps_unnumbered as dialect


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-01-05 10:00:00,120:INFO: train loss:2.0417", 2.0417),
        ("loss: 0.42", 0.42),
        ("Epoch 3/10 - loss: 2.31 - accuracy: 0.098", 2.31),
        ("[rank3]: training loss = 1e-3, lr = 0.1", 1e-3),
        ("total loss=2.5;", 2.5),
        ("1200/1875 [===>..] - 5s 3ms/step - loss: 0.31 - accuracy: 0.9", 0.31),
        ("avg_loss: 7", 7),
    ],
)
def test_a_loss_without_a_step(text, value):
    record, _ = measured(dialect, text + "\r\nloss: nan\r\n")
    assert (record.step, record.values) == (None, {"loss": value})


@pytest.mark.parametrize("text", ["loss: nan", "Epoch 2 loss nan", "train loss=inf,", "Loss = NaN"])
def test_a_loss_that_is_no_number_is_reported_once(text):
    (event,) = events(dialect, f"loss: 2.0\n{text}\n{text}\n")
    assert event.name == "train.nan_loss"
    (record,) = measured(dialect, text + "\n")
    assert not math.isfinite(record.values["loss"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "packet loss: 0.1",
        "loss: 0.1%",
        "val loss: 2.31",
        "Validation: loss: 2.31",
        "Test set: Average loss: 0.0211, Accuracy: 99",
        "step: 10 loss: 2.31",
        "Epoch: [2][140/5005]\tLoss: 4.10",
        "{'loss': 2.1, 'epoch': 0.1}",
        '{"loss": 2.1}',
        "loss: tensor(2.31)",
        "the loss function: cross entropy",
        "loss_cls: 0.31",
        " 10%|#  | 3/24 [00:10<01:10, loss: 2.31]",
        "loss: 2.31.4.5.6 is the version" * 20,
    ],
)
def test_what_is_no_training_loss_or_another_parsers_gives_nothing(text):
    assert len(measured(dialect, text + "\nloss: nan\n")) == 1


def test_each_line_counts_once():
    assert len(measured(dialect, "loss: 1.0 loss: 2.0\nloss: nan\n")) == 2


def test_numbers_alone_say_too_little():
    assert records(dialect, "loss: 1.0\nloss: 9.0\nval loss: nan\n") == []


def test_means_of_epochs_are_their_own_readers():
    bar = "1875/1875 [====] - 5s 3ms/step - loss: nan - accuracy: 0.9 - val_loss: 0.4"
    assert records(dialect, f"Epoch 3/9\n{bar}\nEpoch 4/9\ntrain loss: nan\n") == []
