import math

import pytest
from dialects import measured, records

from diagnose.model.event import Clock
from diagnose.parsers import metrics_csv as dialect


@pytest.mark.parametrize(
    "text, expected",
    [
        ("step,loss,lr\n1,2.5,1e-4\n2,2.4,1e-4\n", [(1, {"loss": 2.5, "learning_rate": 1e-4}), (2, {"loss": 2.4, "learning_rate": 1e-4})]),
        ("step\tstep_ms\n1\t520\n", [(1, {"step_time": 0.52})]),
        ("step\tstep_time_ms\n1\t520\n", [(1, {"step_time": 0.52})]),
        ("Iteration;Data Time (ms);Iter Time (ms)\r\n5;20;520\r\n", [(5, {"data_time": 0.02, "step_time": 0.52})]),
        ("epoch,step,train_loss,val_loss\n0,49,2.5,\n0,99,,2.7\n", [(49, {"epoch": 0, "loss": 2.5}), (99, {"epoch": 0, "validation_loss": 2.7})]),
        ('"Step","loss"\n"1","nan"\n', [(1, {"loss": math.nan})]),
        ("\ufeff# step,loss\n1,2\n", [(1, {"loss": 2})]),
        ("iter,time,data_time\n1,0.5,0.1\n", [(1, {"step_time": 0.5, "data_time": 0.1})]),
        ("epoch,step,train_loss,lr-AdamW/group0\n0,49,2.5,\n0,49,,1e-4\n", [(49, {"epoch": 0, "loss": 2.5}), (49, {"epoch": 0, "learning_rate": 1e-4})]),
        ('"Step","run 7 - train/loss","run 7 - train/loss__MIN","run 7 - train/loss__MAX"\n"1","2.5","2.4","2.6"\n', [(1, {"loss": 2.5})]),
        ("step,iteration-time,throughput,batch-generator-time,forward-recv-time\n1,2.0,400,0.01,0.5\n", [(1, {"step_time": 2.0, "tflops": 400, "data_time": 0.01, "recv_wait": 0.5})]),
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


@pytest.mark.parametrize(
    ("rows", "ranks"),
    [
        (["1,0,a,0.5", "1,1,a,0.5", "2,0,a,0.5", "2,1,a,0.5"], [0, 1, 0, 1]),
        (["1,0,a,0.5", "1,0,b,0.5", "2,0,a,0.5", "2,0,b,0.5"], [None] * 4),
        (["1,0,a,0.5", "2,0,a,0.5", "3,0,a,0.5"], [None] * 3),
        (["1,cpu,a,0.5", "1,cuda,a,0.5"], [None] * 2),
    ],
)
def test_a_device_is_the_rank_where_a_step_has_several(rows, ranks):
    text = "\n".join(["step,device,host,compute_s", *rows]) + "\n"
    assert [record.line.rank for record in measured(dialect, text, "m.csv")] == ranks


def test_a_repeated_header_and_a_row_cut_off_are_skipped():
    text = "step,loss,lr\n1,2.5,1e-4\nstep,loss,lr\n1,2.5,1e-4\n2,2.4"
    assert [record.step for record in measured(dialect, text, "m.csv")] == [1, 1]


def test_bare_times_are_milliseconds_where_the_clock_says_so():
    rows = "".join(f"{1767607200 + n},{n},1000\n" for n in range(6))
    found = measured(dialect, "timestamp,step,step_time\n" + rows, "m.csv")
    assert found[0].values == {"step_time": 1.0}


def test_time_is_that_of_a_step_where_it_goes_back_and_a_clock_where_it_does_not():
    steps = measured(dialect, "step,loss,time\n1,2.0,0.50\n2,2.0,0.49\n3,2.0,0.51\n", "m.csv")
    assert [record.values.get("step_time") for record in steps] == [0.50, 0.49, 0.51]
    clock = measured(dialect, "step,loss,time\n1,2.0,0.5\n2,2.0,1.0\n3,2.0,1.5\n", "m.csv")
    assert ["step_time" in record.values for record in clock] == [False, False, False]
    rows = "".join(f"{n},2.0,{(n % 20) * 1.5}\n" for n in range(1, 60))
    restarted = measured(dialect, "step,loss,time\n" + rows, "m.csv")
    assert not any("step_time" in record.values for record in restarted)


def test_the_time_of_a_step_is_made_of_the_seconds_since_the_start_of_a_run():
    text = "_step,_runtime,train/global_step,train/loss,eval/loss\n" + (
        "0,10.5,100,2.0,\n1,15.5,110,2.0,\n2,75.5,110,,2.1\n3,80.5,120,1.9,\n"
    )
    found = [
        (record.step, record.values["step_time"])
        for record in measured(dialect, text, "history.csv")
        if "step_time" in record.values
    ]
    assert found == [(110, 0.5), (120, 0.5)], "an evaluation at a step is no step"


def test_a_chart_of_several_runs_is_not_mixed():
    text = '"Step","run 7 - loss","run 8 - loss"\n"1","2.5","3.5"\n'
    assert measured(dialect, text, "m.csv") == []


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
