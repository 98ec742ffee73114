import pytest
from communication import check_table, cut_anywhere, holds, names, one, read

from diagnose.model.event import Clock, Nature
from diagnose.parsers import torchrun as module

TABLE = """\
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2025-05-01_11:12:36
  host      : node-07.cluster
  rank      : 13 (local_rank: 5)
  exitcode  : 1 (pid: 26030)
  error_file: /tmp/torchelastic_ab/error.json
  traceback : Traceback (most recent call last):
    File "/srv/train.py", line 12, in main
      step()
  RuntimeError: bad sample

------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2025-05-01_11:12:35
  host      : node-07.cluster
  rank      : 12 (local_rank: 4)
  exitcode  : -9 (pid: 26029)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 26029
============================================================
"""

SHORT = """\
Failures:
  <NO_OTHER_FAILURES>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2025-05-01_11:12:35
  host      : node-07
  rank      : 2 (local_rank: 2)
  exitcode  : 1 (pid: 26029)
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
============================================================
"""

OLD = """\
***************************************
Root Cause:
[0]:
  time: 2021-09-01_11:12:35
  rank: 2 (local_rank: 2)
  exitcode: 1 (pid: 26029)
  error_file: <N/A>
  msg: "Process failed with exitcode 1"
=======================================
Other Failures:
  <NO_OTHER_FAILURES>
***************************************
"""


def test_pattern_table():
    check_table(module)


def test_each_failure_of_a_table_is_an_event():
    second, first = read(module, TABLE)
    assert holds(first, {"rank": 12, "local_rank": 4, "exit_code": -9, "signal": "SIGKILL", "pid": 26029, "host": "node-07", "first": True, "error_file": None, "error": "Signal 9 (SIGKILL) received by PID 26029", "nature": Nature.EFFECT, "clock": Clock.LOCAL}) == {}  # fmt: skip
    assert holds(second, {"rank": 13, "exit_code": 1, "signal": None, "first": False, "error": "RuntimeError: bad sample", "error_file": "/tmp/torchelastic_ab/error.json"}) == {}  # fmt: skip
    assert second.time - first.time == 1
    assert "exitcode" in first.text


def test_table_behind_prefixes_and_with_crlf():
    prefixed = "\n".join(f"node-07: {line}" for line in TABLE.splitlines())
    assert [event.rank for event in read(module, prefixed)] == [13, 12]
    assert [event.rank for event in read(module, TABLE.replace("\n", "\r\n"))] == [13, 12]


def test_sole_failure_and_older_layout():
    assert holds(one(module, SHORT), {"rank": 2, "first": True, "error": None}) == {}
    assert holds(one(module, OLD), {"rank": 2, "exit_code": 1, "first": True}) == {}


def test_cut_tables():
    cut_anywhere(module, TABLE)
    whole, _, _ = TABLE.partition("Root Cause")
    assert [event.rank for event in read(module, whole)] == [13]
    _, _, tail = TABLE.partition("bad sample")
    assert [event.rank for event in read(module, tail)] == [12]


def test_placement():
    event = one(module, "\n".join(["[default] Rendezvous complete for workers. Result:", "  restart_count=1", "  master_addr=node-00.cluster", "  master_port=29500", "  group_rank=1", "  group_world_size=2", "  local_ranks=[0, 1]", "  role_ranks=[2, 3]", "  global_ranks=[2, 3]", "", "next"]))  # fmt: skip
    assert event.name == "torchrun.placement"
    assert holds(event, {"restart_count": 1, "master_addr": "node-00.cluster", "master_port": 29500, "group_rank": 1, "group_world_size": 2, "global_ranks": [2, 3], "end_line": 9}) == {}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("E0321 02:07:21.000000 26021 site-packages/torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -9) local_rank: 5 (pid: 26029) of binary: /usr/bin/python", "torchrun.process_failed", {"exit_code": -9, "signal": "SIGKILL", "local_rank": 5, "pid": 26029}),
        ("[2024-01-30 11:22:33,123] torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: 1) local_rank: 0 (pid: 912) of binary: /usr/bin/python", "torchrun.process_failed", {"exit_code": 1, "signal": None}),
        ("ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 137) local_rank: 0 (pid: 912) of fn: main (start_method: spawn)", "torchrun.process_failed", {"signal": "SIGKILL"}),
        ("W0321 02:07:20.000000 26021 torch/distributed/elastic/multiprocessing/api.py:897] Sending process 26024 closing signal SIGTERM", "torchrun.sigterm", {"pid": 26024, "signal": "SIGTERM", "nature": Nature.TEARDOWN}),
        ("Unable to shutdown process 26024 via 15, forcefully exitting via 9", "torchrun.unkillable", {"pid": 26024}),
        ("[default] Worker group FAILED. 2/3 attempts left; will restart worker group", "torchrun.restart", {"attempts_left": 2, "maximum": 3, "attempt": 2}),
        ("WARNING:torch.distributed.elastic.agent.server.api:Received Signals.SIGINT death signal, shutting down workers", "torchrun.agent_signal", {"signal": "SIGINT"}),
        ("Local worker group finished (WorkerState.FAILED). Waiting 300 seconds for other agents to finish", "torchrun.group_finished", {"state": "FAILED", "nature": Nature.EFFECT}),
        ("INFO:torch.distributed.elastic.agent.server.api:Local worker group finished (SUCCEEDED). Waiting 300 seconds for other agents to finish", "torchrun.group_finished", {"state": "SUCCEEDED", "nature": Nature.PROGRESS}),
        ("SignalException: Process 26021 got signal: 15", "torchrun.agent_signal", {"pid": 26021, "signal": "SIGTERM"}),
    ],
)  # fmt: skip
def test_lines(text, name, expected):
    event = one(module, text)
    assert event.name == name
    assert holds(event, expected) == {}


@pytest.mark.parametrize(
    "text",
    [
        "Failures: 3",
        "3 tests, Failures:",
        "Root Cause analysis",
        "[0]:",
        "process closing signal",
        "",
    ],
)
def test_near_misses(text):
    assert names(module, text) == []
