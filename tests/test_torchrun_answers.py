"""What the library answers from torchrun's own output, which names the first rank it saw end and no cause."""

import json

import pytest

import diagnose

AGENT = "W0302 11:10:20.000000 {agent} torch/distributed/elastic/multiprocessing/api.py:897] "
SITE_PACKAGES = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
TIMEOUT = "[rank{r}]:[E302 11:10:05.432379535 ProcessGroupNCCL.cpp:607] [PG ID 0 PG GUID 0(default_pg) Rank {r}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600060 milliseconds before timing out."  # fmt: skip


def sigterm(*ranks, agent=26000):
    return [AGENT.format(agent=agent) + f"Sending process {26100 + r} closing signal SIGTERM" for r in ranks]  # fmt: skip


def entry(number, rank, code, trace, host="node-07", local=None):
    local = rank % 4 if local is None else local
    return [
        f"[{number}]:",
        "  time      : 2026-03-02_11:10:20",
        f"  host      : {host}",
        f"  rank      : {rank} (local_rank: {local})",
        f"  exitcode  : {code} (pid: {26100 + rank})",
        "  error_file: <N/A>",
        *(f"  traceback : {line}" if at == 0 else f"    {line}" for at, line in enumerate(trace)),
    ]


def table(first, *others, host="node-07"):
    rows = [line for at, one in enumerate(others, 1) for line in entry(at, *one, host=host)]
    rule = "-" * 60
    return [
        "=" * 60, "train.py FAILED", rule, "Failures:", *(rows or ["  <NO_OTHER_FAILURES>"]), rule,
        "Root Cause (first observed failure):", *entry(0, *first, host=host), "=" * 60,
    ]  # fmt: skip


def ask(folder, **files):
    for name, lines in files.items():
        (folder / f"{name}.log").write_text("\n".join(lines) + "\n")
    return [one for one in diagnose.run([folder]).findings if one.role == "root"]


ABORT = ["Signal 6 (SIGABRT) received by PID 1"]
UNKNOWN = [SITE_PACKAGES]
TRACE = ["Traceback (most recent call last):", '  File "/srv/train.py", line 3, in main', "    step()", "KeyError: 'labels'"]  # fmt: skip


def test_the_rank_that_torchrun_calls_the_cause_only_waited(tmp_path):
    job = [TIMEOUT.format(r=r) for r in (0, 2, 3)]
    job += sigterm(1) + table((0, -6, ABORT), (2, -6, ABORT), (3, -6, ABORT))
    (root,) = ask(tmp_path, job=job)
    assert (root.cause, root.culprit.ranks) == ("comms.rank-missing", [1])
    assert root.confidence < 0.8


def test_on_two_nodes_each_agent_has_its_own_scene(tmp_path):
    first = [TIMEOUT.format(r=r) for r in range(4)]
    first += table((0, -6, ABORT), (1, -6, ABORT), (2, -6, ABORT), (3, -6, ABORT), host="node-06")
    second = [TIMEOUT.format(r=r) for r in (4, 5, 7)]
    second += sigterm(6) + table((4, -6, ABORT), (5, -6, ABORT), (7, -6, ABORT))
    (root,) = ask(tmp_path, first=first, second=second)
    assert (root.cause, root.culprit.ranks) == ("comms.rank-missing", [6])
    assert root.culprit.hosts == ["node-07"]


@pytest.mark.parametrize(
    ("code", "trace"),
    [
        (-9, ["Signal 9 (SIGKILL) received by PID 1"]),
        (-11, ["Signal 11 (SIGSEGV) received by PID 1"]),
        (-7, ["Signal 7 (SIGBUS) received by PID 1"]),
    ],
)
def test_with_a_fault_of_its_own_those_that_were_ended_are_innocent(tmp_path, code, trace):
    job = sigterm(0, 1, 3) + table((2, code, trace))
    (root,) = ask(tmp_path, job=job)
    assert (root.cause, root.culprit.ranks) == ("resources.process-died", [2])


def test_a_traceback_in_the_table_beats_signals(tmp_path):
    job = sigterm(3) + table((0, -6, ABORT), (1, -6, ABORT), (2, 1, TRACE))
    (root,) = ask(tmp_path, job=job)
    assert (root.cause, root.culprit.ranks) == ("dataflow.rank-exception", [2])
    assert root.culprit.hosts == ["node-07"]


def test_an_error_file_beats_signals(tmp_path):
    path = "torchelastic_ab/none_cd/attempt_0/2/error.json"
    (tmp_path / path).parent.mkdir(parents=True)
    content = {"message": "KeyError: 'labels'", "extraInfo": {"py_callstack": "Traceback", "timestamp": "1772449820"}}  # fmt: skip
    (tmp_path / path).write_text(json.dumps({"message": content}))
    files = table((0, -6, ABORT), (1, -6, ABORT))
    rows = entry(2, 2, 1, UNKNOWN)
    rows[5] = f"  error_file: /tmp/{path}"
    (root,) = ask(tmp_path, job=[*files[:4], *rows, *files[4:]])
    assert (root.cause, root.culprit.ranks) == ("dataflow.rank-exception", [2])


def test_a_code_of_its_own_beats_aborts_whatever_torchrun_lists_first(tmp_path):
    job = table((0, -6, ABORT), (1, -6, ABORT), (2, 1, UNKNOWN))
    (root,) = ask(tmp_path, job=job)
    assert (root.cause, root.culprit.ranks) == ("resources.process-died", [2])
    assert root.confidence < 0.75


def test_equal_exits_name_nobody(tmp_path):
    job = table((0, 1, UNKNOWN), (1, 1, UNKNOWN), (2, 1, UNKNOWN), (3, 1, UNKNOWN))
    (root,) = ask(tmp_path, job=job)
    assert (root.cause, root.culprit.ranks) == ("resources.process-died", [])


def test_the_rendezvous_tells_which_ranks_are_missing(tmp_path):
    result = [
        "I0302 10:50:00.000000 26000 torch/distributed/elastic/agent/server/api.py:525] [default] Rendezvous complete for workers. Result:",
        "  restart_count=0", "  master_addr=node-06.cluster", "  master_port=29500", "  group_rank=0",
        "  group_world_size=2", "  local_ranks=[0, 1, 2, 3]", "  role_ranks=[0, 1, 2, 3]",
        "  global_ranks=[0, 1, 2, 3]", "  role_world_sizes=[8, 8, 8, 8]",
        "  global_world_sizes=[8, 8, 8, 8]", "",
    ]  # fmt: skip
    failed = "E0302 11:10:21.000000 26000 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -11) local_rank: 2 (pid: 26102) of binary: /opt/venv/bin/python"
    (tmp_path / "agent.log").write_text("\n".join([*result, failed]) + "\n")
    for rank in range(7):
        (tmp_path / f"rank{rank}.log").write_text(TIMEOUT.format(r=rank) + "\n")
    report = diagnose.run([tmp_path])
    assert (report.job.world_size, report.job.ranks_missing) == (8, [7])
    killed = next(one for one in report.findings if one.id == "process-killed")
    assert (killed.culprit.ranks, killed.culprit.hosts) == ([2], ["node-06"])


def test_under_torchrun_the_numbers_of_srun_are_nodes(tmp_path):
    first = table((0, -6, ABORT), (1, -6, ABORT), host="node-06")
    second = sigterm(7, agent=27000) + table((4, -6, ABORT), (5, -6, ABORT), (6, 1, TRACE))
    job = [f"0: {line}" for line in first] + [f"1: {line}" for line in second]
    (root,) = ask(tmp_path, job=job)
    assert (root.cause, root.culprit.ranks) == ("dataflow.rank-exception", [6])
    assert root.culprit.hosts == ["node-07"]


def test_a_worker_under_srun_is_known_by_its_own_prefix(tmp_path):
    job = [f"1: {line}" for line in ["[rank6]: KeyError: 'labels'", *sigterm(4, 5, 7)]]
    (root,) = ask(tmp_path, job=job)
    assert root.culprit.ranks == [6]


def test_a_restart_that_goes_on_is_history(tmp_path):
    job = [
        "2026-03-02 11:10:00,000 INFO step 5 loss 2.4",
        "[rank2]: KeyError: 'labels'",
        *sigterm(0, 1, 3),
        "I0302 11:10:51.000000 26000 torch/distributed/elastic/agent/server/api.py:905] [default] Worker group FAILED. 3/3 attempts left; will restart worker group",
        *(f"2026-03-02 11:1{n}:00,000 INFO step {n} loss 2.3" for n in range(2, 9)),
    ]
    assert ask(tmp_path, job=job) == []


def test_an_end_by_signal_is_no_cause_beside_one(tmp_path):
    job = [
        "[rank2]: KeyError: 'labels'",
        *sigterm(0, 1, 3),
        "[rank0]: RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer [10.0.0.9]:42311",
        "srun: error: node-07: task 0: Terminated",
        "slurmstepd: error: *** STEP 123.0 ON node-07 CANCELLED AT 2026-03-02T11:10:30 ***",
    ]
    (root,) = ask(tmp_path, job=job)
    assert (root.cause, root.culprit.ranks) == ("dataflow.rank-exception", [2])
