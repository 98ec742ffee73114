import pytest
from dialects import events, measured, records

from diagnose.parsers import steps_json as dialect

ROW = '{{"step": {}, "loss": {}, "step_time": 0.5, "rank": 3}}\n'


def test_json_records_between_other_lines_show_that_training_went_on():
    record = '{{"loss": 1.8, "epoch": 1.{}}}\n'
    text = record.format(1) + "Traceback (most recent call last):\n" + record.format(2)
    assert [(one.name, one.nature, one.line) for one in events(dialect, text)] == [
        ("train.record", "progress", 1), ("train.record", "progress", 3),
    ]  # fmt: skip
    assert len(events(dialect, "".join(record.format(n) for n in range(40)))) == 5


@pytest.mark.parametrize("prefix", ["", "[rank3]: ", "2026-01-05 10:00:00 INFO metrics "])
def test_records_with_a_step_are_measured_where_other_lines_stand_between(prefix):
    text = f"starting\n{prefix}{ROW.format(10, 1.7)}saving\n{prefix}{ROW.format(20, 1.6)}"
    found = [(one.step, one.values, one.line.rank) for one in measured(dialect, text)]
    assert found == [
        (10, {"loss": 1.7, "step_time": 0.5}, 3),
        (20, {"loss": 1.6, "step_time": 0.5}, 3),
    ]


def test_a_file_of_nothing_but_records_is_left_to_the_reader_of_files():
    text = ROW.format(10, 1.7) + ROW.format(20, 1.6)
    assert measured(dialect, text) == []
    assert [one.name for one in events(dialect, text)] == ["train.record", "train.record"]


def test_a_loss_that_is_no_number_is_reported():
    text = "starting\n" + ROW.format(10, "NaN")
    assert [one.name for one in events(dialect, text)] == ["train.record", "train.nan_loss"]


@pytest.mark.parametrize(
    "text",
    [
        'x\n{"step": 10, "loss": 1.7',
        'x\n{"loss": 1.7}\n',
        'x\n{"loss": "mse", "epoch": 3}\n',
        'x\n"loss": 1.8, "epoch": 1\n',
        'x\n{"step": 10, "loss": "high"}\n',
        'x\n{"model": {"step": 10, "loss": "mse"}}\n',
    ],
)
def test_cut_records_and_other_objects_give_nothing(text):
    assert records(dialect, text) == []


def test_an_indented_record_that_was_pasted_into_a_log():
    text = '"log_history": [\n    {\n      "epoch": 0.1,\n      "grad_norm": NaN,\n      "loss": 8.5,\n      "step": 5\n    },\n'
    (record,) = measured(dialect, text)
    assert (record.step, record.values["loss"]) == (5, 8.5)
    assert "train.nan_gradient" in [event.name for event in events(dialect, text)]


def test_records_of_epochs_without_steps_count_their_epochs():
    text = 'begin\n{"train_loss": 7.5, "epoch": 0}\n{"train_loss": 5.5, "epoch": 1}\n'
    assert [(record.step, record.values["loss"]) for record in measured(dialect, text)] == [
        (0, 7.5),
        (1, 5.5),
    ]
    assert measured(dialect, 'begin\n{"train_loss": 7.5, "epoch": 0.5}\n') == []


def test_a_record_of_fairseq_is_its_own_readers():
    text = '2026-01-05 10:00:00 | INFO | train_inner | {"epoch": 1, "loss": "7.5", "num_updates": "200"}\n'
    assert measured(dialect, text) == []
