import pytest
from dialects import events

from diagnose.parsers import wandb_system as dialect

CSV = "_runtime,_timestamp,system.gpu.0.gpu,system.gpu.0.powerWatts,system.gpu.0.temp,system.gpu.1.gpu\n15,1767607200.1,98,600,70,12\n30,1767607215.1,96,640,72,\n45,1767607230.1,94,620,71,100\n"
JSONL = '{"_runtime": 15, "system/gpu.0.gpu": 98, "system/gpu.0.smClock": 1980}\n{"_runtime": 30, "system/gpu.0.gpu": 96, "system/gpu.0.smClock": 1965}\n{"_runtime": 45, "system/gpu.0'


def test_columns_give_one_event_a_gpu():
    first, second = events(dialect, CSV, "system.csv")
    assert (first.name, first["index"], first["use"]) == ("nvidia_smi.monitor", 0, 96)
    assert (first["power"], first["temperature"], first["samples"]) == (620, 72, 3)
    assert (second["index"], second["use"], second["samples"]) == (1, 56, 2)


def test_objects_too_and_a_cut_one_is_left_out():
    (event,) = events(dialect, JSONL, "system.jsonl")
    assert (event["use"], event["clock"], event["samples"]) == (97, 1972.5, 2)


@pytest.mark.parametrize(
    "text",
    [
        "step,loss\n1,2\n",
        "the column system.gpu.0.gpu is the use\n",
        '{"step": 1, "loss": 2.0}\n',
        "_runtime,system.gpu.0.gpu\n",
    ],
)
def test_other_files_give_nothing(text):
    assert events(dialect, text, "a.csv") == []
