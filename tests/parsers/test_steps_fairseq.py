import pytest
from dialects import measured

from diagnose.parsers import steps_fairseq as dialect

INNER = "2026-01-05 10:00:00 | INFO | train_inner | "


@pytest.mark.parametrize(
    "text, values",
    [
        (INNER + '{"epoch": 1, "update": 0.123, "loss": "7.412", "wps": "91234", "ups": "0.5", "num_updates": "400", "lr": "0.00012", "gnorm": "1.21", "loss_scale": "16"}', {"loss": 7.412, "tokens_per_s": 91234, "step_time": 2.0, "grad_norm": 1.21, "loss_scale": 16, "learning_rate": 1.2e-4, "epoch": 1}),
        (INNER + "epoch 001:    400 / 3251 loss=7.412, wps=91234, ups=0.5, num_updates=400, lr=0.00012", {"loss": 7.412, "tokens_per_s": 91234, "step_time": 2.0, "learning_rate": 1.2e-4}),
        ('| INFO | valid | {"epoch": 1, "valid_loss": "6.5", "valid_num_updates": "400"}', {"validation_loss": 6.5}),
        ("| INFO | valid | epoch 001 | valid on 'valid' subset | loss 6.5 | ppl 70 | num_updates 400 | best_loss 6.5", {"validation_loss": 6.5}),
        ("| INFO | train | epoch 001 | loss 6.2 | ups 0.5 | num_updates 400 | lr 0.0001 | gnorm 1.2", {"loss": 6.2, "step_time": 2.0, "learning_rate": 1e-4, "grad_norm": 1.2, "epoch": 1}),
    ],
)  # fmt: skip
def test_both_formats_and_all_tags_are_read(text, values):
    (record,) = measured(dialect, f"[rank0]: {text}\r\n")
    assert (record.step, record.values) == (400, pytest.approx(values))


def test_the_mean_of_an_epoch_is_no_loss_of_a_step():
    text = (
        f'{INNER}{{"loss": "5.1", "num_updates": "400"}}\n'
        '| INFO | train | {"epoch": 1, "train_loss": "6.1", "train_num_updates": "410"}\n'
    )
    assert [record.values for record in measured(dialect, text)] == [{"loss": 5.1}]


def test_what_the_wall_clock_counts_beyond_the_steps_is_waiting():
    line = INNER + "epoch 001: {} / 3251 loss=7.4, num_updates={}, train_wall={}, wall={}\n"
    rows = (
        (100, 100, 1000),
        (105, 105, 1010),
        (150, 140, 1050),
        (200, 180, 1100),
        (250, 220, 1150),
    )
    lines = [line.format(n, n, train, wall) for n, train, wall in rows]
    waits = [record.values.get("data_time") for record in measured(dialect, "".join(lines))]
    assert waits == [None, None, None, pytest.approx(0.2), pytest.approx(0.2)]


@pytest.mark.parametrize(
    "between",
    [
        '| INFO | fairseq_cli.train | begin validation on "valid" subset\n',
        "| INFO | valid | epoch 001 | valid on 'valid' subset | loss 6.5 | num_updates 150\n",
        "| INFO | fairseq.checkpoint_utils | Saved checkpoint /ckpt/checkpoint_1_150.pt (epoch 1 @ 150 updates, score None) (writing took 200.1 seconds)\n",
    ],
)  # fmt: skip
def test_a_validation_or_a_save_is_no_waiting_for_data(between):
    line = INNER + "epoch 001: {} / 3251 loss=7.4, num_updates={}, train_wall={}, wall={}\n"
    rows = ((50, 40, 40), (100, 80, 80), (150, 120, 320), (200, 160, 360), (250, 200, 400))
    lines = [line.format(n, n, train, wall) for n, train, wall in rows]
    lines.insert(2, between)
    assert not any(one.values.get("data_time") for one in measured(dialect, "".join(lines)))


def test_a_pause_in_one_interval_alone_is_no_waiting_for_data():
    line = INNER + "epoch 001: {} / 3251 loss=7.4, num_updates={}, train_wall={}, wall={}\n"
    rows = ((50, 40, 40), (100, 80, 80), (150, 120, 320), (200, 160, 360), (250, 200, 400))
    text = "".join(line.format(n, n, train, wall) for n, train, wall in rows)
    assert not any(one.values.get("data_time") for one in measured(dialect, text))


def test_two_ranks_in_one_line_and_a_cut_record():
    record = INNER + '{"loss": "5.1", "num_updates": "400"}'
    assert len(measured(dialect, record + record + "\n")) == 1
    assert measured(dialect, record[:-5]) == []


def test_lines_before_0_10_show_their_values_without_rates():
    text = (
        "| epoch 002:    100 / 4000 loss=3.5, nll_loss=1.5, wps=8809, ups=0, num_updates=4100, lr=0.01, gnorm=0.2, loss_scale=0.5, wall=897, train_wall=887\n"
        "| epoch 002 | loss 3.25 | ppl 9.5 | num_updates 8000 | lr 0.01 | gnorm 0.2 | wall 9000\n"
        "| epoch 002 | valid on 'valid' subset | loss 3.0 | ppl 8.0 | num_updates 8000 | best_loss 3.0\n"
    )
    found = [(record.step, record.values) for record in measured(dialect, text)]
    assert found == [
        (
            4100,
            {"loss": 3.5, "learning_rate": 0.01, "grad_norm": 0.2, "loss_scale": 0.5, "epoch": 2},
        ),
        (8000, {"validation_loss": 3.0}),
    ]


def test_without_intervals_the_mean_of_an_old_epoch_counts():
    text = "| epoch 002 | loss 3.25 | ppl 9.5 | num_updates 8000 | lr 0.01 | wall 9000\n"
    (record,) = measured(dialect, text)
    assert (record.step, record.values) == (8000, {"loss": 3.25, "learning_rate": 0.01, "epoch": 2})


def test_without_updates_the_step_is_counted_within_the_epoch():
    text = "| epoch 001  1000 / 4000 loss=9.5 (10.9), wps=18515, lr=1.25, clip=100%, gnorm=inf\n"
    (record,) = measured(dialect, text)
    assert (record.step, record.values["loss"]) == (5000, 9.5)


@pytest.mark.parametrize(
    "text",
    ["| epoch 002 | the loss is 3", "| epoch 3 of | 4 |", "| epoch | loss |", "| epoch 002 | valid on 'valid' subset | ppl 8.0 | num_updates 8"],
)  # fmt: skip
def test_other_tables_with_an_epoch_give_nothing(text):
    assert measured(dialect, text + "\n") == []
