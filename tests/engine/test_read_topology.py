from textwrap import dedent

import pytest

from diagnose.engine.positions import YamlText
from diagnose.engine.read_topology import parse_topology, read_topology
from diagnose.errors import RuleErrors


def read(text):
    return parse_topology(YamlText("t.yaml", dedent(text)))


def mistakes(text):
    with pytest.raises(RuleErrors) as caught:
        read(text)
    assert caught.value.exit_code == 2
    return str(caught.value)


WHOLE = """\
    rails: "[0-3]"
    classes:
      h100:
        gpu: H100
        gpus: 8
        nics:
          - {device: "mlx5_[0-3]", rail: "[0-3]", rate: 400, netdev: "ib[0-3]", gpu: "[0-1]"}
          - {device: mlx5_8, role: storage, link_layer: Ethernet, pci: "18:00.0"}
    hosts:
      - name: "node-[01-08]"
        rack: "r[1-4]"
        power: feed-1
        leaf: "su[1-2]-leaf-[1-4]"
        addresses: {eth0: 10.0.0.254, mlx5_0: "10.20.[0-1].[1-4]"}
        guids: {mlx5_1: "a088c20300ab12[10-17]"}
        aliases: ["pod-[0-7]", "gpu[1-8].cluster"]
    partitions: [{name: all, pkey: 0x8001, hosts: "node-[01-08]"}]
    routing: {reach: rail-only, gid_index: 3, mtu: 4096, subnets: {0: 10.20.0.0/16}}
"""


def test_one_entry_gives_each_host_its_own():
    topology = read(WHOLE)
    host = topology.hosts["node-05"]
    assert (host.rack, host.power, host.location) == ("r3", "feed-1", None)
    assert host.addresses == {"eth0": "10.0.1.2", "mlx5_0": "10.20.1.1"}
    assert host.leaves == {str(n): f"su2-leaf-{n + 1}" for n in range(4)}
    nic = host.kind.nic("ib3")
    assert (nic.device, nic.rail, nic.rate, nic.gpu) == ("mlx5_3", "3", 400, 1)
    assert host.leaf(nic) == "su2-leaf-4"
    storage = host.kind.nic("0000:18:00.0")
    assert (storage.role, storage.link_layer, host.leaf(storage)) == ("storage", "Ethernet", None)
    assert topology.partitions[0].pkey == 1


@pytest.mark.parametrize(
    "text",
    [
        "node-05", "pod-4", "gpu5.cluster", "gpu5", "10.0.1.2", "::ffff:10.20.1.1",
        "0xa088c20300ab1214", "fe80::a088:c203:ab:1214", "fe80:0000:0000:0000:a088:c203:00ab:1214",
        "fec0:0000:0000:0001:a088:c203:00ab:1214",
    ],
)  # fmt: skip
def test_a_host_is_found_by_all_its_names_and_addresses(text):
    assert read(WHOLE).owner(text) == "node-05"


def test_what_nobody_has_is_nobody():
    topology = read(WHOLE)
    assert [topology.owner(text) for text in ("10.9.9.9", "node-77", "fe80::1", "")] == [None] * 4


def test_a_gid_names_the_port():
    assert read(WHOLE).port("::ffff:10.20.1.1") == ("node-05", "mlx5_0")


@pytest.mark.parametrize(
    ("leaf", "found"),
    [
        ("tor-1", {"0": "tor-1", "1": "tor-1"}),
        ('"leaf-[1-2]"', {"0": "leaf-1", "1": "leaf-2"}),
        ('["a", "b"]', {"0": "a", "1": "b"}),
        ('{1: "x[1-2]"}', {"1": "x1"}),
    ],
)
def test_switches_are_one_for_all_rails_or_one_a_rail(leaf, found):
    text = f'rails: "[0-1]"\nhosts: [{{name: "n[1-2]", leaf: {leaf}}}]\n'
    assert read(text).hosts["n1"].leaves == found


def test_without_rails_a_switch_is_that_of_all_adapters():
    text = 'classes: {a: {nics: [{device: "mlx5_[0-1]"}]}}\nhosts: [{name: "n[1-4]", leaf: "t[1-2]"}]\n'
    host = read(text).hosts["n3"]
    assert [host.leaf(nic) for nic in host.kind.nics] == ["t2", "t2"]


def test_hosts_are_called_by_their_short_names():
    topology = read("hosts: [{name: node-07.cluster.example}]\n")
    assert list(topology.hosts) == ["node-07"]
    assert topology.owner("node-07.cluster.example") == "node-07"


def test_a_single_class_is_that_of_all_hosts():
    assert read("classes: {a: {gpus: 4}}\nhosts: [{name: n1}]\n").hosts["n1"].kind.gpus == 4


@pytest.mark.parametrize(
    ("entry", "place", "said"),
    [
        ("{nmae: n1}", "4:5", "did you mean 'name'?"),
        ("{name: n1, class: h10}", "4:23", "did you mean 'h100'?"),
        ("{name: 'n[1-2'}", "4:12", "brackets of 'n[1-2' do not match"),
        ("{name: 'n[2-1]'}", "4:12", "runs backwards"),
        ("{name: [n1, n1]}", "4:12", "n1 stands here twice"),
        ("{name: 'n[1-3]', rack: 'r[1-2]'}", "4:28", "2 values for 3; expected one, 3, or"),
        ("{name: n1, leaf: 'l[1-3]'}", "4:22", "3 switches for 2 rails of 1 hosts"),
        ("{name: n1, leaf: {7: l1}}", "4:22", "unknown rail '7'; known: 0, 1"),
        ("{name: n1, addresses: {eth0: 10.0.0}}", "4:34", "expected an IP address, such as"),
        ("{name: 'n[1-2]', addresses: {e: '10.0.0.[1-3]'}}", "4:37", "one value for each of 2 hosts, found 3"),
        ("{name: [n1, n2], addresses: {e: [10.0.0.1, 10.0.0.1]}}", "4:37", "has one owner"),
        ("{name: n1, addresses: {mlx5_1: 10.20.0.1}}", "4:36", "not in 10.21.0.0/16"),
        ("{name: n1, guids: {mlx5_1: '12'}}", "4:32", "expected 16 hexadecimal digits"),
        ("{name: n1, guids: {mlx5_9: 'a088c20300ab1214'}}", "4:24", "unknown adapter 'mlx5_9'"),
        ("{name: 'n[1-2]', aliases: a}", "4:31", "one value for each of 2 hosts, found 1"),
        ("{name: 'n[1-2]', aliases: [[a, a]]}", "4:32", "'a' names n2; it is a name of another"),
        ("7", "4:5", "expected a map with name"),
        ("{name: 'n1,n2'}", "4:12", "'n1,n2' is no name; several are a list"),
        ("{name: n1, aliases: [p 1]}", "4:26", "'p 1' is no name"),
        ("{name: n1, addresses: {eth0: }}", "4:34", "expected an IP address, such as 10.0.0.7, found nothing"),
        ("{name: 'n[1-2]', guids: {mlx5_1: a088c20300ab1214}}", "4:38", "each of 2 hosts, found 1"),
        ("{name: 'n[1-2]', guids: {mlx5_1: [a088c20300ab1214, x]}}", "4:38", "'x' is no GUID"),
    ],
)  # fmt: skip
def test_a_wrong_host_is_shown_with_its_place(entry, place, said):
    text = (
        "rails: [0, 1]\n"
        "classes: {h100: {nics: [{device: 'mlx5_[0-1]', rail: '[0-1]'}]}}\n"
        f"hosts:\n  - {entry}\n"
        "routing: {subnets: {1: 10.21.0.0/16}}\n"
    )
    found = mistakes(text)
    assert found.startswith(f"t.yaml:{place}: ")
    assert said in found


@pytest.mark.parametrize(
    ("nic", "place", "said"),
    [
        ("{devise: a}", "2:22", "did you mean 'device'?"),
        ("{rail: 0}", "2:22", "'device' is missing"),
        ("{device: a, rail: 7}", "2:40", "unknown rail '7'; known: 0"),
        ("{device: a, role: spare}", "2:40", "known: compute, management, storage"),
        ("{device: a, rate: fast}", "2:40", "expected a number"),
        ("{device: a, rate: 0}", "2:40", "expected the rate in Gb/s"),
        ("{device: a, link_layer: IB}", "2:46", "known: Ethernet, InfiniBand"),
        ("{device: a, pci: '18'}", "2:39", "'18' is no PCI address"),
        ("{device: a, pci: slot-1}", "2:39", "'slot-1' is no PCI address"),
        ("{device: a, gpu: x}", "2:39", "expected a number such as 0"),
        ("{device: 'a,b'}", "2:31", "'a,b' is no name"),
        ("{device: [a, b], gpu: [x, x]}", "2:44", "expected a number such as 0"),
        ("{device: [a, a]}", "2:21", "two adapters have the device 'a'"),
    ],
)  # fmt: skip
def test_a_wrong_adapter_is_shown_with_its_place(nic, place, said):
    found = mistakes(f"rails: 0\nclasses: {{h: {{nics: [{nic}]}}}}\nhosts: [{{name: n1}}]\n")
    assert found.startswith(f"t.yaml:{place}: ")
    assert said in found


HOSTS = 'hosts: [{name: "n[1-4]"}]\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "t.yaml:1:1: is empty"),
        ("[1, 2]\n", "t.yaml:1:1: expected a map with rails"),
        ("hosts: []\n", "'hosts' is empty"),
        ("rails: 1\n", "'hosts' is missing"),
        ("host: []\n", "did you mean 'hosts'?"),
        ("rails: [0, 0]\n" + HOSTS, "t.yaml:1:8: a rail stands here twice"),
        (HOSTS + HOSTS, "the key 'hosts' stands here a second time"),
        ("classes: {a: {}, b: {}}\n" + HOSTS, "'class' is missing; the file has several: a, b"),
        ('hosts:\n  - {name: "n[1-4]"}\n  - {name: "n[3-5]"}\n', "3:12: n3 and 1 more stands in line 2"),
        ('hosts:\n  - {name: n1, addresses: {e: 10.0.0.1}}\n  - {name: n2, addresses: {e: 10.0.0.1}}\n',
         "t.yaml:3:31: 10.0.0.1 of n2 belongs to n1 as well"),
        ("hosts:\n  - {name: n1, aliases: n2}\n  - {name: n2}\n", "3:12: 'n2' is another name of n1"),
        ("hosts: [{name: 'n[1-9]', addresses: {e: 255.255.255.250}}]\n", "cannot count up over 9 hosts"),
        (HOSTS + "partitions: [{name: a, pkey: 1, hosts: n9}]\n", "unknown host 'n9'; known: n1, n2"),
        (HOSTS + "partitions: [{name: a, pkey: 0x10000, hosts: n1}]\n", "expected a key from 0x0001 to 0xffff"),
        (HOSTS + "partitions: [{name: a, pkey: 0x8000, hosts: n1}]\n", "other than 0x8000, found 0x8000"),
        (HOSTS + "partitions: [{name: a, pkey: '0x8001', hosts: n1}]\n", "take off the quotes"),
        (HOSTS + "partitions: [{name: '', pkey: 1, hosts: n1}]\n", "expected text, found ''"),
        ("classes: {a: {gpus: 8x}}\n" + HOSTS, "expected a number, such as 8, found '8x'"),
        (HOSTS + "partitions: [{name: a, hosts: n1}]\n", "'pkey' is missing"),
        (HOSTS + "routing: {mtu: 1500}\n", "expected one of 256, 512, 1024, 2048, 4096, found 1500"),
        (HOSTS + "routing: {reach: some}\n", "known: full, rail-only"),
        (HOSTS + "routing: {traffic_class: 300}\n", "expected a number up to 255"),
        (HOSTS + "rails: 0\nrouting: {subnets: {0: 10.0.0.9/16}}\n", "expected a network such as"),
        (HOSTS + "routing: {subnets: {0: 10.0.0.0/16}}\n", "unknown rail '0'"),
        ("hosts: [\n", "not valid YAML"),
        ("hosts: [{name: 'n[0-999999999]'}]\n", "stands for more than"),
    ],
)  # fmt: skip
def test_a_wrong_file_says_what_is_wrong(text, said):
    assert said in mistakes(text)


def test_a_mistake_is_said_once_and_nothing_that_follows_from_it():
    nics = "classes: {a: {nics: [{device: [a, b], pci: zz}]}}\n"
    found = mistakes(
        nics + "hosts: [{name: 'n[2-1]'}]\npartitions: [{name: a, pkey: 1, hosts: n1}]\n"
    )
    assert [line.split(": ")[1] for line in found.splitlines()] == [
        "'zz' is no PCI address; expected '0000:5d:00.0'",
        "the range 2-1 of 'n[2-1]' runs backwards",
    ]


def test_all_mistakes_are_shown_in_the_order_of_the_file():
    found = mistakes("hosts:\n  - {nmae: a}\n  - {name: n1, rack: 'r[1'}\n  - {name: n1}\n")
    places = [line.split(" ")[0] for line in found.splitlines()]
    assert places == ["t.yaml:2:5:", "t.yaml:2:6:", "t.yaml:3:22:", "t.yaml:4:12:"]


def test_a_file_that_is_not_there_is_a_mistake(tmp_path):
    with pytest.raises(RuleErrors, match="cannot be read"):
        read_topology(tmp_path / "t.yaml")


def test_ten_thousand_hosts_take_one_entry():
    text = (
        'rails: "[0-7]"\n'
        'classes: {a: {nics: [{device: "mlx5_[0-7]", rail: "[0-7]"}]}}\n'
        'hosts: [{name: "node-[00001-09984]", leaf: "su[001-312]-leaf-[1-8]",'
        " addresses: {eth0: 10.0.0.1}}]\n"
    )
    topology = read(text)
    last = topology.hosts["node-09984"]
    assert (last.leaves["7"], last.addresses["eth0"]) == ("su312-leaf-8", "10.0.39.0")
