"""Addresses, MTU, slots, cables and interfaces of hosts, laid side by side."""

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Nature

from .build import event, reading

MEASUREMENT = Nature.MEASUREMENT


def derived(name, *records):
    return [one for one in build(reading(*records)).events if one.name == name]


def reading_of(name, host, line=1, nic=None, **fields):
    return event(name, MEASUREMENT, f"{host}.txt", line, host=host, nic=nic, fields=fields)


def table(host, *entries, device="mlx5_0", whole=True):
    """Entries are index, version and kind."""
    return [
        reading_of("ib.gid", host, 10 + index, device, device=device, port=1, index=index, gid="x",
                   version=version, kind=kind, netdev="eth2", whole=whole)
        for index, version, kind in entries
    ]  # fmt: skip


NORMAL = ((0, "v1", "link-local"), (1, "v2", "link-local"), (2, "v1", "ipv4"), (3, "v2", "ipv4"))
SHIFTED = (*NORMAL[:2], (4, "v1", "ipv4"), (5, "v2", "ipv4"))


def fixed(index, host=None):
    fields = {"name": "NCCL_IB_GID_INDEX", "value": str(index)}
    return event("nccl.env", Nature.SETTING, "env.txt", host=host, fields=fields, fact="env")


def uses(host, *devices):
    fields = {"hcas": [*devices], "value": ",".join(devices)}
    return event("nccl.ib.devices", Nature.SETTING, f"{host}.log", host=host, fields=fields)


def tables(*records):
    found = derived("ib.gid_table", *records)
    return {(one.host, one.fields["device"]): one.fields for one in found}


def test_an_index_that_is_routed_on_one_host_and_absent_on_another():
    found = tables(*table("node-07", *NORMAL), *table("node-09", *SHIFTED), fixed(3))
    good, bad = found["node-07", "mlx5_0"], found["node-09", "mlx5_0"]
    assert (good["at_fixed"], bad["at_fixed"], bad["index"]) == ("routed", "absent", 5)
    assert (good["routed_elsewhere"], bad["routed_elsewhere"]) == (0, 1)
    assert good["tables"] == ["3: node-07", "5: node-09"]
    assert good["common"] is None and bad["differs"] and bad["usual"] == 3


@pytest.mark.parametrize(
    ("index", "kind"), [(0, "link-local"), (1, "link-local"), (2, "v1"), (3, "routed"), (-1, None)]
)
def test_what_a_fixed_index_holds(index, kind):
    assert tables(*table("node-07", *NORMAL), fixed(index))["node-07", "mlx5_0"]["at_fixed"] == kind


def test_each_host_has_its_own_variable():
    records = [*table("node-07", *NORMAL), *table("node-09", *NORMAL)]
    found = tables(*records, fixed(3, "node-07"), fixed(1, "node-09"))
    assert [one["at_fixed"] for one in found.values()] == ["routed", "link-local"]
    # a host that states nothing may have either
    records += table("node-11", *NORMAL)
    found = tables(*records, fixed(3, "node-07"), fixed(1, "node-09"))
    assert found["node-11", "mlx5_0"]["at_fixed"] is None


def test_an_address_of_one_segment_or_none_is_not_routed():
    found = tables(*table("node-07", (2, "v2", None), (3, "v2", "link-local"), (5, "v2", "ipv4")), fixed(2))  # fmt: skip
    assert (found["node-07", "mlx5_0"]["index"], found["node-07", "mlx5_0"]["at_fixed"]) == (5, "absent")  # fmt: skip


def test_an_address_and_a_later_listing_without_addresses():
    records = LOOPBACK, interface("node-07"), interface("node-07", addresses=())
    assert sockets(*records, names_interface("eth2")) == [("eth2", None)]


def test_an_index_behind_a_cut_is_unknown():
    found = tables(*table("node-07", *NORMAL[:2], whole=False), fixed(3))
    assert found["node-07", "mlx5_0"]["at_fixed"] is None
    found = tables(*table("node-07", *NORMAL[:2]), fixed(3))
    assert found["node-07", "mlx5_0"]["at_fixed"] == "absent"


def test_devices_that_the_job_does_not_use():
    records = [*table("node-07", *NORMAL), *table("node-07", *NORMAL[:2], device="mlx5_4")]
    found = tables(*records, uses("node-07", "mlx5_0"))
    assert [one["used"] for one in found.values()] == [True, False]
    assert found["node-07", "mlx5_0"]["common"] == 3
    assert tables(*records)["node-07", "mlx5_4"]["used"] is None


def test_what_tells_that_a_device_is_not_used_without_a_list():
    records = [*table("node-07", *NORMAL), *table("node-07", *NORMAL, device="mlx5_4")]
    only = event("nccl.env", Nature.SETTING, "env.txt", fact="env",
                 fields={"name": "NCCL_IB_HCA", "value": "mlx5_4:1"})  # fmt: skip
    assert [one["unused"] for one in tables(*records, only).values()] == [True, False]
    storage = [*records, port("node-07", device="mlx5_0", layer="InfiniBand")]
    assert [one["unused"] for one in tables(*storage).values()] == [True]
    by_interface = [*records, pair("node-07", "mlx5_4", "ib0"), interface("node-07", "ib0", link="infiniband")]  # fmt: skip
    assert [one["unused"] for one in tables(*by_interface).values()] == [True]


def test_a_global_ipv6_address_counts_behind_ipv4():
    found = tables(*table("node-07", (0, "v2", "ipv6"), (3, "v2", "ipv4")))
    assert found["node-07", "mlx5_0"]["index"] == 3
    found = tables(*table("node-07", (0, "v2", "ipv6"), (2, "v1", "ipv4")))
    assert found["node-07", "mlx5_0"]["index"] == 0


def test_infiniband_has_no_table():
    assert not tables(*table("node-07", (0, None, "link-local")), fixed(3))
    by_kernel = [*table("node-07", (0, "v1", "link-local")), port("node-07", layer="InfiniBand")]
    assert not tables(*by_kernel, fixed(3))


def interface(host, name="eth2", mtu=9000, carrier=True, addresses=("10.0.0.7/24",), **more):
    fields = {"interface": name, "mtu": mtu, "carrier": carrier, "up": True, "link": "ether",
              "addresses": [*addresses], **more}  # fmt: skip
    return reading_of("net.interface", host, **fields)


def port(host, active=4096, device="mlx5_0", layer="Ethernet", **more):
    return reading_of("ib.port", host, nic=device, device=device, port=1, state="ACTIVE",
                      link_layer=layer, active_mtu=active, max_mtu=4096, **more)  # fmt: skip


def pair(host, device="mlx5_0", netdev="eth2", **more):
    return reading_of("ib.netdev", host, nic=device, device=device, netdev=netdev, **more)


def test_mtu_of_a_device_and_of_its_interface():
    (found,) = derived("ib.mtu", port("node-07", 1024), interface("node-07", mtu=1500), pair("node-07"))  # fmt: skip
    wanted = {"device": "mlx5_0", "interface": "eth2", "interface_mtu": 1500, "active_mtu": 1024,
              "max_mtu": 4096, "used": None}  # fmt: skip
    assert {name: found.fields[name] for name in wanted} == wanted
    (found,) = derived("ib.mtu", port("node-07", layer="InfiniBand"), interface("node-07", mtu=2044), pair("node-07"))  # fmt: skip
    assert found.fields["interface_mtu"] is None


def test_mtu_of_two_hosts_names_nobody_and_of_four_the_odd_one():
    (found,) = derived("net.mtu_differs", port("node-07"), port("node-09", 1024))
    assert (found.host, found.fields["values"]) == (None, ["1024: node-09", "4096: node-07"])
    hosts = [port(f"node-0{n}", 1024 if n == 3 else 4096) for n in range(1, 6)]
    (found,) = derived("net.mtu_differs", *hosts)
    assert (found.host, found.fields["usual"], found.fields["value"]) == ("node-03", "4096", 1024)


def test_whether_rdma_goes_over_an_interface_with_another_mtu():
    differing = [interface("node-07"), interface("node-09", mtu=1500)]
    for more, carries in (
        ([], "unknown"),
        ([pair("node-07")], "rdma"),
        ([pair("node-07", netdev="eth5")], "other"),
        ([pair("node-07"), uses("node-07", "mlx5_1")], "other"),
    ):
        (found,) = derived("net.mtu_differs", *differing, *more)
        assert found.fields["carries"] == carries


def test_mtu_of_interfaces_without_address_and_of_unused_devices_does_not_count():
    bare = [interface("node-07", addresses=()), interface("node-09", mtu=1500, addresses=())]
    assert not derived("net.mtu_differs", *bare)
    unused = [port("node-07"), port("node-09", 1024), uses("node-07", "mlx5_1")]
    assert not derived("net.mtu_differs", *unused)


def gpu(host, index, *paths, flat=False):
    return event("nvidia_smi.topology", Nature.SETTING, f"{host}.txt", 2 + index, host=host,
                 fields={"index": index, "paths": [*paths], "flat": flat})  # fmt: skip


def far(*records):
    return [(one.host, one.fields["index"], one.fields["path"], one.fields["basis"])
            for one in derived("gpu.far_from_nic", *records)]  # fmt: skip


def test_a_gpu_across_the_socket():
    near, away = gpu("node-07", 0, "mlx5_0 PIX"), gpu("node-07", 1, "mlx5_0 SYS")
    assert far(near, away) == [("node-07", 1, "SYS", "siblings")]
    assert not far(gpu("node-07", 0, "mlx5_0 NODE"), gpu("node-07", 1, "mlx5_0 SYS"))
    assert not far(gpu("node-07", 0, "mlx5_0 PHB", flat=True), gpu("node-07", 1, "mlx5_0 SYS", flat=True))  # fmt: skip


def test_only_adapters_that_the_job_uses_count():
    near, away = gpu("node-07", 0, "mlx5_0 PIX", "mlx5_9 SYS"), gpu("node-07", 1, "mlx5_0 SYS", "mlx5_9 PIX")  # fmt: skip
    assert not far(near, away)
    assert far(near, away, uses("node-07", "mlx5_0")) == [("node-07", 1, "SYS", "siblings")]


def test_the_same_gpu_of_other_hosts():
    hosts = [gpu(f"node-0{n}", 0, "mlx5_0 SYS" if n == 3 else "mlx5_0 PIX") for n in range(1, 6)]
    assert far(*hosts) == [("node-03", 0, "SYS", "hosts")]


def neighbours(host, *switches):
    return [reading_of("net.neighbour", host, n + 1, interface=f"eth{n}", switch=switch)
            for n, switch in enumerate(switches)]  # fmt: skip


def odd_rails(*hosts):
    records = [one for host in hosts for one in host]
    return [(one.host, one.fields["interface"], one.fields["usual"], one.fields["crossed"])
            for one in derived("net.rail_odd", *records)]  # fmt: skip


RAILS = [neighbours(f"node-0{n}", "leaf-a", "leaf-b", "leaf-c") for n in range(1, 5)]


def test_two_cables_exchanged():
    crossed = neighbours("node-09", "leaf-b", "leaf-a", "leaf-c")
    assert odd_rails(*RAILS, crossed) == [
        ("node-09", "eth0", "leaf-a", True),
        ("node-09", "eth1", "leaf-b", True),
    ]


def test_a_view_of_the_fabric_tells_the_leaf_as_well():
    fabric = [
        [reading_of("ib.link", f"node-0{n}", device=f"mlx5_{k}", switch="leaf-2" if n == 5 and k == 0 else f"leaf-{k + 1}")
         for k in range(2)]
        for n in range(1, 6)
    ]  # fmt: skip
    assert odd_rails(*fabric) == [("node-05", "mlx5_0", "leaf-1", False)]


def test_one_cable_on_another_leaf():
    assert odd_rails(*RAILS, neighbours("node-09", "leaf-b", "leaf-b", "leaf-c")) == [
        ("node-09", "eth0", "leaf-a", False)
    ]


def test_another_row_of_leaves_is_no_fault():
    assert not odd_rails(*RAILS)
    assert not odd_rails(*RAILS, neighbours("node-09", "leaf-x", "leaf-y", "leaf-z"))
    racks = [neighbours(f"node-0{n}", "leaf-a", f"rack-{n}") for n in range(1, 6)]
    assert not odd_rails(*racks)


def link(host, address, kind="nic", speed=32.0, width=16, line=1, **more):
    fields = {"pci": address, "kind": kind, "device": f"a {kind}", "speed": speed, "width": width,
              "narrow": width < 16, "slow": speed < 32, **more}  # fmt: skip
    return reading_of("pci.link", host, line, **fields)


def test_a_slot_and_the_rate_of_its_adapter():
    (found,) = derived("pci.slot", link("node-07", "0000:1a:00.0", speed=16.0), port("node-07", rate_gbps=400.0), pair("node-07", pci="0000:1a:00.0"))  # fmt: skip
    assert (found.fields["raw_gbps"], found.fields["rate_gbps"], found.nic) == (256, 400, "mlx5_0")
    driver = reading_of("net.driver", "node-07", pci="0000:1a:00.0", interface="eth2", value="x")
    speed = reading_of("net.link", "node-07", interface="eth2", speed_gbps=200.0)
    (found,) = derived("pci.slot", link("node-07", "0000:1a:00.0"), driver, speed)
    assert (found.fields["rate_gbps"], found.nic) == (200, "eth2")


def test_slots_of_one_model():
    links = [link("node-07", f"0000:{n}a:00.0", width=8 if n == 3 else 16, line=n) for n in range(1, 5)]  # fmt: skip
    found = derived("pci.slot", *links)
    assert [(one.fields["alike"], one.fields["same"]) for one in found] == [(4, 3), (4, 3), (4, 1), (4, 3)]  # fmt: skip


def access(host, first, last, port="Downstream", redirects=True):
    return reading_of("pci.access_control", host, 50, pci="0000:99:00.0", port=port,
                      redirects=redirects, secondary=first, subordinate=last)  # fmt: skip


def test_access_control_above_a_gpu():
    gpu_link = link("node-07", "0000:9a:00.0", "gpu")
    (found,) = derived("pci.redirected", gpu_link, access("node-07", 0x9A, 0x9B))
    assert found.fields["below"] == ["gpu 0000:9a:00.0"]
    for other in (
        access("node-07", 0x20, 0x2F),
        access("node-07", 0x9A, 0x9B, "Root"),
        access("node-07", 0x9A, 0x9B, redirects=False),
        access("node-09", 0x9A, 0x9B),
    ):
        assert not derived("pci.redirected", gpu_link, other)


def names_interface(value, name="NCCL_SOCKET_IFNAME", host=None):
    fields = {"name": name, "value": value}
    return event("nccl.env", Nature.SETTING, "env.txt", host=host, fields=fields, fact="env")


LOOPBACK = interface("node-07", "lo", addresses=["127.0.0.1/8"], link="loopback")


def sockets(*records):
    return [(one.fields["interface"], one.fields["problem"])
            for one in derived("net.socket_interface", *records)]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("eth2", ("eth2", None)),
        ("eth", ("eth2", None)),
        ("=eth", (None, "absent")),
        ("=eth2", ("eth2", None)),
        ("^docker,lo", ("eth2", None)),
        ("bond0", (None, "absent")),
        ("bond0,eth2", ("eth2", None)),
    ],
)
def test_what_a_value_selects(value, expected):
    assert sockets(LOOPBACK, interface("node-07"), names_interface(value)) == [expected]


@pytest.mark.parametrize(
    ("state", "problem"),
    [
        ({"carrier": False}, "no-carrier"),
        ({"addresses": ()}, "no-address"),
        ({"up": False}, "down"),
    ],
)
def test_what_is_wrong_with_an_interface(state, problem):
    assert sockets(LOOPBACK, interface("node-07", **state), names_interface("eth2")) == [("eth2", problem)]  # fmt: skip


def test_a_listing_without_addresses_or_of_one_interface_says_less():
    bare = interface("node-07", "lo", addresses=[]), interface("node-07", addresses=())
    assert sockets(*bare, names_interface("eth2")) == [("eth2", None)]
    assert not sockets(interface("node-07", "ens9"), names_interface("eth2"))


def test_gloo_takes_whole_names():
    records = LOOPBACK, interface("node-07"), names_interface("eth", "GLOO_SOCKET_IFNAME")
    assert sockets(*records) == [(None, "absent")]
