"""Tests of bandwidth against known machines, their own network, and each other."""

from itertools import combinations, permutations

import pytest

from diagnose.facts.bandwidth import derive
from diagnose.facts.bandwidth.known import plateau_of
from diagnose.model.event import Nature

from .build import event

GIB, MIB = 1 << 30, 1 << 20
H100 = "NVIDIA H100 80GB HBM3"
HOSTS = [f"node-0{number}" for number in range(1, 7)]


def bench(hosts=("node-01",), busbw=400.0, each=8, model=H100, file="a.log", line=1, **fields):
    fields = {
        "tool": "nccl-tests", "collective": "all_reduce", "ranks": each * len(hosts), "nodes": len(hosts),
        "hosts": list(hosts), "gpus_per_node": each, "gpu_model": model, "plateau_busbw": busbw,
        "plateau_size": GIB, **fields,
    }  # fmt: skip
    host = hosts[0] if len(hosts) == 1 else None
    return event(
        "nccl_tests.result", Nature.MEASUREMENT, file=file, line=line, host=host, fields=fields
    )


def port(host, device, rate=400.0, **fields):
    fields = {"device": device, "port": 1, "state": "ACTIVE", "rate_gbps": rate, "speed": "NDR",
              "link_layer": "InfiniBand", "tool": "ibstatus", **fields}  # fmt: skip
    return event("ib.port", Nature.MEASUREMENT, host=host, nic=device, fields=fields)


def ports(hosts, count=8, rate=400.0):
    return [port(host, f"mlx5_{number}", rate) for host in hosts for number in range(count)]


def link(near, far, gbps, host=None, nic="mlx5_0", **fields):
    fields = {"tool": "ib_write_bw", "operation": "write", "local": near, "remote": far, "outbound": True,
              "device": nic, "streams": 1, "bidirectional": False, "size": 65536, "gbps": gbps, **fields}  # fmt: skip
    return event("bench.link", Nature.MEASUREMENT, host=host or near, nic=nic, fields=fields)


def found(name, *events):
    return [one for one in derive(events, None) if one.name == name]


@pytest.mark.parametrize(
    ("model", "gpus", "nodes", "network", "ring"),
    [
        (H100, 8, 1, None, 361),
        ("NVIDIA H100 PCIe", 8, 1, None, None),
        ("NVIDIA H100 NVL", 2, 1, None, 208),
        ("NVIDIA A100-SXM4-80GB", 8, 1, None, 228),
        ("NVIDIA A100 80GB PCIe", 2, 1, None, 193),
        ("NVIDIA H20", 8, 1, None, None),
        ("NVIDIA H200", 5, 1, None, 361),
        ("NVIDIA GB200", 4, 2, None, 680),
        ("NVIDIA GB200", 4, 4, None, None),
        ("AMD Instinct MI300X", 8, 1, None, 313),
        ("NVIDIA A100-SXM4-40GB", 8, 2, 400, 78),
        ("NVIDIA A100-SXM4-40GB", 8, 2, 1600, None),
        ("NVIDIA B200", 8, 4, 3200, 362),
    ],
)
def test_what_is_known_of_a_machine(model, gpus, nodes, network, ring):
    known = plateau_of(model, gpus, nodes, network)
    assert (known and known.ring) == ring


def test_a_node_against_its_kind():
    (judged,) = found("bench.judged", bench(busbw=380.0))
    shown = {name: judged.fields[name] for name in ("expected_busbw", "best_busbw", "basis")}
    assert shown == {"expected_busbw": 361.0, "best_busbw": 483.0, "basis": "table"}
    assert judged.fields["ratio"] == pytest.approx(1.053, abs=0.001)
    assert judged.fields["of_best"] == pytest.approx(0.787, abs=0.001)


def test_nodes_against_all_their_adapters():
    hosts = HOSTS[:4]
    (judged,) = found("bench.judged", bench(hosts, 46.0), *ports(hosts, 8, 200.0))
    names = ("expected_busbw", "basis", "adapters", "adapter_gbps", "in_node_busbw")
    assert [judged.fields[name] for name in names] == [200.0, "network", 8, 200.0, 361]
    assert judged.fields["of_one_adapter"] == pytest.approx(1.84)


def test_slow_and_idle_ports_are_no_network_of_gpus():
    more = [port("node-01", "mlx5_8", 100.0), port("node-01", "mlx5_9", 10.0),
            port("node-01", "mlx5_7", state="DOWN")]  # fmt: skip
    (judged,) = found("bench.judged", bench(HOSTS[:2]), *ports(["node-01"], 4), *more)
    assert (judged.fields["adapters"], judged.fields["expected_busbw"]) == (4, 200.0)


def test_a_gpu_uses_one_adapter():
    (judged,) = found("bench.judged", bench(HOSTS[:2], 48.0, each=1), *ports(HOSTS[:2]))
    assert (judged.fields["expected_busbw"], judged.fields["ratio"]) == (50.0, 0.96)


def test_what_nccl_lists_where_nothing_lists_ports():
    listed = event(
        "nccl.ib.device_speed", host="node-01", fields={"hca": "mlx5_0", "megabits": 100000}
    )
    (judged,) = found("bench.judged", bench(HOSTS[:2], 11.0), listed)
    assert (judged.fields["expected_busbw"], judged.fields["adapters"]) == (12.5, 1)


def test_nodes_without_a_known_network():
    (judged,) = found("bench.judged", bench(HOSTS[:2], 4.0))
    assert (judged.fields["ratio"], judged.fields["in_node_busbw"]) == (None, 361)


@pytest.mark.parametrize(
    "test",
    [
        bench(model="NVIDIA L40S"),
        bench(collective="alltoall"),
        bench(busbw=None),
        bench(nodes=None),
        bench(gpu_model=None),
    ],
    ids=["unknown GPU", "no ring", "no plateau", "no nodes", "no model"],
)
def test_tests_that_cannot_be_judged(test):
    assert not found("bench.judged", test)


def test_a_link_against_its_port():
    (judged,) = found(
        "bench.link_judged", link("node-01", "node-02", 195.0), port("node-01", "mlx5_0")
    )
    assert (judged.fields["rate_gbps"], judged.fields["ratio"]) == (400.0, 0.4875)


def test_a_link_is_as_fast_as_its_slower_port():
    tests = [
        link("node-01", "node-02", 195.0),
        port("node-01", "mlx5_0"),
        port("node-02", "mlx5_0", 200.0),
    ]
    (judged,) = found("bench.link_judged", *tests)
    assert (judged.fields["rate_gbps"], judged.fields["ratio"]) == (200.0, 0.975)


@pytest.mark.parametrize(
    "events",
    [
        [link("node-01", "node-02", 195.0)],
        [link("node-01", "node-02", 195.0, size=4096), port("node-01", "mlx5_0")],
        [link("node-01", "node-02", 9.4, operation="tcp"), port("node-01", "mlx5_0")],
        [link("node-03", "LID 7", 195.0), port("node-01", "mlx5_0"), port("node-02", "mlx5_0", 200.0)],
    ],
    ids=["no port", "small messages", "no RDMA", "ports that differ"],
)  # fmt: skip
def test_links_that_cannot_be_judged(events):
    assert not found("bench.link_judged", *events)


def pairs(rate, hosts=HOSTS, two_ways=True):
    ways = permutations(hosts, 2) if two_ways else combinations(hosts, 2)
    return [link(a, b, rate(a, b)) for a, b in ways]


def uneven(*events):
    """The findings, each once, however many tests show it."""
    shown = {
        (one.fields["pattern"], tuple(one.fields["names"])): one.host
        for one in found("bench.uneven", *events)
    }
    return [(pattern, list(names), host) for (pattern, names), host in shown.items()]


def test_a_finding_is_shown_at_its_slowest_tests():
    tests = [
        bench(two, 180.0 + int(two[0][-1]) if "node-03" in two else 390.0, file=f"{two[0]}{two[1]}")
        for two in combinations(HOSTS, 2)
    ]
    shown = [one.file for one in found("bench.uneven", *tests)]
    assert shown == ["node-01node-03", "node-02node-03", "node-03node-04", "node-03node-05"]


def test_one_slow_host():
    slow = pairs(lambda a, b: 195.0 if "node-03" in (a, b) else 390.0)
    assert uneven(*slow) == [("member", ["node-03"], "node-03")]
    (finding,) = found("bench.uneven", *slow)
    names = ("tests", "peers", "low", "usual", "lowest", "unit", "device")
    assert [finding.fields[name] for name in names] == [30, 5, 10, 390.0, 195.0, "Gb/s", "mlx5_0"]


def test_a_slow_sender_and_a_slow_receiver():
    assert uneven(*pairs(lambda a, b: 195.0 if a == "node-03" else 390.0)) == [
        ("sender", ["node-03"], "node-03")
    ]
    assert uneven(*pairs(lambda a, b: 195.0 if b == "node-03" else 390.0)) == [
        ("receiver", ["node-03"], "node-03")
    ]


def test_one_slow_link_names_no_host():
    assert uneven(*pairs(lambda a, b: 195.0 if {a, b} == {"node-03", "node-05"} else 390.0)) == [
        ("link", ["node-03", "node-05"], None)
    ]


def test_two_slow_hosts_of_six():
    slow = pairs(lambda a, b: 195.0 if {"node-03", "node-05"} & {a, b} else 390.0)
    assert uneven(*slow) == [
        ("member", ["node-03"], "node-03"), ("member", ["node-05"], "node-05"),
    ]  # fmt: skip


def test_a_slow_host_and_another_slow_link():
    slow = pairs(
        lambda a, b: 195.0 if "node-01" in (a, b) or {a, b} == {"node-03", "node-05"} else 390.0
    )
    assert uneven(*slow) == [
        ("member", ["node-01"], "node-01"), ("link", ["node-03", "node-05"], None),
    ]  # fmt: skip


def test_slow_ones_all_over_name_nobody():
    halves = pairs(lambda a, b: 390.0 if (a <= "node-03") == (b <= "node-03") else 195.0)
    assert uneven(*halves) == [("many", [], None)]


@pytest.mark.parametrize(
    "events",
    [
        pairs(lambda a, b: 390.0 - int(a[-1])),
        pairs(lambda a, b: 195.0),
        pairs(lambda a, b: 195.0 if "node-03" in (a, b) else 390.0, HOSTS[1:3]),
        [
            link("LID 1", "LID 2", 390.0, host="node-01"),
            link("LID 1", "LID 2", 190.0, host="node-01"),
        ],
        [],
    ],
    ids=["alike", "all slow alike", "two hosts", "a repeat", "none"],
)
def test_tables_that_are_even(events):
    assert not uneven(*events)


def streams(rates, each):
    ends = list(combinations(HOSTS[:5], 2))
    return [
        link(a, b, rate, tool="iperf3", operation="tcp", streams=each, nic=None)
        for (a, b), rate in zip(ends, rates, strict=True)
    ]


def test_a_single_stream_varies_more_than_a_link():
    rates = [31.0, 26.0, 38.0, 29.0, 24.0, 33.0, 27.0, 36.0, 25.0, 30.0]
    assert uneven(*streams(rates, 8))
    assert not uneven(*streams(rates, 1))
    assert uneven(*streams([*rates[:9], 9.0], 1)) == [("link", ["node-04", "node-05"], None)]


def devices(*rates, far="node-02"):
    return [link("node-01", far, rate, nic=f"mlx5_{at}") for at, rate in enumerate(rates)]


def test_one_adapter_below_the_others_of_its_host():
    (slow,) = found("bench.device_slow", *devices(391.0, 390.0, 190.0, 392.0))
    names = ("device", "gbps", "usual_gbps", "devices")
    assert [slow.fields[name] for name in names] == ["mlx5_2", 190.0, 391.0, 4]


@pytest.mark.parametrize(
    "tests",
    [
        devices(391.0, 390.0, 350.0, 392.0),
        devices(391.0, 390.0, 190.0),
        devices(391.0, 390.0, 190.0, 191.0),
        [*devices(391.0, 390.0, 392.0), *devices(391.0, 391.0, 391.0, 190.0, far="node-03")[3:]],
        [*devices(391.0, 390.0, 190.0, 392.0), *devices(1.0, 1.0, 389.0)[2:]],
    ],
    ids=["alike", "three", "half of them", "another host", "a repeat that is fast"],
)
def test_adapters_that_are_even(tests):
    assert not found("bench.device_slow", *tests)


def test_fewer_than_three_peers_name_no_host():
    few = [("node-01", "node-02", 390.0), ("node-03", "node-04", 180.0), ("node-04", "node-01", 388.0),
           ("node-02", "node-04", 391.0), ("node-03", "node-01", 182.0)]  # fmt: skip
    tests = [bench((a, b), busbw, file=f"{a}{b}.log") for a, b, busbw in few]
    assert uneven(*tests) == [("many", ["node-03"], None)]


def test_tests_of_two_nodes_make_a_table():
    tests = [bench(two, 180.0 if "node-02" in two else 390.0) for two in combinations(HOSTS[:4], 2)]
    assert uneven(*tests) == [("member", ["node-02"], "node-02")]
    assert not found("nccl_tests.slower", *tests)


def test_ends_by_the_lids_of_ports():
    lids = [port(host, "mlx5_0", lid=place) for place, host in enumerate(HOSTS[:4], 1)]
    tests = [
        link(f"LID {a}", f"LID {b}", 195.0 if 3 in (a, b) else 390.0, host=None)
        for a, b in permutations(range(1, 5), 2)
    ]
    for test in tests:
        test.host = None
    assert uneven(*tests, *lids) == [("member", ["node-03"], "node-03")]


def matrix(rate, members="gpu", names=tuple("01234567"), **fields):
    cells = [[None if a == b else rate(a, b) for b in names] for a in names]
    fields = {"tool": "nvbandwidth", "test": "memcpy CE GPU(row) <- GPU(column)", "members": members,
              "rows": list(names), "columns": list(names), "cells": cells, "row_sends": False, "unit": "GB/s", **fields}  # fmt: skip
    return event("bench.matrix", Nature.MEASUREMENT, host="node-07", fields=fields)


def of_gpus(event):
    return [(one.fields["pattern"], one.gpu, one.host) for one in found("bench.uneven", event)]


def test_a_gpu_whose_links_are_slow():
    assert of_gpus(matrix(lambda a, b: 120.0 if "5" in (a, b) else 390.0)) == [
        ("member", "5", "node-07")
    ]


def test_columns_send_where_rows_read():
    assert of_gpus(matrix(lambda a, b: 120.0 if b == "5" else 390.0)) == [
        ("sender", "5", "node-07")
    ]


@pytest.mark.parametrize(
    "event",
    [
        matrix(lambda a, b: 200.0 if int(a) // 2 == int(b) // 2 else 25.0),
        matrix(lambda a, b: 25.0 if int(a) // 4 == int(b) // 4 else 16.0),
        matrix(lambda a, b: 200.0 if int(a) // 2 == int(b) // 2 else 25.0, names=tuple("0123")),
        matrix(lambda a, b: 120.0 if "5" in (a, b) else 390.0, test="Unidirectional P2P=Disabled"),
    ],
    ids=["bridges", "sockets", "two bridges", "through host memory"],
)
def test_machines_whose_pairs_differ_by_design(event):
    assert not of_gpus(event)


def test_the_way_from_the_host_to_one_gpu():
    cells = [[55.3, 55.3, 55.2, 26.9, 55.1, 55.3, 55.2, 55.3]]
    one = matrix(lambda a, b: 1.0, rows=["0"], cells=cells, row_sends=True,
                 test="memcpy CE CPU(row) -> GPU(column)")  # fmt: skip
    (finding,) = found("bench.uneven", one)
    assert (finding.fields["pattern"], finding.fields["names"]) == ("link", ["3"])


def curve(*rates):
    sizes = [MIB << place for place in range(len(rates))]
    return bench(sizes=sizes, busbws=[float(rate) for rate in rates])


def test_a_curve_that_falls():
    (fell,) = found("bench.falls", curve(40, 80, 120, 160, 180, 190, 192, 180, 120, 100))
    names = ("peak_busbw", "peak_size", "last_busbw", "largest_size")
    assert [fell.fields[name] for name in names] == [192.0, 64 * MIB, 100.0, 512 * MIB]


@pytest.mark.parametrize(
    "test",
    [
        curve(40, 80, 120, 160, 180, 190, 192, 190, 188, 180),
        curve(40, 80, 120, 160, 180, 190, 192, 100, 190, 120),
        curve(40, 190, 100, 90),
        bench(),
    ],
    ids=["flat", "one dip", "no large messages", "no rows"],
)
def test_curves_that_do_not_fall(test):
    assert not found("bench.falls", test)


def runs(*rates, file="a.log"):
    return [bench(busbw=rate, line=line, file=file) for line, rate in enumerate(rates)]


def test_runs_that_go_up_and_down():
    (unsteady,) = found("bench.unsteady", *runs(390.0, 200.0, 388.0, 180.0, 391.0))
    names = ("runs", "turns", "lowest_busbw", "highest_busbw")
    assert [unsteady.fields[name] for name in names] == [5, 4, 180.0, 391.0]


@pytest.mark.parametrize(
    "tests", [runs(390.0, 388.0, 200.0, 190.0), runs(390.0, 380.0, 391.0, 370.0), runs(390.0)]
)
def test_two_settings_or_steady_runs(tests):
    assert not found("bench.unsteady", *tests)


def test_processes_that_each_measured_themselves():
    (alone,) = found("bench.alone", bench(each=1, alone=8))
    assert alone.fields["processes"] == 8
    assert len(found("bench.alone", *(bench(each=1, file=f"{n}.log") for n in range(4)))) == 1


@pytest.mark.parametrize(
    "tests", [[bench(each=1)], [bench(each=1), bench()], [bench(ranks=None), bench(ranks=None)]]
)
def test_one_process_or_some_that_ran_together(tests):
    assert not found("bench.alone", *tests)
