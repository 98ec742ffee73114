import json

import pytest
from stacks import collected, dumps

TEXT = """\
Process 6639: /opt/venv/bin/python3 -u train.py --local-rank=3
Python v3.11.7 (/opt/venv/bin/python3.11)

Thread 6639 (idle): "MainThread"
    Condition.wait (threading.py:327)
    Queue.get (queue.py:171)
    main (train.py:14)
    <module> (train.py:15)
Thread 6682 (active+gil): "Thread-1 (busy)"
    busy (metrics.py:9)
    Thread.run (threading.py:982)
    Thread._bootstrap_inner (threading.py:1045)
    Thread._bootstrap (threading.py:1002)
"""

NATIVE = """\
Process 6639: python3 train.py
Python v3.10.12 (/usr/bin/python3.10)

Thread 6639 (active): "MainThread"
    0x7f30e8e52f16 (libc.so.6)
    cudaStreamSynchronize (libcudart.so.12)
    at::native::_local_scalar_dense_cuda(at::Tensor const&) (libtorch_cuda.so)
    train_step (train.py:210)
    <module> (train.py:340)
    __libc_start_main (libc.so.6)
"""

LOCALS = """\
Process 6639: python3 train.py
Python v3.11.7 (/opt/venv/bin/python3.11)

Thread 6639 (idle): "MainThread"
    get (queue.py:171)
        Arguments:
            self: <Queue at 0x7f30e8222510>
            block: True
        Locals:
            text: "sent (to nobody:7)"
    main (train.py:14)
        Locals:
            rank: 3
    <module> (train.py:15)
"""


def as_json(**more):
    frame = {"module": None, "locals": None}
    threads = [
        {
            "pid": 6639, "thread_id": 2, "thread_name": "Thread-1", "os_thread_id": 6682,
            "active": True, "owns_gil": True, "process_info": None,
            "frames": [frame | {"name": "busy", "filename": "/app/metrics.py", "short_filename": "metrics.py", "line": 9}],
        },
        {
            "pid": 6639, "thread_id": 1, "thread_name": "MainThread", "os_thread_id": 6639,
            "active": False, "owns_gil": False, "process_info": None,
            "frames": [
                frame | {"name": "get", "filename": "/opt/lib/python3.11/queue.py", "short_filename": "queue.py", "line": 171},
                frame | {"name": "main", "filename": "/app/train.py", "short_filename": "train.py", "line": 14},
            ],
        } | more,
    ]  # fmt: skip
    return json.dumps(threads, indent=2)


def test_what_a_dump_says():
    (event,) = dumps(TEXT, "pyspy_rank3.txt")
    assert (event.rank, event.local_rank, event.pid) == (3, 3, 6639)
    assert (event.line, event.end_line) == (4, 13)
    assert event.fields == {
        "tool": "py-spy",
        "command": "/opt/venv/bin/python3 -u train.py --local-rank=3",
        "thread": "MainThread",
        "state": "idle",
        "doing": "loader",
        "call": "get",
        "site": "get (queue.py:171)",
        "code": "main (train.py:14)",
        "way": ["<module>", "main"],
        "frames": [
            "wait (threading.py:327)",
            "get (queue.py:171)",
            "main (train.py:14)",
            "<module> (train.py:15)",
        ],
        "role": "rank",
        "threads": 2,
        "holder": "busy (metrics.py:9)",
        "fault": None,
    }


def test_native_frames_have_a_library_in_place_of_a_line():
    (event,) = dumps(NATIVE)
    assert (event["doing"], event["site"]) == ("device", "cudaStreamSynchronize (libcudart.so.12)")
    assert event["state"] == "active"
    assert event["way"] == ["<module>", "train_step"]


def test_values_of_variables_are_no_frames():
    (event,) = dumps(LOCALS)
    assert event["frames"] == ["get (queue.py:171)", "main (train.py:14)", "<module> (train.py:15)"]


def test_json_says_the_same_as_text():
    (event,) = dumps(as_json(), "node-07/pyspy.json")
    assert (event.host, event.pid, event["thread"], event["state"]) == (
        "node-07", 6639, "MainThread", "idle",
    )  # fmt: skip
    assert (event["doing"], event["code"], event["holder"]) == (
        "loader", "main (train.py:14)", "busy (metrics.py:9)",
    )  # fmt: skip


def test_snapshots_in_one_file_of_json_follow_each_other():
    first, second = dumps(as_json() + "\n" + as_json(pid=6639), "a.json")
    assert first.line < second.line


def test_json_that_is_cut_off_is_noted():
    assert collected(as_json()[:-40], "a.json").notes == {"py-spy-json: the JSON is cut off": 1}


def test_repeated_dumps_are_several_events_in_their_order():
    later = TEXT.replace("train.py:14", "train.py:20")
    assert [event["code"] for event in dumps(f"{TEXT}\n{later}")] == [
        "main (train.py:14)", "main (train.py:20)",
    ]  # fmt: skip


def test_each_process_is_an_event_and_a_loader_worker_is_a_helper():
    worker = """\
Process 7001: /opt/venv/bin/python3 -u train.py --local-rank=3
Parent Process 6639: /opt/venv/bin/python3 -u train.py --local-rank=3
Python v3.11.7 (/opt/venv/bin/python3.11)

Thread 7001 (idle): "MainThread"
    get (multiprocessing/queues.py:113)
    _worker_loop (torch/utils/data/_utils/worker.py:275)
    <module> (train.py:15)
"""
    assert [(one.pid, one["role"]) for one in dumps(f"{TEXT}\n{worker}")] == [
        (6639, "rank"), (7001, "helper"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "command",
    [
        "/opt/venv/bin/python3 /opt/venv/bin/torchrun --nproc_per_node 8 train.py",
        "python3 -m torch.distributed.run train.py",
        "python3 -c from multiprocessing.resource_tracker import main;main(5)",
        "/opt/venv/bin/python3 /opt/venv/bin/tensorboard --logdir runs",
        "/opt/venv/bin/accelerate launch train.py",
        "VLLM::EngineCore",
        "sglang::detokenizer",
    ],
)
def test_a_launcher_or_tracker_is_a_helper(command):
    text = TEXT.replace("/opt/venv/bin/python3 -u train.py --local-rank=3", command)
    assert [event["role"] for event in dumps(text)] == ["helper"]


@pytest.mark.parametrize(
    ("command", "rank"),
    [
        ("python3 train.py --rank 12 --lr 1e-4", 12),
        ("RANK=12 python3 train.py", 12),
        ("python3 train.py --node_rank 12 --rank-file x", None),
        ("VLLM::Worker_TP1", 1),
        ("VLLM::Worker_TP1_EP1", 1),
        ("sglang::scheduler_TP3", 3),
        ("VLLM::Worker_PP1_TP0", None),
    ],
)
def test_the_rank_that_a_command_or_title_states(command, rank):
    (event,) = dumps(TEXT.replace("/opt/venv/bin/python3 -u train.py --local-rank=3", command))
    assert (event.rank, event["role"]) == (rank, "rank")


def test_a_dump_inside_a_log_of_all_ranks():
    lines = [f"[rank3]: {line}" for line in TEXT.splitlines()]
    for at in (3, 6, 9):
        lines.insert(at, "[rank1]: step 10 loss 2.5")
    (event,) = dumps("\n".join(["[rank0]: step 9 loss 2.5", *lines, "[rank3]: step 11 loss 2.4"]))
    assert (event.rank, event["doing"], len(event["frames"])) == (3, "loader", 4)


def test_lines_of_the_same_writer_inside_a_dump_are_left_out():
    lines = TEXT.splitlines()
    lines.insert(6, "step 10 loss 2.5")
    (event,) = dumps("\n".join(lines))
    assert len(event["frames"]) == 4


def test_a_dump_ends_where_the_log_goes_on():
    log = "\n".join(f"step {number} loss 2.5 (train.py)" for number in range(20))
    (event,) = dumps(f"{TEXT}{log}\n")
    assert event.end_line == 13


def test_without_its_first_lines_a_dump_still_counts():
    (event,) = dumps("\n".join(TEXT.splitlines()[3:]))
    assert (event["doing"], event.pid, event["command"]) == ("loader", 6639, None)


def test_a_dump_without_its_main_thread_is_noted():
    cut = "\n".join(TEXT.splitlines()[:4])
    assert list(collected(cut).notes) == ["py-spy: the stack of the main thread is not there"]
    assert dumps("\n".join(TEXT.splitlines()[8:])) == []


@pytest.mark.parametrize(
    "text",
    [
        "Process 3: initialised\n",
        "Process 12 exited with code 1\n",
        "the worker is slow (idle) since noon\n",
        "Error: Permission Denied: Try running again with elevated permissions\n",
    ],
)
def test_other_lines_are_no_dump(text):
    assert (dumps(text), collected(text).notes) == ([], {})
