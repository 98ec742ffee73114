import json

import pytest
from dialects import events

from diagnose import run
from diagnose.model.event import Clock, Nature
from diagnose.parsers import error_file as module

STACK = 'Traceback (most recent call last):\n  File "/opt/venv/torch/distributed/elastic/multiprocessing/errors/__init__.py", line 346, in wrapper\n    return f()\n  File "/srv/train.py", line 3, in main\n    step()\nKeyError: \'labels\'\n'


def error(message, **extra):
    extra = {"py_callstack": STACK, "timestamp": "1714560755", **extra}
    return json.dumps({"message": {"message": message, "extraInfo": extra}})


def test_the_error_of_a_worker():
    (event,) = events(module, error("KeyError: 'labels'"))
    assert (event.name, event.nature) == ("python.error_line", Nature.ERROR)
    assert (event["type"], event["message"]) == ("KeyError", "'labels'")
    assert (event["source_file"], event["function"]) == ("/srv/train.py", "main")
    assert (event.time, event.clock) == (1714560755.0, Clock.UTC)


@pytest.mark.parametrize(
    ("message", "nature"),
    [
        ("torch.distributed.DistBackendError: NCCL error in: x.cpp:1, internal error", Nature.EFFECT),
        ("RuntimeError: NCCL communicator encountered error set by ProcessGroupNCCL: NCCL error: remote process exited", Nature.EFFECT),
        ("RuntimeError: ProcessGroupWrapper: Monitored Barrier encountered error running collective: x", Nature.EFFECT),
        ("torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError", Nature.EFFECT),
        ("AssertionError", Nature.ERROR),
    ],
)  # fmt: skip
def test_an_error_that_tells_of_another_process_is_an_effect(message, nature):
    (event,) = events(module, error(message))
    assert event.nature is nature


@pytest.mark.parametrize(
    "text",
    [
        error("KeyError: 'labels'")[:-30],
        error("no class"),
        '{"message": {"extraInfo": {"py_callstack": ""}}}',
        '{"message": 3, "py_callstack": ""}',
    ],
    ids=["cut off", "no class", "no message", "no object"],
)
def test_files_that_are_not_whole_give_a_note(text):
    with pytest.raises(module.Note):
        events(module, text)


@pytest.mark.parametrize("text", ['{"message": "hello"}', '{"loss": 2.0}', ""])
def test_other_files_are_left_alone(text):
    assert events(module, text) == []


def test_the_folder_tells_the_rank_on_the_node(tmp_path):
    file = tmp_path / "torchelastic_ab12" / "none_cd34" / "attempt_0" / "3" / "error.json"
    file.parent.mkdir(parents=True)
    file.write_text(error("KeyError: 'labels'"))
    report = run([tmp_path])
    (root,) = (one for one in report.findings if one.role == "root")
    assert root.cause == "dataflow.rank-exception"
    assert "error.json" in root.evidence[0].file
