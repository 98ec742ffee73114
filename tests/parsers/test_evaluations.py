import pytest
from dialects import events

from diagnose.parsers import evaluations as dialect


def found(text):
    return [
        (one.name.removeprefix("train.eval_"), one.fields.get("step"), one.fields.get("lasted"))
        for one in events(dialect, text)
    ]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("Evaluating on 40960 samples", ("start", None, None)),
        (" validation loss at iteration 1000 | lm loss value: 2.61E+00 |", ("end", 1000, None)),
        (" valid loss at iteration 45000 | lm loss value: 2.2E+00 |", ("end", 45000, None)),
        ("    eval-time ....................: (18200.10, 18211.90)", ("end", None, 18.2119)),
        ("    eval-time ....................: 18211.90", ("end", None, 18.2119)),
        ("Validation: iteration 1/32", ("start", None, None)),
        ("Validation: iteration 32/32", ("end", None, None)),
        ("validate step: 500  loss:  2.1234  memory: 45.67GiB(57.70%)", ("end", 500, None)),
        ("***** Running Evaluation *****", ("start", None, None)),
        ("{'eval_loss': '2.01', 'eval_runtime': '31.2', 'epoch': '1.0'}", ("end", None, 31.2)),
        ("[    INFO] - eval_loss: 3.1, eval_runtime: 12.3", ("end", None, 12.3)),
        ('| fairseq_cli.train | begin validation on "valid" subset', ("start", None, None)),
        ('| INFO | valid | {"epoch": 1, "valid_num_updates": "3251"}', ("end", 3251, None)),
        ("[Eval batch=40/40] Eval on eval data:", ("end", None, None)),
        (
            "step:12 - timing_s/gen:92.1 - timing_s/testing:33.1 - timing_s/step:160.2",
            ("end", 12, 33.1),
        ),
        ("step 250: train loss 3.1021, val loss 3.1532", ("end", 250, None)),
        (
            "step:125/5100 val_loss:4.6981 train_time:17833ms step_avg:155.07ms",
            ("end", 125, None),
        ),
        ("d2.evaluation.evaluator]: Start inference on 625 batches", ("start", None, None)),
        ("Total inference time: 0:01:02.5 (0.1 s / iter per device)", ("end", None, 62.5)),
        ("INFO - Epoch(val)  [1][200/200]    accuracy/top1: 71.2", ("end", None, None)),
        ("Test:  [  0/196]  eta: 0:01:00  loss: 1.0", ("start", None, None)),
        ("Test:  Total time: 0:01:02 (0.3163 s / it)", ("end", None, 62.0)),
        (" * Acc@1 71.200 Acc@5 90.100", ("end", None, None)),
        ("INFO: Starting evaluation at step 500", ("start", None, None)),
        ("Validation took 31.20 seconds", ("end", None, 31.2)),
    ],
)
def test_beginnings_and_ends_of_each_program(text, expected):
    assert found(text + "\n") == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "Validation: iteration 8/32",
        "[Eval batch=12/40] Eval on eval data:",
        "Epoch(val) [1][100/200]",
        "Test: [ 10/196]\tTime  0.412",
        "eval-time is printed at level 1",
        "running validations in the cloud is cheap",
        "Validation DataLoader 0:  50%|#####     | 5/10 [00:30<00:30,  0.16it/s]",
        "Map: 100%|##########| 10/10 [01:00<00:00,  0.16it/s]",
    ],
)
def test_batches_between_and_other_lines_give_nothing(text):
    assert found(text + "\n") == []


def test_a_bar_ends_once_however_often_it_is_drawn():
    bar = "Validation DataLoader 0: 100%|##########| 10/10 [01:00<00:00,  0.16it/s]"
    later = bar.replace("01:00", "01:30")
    assert found(f"{bar}\r{bar}\n{later}\n") == [("end", None, 60), ("end", None, 90)]
