"""Ports, bandwidth tests and layouts, laid side by side."""

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Nature

from .build import event, fact, reading


def port(host, device, rate, **fields):
    fields = {"device": device, "port": 1, "state": "ACTIVE", "rate_gbps": rate, "speed": "NDR",
              "lanes": 4, "link_layer": "InfiniBand", "tool": "ibstatus", **fields}  # fmt: skip
    return event(
        "ib.port", Nature.MEASUREMENT, file=f"{host}.txt", host=host, fields=fields, nic=device
    )


def bench(hosts, busbw, **fields):
    fields = {"collective": "all_reduce", "ranks": 8 * len(hosts), "nodes": len(hosts), "hosts": hosts,
              "gpu_model": "NVIDIA H100", "plateau_busbw": busbw, "plateau_size": 1 << 30, **fields}  # fmt: skip
    host = hosts[0] if len(hosts) == 1 else None
    file = f"{'-'.join(hosts)}.txt"
    return event("nccl_tests.result", Nature.MEASUREMENT, file=file, host=host, fields=fields)


def found(name, *records):
    return [one for one in build(reading(*records)).events if one.name == name]


HOSTS = ["node-01", "node-02", "node-03", "node-04"]


def test_a_port_slower_than_on_three_other_hosts():
    ports = [port(host, "mlx5_0", 100.0 if host == "node-03" else 400.0) for host in HOSTS]
    (slow,) = found("ib.port_slower", *ports)
    assert (slow.host, slow.nic, slow.fields["basis"], slow.fields["expected_gbps"]) == (
        "node-03", "mlx5_0", "hosts", 400.0,
    )  # fmt: skip


@pytest.mark.parametrize(
    "ports",
    [
        [port(host, "mlx5_0", 100.0 if host == "node-03" else 400.0) for host in HOSTS[1:]],
        [port(host, "mlx5_0", 100.0 if host in HOSTS[:2] else 400.0) for host in HOSTS],
        [port(host, "mlx5_0", 200.0) for host in HOSTS],
        [port(host, "mlx5_0", 10.0 if host == "node-03" else 400.0, speed=None if host == "node-03" else "NDR") for host in HOSTS],
        [port(host, "mlx5_0", 10.0 if host == "node-03" else 400.0, state="DOWN" if host == "node-03" else "ACTIVE") for host in HOSTS],
        [port("node-01", f"mlx5_{i}", 200.0 if i > 3 else 400.0) for i in range(6)],
        [port("node-01", f"mlx5_{i}", 25.0 if i > 3 else 400.0, link_layer="Ethernet" if i > 3 else "InfiniBand") for i in range(5)],
        [],
    ],
    ids=["too few hosts", "no majority", "one rate", "no speed word", "down", "a pair", "Ethernet", "none"],
)  # fmt: skip
def test_ports_that_are_as_they_should_be(ports):
    assert not found("ib.port_slower", *ports)


def test_one_port_slower_than_its_siblings():
    ports = [
        port("node-01", f"mlx5_{i}", 200.0 if i == 3 else 400.0, lanes=2 if i == 3 else 4)
        for i in range(5)
    ]
    (slow,) = found("ib.port_slower", *ports)
    assert (slow.fields["basis"], slow.fields["narrower"], slow.fields["peers"]) == (
        "siblings",
        True,
        4,
    )


def test_a_port_that_came_back_at_a_lower_rate():
    (slow,) = found(
        "ib.port_slower", port("node-01", "mlx5_0", 200.0), port("node-01", "mlx5_0", 100.0)
    )
    assert (slow.fields["basis"], slow.fields["rate_gbps"]) == ("earlier", 100.0)


def test_a_port_slower_on_all_hosts_is_so_by_design():
    ports = [
        port(host, f"mlx5_{n}", 200.0 if n == 3 else 400.0) for host in HOSTS[:2] for n in range(5)
    ]
    assert not found("ib.port_slower", *ports)


def test_a_host_with_other_ports_is_of_another_kind():
    ports = [port(host, f"mlx5_{n}", 400.0) for host in HOSTS[:3] for n in range(4)]
    fewer = [port("node-09", "mlx5_0", 100.0), port("node-09", "mlx5_1", 400.0)]
    (slow,) = found("ib.port_slower", *ports, *fewer)
    assert slow.fields["same_kind"] is False


def test_a_host_with_less_than_half_the_ports_is_not_compared():
    ports = [port(host, f"mlx5_{n}", 400.0) for host in HOSTS[:3] for n in range(4)]
    assert not found("ib.port_slower", *ports, port("node-09", "mlx5_0", 100.0))


def test_two_hosts_without_a_name_in_one_paste():
    ports = [port(None, "mlx5_0", rate, gid=f"fe80::{rate}") for rate in (400.0, 200.0)]
    assert not found("ib.port_slower", *ports)


def test_a_host_slower_than_the_others():
    tests = [bench([host], 118.0 if host == "node-03" else 470.0) for host in HOSTS]
    (slow,) = found("nccl_tests.slower", *tests)
    assert (slow.fields["suspects"], slow.fields["expected_busbw"], slow.fields["tests"]) == (
        ["node-03"],
        470.0,
        4,
    )


@pytest.mark.parametrize(
    "tests",
    [
        [bench([host], 470.0 - place) for place, host in enumerate(HOSTS)],
        [bench([host], 118.0 if host == "node-03" else 470.0) for host in HOSTS[1:]],
        [bench([host], 118.0 if host == "node-03" else 470.0, plateau_size=1 << (28 if host == "node-03" else 30)) for host in HOSTS],
        [bench([host], None) for host in HOSTS],
    ],
    ids=["alike", "too few", "other sizes", "no plateau"],
)  # fmt: skip
def test_tests_that_do_not_differ(tests):
    assert not found("nccl_tests.slower", *tests)


def topology(nranks, local):
    fields = {"nranks": nranks, "nnodes": nranks // local, "local_ranks": local}
    return event("nccl.comm_topology", Nature.SETTING, fields=fields)


def tensor(size):
    fields = {"name": "tensor_model_parallel_size"}
    return fact("arg.tensor_model_parallel_size", size, event="job.argument", fields=fields)


GPU = event("nvidia_smi.gpu", Nature.MEASUREMENT, fields={"listed": 4})
PLACED = event("torchrun.placement", Nature.SETTING, fields={"local_ranks": [0, 1, 2, 3]})


@pytest.mark.parametrize(
    ("records", "nodes"),
    [
        ([tensor(16), topology(64, 8)], [2]),
        ([tensor(8), topology(64, 8)], [1]),
        ([tensor(8), topology(4, 1), topology(32, 4)], [2]),
        ([tensor(8), topology(4, 1)], [None]),
        ([tensor(8), GPU], [2]),
        ([tensor(8), PLACED], [2]),
        ([tensor(2), tensor(16), topology(64, 8)], [2]),
        ([topology(64, 8)], []),
    ],
)
def test_nodes_that_a_tensor_parallel_group_spans(records, nodes):
    spans = found("train.tensor_parallel", *records)
    assert [one.fields["nodes"] for one in spans] == nodes


def monitor(gpu, use, clock):
    fields = {"index": gpu, "use": use, "clock": clock, "samples": 20}
    return event("nvidia_smi.monitor", Nature.MEASUREMENT, gpu=str(gpu), fields=fields)


@pytest.mark.parametrize(
    ("gpus", "slow"),
    [
        ([(99, 1755), (99, 1110), (98, 1755), (99, 1740)], ["1"]),
        ([(99, 1755), (0, 345), (98, 1755), (99, 1740), (97, 1750)], []),
        ([(99, 1755), (99, 1110), (98, 1755)], []),
        ([(99, 1755), (99, 1700), (98, 1755), (99, 1740)], []),
        ([(99, None), (99, 1110), (98, 1755), (99, 1740)], []),
    ],
    ids=["one of four", "idle", "too few", "all near", "unknown"],
)
def test_a_busy_gpu_at_a_lower_clock(gpus, slow):
    found_ones = found("nvidia_smi.slower_clock", *(monitor(n, *one) for n, one in enumerate(gpus)))
    assert [one.gpu for one in found_ones] == slow
