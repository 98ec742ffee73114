"""In what one host or rank differs from the others."""

import pytest

from diagnose import api
from diagnose.facts.differences import derive
from diagnose.model.event import Nature

from .build import event, fact

HOSTS = [f"node-{number:02}" for number in range(1, 9)]


def env(name, value, line=1, **more):
    return fact("env", value, line, event="nccl.env", fields={"name": name}, **more)


def on_hosts(make, *values):
    return [make(value, host=host) for host, value in zip(HOSTS, values, strict=False)]


def proto(value, **more):
    return env("NCCL_PROTO", value, **more)


def differences(*events):
    return [
        (one["subject"], one["level"], one.host, one.rank, one["value"], one["usual"])
        for one in derive(events)
    ]


def test_the_odd_host_is_named():
    (one,) = derive(on_hosts(proto, *["Simple"] * 6, "LL128", "Simple"))
    assert (one.host, one["value"], one["usual"]) == ("node-07", "LL128", "Simple")
    assert (one["agree"], one["of"], one["effect"], one["missing"]) == (7, 8, "fatal", False)


@pytest.mark.parametrize(
    "values",
    [("Ring", "Tree"), ("Ring", "Ring", "Tree"), ("Ring", "Ring", "Tree", "Tree")],
    ids=["two", "three", "no majority"],
)
def test_nobody_is_named_where_it_cannot_be_known(values):
    found = differences(*on_hosts(lambda value, **more: env("NCCL_ALGO", value, **more), *values))
    assert found == [("NCCL_ALGO", "host", None, None, "Ring or Tree", None)]


@pytest.mark.parametrize(
    "name", ["NCCL_HOSTID", "NCCL_SOCKET_IFNAME", "CUDA_VISIBLE_DEVICES", "NCCL_DEBUG_FILE"]
)
def test_what_differs_by_design_is_no_difference(name):
    values = [f"value-{number}" for number in range(8)]
    assert differences(*on_hosts(lambda one, **more: env(name, one, **more), *values)) == []


def test_attempts_are_compared_apart():
    first = on_hosts(proto, "LL", *["Simple"] * 7)
    second = on_hosts(proto, *["LL"] * 8)
    for one in second:
        one.attempt = 1
    assert [host for _, _, host, *_ in differences(*first, *second)] == ["node-01"]


def test_the_last_statement_of_a_process_counts():
    events = [proto("LL", rank=rank, host=HOSTS[rank]) for rank in range(4)]
    events.append(proto("Simple", line=2, rank=2, host=HOSTS[2]))
    events += [proto("Simple", line=3, rank=rank, host=HOSTS[rank]) for rank in (0, 1, 3)]
    assert differences(*events) == []


def test_a_rank_that_differs_within_its_host():
    events = [proto("Simple", rank=rank, host="node-01") for rank in range(8) if rank != 3]
    events.append(proto("LL", rank=3, host="node-01"))
    assert differences(*events) == [("NCCL_PROTO", "rank", "node-01", 3, "LL", "Simple")]


def test_an_adapter_for_each_rank_is_no_difference():
    events = [env("NCCL_IB_HCA", f"mlx5_{rank}", rank=rank, host="node-01") for rank in range(8)]
    assert differences(*events) == []


def complete(host):
    fields = {"phase": "complete"}
    return event("nccl.comm_init", Nature.PROGRESS, fields=fields, host=host)


def echoes(without, **more):
    """Eight hosts that echo two variables, one of them only one, all through their start."""
    for host in HOSTS:
        yield env("NCCL_IB_TIMEOUT", "22", host=host, file=host)
        if host != without:
            yield proto("Simple", host=host, file=host)
        yield complete(host)


def test_a_variable_that_one_host_does_not_echo():
    text = "node-03:812:812 [0] NCCL INFO NCCL_IB_TIMEOUT set by environment to 22."
    events = list(echoes("node-03"))
    for one in events:
        one.text = text
    (found,) = derive(events)
    assert (found.host, found["missing"], found["usual"]) == ("node-03", True, "Simple")
    stopped = [one for one in events if one.host != "node-03" or one.name != "nccl.comm_init"]
    assert list(derive(stopped)) == []


def test_a_host_on_another_network_does_not_use_the_variables_of_the_usual_one():
    nets = [
        fact("nccl.net", "Socket" if host == "node-03" else "IB", event="nccl.network", host=host)
        for host in HOSTS
    ]
    subjects = {found[0] for found in differences(*echoes("node-03"), *nets)}
    assert subjects == {"nccl.net"}


def test_a_list_that_lacks_a_member():
    lists = ["mlx5_0,mlx5_1"] * 8
    lists[4] = "mlx5_0"
    make = lambda value, **more: fact("nccl.hcas", value, event="nccl.ib.devices", **more)  # noqa: E731
    (one,) = derive(on_hosts(make, *lists))
    assert (one.host, one["fewer"]) == ("node-05", True)


def channel(transport, host, gdr=None):
    fields = {"transport": transport, "gdr": gdr}
    return event("nccl.channel", Nature.SETTING, fields=fields, host=host)


def test_a_host_counts_for_the_best_of_its_paths():
    events = [channel("NET/IB", host, gdr=True) for host in HOSTS if host != "node-02"]
    events += [channel("NET/IB", host, gdr=False) for host in HOSTS]
    events += [channel("P2P/CUMEM", host) for host in HOSTS]
    events += [channel("SHM", "node-03")]
    assert differences(*events) == [
        ("nccl.net_path", "host", "node-02", None, "without GPUDirect RDMA", "with GPUDirect RDMA")
    ]


def test_builds_of_a_package_are_compared_like_with_like():
    def package(variant):
        fields = {"variant": variant}
        return lambda value, **more: fact("nccl.version", value, fields=dict(fields), **more)

    events = on_hosts(package("cu12"), *["2.21.5"] * 8)
    events += on_hosts(package("cu11"), *["2.18.1"] * 2)
    assert differences(*events) == []


START = """\
{host}:812:812 [0] NCCL INFO cudaDriverVersion {driver}
{host}:812:812 [0] NCCL INFO Bootstrap : Using eth0:10.{net}.0.{number}<0>
{host}:812:812 [0] NCCL INFO NCCL version {nccl}+cuda12.4
{host}:812:812 [0] NCCL INFO NCCL_IB_TIMEOUT set by environment to 22.
{host}:812:812 [0] NCCL INFO NCCL_HOSTID set by environment to {host}
{host}:812:812 [0] NCCL INFO NET/IB : Using {hcas} [RO]; OOB eth0:10.{net}.0.{number}<0>
{host}:812:812 [0] NCCL INFO Using network {network}
{host}:812:812 [0] NCCL INFO NCCL_PROTO set by environment to {proto}
{host}:812:812 [0] NCCL INFO Channel 00/0 : {back}[0] -> {rank}[0] [receive] via {edge}
{host}:812:812 [0] NCCL INFO Channel 00/0 : {rank}[0] -> 9[1] via {local}
{host}:812:812 [0] NCCL INFO ncclCommInitRank comm 0x55d0 rank {rank} nranks 8 cudaDev 0 nvmlDev 0 busId 1b000 commId 0x9f1c - Init COMPLETE
"""  # noqa: E501

TRUNCATED = (
    "{host}:812:900 [0] transport/net_socket.cc:540 NCCL WARN NET/Socket : peer 10.20.0.9<39012> "
    "message truncated : receiving 1048576 bytes instead of 524288.\n"
)


def job(tmp_path, trouble="", **odd):
    """Run eight hosts, of which ``node-06`` has its own values."""
    usual = {
        "driver": 12080, "net": 20, "nccl": "2.21.5", "proto": "Simple", "network": "IB",
        "hcas": "[0]mlx5_0:1/IB [1]mlx5_1:1/IB", "edge": "NET/IB/0/GDRDMA", "local": "P2P/CUMEM",
    }  # fmt: skip
    for rank, host in enumerate(HOSTS):
        values = {**usual, **(odd if host == "node-06" else {})}
        text = START.format(host=host, number=rank + 1, rank=rank, back=(rank - 1) % 8, **values)
        (tmp_path / f"{host}.log").write_text(text + trouble.format(host=host))
    return api.run([tmp_path])


def roots(report):
    return [(one.id, list(one.culprit.hosts)) for one in report.findings if one.role == "root"]


def test_eight_hosts_alike_and_healthy(tmp_path):
    assert [one.id for one in job(tmp_path).findings] == []


def test_a_setting_of_one_host_and_trouble(tmp_path):
    report = job(tmp_path, TRUNCATED, proto="LL128")
    assert roots(report) == [("nccl-settings-differ", ["node-06"])]


def test_a_setting_of_one_host_without_trouble_is_only_noted(tmp_path):
    report = job(tmp_path, proto="LL128")
    assert [(one.id, one.role) for one in report.findings] == [("settings-differ-noted", "context")]


def test_another_nccl_on_one_host_and_trouble(tmp_path):
    report = job(tmp_path, TRUNCATED, nccl="2.18.1")
    assert roots(report) == [("nccl-versions-differ", ["node-06"])]


UNREACHED = (
    "{host}:812:840 [0] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to "
    "10.99.0.6<56821> failed : No route to host\n"
)

COUNTED = (
    "{host}:812:840 [0] init.cc:1122 (initTransportsRank) NCCL WARN Detected mixed local Net device "
    "counts across ranks (min 1, max 2). Set NCCL_IGNORE_NET_MISMATCH=1 to continue.\n"
)


@pytest.mark.parametrize(
    ("trouble", "odd", "rule"),
    [
        ("", {"network": "Socket", "edge": "NET/Socket/0"}, "host-on-sockets"),
        ("", {"edge": "NET/IB/0"}, "gdr-unavailable"),
        ("", {"local": "SHM/direct/direct"}, "p2p-lost-on-host"),
        (UNREACHED, {"net": 99}, "interface-differs-on-host"),
        (COUNTED, {"hcas": "[0]mlx5_0:1/IB"}, "adapter-missing-on-host"),
    ],
)
def test_the_odd_host_of_eight_is_the_culprit(tmp_path, trouble, odd, rule):
    found = roots(job(tmp_path, trouble, **odd))
    assert (rule, ["node-06"]) in found
    assert {host for _, hosts in found for host in hosts} == {"node-06"}


@pytest.mark.parametrize("odd", [{"net": 99}, {"hcas": "[0]mlx5_0:1/IB"}])
def test_another_network_or_adapter_without_trouble_is_only_noted(tmp_path, odd):
    report = job(tmp_path, **odd)
    assert [(one.id, one.role) for one in report.findings] == [("networks-differ-noted", "context")]


@pytest.mark.parametrize("odd", [{"driver": 12020}, {"nccl": "2.20.5"}])
def test_other_versions_without_trouble_are_only_noted(tmp_path, odd):
    report = job(tmp_path, **odd)
    assert [(one.id, one.role) for one in report.findings] == [("versions-differ-noted", "context")]
