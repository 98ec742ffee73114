"""Ports that should be up, subnet managers that are gone, hosts that differ."""

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Nature

from .build import event, reading

HOSTS = ["node-01", "node-02", "node-03", "node-04"]


def port(host="node-01", device="mlx5_0", state="ACTIVE", phys="LinkUp", line=1, **fields):
    fields = {
        "device": device, "port": 1, "state": state, "phys_state": phys, "tool": "ibstat",
        "link_layer": "InfiniBand", **fields,
    }  # fmt: skip
    file = f"{host}.txt"
    return event(
        "ib.port", Nature.MEASUREMENT, file=file, line=line, host=host, nic=device, fields=fields
    )


def used(host, *hcas):
    return event("nccl.ib.devices", Nature.SETTING, host=host, fields={"hcas": list(hcas)})


def setting(value):
    return event("nccl.env", Nature.SETTING, fields={"name": "NCCL_IB_HCA", "value": value})


def found(name, *records):
    return [one for one in build(reading(*records)).events if one.name == name]


def off(*records):
    return [(one.host, one.nic, one.fields["basis"]) for one in found("ib.port_off", *records)]


DOWN = {"state": "DOWN", "phys": "Polling"}


@pytest.mark.parametrize(
    "statement",
    [used("node-01", "mlx5_0", "mlx5_3"), setting("mlx5_0,mlx5_3:1"), setting("=mlx5_3")],
)
def test_a_port_that_the_job_uses_should_be_up(statement):
    assert off(port(device="mlx5_3", **DOWN), statement) == [("node-01", "mlx5_3", "job")]


@pytest.mark.parametrize(
    "statement",
    [
        used("node-02", "mlx5_3"),
        setting("mlx5"),
        setting("^mlx5_3"),
        setting("mlx5_0"),
        setting(""),
    ],
)
def test_a_port_that_nobody_names_may_be_down(statement):
    assert off(port(device="mlx5_3", **DOWN), statement) == []


def test_a_port_that_is_up_on_other_hosts_should_be_up():
    ports = [port(host, **(DOWN if host == "node-03" else {})) for host in HOSTS]
    assert off(*ports) == [("node-03", "mlx5_0", "hosts")]
    assert off(*ports[1:]) == []
    assert off(*(port(host, **DOWN) for host in HOSTS)) == []


def test_a_port_whose_siblings_are_all_up_should_be_up():
    ports = [port(device=f"mlx5_{n}", board="MT4129") for n in range(3)]
    odd = port(device="mlx5_3", board="MT4129", **DOWN)
    assert off(*ports, odd) == [("node-01", "mlx5_3", "siblings")]
    assert off(*ports, port(device="mlx5_3", **DOWN)) == []
    assert off(*ports, port(device="mlx5_3", board="MT4123", **DOWN)) == []
    assert off(*ports, odd, port(device="mlx5_4", board="MT4129", **DOWN)) == []
    assert off(*ports, port(device="mlx5_3", board="MT4129", state="DOWN", phys="Disabled")) == []


def test_a_port_with_a_link_that_the_subnet_keeps_down_is_another_matter():
    ports = [port(host, state="DOWN" if host == "node-03" else "ACTIVE") for host in HOSTS]
    assert off(*ports) == []
    ports = [
        port(host, state="DOWN" if host == "node-03" else "ACTIVE", link_layer="Ethernet")
        for host in HOSTS
    ]
    assert off(*ports) == [("node-03", "mlx5_0", "hosts")]


def test_a_port_that_flaps_does_so_on_one_host():
    flap = port(**DOWN), port(line=9)
    assert [one.line for one in found("ib.port_flapped", *flap)] == [1]
    assert not found("ib.port_flapped", port(**DOWN), port("node-02"))
    assert not found("ib.port_flapped", port(gid="fe80::1", **DOWN), port(line=9, gid="fe80::2"))


def waiting(*ports):
    return [(one.fields["ports"], one.fields["of"], one.fields["count"]) for one in found("ib.ports_waiting", *ports)]  # fmt: skip


def test_ports_that_no_subnet_manager_set_up():
    ports = [port(host, state="INIT", sm_lid=0) for host in HOSTS[:3]]
    assert waiting(*ports, port("node-04")) == [(3, 4, 3)]
    assert waiting(port(), port("node-02", **DOWN)) == []
    assert waiting(port(state="INIT", link_layer="Ethernet")) == []


def differences(*records):
    return [
        (one.host, one.fields["attribute"], one.fields["value"], one.fields["usual"], one.fields["odd"])
        for one in found("ib.difference", *records)
    ]  # fmt: skip


def test_firmware_of_one_type():
    ports = [port(host, board="MT4129", firmware="28.41.1000") for host in HOSTS[:3]]
    old = port("node-04", board="MT4129", firmware="28.39.1002")
    assert differences(*ports, old) == [("node-04", "firmware", "28.39.1002", "28.41.1000", 1)]
    assert differences(*ports, port("node-04", board="MT4123", firmware="20.39.1002")) == []
    assert differences(ports[0], old) == [(None, "firmware", "28.39.1002 or 28.41.1000", None, 1)]


def test_the_number_of_adapters():
    ports = [port(host, f"mlx5_{n}") for host in HOSTS for n in range(4)]
    assert differences(*ports[:-1]) == [("node-04", "devices", 3, 4, 1)]
    assert differences(*ports) == []
    (one,) = found("ib.difference", *ports[:-1])
    assert (one.fields["fewer"], one.fields["values"]) == (True, ["4: 3 hosts", "3: 1 host"])


def test_the_same_rail_in_two_subnets():
    def at(host, prefix, device="mlx5_0"):
        return port(host, device, gid=f"{prefix}:0000:0000:0000:a088:c203:00ab:{host[-2:]}c0")

    ports = [at(host, "fec0" if host == "node-02" else "fe80") for host in HOSTS]
    assert [one[:2] for one in differences(*ports)] == [("node-02", "subnet")]
    rails = [at(host, p, d) for host in HOSTS for p, d in (("fe80", "mlx5_0"), ("fec0", "mlx5_1"))]
    assert differences(*rails) == []


def test_widths_of_ports_that_are_up():
    ports = [port(host, lanes=2 if host == "node-02" else 4) for host in HOSTS]
    assert [one[:3] for one in differences(*ports)] == [("node-02", "lanes", 2)]
    ports[1] = port("node-02", lanes=1, **DOWN)
    assert differences(*ports) == []


def test_many_hosts_are_compared_in_one_pass():
    hosts = [f"node-{number:05d}" for number in range(20_000)]
    ports = [port(host, rate_gbps=200.0 if host == hosts[7] else 400.0, lanes=4) for host in hosts]
    (slow,) = found("ib.port_slower", *ports)
    assert (slow.host, slow.fields["peers"]) == (hosts[7], 19_999)
