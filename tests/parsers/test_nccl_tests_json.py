import json

import pytest
from communication import read

from diagnose.parsers.bandwidth import nccl_tests_json
from diagnose.parsers.base import Note

GIB = 1 << 30


def run(hosts=("node-07",), rows=((GIB, 471.5), (8 * GIB, 478.2)), wrong=0, **more):
    devices = [
        {"rank": 8 * place + gpu, "group": 0, "pid": 100 + gpu, "hostname": host, "device": gpu,
         "device_info": "NVIDIA H100 80GB HBM3"}
        for place, host in enumerate(hosts) for gpu in range(8)
    ]  # fmt: skip
    results = [
        {
            "size": size,
            "out_of_place": {"time": 1.0, "alg_bw": 1.0, "bus_bw": busbw, "nwrong": wrong},
        }
        for size, busbw in rows
    ]
    return json.dumps({
        "version": 1, "start_time": "2026-01-14 03:04:07", "args": ["./build/all_reduce_perf", "-J", "a.json"],
        "env": ["SECRET_TOKEN=hunter2"], "nccl_version": 22907, "config": {"ngpus": 8, "devices": devices},
        "results": results, "out_of_bounds": {"count": wrong * len(rows), "okay": not wrong},
        "average_bus_bandwidth": {"bandwidth": 300.1, "okay": "unchecked"}, **more,
    })  # fmt: skip


def result(text):
    (event,) = read(nccl_tests_json, text)
    return event


def test_a_run():
    event = result(run())
    assert event.host == "node-07"
    assert event.fields == {
        "tool": "nccl-tests", "collective": "all_reduce", "ranks": 8, "nodes": 1, "hosts": ["node-07"],
        "gpus_per_node": 8, "gpu_model": "NVIDIA H100 80GB HBM3", "avg_busbw": 300.1, "reduced_to": None,
        "verdict": None, "alone": 1, "rows": 2, "sizes": [GIB, 8 * GIB], "busbws": [471.5, 478.2],
        "largest_size": 8 * GIB, "peak_busbw": 478.2, "plateau_busbw": 478.2, "plateau_size": GIB, "wrong": 0,
    }  # fmt: skip


def test_the_environment_is_never_kept():
    event = result(run())
    assert "hunter2" not in f"{event.text}{event.fields}"


def test_two_nodes_and_a_verdict():
    event = result(
        run(("node-07", "node-08"), average_bus_bandwidth={"bandwidth": 1, "okay": False})
    )
    assert (event.host, event.fields["nodes"], event.fields["verdict"]) == (None, 2, "FAILED")


def test_wrong_data_and_no_results():
    assert result(run(wrong=3)).fields["wrong"] == 6
    assert result(run(rows=())).fields["rows"] == 0


def test_half_a_file():
    with pytest.raises(Note):
        read(nccl_tests_json, run()[:-20])


def test_another_file():
    assert read(nccl_tests_json, '{"nccl_version": 22907}') == []
