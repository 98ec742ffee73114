from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagnose.ingest.envelope import peel, records
from diagnose.ingest.sniff import NOBODY, Identity
from diagnose.model.event import Clock

WARN = "transport/net_ib.cc:93 NCCL WARN NET/IB : mlx5_2:1 Got async event"
CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("[rank3]: Traceback (most recent call last):", "Traceback (most recent call last):", {"rank": 3}),
    ('[rank3]:   File "x"', '  File "x"', {"rank": 3}),
    ("[rank3]:[E ProcessGroupNCCL.cpp:523] text", "text", {"rank": 3}),
    ("[E ProcessGroupNCCL.cpp:828] text", "text", {}),
    (
        "[rank5]:[E902 03:14:09.123456789 ProcessGroupNCCL.cpp:632] [Rank 7] Watchdog",
        "[Rank 7] Watchdog", {"rank": 5, "clock": Clock.YEARLESS},
    ),
    ("[default3]:text", "text", {"local_rank": 3}),
    ("[trainer12]:text", "text", {"local_rank": 12}),
    ("[node3]: text", " text", {"host": "node3"}),
    ("[default1]:[rank9]: text", "text", {"local_rank": 1, "rank": 9}),
    ("12: text", "text", {"rank": 12}),
    ("  3: text", "text", {"rank": 3}),
    ("12:", "", {"rank": 12}),
    ("3: [default1]:text", "text", {"local_rank": 1}),
    ("3: [rank25]: text", "text", {"rank": 25}),
    ("[7]:text", "text", {"rank": 7}),
    ("[1,5]<stdout>:text", "text", {"rank": 5, "stream": "stdout"}),
    ("[1,3]<stderr>:", "", {"rank": 3, "stream": "stderr"}),
    ("[prterun-host-1234@1,6]<stdout>: text", "text", {"rank": 6, "stream": "stdout"}),
    ("Mon Jun 16 11:22:33 2025[1,4]<stdout>:hi", "hi", {"rank": 4, "clock": Clock.LOCAL}),
    ("Mon Jun 16 11:22:33 2025<stdout>:hi", "hi", {"stream": "stdout", "clock": Clock.LOCAL}),
    ("node-7: text", "text", {"host": "node-7"}),
    ("node17.cluster.local: text", "text", {"host": "node17"}),
    ("gpu-n37: text", "text", {"host": "gpu-n37"}),
    ("10.1.2.3: text", "text", {"host": "10.1.2.3"}),
    ("worker-3:", "", {"host": "worker-3"}),
    ("[pod/trainer-0/pytorch] text", "text", {"host": "trainer-0"}),
    ("[worker-3] text", "text", {"host": "worker-3"}),
    ("trainer-0 pytorch   File", "  File", {"host": "trainer-0"}),
    ("llm-7b-x4k2p kserve-container [rank3]: text", "text", {"host": "llm-7b-x4k2p", "rank": 3}),
    ("rank-0 worker-3 is late", "rank-0 worker-3 is late", {}),
    ("node-07 is the main host", "node-07 is the main host", {}),
    (
        "2025-07-04T11:22:33.123456789Z stderr F text", "text",
        {"stream": "stderr", "clock": Clock.UTC},
    ),
    ("2025-07-04T11:22:33.123456789Z stdout F", "", {"stream": "stdout", "clock": Clock.UTC}),
    ("[worker-3]", "", {"host": "worker-3"}),
    ("2025-07-04T11:22:33Z   File", "  File", {"clock": Clock.UTC}),
    (
        "Jul  4 11:22:33 node-07.dc1 train[123]: text", "text",
        {"host": "node-07", "stream": "train", "pid": 123, "clock": Clock.YEARLESS},
    ),
    (
        "Jul  4 11:22:33 node-07 kernel: [12345.678901] NVRM: Xid", "NVRM: Xid",
        {"host": "node-07", "stream": "kernel", "clock": Clock.YEARLESS},
    ),
    (
        "2025-07-04T11:22:33+0000 node-07 kernel: NVRM: Xid", "NVRM: Xid",
        {"host": "node-07", "stream": "kernel", "clock": Clock.UTC},
    ),
    ("[12345.678901] NVRM: Xid", "NVRM: Xid", {"clock": Clock.UPTIME}),
    ("w-01 kernel: NVRM: Xid", "NVRM: Xid", {"host": "w-01", "stream": "kernel"}),
    ("th02.dc1 kernel: [12.345678] NVRM", "NVRM", {"host": "th02", "clock": Clock.UPTIME}),
    ("> [rank3]: Traceback", "Traceback", {"rank": 3}),
    ("> > 12: text", "text", {"rank": 12}),
    (">   File \"x\"", "  File \"x\"", {}),
    ("> | GPU  Name |", "| GPU  Name |", {}),
    (">", "", {}),
    ("[12345.678901][  T123] NVRM: Xid", "NVRM: Xid", {"clock": Clock.UPTIME}),
    ("<4>[   12.345678] mlx5_core", "mlx5_core", {"clock": Clock.UPTIME, "stream": "kernel"}),
    ("kern  :err   : [   12.345678] mlx5", "mlx5", {"clock": Clock.UPTIME, "stream": "kernel"}),
    ("[Mon Apr  8 17:04:05 2024] NVRM: Xid", "NVRM: Xid", {"clock": Clock.LOCAL}),
    (
        "(RayTrainWorker pid=3946, ip=10.1.2.3) text", "text",
        {"pid": 3946, "host": "10.1.2.3", "stream": "RayTrainWorker"},
    ),
    ("(raylet, ip=10.1.2.3) text", "text", {"host": "10.1.2.3", "stream": "raylet"}),
    (
        "(Worker_TP3 pid=812) ERROR 01-05 10:00:00 [core.py:708]   File", "  File",
        {"rank": 3, "pid": 812, "stream": "Worker_TP3", "clock": Clock.YEARLESS},
    ),
    ("(Worker_DP1_TP3 pid=812) x", "x", {"pid": 812, "stream": "Worker_DP1_TP3"}),
    ("[2026-01-05 10:00:00 TP3] Decode", "Decode", {"rank": 3, "stream": "TP3", "clock": Clock.LOCAL}),
    ("(VllmWorker rank=3 pid=812) INFO x", "INFO x", {"rank": 3, "pid": 812, "stream": "VllmWorker"}),
    ("INFO 01-05 10:00:05 metrics.py:465] text", "text", {"clock": Clock.YEARLESS}),
    ("[2026-01-05 10:00:00 DP0 TP3] Decode", "Decode", {"stream": "DP0 TP3", "clock": Clock.LOCAL}),
    ("[NeMo W 2025-07-04 11:22:33 nemo_logging:349] text", "text", {"clock": Clock.LOCAL}),
    ("[01/05 10:00:00 d2.utils.events]: eta", "eta", {"clock": Clock.YEARLESS}),
    ("[titan] 2026-01-05 10:00:00,123 - root - INFO - step:  1", "step:  1", {"clock": Clock.LOCAL}),
    ("[2023-01-02 12:06:41,123] [INFO] [logging.py:68:log_dist] [Rank 0] step=1", "[Rank 0] step=1", {"clock": Clock.LOCAL}),
    ("[2024-01-30 11:22:33,123] torch.distributed.elastic.api: [WARNING] msg", "msg", {"clock": Clock.LOCAL}),
    ("[2026-01-05 10:00:00,508] [    INFO] - loss", "loss", {"clock": Clock.LOCAL}),
    ("2026-01-05 10:00:02,108 - [mf/callback.py:529] - INFO - { Epoch", "{ Epoch", {"clock": Clock.LOCAL}),
    ("2026-01-05 10:00:00.123 | INFO     | mod.x:fn:12 - msg", "msg", {"clock": Clock.LOCAL}),
    ("[INFO|trainer.py:2134] 2025-01-05 10:00:00,123 >> msg", "msg", {"clock": Clock.LOCAL}),
    ("2025-01-05 10:00:00,123\tINFO worker.py:1234 -- msg", "msg", {"clock": Clock.LOCAL}),
    ("WARNING:torch.distributed.run:msg", "msg", {}),
    (
        "W0902 03:14:20.000000 26021 site-packages/torch/distributed/elastic/api.py:897] Sending",
        "Sending", {"pid": 26021, "clock": Clock.YEARLESS},
    ),
    ("0: W0902 03:14:20.000000 26021 torch/distributed/elastic/api.py:897] x", "x", {"pid": 26021, "clock": Clock.YEARLESS}),
    ("E1030 11:42:16.325000 140014536193856 torch/distributed/elastic/api.py:833] x", "x", {"clock": Clock.YEARLESS}),
    ("E0321 02:07:08.432379 12345 ProcessGroupNCCL.cpp:607] x", "x", {"clock": Clock.YEARLESS}),
    ("node-a.dc1:4121:4388 [3] NCCL INFO x", "NCCL INFO x", {"host": "node-a", "pid": 4121, "gpu": "3"}),
    (f"[2025-09-02 03:14:07] node-a:4121:4402 [3] {WARN}", WARN, {"host": "node-a", "pid": 4121, "gpu": "3", "clock": Clock.LOCAL}),
    (f"12: node-d:33:52 [4] {WARN}", WARN, {"rank": 12, "host": "node-d", "pid": 33, "gpu": "4"}),
    ("node-a:1:2 [-1] NCCL INFO x", "NCCL INFO x", {"host": "node-a", "pid": 1}),
    ("node-a:1:2 NCCL CALL ncclAllReduce", "NCCL CALL ncclAllReduce", {"host": "node-a", "pid": 1}),
    ("[3] NCCL INFO x", "NCCL INFO x", {"gpu": "3"}),
    ("   node-a:1:2 [0] NCCL INFO x", "NCCL INFO x", {"host": "node-a", "pid": 1, "gpu": "0"}),
    ("fsdp.node-a.D0 [stderr] text", "text", {"stream": "stderr"}),
    ("│ RuntimeError: x          │", "RuntimeError: x", {}),
    ("2025-07-04T11:22:33.5Z stderr F [1,11]<stderr>:[rank11]: x", "x", {"rank": 11, "stream": "stderr", "clock": Clock.UTC}),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "text", "expected"), CASES)
def test_takes_a_prefix_off(raw: str, text: str, expected: dict[str, Any]) -> None:
    line = peel(raw, "a.log", 7, NOBODY)
    names = ("rank", "local_rank", "host", "pid", "gpu", "stream")
    said = {name: value for name in names if (value := getattr(line, name)) is not None}
    if line.clock is not Clock.NONE:
        said["clock"] = line.clock
    if "clock" not in expected:
        said.pop("clock", None)
    if "stream" not in expected:
        said.pop("stream", None)
    assert (line.text, said) == (text, expected)
    assert (line.file, line.number, line.raw) == ("a.log", 7, raw)


@pytest.mark.parametrize(
    "raw, clock",
    [
        ("time=2026-01-05T10:00:00.000Z level=INFO msg=x", Clock.UTC),
        ('{"timestamp":"2026-01-05T10:00:00.123456Z","level":"INFO"}', Clock.UTC),
        ("[GIN] 2026/01/05 - 10:00:00 | 200 |  1.2s | 10.0.0.7 | POST", Clock.LOCAL),
        ("time=12 level=x", Clock.NONE),
    ],
)
def test_a_record_of_fields_stays_whole_and_has_its_time(raw: str, clock: Clock) -> None:
    line = peel(raw, "a.log", 7, NOBODY)
    assert (line.text, line.clock) == (raw, clock)


@pytest.mark.parametrize(
    "raw",
    [
        "", "plain text", "    indented: text", "train.py:12: error: x", "driver: mlx5_core",
        "5: ens1f0np0: <BROADCAST,MULTICAST>", "1: link mlx5_0/1 subnet_prefix fe80::", "mlx5_0: up",
        "eth0: Link is Down", "step-500: saved", "rank-3: x", "gpu-0: x", "gpt-4: x", "[Rank 3] x",
        "[0] text", "[0]:", "[PG ID 0 PG GUID 0(default_pg) Rank 7] x", "  3: core::panicking::panic",
        "[GPU3]: x", "INFO:     10.0.0.7:58856 - \"POST", "12:30 x", "node-7 is down",
        "(most recent call last):", "<module>", " 12:   4 0 0 0 IR-PCI-MSI", "[after training is done]",
        "the log says node-a:1:2 [0] but no more", "-1: x", "CUDA kernel: x", "gpu0 kernel: x", "> /dev/null", ">>> import torch", "E0704: x", "[E] x", "Mayday: x", "ERROR: x",
    ],
)  # fmt: skip
def test_leaves_what_only_looks_like_a_prefix(raw: str) -> None:
    line = peel(raw, "a.log", 1, NOBODY)
    assert line.text == raw
    assert (line.rank, line.local_rank, line.host, line.clock) == (None, None, None, Clock.NONE)


def test_prefixes_overrule_the_name_of_the_file() -> None:
    identity = Identity(rank=1, local_rank=1, host="node-01", attempt=2, stream="stderr")
    line = peel("[rank9]: x", "a", 1, identity)
    assert (line.rank, line.local_rank, line.host) == (9, 1, "node-01")
    assert (line.attempt, line.stream) == (2, "stderr")
    assert peel("x", "a", 1, identity).rank == 1


def test_keeps_the_stamp_that_says_more() -> None:
    line = peel("[12.345678] 2025-07-04T11:22:33Z x", "a", 1, NOBODY)
    assert (line.time, line.clock, line.text) == (1751628153.0, Clock.UTC, "x")
    line = peel("2025-07-04T11:22:33Z stdout F [rank0]:[E704 11:00:00.1 a.cpp:1] x", "a", 1, NOBODY)
    assert (line.time, line.clock, line.text) == (1751628153.0, Clock.UTC, "x")


def test_carriage_return_at_the_end_is_no_text() -> None:
    assert peel("[rank3]: x\r", "a", 1, NOBODY).text == "x"


GLUED = [
    (
        "n-1:1:2 [0] NCCL INFO Channel 00/08 : 0 1n-2:5:6 [0] NCCL INFO foo",
        ["n-1:1:2 [0] NCCL INFO Channel 00/08 : 0 1", "n-2:5:6 [0] NCCL INFO foo"],
    ),
    (
        "x=2.5e+7][E ProcessGroupNCCL.cpp:458] [Rank 0] Watchdog",
        ["x=2.5e+7]", "[E ProcessGroupNCCL.cpp:458] [Rank 0] Watchdog"],
    ),
    (
        " 47%|██  [rank3]:[E902 03:14:09.123456789 ProcessGroupNCCL.cpp:632] x",
        [" 47%|██  ", "[rank3]:[E902 03:14:09.123456789 ProcessGroupNCCL.cpp:632] x"],
    ),
    (
        f"loss 12%[2025-09-02 03:14:07] node-a:1:2 [3] {WARN}",
        ["loss 12%", f"[2025-09-02 03:14:07] node-a:1:2 [3] {WARN}"],
    ),
    ("a\rb\r\rc\r", ["a", "b", "c"]),
    ("\r", [""]),
    ("", [""]),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "expected"), GLUED)
def test_cuts_records_apart(raw: str, expected: list[str]) -> None:
    assert records(raw) == expected


@pytest.mark.parametrize(
    "raw",
    [
        f"[2025-09-02 03:14:07] node-a:1:2 [3] {WARN}",
        "[1,5]<stdout>:node-c:901:960 [5] NCCL INFO x",
        "Jul  4 11:22:33 node-07 train[12]: node-c:901:960 [5] NCCL INFO x",
        "(RayTrainWorker pid=3946, ip=10.1.2.3) node-c:901:960 [5] NCCL INFO x",
        "2025-07-04T11:22:33.1Z stderr F [default3]:[rank3]:[E902 03:14:09.1 P.cpp:632] x",
        "node-c:901:960 [5] NCCL INFO comm 0x1 peer 10.0.0.1:80:90 done",
        "File a.cpp:12 is [E",
    ],
)
def test_a_record_behind_its_own_prefixes_is_one(raw: str) -> None:
    assert records(raw) == [raw]


PARTS = st.sampled_from(
    ["[rank3]:", "[default1]:", "12: ", "[1,0]<stdout>:", "node-7: ", "node-a:1:2 [0] ", "NCCL INFO ",
     "[2025-01-01 10:00:00] ", "2025-01-01T10:00:00Z ", "stderr F ", "[E301 10:00:00.1 a.cpp:1] ",
     "(W pid=1) ", "│ ", " ", "INFO ", "x", "Jul  4 11:22:33 ", "h p[1]: ", "\r", "é", "[", "]", ":"]
)  # fmt: skip
LINES = st.one_of(st.text(), st.lists(PARTS, max_size=30).map("".join))


@given(LINES)
def test_peel_never_raises_and_keeps_the_end_of_the_line(raw: str) -> None:
    line = peel(raw, "a", 1, NOBODY)
    if "│" in raw:
        assert line.text in raw
    else:
        assert raw.rstrip("\r").endswith(line.text)


@given(LINES)
def test_records_lose_nothing_but_carriage_returns(raw: str) -> None:
    assert "".join(records(raw)) == raw.replace("\r", "")
