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
    "text, step, values",
    [
        ('| INFO | train_inner | {"epoch": 1, "update": 0.123, "loss": "7.412", "wps": "91234", "ups": "0.5", "num_updates": "400", "lr": "0.00012", "gnorm": "1.21", "loss_scale": "16"}', 400, {"loss": 7.412, "tokens_per_s": 91234, "step_time": 2.0, "grad_norm": 1.21, "loss_scale": 16, "learning_rate": 1.2e-4, "epoch": 1}),
        ("| INFO | train_inner | epoch 001:    400 / 3251 loss=7.412, wps=91234, ups=0.5, num_updates=400, lr=0.00012", 400, {"loss": 7.412, "tokens_per_s": 91234, "step_time": 2.0, "learning_rate": 1.2e-4}),
        ('| INFO | valid | {"epoch": 1, "valid_loss": "6.5", "valid_num_updates": "400"}', 400, {"validation_loss": 6.5}),
        ("step:12 - actor/pg_loss:-0.0031 - actor/grad_norm:0.21 - actor/lr:1e-06 - timing_s/gen:92.1 - timing_s/step:160.2 - perf/max_memory_reserved_gb:2.0 - perf/throughput:1123.4", 12, {"grad_norm": 0.21, "learning_rate": 1e-6, "step_time": 160.2, "memory_reserved": 2 * 2**30, "tokens_per_s_gpu": 1123.4}),
        ("[epoch=1][batch=100/2000]:\n\t Train time/batch: 99\n\t Train loss/train/total: 2.7133\n\t Train throughput/device/tokens_per_sec: 8123.4", 100, {"loss": 2.7133, "tokens_per_s_gpu": 8123.4}),
    ],
)  # fmt: skip
def test_other_trainers(text, step, values):
    (record,) = measured(dialect, f"{text}\n")
    assert (record.step, record.values) == (step, pytest.approx(values))


def test_an_infinite_gradient_norm_is_no_event():
    assert events(dialect, "{'loss': 2.0, 'grad_norm': inf, 'epoch': 0.1}\n") == []
