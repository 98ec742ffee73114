import math

import pytest
from dialects import measured, records

from diagnose.model.event import Clock
from diagnose.parsers import metrics_csv as dialect


@pytest.mark.parametrize(
    "text, expected",
    [
        ("step,loss,lr\n1,2.5,1e-4\n2,2.4,1e-4\n", [(1, {"loss": 2.5, "learning_rate": 1e-4}), (2, {"loss": 2.4, "learning_rate": 1e-4})]),
        ("step\tstep_ms\n1\t520\n", []),
        ("step\tstep_time_ms\n1\t520\n", [(1, {"step_time": 0.52})]),
        ("Iteration;Data Time (ms);Iter Time (ms)\r\n5;20;520\r\n", [(5, {"data_time": 0.02, "step_time": 0.52})]),
        ("epoch,step,train_loss,val_loss\n0,49,2.5,\n0,99,,2.7\n", [(49, {"epoch": 0, "loss": 2.5}), (99, {"epoch": 0, "validation_loss": 2.7})]),
        ('"Step","loss"\n"1","nan"\n', [(1, {"loss": math.nan})]),
        ("\ufeff# step,loss\n1,2\n", [(1, {"loss": 2})]),
        ("iter,time,data_time\n1,0.5,0.1\n", [(1, {"step_time": 0.5, "data_time": 0.1})]),
    ],
)  # fmt: skip
def test_tables_are_read_with_their_units(text, expected):
    found = [(record.step, record.values) for record in measured(dialect, text, "m.csv")]
    assert [step for step, _ in found] == [step for step, _ in expected]
    for (_, values), (_, wanted) in zip(found, expected, strict=True):
        assert values == pytest.approx(wanted, nan_ok=True)


def test_each_row_belongs_to_its_rank_and_host():
    text = "timestamp,step,rank,host,compute_time\n2026-01-05 10:00:00,1,0,node-07,0.5\n2026-01-05 10:00:00,1,1,10.0.0.8,0.7\n"
    first, second = (record.line for record in measured(dialect, text, "m.csv"))
    assert (first.rank, first.host, second.rank, second.host) == (0, "node-07", 1, "10.0.0.8")
    assert (first.clock, first.number, second.number) == (Clock.LOCAL, 2, 3)


def test_a_repeated_header_and_a_row_cut_off_are_skipped():
    text = "step,loss,lr\n1,2.5,1e-4\nstep,loss,lr\n1,2.5,1e-4\n2,2.4"
    assert [record.step for record in measured(dialect, text, "m.csv")] == [1, 1]


def test_bare_times_are_milliseconds_where_the_clock_says_so():
    rows = "".join(f"{1767607200 + n},{n},1000\n" for n in range(6))
    found = measured(dialect, "timestamp,step,step_time\n" + rows, "m.csv")
    assert found[0].values == {"step_time": 1.0}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "step,loss\n",
        "timestamp, index, utilization.gpu [%]\n2026/01/05 10:00:00.000, 0, 97 %\n",
        "At step one, the loss, 2.5, fell\n1,2,3\n",
        "name,step\na,1\n",
        "test,expected,measured\nsingle GPU,1200,980\n",
        "step,epoch\n1,1\n",
        "step,loss\x00\n1,2\n",
    ],
)
def test_other_tables_and_prose_give_nothing(text):
    assert records(dialect, text, "m.csv") == []
