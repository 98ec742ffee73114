"""Runs held against an inventory: names, differences, and what failures have in common."""

import pytest

from diagnose.engine.positions import YamlText
from diagnose.engine.read_topology import parse_topology
from diagnose.facts.case import build
from diagnose.facts.topology.draft import draft
from diagnose.facts.topology.judge import hold_against
from diagnose.model.event import Nature
from diagnose.render.topology_file import render

from .build import event, named, reading

INVENTORY = """\
rails: "[0-3]"
classes:
  h100:
    gpu: H100
    gpus: 8
    nics:
      - {device: "mlx5_[0-3]", rail: "[0-3]", rate: 400, link_layer: InfiniBand, gpu: "[0-3]",
         netdev: "ib[0-3]", pci: ["18:00.0", "29:00.0", "3a:00.0", "4b:00.0"]}
      - {device: mlx5_8, role: storage, rate: 200}
hosts:
  - name: "node-[01-16]"
    rack: "r[1-8]"
    leaf: "su[1-4]-leaf-[1-4]"
    addresses: {eth0: 10.0.0.1, mlx5_2: 10.22.0.1}
    guids: {mlx5_1: "a088c20300ab12[01-16]"}
    aliases: ["pod-[1-16]"]
"""


def inventory(text=INVENTORY):
    return parse_topology(YamlText("t.yaml", text))


def held(*records, text=INVENTORY):
    topology = inventory(text)
    case = build(reading(*records), topology)
    hold_against(topology, case)
    return case


def differences(case, what):
    return [
        (one.host, one.fields["devices"], one.fields["expected"], one.fields["found"])
        for one in case.named("topology.differs")
        if one.fields["what"] == what
    ]


def vote(case, part, kind="ports"):
    found = [one for one in named(case, "topology.vote") if one["part"] == part]
    [one] = [one for one in found if one["kind"] == kind] or [None]
    return one


def node(number):
    return f"node-{number:02d}"


def port(number, device, line=1, **fields):
    defaults = {"device": device, "state": "ACTIVE", "rate_gbps": 400.0, "tool": "ibstat"}
    return event(
        "ib.port", Nature.MEASUREMENT, file=f"{number}.txt", line=line, host=node(number),
        nic=device, fields=defaults | fields,
    )  # fmt: skip


def used(number, devices=range(4), layer="IB", line=1):
    names = [f"mlx5_{device}" for device in devices]
    fields = {"hcas": names, "devices": [f"{name}:1/{layer}" for name in names], "net": "IB"}
    return event(
        "nccl.ib.devices", Nature.SETTING, file=f"{number}.log", line=line, host=node(number),
        fields=fields,
    )  # fmt: skip


def port_error(number, device):
    return event(
        "nccl.ib.async_event", file=f"{number}.log", line=9, host=node(number),
        nic=f"mlx5_{device}", fields={"event": "port error"},
    )  # fmt: skip


def retry(number, device, **fields):
    fields = {"status": 12, "level": "WARN", **fields}
    return event(
        "nccl.ib.completion_error", file=f"{number}.log", line=8, host=node(number),
        nic=f"mlx5_{device}", fields=fields,
    )  # fmt: skip


# ------------------------------------------------------------------ names


def test_hosts_get_the_names_of_the_inventory():
    case = held(event(host="pod-7"), event(host="10.0.0.9", line=2), event(host="other", line=3))
    assert [one.host for one in case.named("c10d.watchdog_timeout")] == [
        "node-07", "node-09", "other",
    ]  # fmt: skip


def test_an_address_belongs_to_the_host_that_the_logs_show_with_it():
    boot = event(
        "nccl.bootstrap_interface", Nature.SETTING, host="node-03",
        fields={"interface": "eth0", "address": "10.0.0.9"},
    )  # fmt: skip
    case = held(boot)
    assert case.job.host_of_address("10.0.0.9") == "node-03"
    assert case.job.host_of_address("10.0.0.10") == "node-10"


def test_a_peer_by_another_name_is_the_host():
    assert held().job.host_of_address("pod-9") == "node-09"
    case = held(retry(1, 2, peer="pod-2"), retry(3, 2, peer="node-04.cluster"))
    assert len(named(case, "topology.failing")) == 2


def test_peers_by_their_addresses_are_hosts_in_the_vote_of_connections():
    case = held(*(retry(number, 0, peer="10.0.0.9") for number in (1, 2, 3)))
    [found] = named(case, "nccl.endpoint_vote")
    assert found["suspect"] == "node-09"


# ------------------------------------------------------------------ differences


def test_all_as_listed_is_no_difference():
    case = held(used(1), *(port(2, f"mlx5_{n}", n) for n in range(4)), port(2, "mlx5_8", 9))
    assert named(case, "topology.differs") == []


@pytest.mark.parametrize(
    ("found", "fields"),
    [
        ([], {"rate_gbps": 400.0}),
        ([], {"rate_gbps": 800.0}),
        ([("node-02", ["mlx5_3"], 400, 200.0)], {"rate_gbps": 200.0}),
        ([], {"rate_gbps": 10.0, "state": "DOWN"}),
        ([], {"rate_gbps": 10.0, "tool": "ibstatus", "speed": None}),
        ([("node-02", ["mlx5_3"], 400, 10.0)], {"rate_gbps": 10.0, "tool": "ibstatus", "speed": "SDR"}),
    ],
)  # fmt: skip
def test_a_rate_below_the_listed_one_differs_on_active_ports(found, fields):
    assert differences(held(port(2, "mlx5_3", **fields)), "rate") == found


def test_an_adapter_is_known_by_interface_and_by_slot():
    lldp = event("net.neighbour", Nature.MEASUREMENT, host="node-01",
                 fields={"interface": "ib2", "switch": "su9-leaf-9"})  # fmt: skip
    assert differences(held(lldp), "leaf") == [("node-01", ["mlx5_2"], "su1-leaf-3", "su9-leaf-9")]
    down = event("kernel.nic", host="node-01", fields={"state": "down", "pci": "0000:4b:00.0"})
    assert named(held(down), "topology.failing")[0]["leaf"] == "su1-leaf-4"


def test_a_port_that_names_its_listed_switch_does_not_differ():
    link = event("ib.link", Nature.MEASUREMENT, host="node-01", nic="mlx5_0",
                 fields={"switch": "su1-leaf-1"})  # fmt: skip
    assert differences(held(link), "leaf") == []


def test_what_differs_says_on_how_many_hosts():
    slow = [
        port(number, "mlx5_0", rate_gbps=200.0 if number < 3 else 400.0) for number in range(1, 9)
    ]
    found = named(held(*slow), "topology.differs")
    assert [(one["differ"], one["seen"], one["share"]) for one in found] == [(2, 8, 0.25)] * 2
    assert (found[0]["rails"], found[0]["gpus"], found[0]["leaf"]) == (["0"], [0], "su1-leaf-1")


def test_adapters_that_the_lists_of_all_ranks_lack_are_missing():
    assert differences(held(used(1, (0, 1)), used(1, (1, 3), line=2)), "device") == [
        ("node-01", ["mlx5_2"], "mlx5_2", None)
    ]


def test_no_adapter_is_missing_where_a_variable_leaves_it_out():
    chosen = event(
        "nccl.env",
        Nature.SETTING,
        host="node-01",
        fields={"name": "NCCL_IB_HCA", "value": "mlx5_0,mlx5_1"},
    )
    assert differences(held(used(1, (0, 1)), chosen), "device") == []


def test_a_question_about_some_ports_is_no_list():
    some = [port(1, f"mlx5_{device}", device + 1) for device in range(4)]
    assert [differences(held(*some[:count]), "device") for count in (1, 2, 4)] == [[], [], []]
    assert differences(held(*some[:3]), "device") == [("node-01", ["mlx5_3"], "mlx5_3", None)]


def test_an_adapter_for_storage_in_use_differs():
    assert differences(held(used(1, (0, 1, 2, 3, 8))), "role") == [
        ("node-01", ["mlx5_8"], "compute", "storage")
    ]


@pytest.mark.parametrize(
    ("keys", "differs"), [(["0xffff"], True), (["0x7fff", "0x0001"], False), ([], False)]
)
def test_partition_keys_are_compared_without_the_bit_of_membership(keys, differs):
    text = INVENTORY + "partitions: [{name: a, pkey: 0x8001, hosts: node-01}]\n"
    table = event(
        "ib.pkeys", Nature.MEASUREMENT, host="node-01", nic="mlx5_0", fields={"keys": keys}
    )
    assert bool(differences(held(table, text=text), "pkey")) is differs


def test_hosts_that_are_not_listed_are_named():
    case = held(used(1), used(77), event("slurm.node_state", host="login-1"))
    [found] = named(case, "topology.host_unlisted")
    assert (found["hosts"], found["seen"]) == (["node-77"], 2)


PARTITIONS = INVENTORY + (
    'partitions: [{name: a, pkey: 1, hosts: "node-[01-04]"}, {name: b, pkey: 2, hosts: node-05}]\n'
)


def test_hosts_of_another_partition_are_apart():
    [found] = named(held(used(1), used(2), used(5), text=PARTITIONS), "topology.partitions_apart")
    assert (found["hosts"], found["partition"], found["others"]) == (["node-05"], "b", "a")
    assert named(held(used(1), used(2), text=PARTITIONS), "topology.partitions_apart") == []
    assert named(held(used(7), used(8), text=PARTITIONS), "topology.partitions_apart") == []


# ------------------------------------------------------------------ votes

EIGHT = [used(number) for number in range(1, 9)]


def test_ports_of_one_leaf_share_it_and_the_healthy_ones_do_not():
    found = vote(held(*EIGHT, *(port_error(number, 2) for number in (1, 2, 3, 4))), "leaf")
    assert (found["name"], found["rail"], found["share"], found["ill_share"]) == (
        "su1-leaf-3", "2", 1.0, 1.0,
    )  # fmt: skip
    assert (found["well_in"], found["well"], found["host_share"]) == (0, 28, 0.25)
    assert (found["hosts"], found["devices"]) == ([node(n) for n in (1, 2, 3, 4)], ["mlx5_2"])


def test_a_connection_touches_the_leaf_switches_of_both_ends():
    case = held(*EIGHT, *(retry(n, 2, peer=f"10.0.0.{n % 8 + 1}") for n in (8, 1, 2, 3, 4)))
    found = vote(case, "leaf")
    assert (found["name"], found["failing"], found["next_share"]) == ("su1-leaf-3", 5, 0.4)
    assert found["hosts"] == [node(n) for n in (1, 2, 3, 4)]


def test_a_connection_counts_once_whichever_end_reports_it():
    case = held(retry(1, 2, peer="10.0.0.2"), retry(2, 2, peer="10.0.0.1"))
    assert vote(case, "rail")["of"] == 1


def test_the_far_end_is_the_port_that_has_the_gid():
    case = held(
        retry(1, 0, remote_gid="::ffff:10.22.0.9"),
        retry(2, 0, remote_gid="fe80::a088:c203:ab:1210"),
    )
    assert vote(case, "rail")["name"] == "0"
    assert vote(case, "rail")["share"] == 1
    ends = [one["ends"] for one in named(case, "topology.failing")]
    assert ends == [2, 2]


def test_leaf_switches_in_equally_many_failures_give_no_vote():
    case = held(*EIGHT, port_error(1, 0), port_error(5, 1), port_error(8, 3))
    assert vote(case, "leaf") is None


@pytest.mark.parametrize(
    "record",
    [
        port(1, "mlx5_8", state="DOWN"),
        port(1, "mlx5_9", state="DOWN"),
        port(77, "mlx5_0", state="DOWN"),
        retry(1, 2, status=5, peer="10.0.0.2"),
        retry(1, 2, level="INFO", peer="10.0.0.2"),
        retry(1, 2, peer="10.0.0.1"),
        retry(1, 2, peer="192.168.0.1"),
        event("kernel.nic", Nature.UNRELATED, host="node-01", nic="mlx5_0", fields={"state": "down"}),
    ],
)  # fmt: skip
def test_what_says_nothing_of_a_compute_port_does_not_fail(record):
    assert named(held(record), "topology.failing") == []


def test_ports_that_come_back_in_a_second_attempt_are_counted_apart():
    first = port_error(1, 0)
    second = port_error(2, 0)
    second.attempt = 1
    found = [one for one in named(held(first, second), "topology.vote") if one["part"] == "rail"]
    assert [one["of"] for one in found] == [1, 1]


def test_slow_ports_are_a_vote_of_their_own():
    ports = [port(n, "mlx5_1", rate_gbps=200.0 if n < 5 else 400.0) for n in range(1, 9)]
    found = vote(held(*ports), "leaf", "slow")
    assert (found["name"], found["failing"], found["well"]) == ("su1-leaf-2", 4, 4)


def test_lost_hosts_share_a_rack():
    lost = event("slurm.node_failure", host="node-[03-04]", file="slurm.out")
    found = vote(held(*EIGHT, lost), "rack", "hosts")
    assert (found["name"], found["failing"], found["hosts"]) == ("r2", 2, ["node-03", "node-04"])


# ------------------------------------------------------------------ drafts


def drafted(*records):
    return parse_topology(YamlText("t.yaml", render(draft(build(reading(*records)), "t.yaml"),
                                                    source="logs", version="0")))  # fmt: skip


def test_a_draft_knows_what_the_logs_show():
    smi = event("nvidia_smi.gpu", Nature.MEASUREMENT, host="node-01", file="s.txt",
                fields={"name": "NVIDIA H100 80GB HBM3", "listed": 8})  # fmt: skip
    boots = [
        event("nccl.bootstrap_interface", Nature.SETTING, host=node(n), file=f"{n}.log",
              fields={"interface": "eth0", "address": f"10.0.0.{n}"})
        for n in (1, 2)
    ]  # fmt: skip
    gid = "fe80:0000:0000:0000:a088:c203:00ab:1210"
    link = event("ib.link", Nature.MEASUREMENT, host="node-01", nic="mlx5_0", file="l.txt",
                 fields={"switch": "leaf-1"})  # fmt: skip
    topology = drafted(
        smi, *boots, link, used(1, range(2)), used(2, range(2)),
        port(1, "mlx5_0", link_layer="InfiniBand", gid=gid, active_mtu=4096),
        port(1, "mlx5_8", 2, rate_gbps=200.0),
    )  # fmt: skip
    assert topology.rails == ("0", "1")
    one = topology.hosts["node-01"]
    assert (one.kind.gpu, one.kind.gpus) == ("NVIDIA H100 80GB HBM3", 8)
    assert (one.leaves, one.addresses) == ({"0": "leaf-1"}, {"eth0": "10.0.0.1"})
    assert topology.owner(gid) == "node-01"
    nics = {nic.device: (nic.rail, nic.role, nic.rate) for nic in one.kind.nics}
    assert nics == {
        "mlx5_0": ("0", "compute", 400), "mlx5_1": ("1", "compute", None),
        "mlx5_8": (None, "storage", 200),
    }  # fmt: skip
    assert topology.routing.mtu == 4096
    assert topology.owner("10.0.0.2") == "node-02"


def test_what_logs_show_of_one_host_completes_those_with_the_same_adapters():
    topology = drafted(used(1), used(2), *(port(1, f"mlx5_{n}", n + 2) for n in range(4)))
    assert topology.hosts["node-01"].kind == topology.hosts["node-02"].kind
    assert topology.hosts["node-02"].kind.nics[0].rate == 400


def test_addresses_of_version_6_are_addresses():
    boots = [
        event("nccl.bootstrap_interface", Nature.SETTING, host=node(n), file=f"{n}.log",
              fields={"interface": "eth0", "address": said})
        for n, said in ((1, "fd00::7<4123>"), (2, "fe80::a00:1"))
    ]  # fmt: skip
    topology = drafted(*boots)
    assert topology.hosts["node-01"].addresses == {"eth0": "fd00::7"}
    assert topology.hosts["node-02"].addresses == {}


def test_a_draft_leaves_out_what_contradicts_itself():
    boots = [
        event("nccl.bootstrap_interface", Nature.SETTING, host=node(n), file=f"{n}.log",
              fields={"interface": "eth0", "address": "10.0.0.1"})
        for n in (1, 2)
    ]  # fmt: skip
    topology = drafted(*boots)
    assert list(topology.hosts) == ["node-01", "node-02"]
    assert topology.ports == {}


def test_addresses_are_no_hosts_of_a_draft():
    assert draft(build(reading(event(host="10.0.0.7"))), "t.yaml").hosts == {}
