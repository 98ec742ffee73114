import pytest
from dialects import measured

from diagnose.parsers import steps_composer as dialect


@pytest.mark.parametrize(
    "header, step",
    [
        ("[epoch=1][batch=100/2000]:", 100),
        ("[batch=100/50000]:", 100),
        ("[token=1000000/2000000]:", 100),
        ("[epoch=2/3][batch=100/2000]:", 100),
    ],
)
def test_a_record_is_read_under_each_header(header, step):
    text = f"{header}\n\t Train time/batch: 99\n\t Train loss/train/total: 2.7133\n\t Train throughput/device/tokens_per_sec: 8123.4\n\t Train lr-AdamW/group0: 0.0001\n\t Train memory/alloc_retries: 3\n"
    (record,) = measured(dialect, text)
    wanted = {"loss": 2.7133, "tokens_per_s_gpu": 8123.4, "learning_rate": 1e-4, "alloc_retries": 3}
    assert (record.step, record.values) == (step, wanted)


def test_hours_of_training_give_the_time_of_a_step():
    text = "".join(
        f"[batch={batch}/500]:\n\t Train loss/train/total: 2.7\n\t Train time/train: {hours}\n\t Train time/val: 1.0\n\t Train throughput/batches_per_sec: 0.9\n"
        for batch, hours in ((100, 0.1), (110, 0.11), (120, 0.15))
    )
    times = [record.values.get("step_time") for record in measured(dialect, text)]
    assert times == [None, pytest.approx(3.6), pytest.approx(14.4)]


def test_without_hours_the_rate_gives_it():
    text = "[batch=100/500]:\n\t Train throughput/batches_per_sec: 0.5\n\t Train loss/train/total: 2.7\n"
    (record,) = measured(dialect, text)
    assert record.values == {"loss": 2.7, "step_time": 2.0}


@pytest.mark.parametrize(
    "text",
    [
        "[Eval batch=1/40] Eval on eval data:\n\t Eval metrics/eval/LanguageCrossEntropy: 2.71\n",
        "[batch=100/500]:\n",
        "[token=1000/2000]:\n\t Train loss/train/total: 2.7\n",
        "the [batch=100/500]: is done\n",
    ],
)
def test_evaluations_and_headers_alone_give_nothing(text):
    assert measured(dialect, text) == []
