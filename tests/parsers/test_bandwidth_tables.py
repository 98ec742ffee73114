"""Tables of collectives other than nccl-tests': OSU, all_reduce_bench.py, HCCL test, nccom-test."""

import pytest
from communication import read

from diagnose.parsers.bandwidth import collective_tables, osu

GIB = 1 << 30
BENCH = """Environment:
- software: torch=2.9.0, cuda=12.8, nccl=(2, 27, 5)
- hardware: _CudaDeviceProperties(name='NVIDIA H100 80GB HBM3', major=9, minor=0, total_memory=81079MB)

The average bandwidth of all_reduce over 8 ranks (5 warmups / 20 trials, up to 10 queued calls per trial):

| payload |    busbw   |    algbw   |
| ------: | ---------: | ---------: |
|   32KiB |   0.92GBps |   0.53GBps |
|    1GiB | 463.58GBps | 264.90GBps |
|   16GiB | 479.01GBps | 273.72GBps |

*** Plotting results into busbw-node-07-8.png
"""
HCCL = """data_size(Bytes): | aveg_time(us): | alg_bandwidth(GB/s): | check_result:
1048576           | 40.10          | 26.15                | success
1073741824        | 7200.10        | 149.12               | failed
"""
NCCOM = """    size(B)    count(elems)    type    time(us)    algbw(GB/s)    busbw(GB/s)
 1073741824       536870912    bf16      8123.1         132.18         256.10
Avg bus bandwidth: 256.1GB/s
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (BENCH, {"tool": "all_reduce_bench.py", "collective": "all_reduce", "ranks": 8, "rows": 3,
                 "gpu_model": "NVIDIA H100 80GB HBM3", "plateau_busbw": 479.01, "plateau_size": GIB, "wrong": None}),
        (BENCH.replace("GiB", "GB").replace("KiB", "KB"), {"plateau_busbw": 479.01, "plateau_size": GIB}),
        (BENCH.split("|   16GiB")[0], {"plateau_busbw": 463.58}),
        ("| payload |" + BENCH.split("| payload |")[1], {"collective": "all_reduce", "ranks": None, "rows": 3}),
        (BENCH.split("|   32KiB")[0], {"rows": 0, "plateau_busbw": None}),
        (HCCL, {"tool": "HCCL test", "rows": 2, "largest_size": GIB, "plateau_busbw": None, "wrong": 1}),
        (NCCOM, {"tool": "nccom-test", "rows": 1, "plateau_busbw": 256.1}),
    ],
    ids=["bench", "old units", "cut off", "no beginning", "no rows", "HCCL", "nccom"],
)  # fmt: skip
def test_a_table(text, expected):
    (event,) = read(collective_tables, text)
    assert event.name == "bench.collective"
    assert {name: event.fields[name] for name in expected} == expected


def test_talk_of_bandwidth_is_no_table():
    assert read(collective_tables, "the bandwidth of all links, busbw and so on\n") == []


def osu_run(title, heading, rows):
    return f"\n# OSU {title} v7.5\n# Datatype: MPI_CHAR.\n# Size      {heading}\n{rows}"


def osu_events(*args):
    return {event.name: event.fields for event in read(osu, osu_run(*args))}


def test_osu_between_two_ranks():
    rows = "1048576             23500.10\n4194304             23947.73\n"
    found = osu_events("MPI-CUDA Bandwidth Test", "Bandwidth (MB/s)", rows)
    assert found["bench.finished"] == {"program": "OSU", "reason": "done"}
    link = found["bench.link"]
    assert (link["tool"], link["size"], link["gbps"]) == (
        "OSU", 4194304, pytest.approx(191.58, abs=0.01),
    )  # fmt: skip


def test_osu_in_both_directions():
    rows = "4194304             47895.46\n"
    found = osu_events("MPI Bi-Directional Bandwidth Test", "Bandwidth (MB/s)", rows)
    assert found["bench.link"]["gbps"] == pytest.approx(191.58, abs=0.01)


def test_osu_latency_of_the_smallest_message():
    found = osu_events("MPI Latency Test", "Latency (us)", "1       1.42\n4194304    320.11\n")
    assert found["bench.link"]["latency"] == pytest.approx(1.42e-6)


def test_osu_collective_with_its_check():
    rows = "4                       8.91               Pass\n1048576      120.5     Fail\n"
    found = osu_events("MPI-CUDA Allreduce Latency Test", "Avg Latency(us)  Validation", rows)
    table = found["bench.collective"]
    assert (table["collective"], table["rows"], table["wrong"], table["plateau_busbw"]) == (
        "all_reduce", 2, 1, None,
    )  # fmt: skip


@pytest.mark.parametrize("rows", ["", "Abort(1) on node 0\n"])
def test_osu_without_rows(rows):
    assert read(osu, osu_run("MPI-CUDA Allreduce Latency Test", "Avg Latency(us)", rows)) == []
