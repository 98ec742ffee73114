import pytest
from dialects import events, measured, records

from diagnose.parsers import steps_epochs as dialect

BAR = "1875/1875 [==============================] - 4s 2ms/step - loss: {} - acc: 0.91 - val_loss: 0.40\n"


def test_the_full_bar_is_the_mean_of_the_epoch_above_it():
    text = "Epoch 3/40\n" + BAR.format(0.3) + "Epoch 4/40\r\n" + BAR.format(0.2)
    found = [(record.step, record.values, record.line.number) for record in measured(dialect, text)]
    assert found == [
        (3, {"loss": 0.3, "validation_loss": 0.4}, 2),
        (4, {"loss": 0.2, "validation_loss": 0.4}, 4),
    ]


def test_of_a_bar_that_is_drawn_again_only_the_end_counts():
    drawn = "  64/1875 [>.............................] - ETA: 9s - loss: 2.3\r"
    (record,) = measured(dialect, f"Epoch 3/40\n{drawn}{drawn}{BAR.format(0.3)}")
    assert record.values["loss"] == 0.3


def test_bars_of_keras_3():
    (record,) = measured(
        dialect,
        "Epoch 2/5\n100/100 ━━━━━━━━━━━━━━━━━━━━ 3s 4ms/step - accuracy: 0.9 - loss: 0.3125\n",
    )
    assert (record.step, record.values) == (2, {"loss": 0.3125})


def test_losses_alone_on_their_lines():
    text = (
        "2026-01-05 10:00:00.100000: \nepoch:  12\n2026-01-05 10:02:00.120000: train loss : -0.6421\n"
        "2026-01-05 10:03:00.120000: validation loss: -0.6100\n"
    )
    found = [(record.step, record.values) for record in measured(dialect, text)]
    assert found == [(12, {"loss": -0.6421}), (12, {"validation_loss": -0.61})]


def test_a_loss_that_is_no_number_is_reported_with_its_epoch():
    (event,) = events(
        dialect, "Epoch 1/9\n" + BAR.format("0.6") + "Epoch 2/9\n" + BAR.format("nan")
    )
    assert (event.name, event["step"]) == ("train.nan_loss", 2)


def test_where_steps_state_their_losses_the_means_are_left_out():
    steps = "step 100 loss: 2.5\nstep 200 loss: 2.25\n"
    text = f"Epoch 1/9\n{steps}train loss: 2.4\nEpoch 2/9\ntrain loss: 2.0\n"
    assert [(record.step, record.values) for record in measured(dialect, text)] == [
        (2, {"loss": 2.0})
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Epoch 3/40\n  64/1875 [==>...........................] - ETA: 9s - loss: 2.3",
        "Epoch 3/40\n1875/1875 [==============================] - 4s - acc: 0.9",
        "Epoch 3/40\n10/10 - 0s - loss of power",
        "train loss : -0.6421",
        "Epoch 3/40 begins\ntrain loss : 0.3",
        "Epoch 3\ntest loss: 0.3",
        "Epoch 3\nconstrain loss: 0.3",
        "Epoch 3\nlearn about the train loss: 3 ways",
    ],
)  # fmt: skip
def test_what_is_no_mean_of_an_epoch_gives_nothing(text):
    assert records(dialect, text + "\n") == []
