import pytest
from communication import check_table, holds, names, one

from diagnose.model.event import Nature
from diagnose.parsers import launcher as module


def test_pattern_table():
    check_table(module)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("node-07: [2025-05-01 11:12:35,123] [ERROR] [launch.py:325:sigkill_handler] ['/usr/bin/python', 'train.py', '--local_rank=3'] exits with return code = -11", {"exit_code": -11, "signal": "SIGSEGV", "launcher": "deepspeed", "host": "node-07"}),
        ("mpirun noticed that process rank 3 with PID 26024 on node node-07.cluster exited on signal 9 (Killed).", {"rank": 3, "pid": 26024, "host": "node-07", "signal": "SIGKILL"}),
        ("MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD", {"rank": 3, "launcher": "mpirun"}),
        ("srun: error: node-07: task 3: Exited with exit code 137", {"host": "node-07", "tasks": [3], "exit_code": 137, "signal": "SIGKILL", "rank": None}),
        ("srun: error: node-07: tasks 0-2,7: Segmentation fault (core dumped)", {"tasks": [0, 1, 2, 7], "signal": "SIGSEGV", "out_of_memory": False}),
        ("srun: error: node-07: task 3: Out Of Memory", {"signal": "SIGKILL", "out_of_memory": True}),
        ("srun: error: node-[07-08]: tasks 0-7: Terminated", {"hosts": "node-[07-08]", "host": None, "tasks": [0, 1, 2, 3, 4, 5, 6, 7], "signal": "SIGTERM"}),
        ("srun: error: node-07: tasks [1,3]: Exited with exit code 127", {"tasks": [1, 3], "exit_code": 127, "signal": None}),
        ("pdsh@node-00: node-07: ssh exited with exit code 255", {"host": "node-07", "exit_code": 255, "launcher": "pdsh", "signal": None}),
        ("  Process name: [[51231,1],3]\n  Exit code:    139", {"rank": 3, "exit_code": 139, "signal": "SIGSEGV", "launcher": "mpirun"}),
        ("subprocess.CalledProcessError: Command '['/usr/bin/python', 'train.py']' returned non-zero exit status 1.", {"exit_code": 1, "signal": None}),
        ("subprocess.CalledProcessError: Command '['/usr/bin/python', 'train.py']' died with <Signals.SIGKILL: 9>.", {"signal": "SIGKILL"}),
        ("torch.multiprocessing.spawn.ProcessExitedException: process 3 terminated with signal SIGABRT", {"local_rank": 3, "signal": "SIGABRT"}),
        ("-- Process 3 terminated with the following error:", {"local_rank": 3}),
    ],
)  # fmt: skip
def test_ends(text, expected):
    event = one(module, text)
    assert (event.name, event.nature) == ("launcher.exit", Nature.EFFECT)
    assert holds(event, expected) == {}


def test_killing_the_others_is_clean_up():
    text = (
        "[2025-05-01 11:12:35,123] [INFO] [launch.py:316:sigkill_handler] Killing subprocess 26024"
    )
    assert (
        holds(one(module, text), {"name": "launcher.kill", "pid": 26024, "nature": Nature.TEARDOWN})
        == {}
    )


@pytest.mark.parametrize(
    "text",
    [
        "['/usr/bin/python', 'train.py'] exits with return code = 0",
        "srun: error: Node failure on node-07",
        "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",
        "Process 3 terminated",
        "  Process name: [[51231,1],3]",
        "pdsh@node-00: node-07: ssh exited with exit code 0",
        "The command exits with return code",
        "",
    ],
)
def test_near_misses(text):
    assert names(module, text) == []


def test_a_huge_task_range_is_bounded():
    event = one(module, "srun: error: node-07: tasks 0-99999999: Killed")
    assert len(event.fields["tasks"]) < 10_000
