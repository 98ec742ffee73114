import math

import pytest
from dialects import events, measured, records

from diagnose.parsers import steps_trainer as dialect

BAR = " 12%|#2        | {}/1000 [10:02<1:02:11,  5.01s/it]"


@pytest.mark.parametrize(
    "text, values",
    [
        ("{'loss': 2.1331, 'grad_norm': 0.8125, 'learning_rate': 1.9e-05, 'epoch': 0.04}", {"loss": 2.1331, "grad_norm": 0.8125, "learning_rate": 1.9e-5, "epoch": 0.04}),
        ("{'loss': '2.128', 'grad_norm': '0.7969', 'learning_rate': '1.898e-05', 'epoch': '0.05'}", {"loss": 2.128, "grad_norm": 0.7969, "learning_rate": 1.898e-5, "epoch": 0.05}),
        ("{'loss': 2.0, 'grad_norm': tensor(0.5, device='cuda:0'), 'epoch': 1.0}", {"loss": 2.0, "grad_norm": 0.5, "epoch": 1.0}),
        ("{'eval_loss': 2.01, 'eval_runtime': 31.2, 'epoch': 1.0}", {"validation_loss": 2.01, "epoch": 1.0}),
    ],
)  # fmt: skip
def test_a_dict_is_read_in_each_version(text, values):
    (record,) = measured(dialect, f"[rank0]: {text}\r\n")
    assert (record.step, record.values) == (None, pytest.approx(values))


def test_the_step_of_a_dict_is_that_of_the_training_bar_before_it():
    other = "Map: 50%|#####     | 5/10 [00:01<00:01,  5.0 examples/s]"
    text = f"{BAR.format(120)}\r{other}\n{{'loss': 2.1, 'epoch': 0.1}}\n{BAR.format(130)}\n{{'loss': 2.0, 'epoch': 0.2}}\n"
    dicts = [record for record in measured(dialect, text) if "loss" in record.values]
    assert [record.step for record in dicts] == [120, 130]


def test_a_loss_of_zero_beside_a_nan_norm_is_a_hidden_nan():
    record, event = records(dialect, "{'loss': 0.0, 'grad_norm': nan, 'epoch': 0.1}\n")
    assert math.isnan(record.values["loss"])
    assert (event.name, event["metric"], event["hidden"]) == ("train.nan_loss", "loss", True)


def test_a_loss_of_zero_alone_stays():
    (record,) = records(dialect, "{'loss': 0.0, 'grad_norm': 0.0, 'epoch': 0.1}\n")
    assert record.values["loss"] == 0


@pytest.mark.parametrize(
    "text",
    [
        "{'train_runtime': 3600.1, 'train_samples_per_second': 9.1, 'train_loss': 1.9, 'epoch': 3.0}\n",
        "{'loss': 2.1331, 'grad_norm': 0.8",
        "the key 'loss': is missing in {'model': 'x'}\n",
        "Downloading: 40%|####      | 4/10 [00:01<00:02, 2.0it/s]\nDownloading: 80%|####      | 8/10 [05:01<00:02, 2.0it/s]\n",
        "{'loss': 'high', 'grad_norm': 'low'}\n",
    ],
)
def test_summaries_cut_dicts_and_other_bars_give_nothing(text):
    assert measured(dialect, text) == []


def test_step_time_comes_from_two_bars_not_from_the_smoothed_rate():
    text = (
        "Epoch 3:  40%|####      | 400/1000 [03:20<05:00,  9.00it/s, v_num=7, train_loss=0.512]\r"
        "Epoch 3:  41%|####      | 410/1000 [03:25<05:00,  9.00it/s, v_num=7, train_loss=0.510]\r"
        "Epoch 3:  45%|####      | 450/1000 [03:45<04:35,  9.00it/s, v_num=7, train_loss=0.507]\n"
    )
    (record,) = measured(dialect, text)
    assert (record.step, record.values) == (3450, {"loss": 0.507, "step_time": 0.5})


def test_a_new_epoch_does_not_give_a_negative_step_time():
    text = "\r".join(
        f"Epoch {e}:  10%|#         | {n}/1000 [{t}<05:00,  2.00it/s]"
        for e, n, t in ((0, 900, "07:30"), (1, 1, "00:01"), (1, 101, "00:51"))
    )
    assert [record.values for record in measured(dialect, text)] == [{"step_time": 0.5}]


@pytest.mark.parametrize(
    "prefix",
    [
        "[rank3]: ",
        "[default0]:",
        "  12: ",
        "worker-3: ",
        "[1,17]<stdout>:",
        "2026-01-05T10:00:00.123456789Z stderr F ",
        "2026-01-05T10:00:00.123456789Z [rank0]:",
        "[pod/train-0/main] ",
        "\x1b[36m(WorkerDict pid=12345, ip=10.0.0.7)\x1b[0m ",
        "Jan 05 10:00:00 node-07 trainer[123]: ",
        '{"log":"\\r',
        "x" * 500 + "\r",
    ],
)
def test_a_bar_behind_a_prefix_is_one_of_training(prefix):
    text = "".join(
        f"{prefix} 12%|#2        | {n}/1000 [{t}<1:02:11,  5.01s/it]\n"
        for n, t in ((10, "00:50"), (20, "01:40"))
    )
    assert [(r.step, r.values) for r in measured(dialect, text)] == [(20, {"step_time": 5.0})]


@pytest.mark.parametrize(
    "first, second, step, time",
    [
        ("Training:  10%|#  | 100/1000 [08:20<1:15:00,  5.00s/it]", "Training:  11%|#  | 110/1000 [09:10<1:15:00,  5.00s/it]", 110, 5.0),
        ("Steps:  10%|#  | 100/1000 [08:20<1:15:00,  5.00s/it]", "Steps:  11%|#  | 110/1000 [09:10<1:15:00,  5.00s/it]", 110, 5.0),
        ("train          Epoch   2:   10%|#  | 10/100 [00:30<04:30,  3.0s/ba]", "train          Epoch   2:   20%|#  | 20/100 [01:00<04:30,  3.0s/ba]", 220, 3.0),
        ("  5%|#  | 1.20k/24.0k [03:20<1:03:00,  6.0it/s]", "  6%|#  | 1.40k/24.0k [04:20<1:03:00,  6.0it/s]", 1400, 0.3),
        ("Epoch 0: |          | 20/? [00:10<00:00,  2.00it/s, v_num=7]", "Epoch 0: |          | 120/? [01:00<00:00,  2.00it/s, v_num=7]", 120, 0.5),
        ("train: 100it [10:00,  6.00s/it]", "train: 110it [11:00,  6.00s/it]", 110, 6.0),
        (" 12%|#  | 10/1000 [123:04:05<1:02:11,  5.01s/it]", " 12%|#  | 20/1000 [123:04:55<1:02:11,  5.01s/it]", 20, 5.0),
    ],
)  # fmt: skip
def test_bars_of_training_by_name_scale_and_without_a_total(first, second, step, time):
    (record,) = measured(dialect, f"{first}\r{second}\n")
    assert (record.step, record.values["step_time"]) == (step, pytest.approx(time))


@pytest.mark.parametrize(
    "name", ["Map", "Training set", "Saving steps to disk", "Tokenizing train", "Validation"]
)
def test_other_named_bars_are_none_of_training(name):
    text = f"{name}:  10%|#  | 10/100 [00:30<04:30,  3.0s/it]\r{name}:  20%|#  | 20/100 [01:00<04:00,  3.0s/it]\n"
    assert measured(dialect, text) == []


def test_a_shorter_bar_without_a_name_is_of_an_evaluation():
    text = (
        " 10%|#  | 100/1000 [08:20<1:15:00,  5.00s/it]\n"
        " 50%|#  | 25/50 [00:30<00:30,  1.2s/it]\n"
        "100%|#  | 50/50 [01:00<00:00,  1.2s/it]\n"
        " 11%|#  | 110/1000 [09:10<1:15:00,  5.00s/it]\n"
    )
    assert [(r.step, r.values) for r in measured(dialect, text)] == [(110, {"step_time": 5.0})]


def test_a_count_without_a_total_and_a_name_may_be_of_anything():
    assert measured(dialect, "100it [10:00,  6.00s/it]\r110it [11:00,  6.00s/it]\n") == []


def test_the_speed_since_the_start_is_left_out_and_the_clock_beside_it_is_read():
    line = "{{'loss': 1.2, 'global_step/max_steps': '{}/1218', 'elapsed_time': '{}', 'train_speed(s/it)': 5.2}}\n"
    found = measured(dialect, line.format(10, "52s") + line.format(20, "1m 43s"))
    assert [record.values for record in found] == [{"loss": 1.2}, {"loss": 1.2, "step_time": 5.1}]


def test_an_infinite_gradient_norm_is_no_event():
    assert events(dialect, "{'loss': 2.0, 'grad_norm': inf, 'epoch': 0.1}\n") == []
