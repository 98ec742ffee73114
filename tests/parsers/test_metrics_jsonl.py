import json
import math

import pytest
from dialects import Document, events, measured, records

from diagnose.ingest.source import Source
from diagnose.model.event import Clock
from diagnose.parsers import metrics_jsonl as dialect
from diagnose.parsers.base import Note
from diagnose.parsers.reader import Reader
from diagnose.scanning.local import Local
from diagnose.scanning.reading import read_all

GIB = 2**30


@pytest.mark.parametrize(
    "row, step, values",
    [
        ({"step": 10, "loss": 1.5, "lr": 1e-4, "step_time": 0.5}, 10, {"loss": 1.5, "learning_rate": 1e-4, "step_time": 0.5}),
        ({"_step": 3, "train/loss": 2.0, "_runtime": 5, "train/grad_norm": 0.5}, 3, {"loss": 2.0, "grad_norm": 0.5}),
        ({"iteration": 7, "lm loss": 2.0, "iteration_time_ms": 520}, 7, {"loss": 2.0, "step_time": 0.52}),
        ({"current_steps": 10, "total_steps": 1218, "loss": 1.7, "throughput": 5123.4, "vram_reserved": 2}, 10, {"loss": 1.7, "memory_reserved": 2 * GIB}),
        ({"loss": 1.21, "global_step/max_steps": "10/1218", "memory(GiB)": 4, "train_speed(s/it)": 5.201}, 10, {"loss": 1.21, "memory_reserved": 4 * GIB}),
        ({"step": 1, "train": {"loss": 1.5, "data_time": 0.1}}, 1, {"loss": 1.5, "data_time": 0.1}),
        ({"step": 1, "throughput(tps)": 7000, "mfu(%)": 41.5, "time_metrics/data_loading(s)": 0.1}, 1, {"tokens_per_s_gpu": 7000, "mfu": 0.415, "data_time": 0.1}),
        ({"step": 1, "loss": 2.0, "memory/num_alloc_retries": 3, "perf/step_time": 0.5}, 1, {"loss": 2.0, "alloc_retries": 3, "step_time": 0.5}),
        ({"train/global_step": 9, "train/epoch": 1, "train/train_loss": 2.5}, 9, {"epoch": 1}),
        ({"global_step": 900, "step": 3, "loss": 1.0}, 900, {"loss": 1.0}),
        ({"step": 1, "forward": 0.2, "backward": 0.4, "allreduce_ms": 50}, 1, {"compute_time": 0.6, "comm_time": 0.05}),
        ({"step": "12", "loss": "1.25", "tokens_seen": "1,024"}, 12, {"loss": 1.25, "consumed_tokens": 1024}),
    ],
)  # fmt: skip
def test_names_of_many_programs_mean_the_same(row, step, values):
    (record,) = measured(dialect, json.dumps(row) + "\n", "m.jsonl")
    assert (record.step, record.values) == (step, pytest.approx(values))


def test_a_row_says_whose_and_when_it_is():
    row = {
        "step": 1,
        "loss": 1.0,
        "rank": 7,
        "hostname": "node-07.example.net",
        "timestamp": 1767607200.5,
    }
    (record,) = measured(dialect, json.dumps(row), "m.jsonl")
    line = record.line
    assert (line.rank, line.host, line.time, line.clock) == (7, "node-07", 1767607200.5, Clock.UTC)


def test_a_last_line_cut_off_is_left_out_and_other_bad_lines_are_counted():
    whole = '{"step": 1, "loss": 1.0}\n{"step": 2, "loss": 1.0}\n'
    assert len(measured(dialect, whole + '{"step": 3, "lo', "m.jsonl")) == 2
    with pytest.raises(Note, match="1 lines are not JSON, the first is line 3"):
        list(dialect.read(Document(whole + '{"step": 3, "lo\n{"step": 4, "loss": 1.0}\n')))


def test_times_without_a_unit_that_fill_the_clock_a_thousandfold_are_milliseconds():
    rows = [
        {"step": n, "loss": 1.0, "step_time": 500, "timestamp": 1767607200 + n / 2}
        for n in range(9)
    ]
    text = "\n".join(map(json.dumps, rows))
    assert measured(dialect, text, "m.jsonl")[0].values["step_time"] == 0.5


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}\n",
        '{"log":"step 1 loss 2.0\\n","stream":"stdout","time":"2026-01-05T10:00:00Z"}\n',
        '{"level": "info", "msg": "step", "step": 3}\n',
        '{"loss": 1.0}\n',
        "[1, 2, 3]\n",
        "not json\n",
        '{"step": true, "loss": 1.0}\n',
        "[" * 5000,
    ],
)
def test_other_json_is_not_taken(text):
    assert records(dialect, text, "m.jsonl") == []


STATE = """{
  "epoch": 1.0,
  "global_step": 20,
  "log_history": [
    {
      "epoch": 0.5,
      "grad_norm": NaN,
      "loss": 0.0,
      "step": 10
    },
    {
      "eval_loss": 2.5,
      "step": 20
    },
    {
      "step": 20,
      "train_loss": 1.9,
      "train_runtime": 12.0
    }
  ]
}
"""


def test_the_history_of_a_trainer_state_has_steps_and_lines():
    train, evaluation = measured(dialect, STATE, "checkpoint-20/trainer_state.json")
    assert (train.step, train.line.number, evaluation.step) == (10, 9, 20)
    assert math.isnan(train.values["loss"])
    assert evaluation.values == {"validation_loss": 2.5}
    assert events(dialect, STATE, "trainer_state.json")[0].name == "train.nan_loss"


def test_a_trainer_state_cut_off_is_noted():
    with pytest.raises(Note, match="not a whole JSON object"):
        list(dialect.read(Document(STATE[:150], "trainer_state.json")))


@pytest.mark.parametrize(
    "times",
    [("0:00:52", "0:01:43", "0:02:33"), ("52s", "1m 43s", "2m 33s")],
    ids=["LLaMA-Factory", "ms-swift"],
)
def test_a_mean_since_the_start_is_left_out_and_the_clock_beside_it_is_read(times):
    rows = [
        {
            "current_steps": 10 * n,
            "loss": 1.7,
            "elapsed_time": time,
            "throughput": 5e3,
            "train_speed(s/it)": 5.2,
        }
        for n, time in enumerate(times, 1)
    ]
    found = measured(dialect, "\n".join(map(json.dumps, rows)), "trainer_log.jsonl")
    assert [record.values for record in found] == [
        {"loss": 1.7},
        {"loss": 1.7, "step_time": 5.1},
        {"loss": 1.7, "step_time": 5.0},
    ]


def test_a_run_over_midnight_and_a_restart_give_no_negative_time():
    rows = [
        {"current_steps": step, "loss": 1.7, "elapsed_time": time}
        for step, time in ((10, "1 day, 0:00:00"), (20, "1 day, 0:00:50"), (10, "0:00:55"))
    ]
    found = measured(dialect, "\n".join(map(json.dumps, rows)), "trainer_log.jsonl")
    assert [record.values.get("step_time") for record in found] == [None, 5.0, None]


def test_the_columns_of_a_file_say_its_clock():
    text = "".join(
        f'{{"_step": {n}, "_timestamp": {1.77e9 + 10 * n}, "loss": 2.5}}\n' for n in (1, 2, 3)
    )
    source = Source(name="history.jsonl", path=None, size=len(text), data=text.encode())
    reading, _ = read_all(
        [source], Reader(dialect.PARSERS), wants=lambda name: False, engine=Local(1)
    )
    assert reading.sources[0].clock is Clock.UTC
