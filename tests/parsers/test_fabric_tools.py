"""The tools that show ports and links, in their versions."""

import pytest
from paste import events


def shown(event, *names):
    return tuple(event.fields[name] for name in names)


def port(text):
    (found,) = events(text, "ib.port")
    return found


ALONE = """CA: 'mlx5_0'
Port 1:
State: Initializing
Physical state: LinkUp
Rate: 400
Effective speed: 400
Base lid: 0
LMC: 0
SM lid: 0
Link layer: InfiniBand
"""


def test_ibstat_of_one_port():
    found = port(ALONE)
    assert shown(found, "device", "port", "state", "rate_gbps", "sm_lid") == ("mlx5_0", 1, "INIT", 400.0, 0)  # fmt: skip


@pytest.mark.parametrize(
    ("rate", "expected"),
    [("2.5", (2.5, 1, None)), ("40 (FDR10)", (40.0, None, "FDR10")), ("10", (None, None, None))],
    ids=["one lane", "FDR10", "what an old kernel says of any rate"],
)
def test_rates_of_ibstat(rate, expected):
    found = port(ALONE.replace("Rate: 400", f"Rate: {rate}"))
    assert shown(found, "rate_gbps", "lanes", "speed") == expected


@pytest.mark.parametrize("head", ["iWARP RNIC 'irdma0'", "??? 'x0'", "CA 'hfi1_0'"])
def test_other_kinds_of_adapter(head):
    text = f"{head}\n\tCA type: 0x8086\n\tPort 1:\n\t\tState: Armed\n\t\tPhysical state: Phy Test\n"
    assert shown(port(text), "state", "phys_state", "board") == ("ARMED", "PhyTest", "0x8086")


STATUS = """Infiniband device 'mlx5_0' port 1 status:
 default gid: unknown
 base lid: unknown
 sm lid: unknown
 state: unknown
 phys state: unknown
 rate: unknown
 link_layer: IB
"""


def test_values_that_the_kernel_lacks():
    names = ("state", "phys_state", "rate_gbps", "gid", "lid", "link_layer")
    assert shown(port(STATUS), *names) == (None, None, None, None, None, "InfiniBand")


LINKS = [
    {"ifindex": 0, "ifname": "mlx5_0", "port": 1, "lid": 131, "state": "ACTIVE", "physical_state": "LINK_UP"},
    {"ifindex": 1, "ifname": "rocep1s0", "port": 1, "state": "DOWN", "physical_state": "DISABLED", "netdev": "ens1"},
]  # fmt: skip


@pytest.mark.parametrize("indent", [None, 4])
def test_rdma_link_as_json(indent):
    import json

    first, second = events(json.dumps(LINKS, indent=indent) + "\n", "ib.port")
    assert shown(first, "device", "state", "link_layer", "lid") == ("mlx5_0", "ACTIVE", "InfiniBand", 131)  # fmt: skip
    assert shown(second, "phys_state", "link_layer", "netdev") == ("Disabled", "Ethernet", "ens1")
    assert first.line <= second.line


def test_other_json_of_ip_is_no_port():
    assert not events('[{"ifindex":2,"ifname":"eth0","mtu":1500,"operstate":"UP"}]\n')


def test_invalid_speeds_are_read_by_their_codes():
    text = (
        "hca_id:\tmlx5_0\n\tboard_id:\tMT_0000000838\n\t\tport:\t1\n\t\t\tstate:\tPORT_DOWN (1)\n"
        "\t\t\tactive_width:\t4X (2)\n\t\t\tactive_speed:\tinvalid speed (64)\n\t\t\tphys_state:\tPOLLING (2)\n"
    )
    assert shown(port(text), "rate_gbps", "speed", "phys_state") == (200.0, "HDR", "Polling")


def test_names_of_adapters():
    text = "    device          \t   node GUID\n    ------          \t----------------\n    mlx5_0          \ta088c20300ab12c0\n    mlx5_1              a088c20300ab12c1\n\n"
    assert [one.nic for one in events(text, "ib.device")] == ["mlx5_0", "mlx5_1"]


ROOT = "/sys/class/infiniband/mlx5_3/"


def test_a_dump_of_sysfs():
    text = (
        f"{ROOT}fw_ver:28.41.1000\n{ROOT}board_id:MT_0000000838\n{ROOT}ports/1/state:4: ACTIVE\n"
        f"grep: {ROOT}ports/1/gid_attrs/types/9: Invalid argument\n{ROOT}ports/1/phys_state:5: LinkUp\n"
        f"{ROOT}ports/1/rate:200 Gb/sec (2X NDR)\n{ROOT}ports/1/lid:0x83\n{ROOT}ports/1/link_layer:InfiniBand\n"
        f"{ROOT}ports/1/pkeys/0:0x7fff\n{ROOT}ports/1/pkeys/1:0x0000\n"
        f"{ROOT}ports/1/gids/0:fe80:0000:0000:0000:a088:c203:00ab:12c0\n"
        f"{ROOT}ports/1/gids/1:0000:0000:0000:0000:0000:0000:0000:0000\n"
        f"{ROOT}ports/1/gids/3:0000:0000:0000:0000:0000:ffff:0a08:0311\n"
        f"{ROOT}ports/1/gid_attrs/types/3:RoCE v2\n{ROOT}ports/1/gid_attrs/ndevs/3:ens1\n"
    )
    found = events(text)
    names = ("state", "rate_gbps", "lanes", "lid", "board", "firmware")
    assert shown(found[0], *names) == ("ACTIVE", 200.0, 2, 131, "MT_0000000838", "28.41.1000")
    (keys,) = (one for one in found if one.name == "ib.pkeys")
    assert shown(keys, "keys", "first", "full") == (["0x7fff"], "0x7fff", False)
    gids = [one for one in found if one.name == "ib.gid"]
    assert [shown(one, "index", "version", "kind", "netdev") for one in gids] == [
        (0, None, "link-local", None),
        (3, "v2", "ipv4", "ens1"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        f"==> {ROOT}ports/1/state <==\n1: DOWN\n\n==> {ROOT}ports/1/phys_state <==\n2: Polling\n",
        f"{ROOT}ports/1/state:1: DOWN\n{ROOT}ports/1/phys_state:2: Polling\n".replace("/class/", "/devices/pci0000:16/0000:17:00.0/"),
    ],
    ids=["headings", "real paths"],
)  # fmt: skip
def test_files_of_the_kernel(text):
    assert shown(port(text), "device", "state", "phys_state") == ("mlx5_3", "DOWN", "Polling")


def test_cat_of_one_file_after_the_other():
    (port,) = events(f"$ cat {ROOT}ports/1/state\n4: ACTIVE\n$ cat {ROOT}ports/1/rate\n400 Gb/sec (4X NDR)\n")  # fmt: skip
    assert (port.fields["state"], port.fields["rate_gbps"]) == ("ACTIVE", 400.0)


NEAR = "      0xa088c20300ab12f6    134    1[  ] ==( {link})==>      {far}"
SLOW = "2X        53.125 Gbps Active/  LinkUp"
COULD = '15    9[  ] "leaf-06" (Could be 4X Could be 106.25 Gbps)'


def test_a_link_with_both_its_ends():
    text = f"CA: node-17 mlx5_3:\n{NEAR.format(link=SLOW, far=COULD)}\n"
    link, near = events(text)
    assert (link.host, link.nic, link.line) == ("node-17", "mlx5_3", 2)
    names = ("near", "far", "lanes", "could_lanes", "could_lane_gbps", "switch", "switch_port")
    assert shown(link, *names) == ("node-17 mlx5_3 port 1", "leaf-06 port 9", 2, 4, 106.25, "leaf-06", 9)  # fmt: skip
    assert shown(near, "rate_gbps", "speed", "tool") == (100.0, "HDR", "iblinkinfo")


@pytest.mark.parametrize(
    "text",
    [
        'Switch: 0xfc6a1c0300700c40 leaf-06:\n          15    9[  ] ==( 2X        53.125 Gbps Active/  LinkUp)==>     134    1[  ] "node-17 mlx5_3" (Could be 4X )\n',
        '0xfc6a1c0300700c40 "                       leaf-06"     15    9[  ] ==( 2X        53.125 Gbps Active/  LinkUp)==>  0xa088c20300ab12f6    134    1[  ] "node-17 mlx5_3" (Could be 4X )\n',
        'Errors for 0xfc6a1c0300700c40 "leaf-06"\n   GUID 0xfc6a1c0300700c40 port 9: [SymbolErrorCounter == 61]\n       Link info:     15   9[  ] ==( 2X        53.125 Gbps Active/  LinkUp)==>  0xa088c20300ab12f6    134    1[  ] "node-17 mlx5_3" (Could be 4X )\n',
    ],
    ids=["from the switch", "-l", "ibqueryerrors"],
)  # fmt: skip
def test_the_same_link_from_the_other_end(text):
    (link,) = events(text, "ib.link")
    assert (link.host, link.nic) == ("node-17", "mlx5_3")
    assert shown(link, "port", "switch", "switch_port", "could_lanes") == (1, "leaf-06", 9, 4)


@pytest.mark.parametrize(
    ("link", "far", "state"),
    [
        ("               Down/ Polling", '       [  ] "" ( )', "DOWN"),
        ("4X        106.25 Gbps Initialize/  LinkUp", '"Port not available"', "INIT"),
        ("4X   10.0 Gbps (FDR10) Active/  LinkUp", '12    7[  ] "leaf-03" ( )', "ACTIVE"),
    ],
)
def test_links_without_a_far_end_and_old_speeds(link, far, state):
    (found,) = events(f"CA: node-17 mlx5_3:\n{NEAR.format(link=link, far=far)}\n", "ib.link")
    assert (found.fields["state"], found.host) == (state, "node-17")


def test_a_description_that_nobody_set_names_no_host():
    name = "MT4129 ConnectX7   Mellanox Technologies"
    (link,) = events(f"CA: {name}:\n{NEAR.format(link=SLOW, far=COULD)}\n")
    assert (link.host, link.nic, link.fields["near"]) == (None, None, f"{name} port 1")


SUMMARY = """-I- Stage                     Warnings   Errors     Comment
-I- Discovery                 0          0
-I- Links Check               0          2
-I- Port Counters             0          3          see file
-I- Speed / Width checks   0  1
-I- Rail Optimized Topology Validation 4 0
-I- You can find detailed errors/warnings in: ibdiagnet2.log
"""


def test_the_table_of_ibdiagnet():
    found = [shown(one, "check", "warnings", "errors") for one in events(SUMMARY, "ib.check")]
    assert found == [
        (None, 0, 0), ("links", 0, 2), ("counters", 0, 3), ("speed-width", 0, 1), ("rails", 4, 0),
    ]  # fmt: skip


def test_lines_of_ibdiagnet():
    first, second = events("-E- node-17/mlx5_3/P1 is bad\n-W- something\n", "ib.complaint")
    assert (first.host, first.nic, first.fields["severity"]) == ("node-17", "mlx5_3", "error")
    assert (second.host, second.fields["message"]) == (None, "something")


MLXLINK = """root@node-07:~# mlxlink -d mlx5_3 -m -c
Operational Info
----------------
State                              : {state}
Physical state                     : LinkUp
Speed                              : {speed}
Width                              : 4x

Supported Info
--------------
Enabled Link Speed {ext}                : 0x000000f1 ({enabled})
Supported Cable Speed {ext}             : 0x000000f1 ({cable})

Troubleshooting Info
--------------------
Recommendation                     : {advice}

Physical Counters and BER Info
------------------------------
Time Since Last Clear [Min]        : 8123.4
Effective Physical BER             : 2E-9
Symbol BER                         : {ber}
Raw Physical BER                   : 5E-7
"""
GOOD = {"state": "Active", "speed": "IB-NDR", "enabled": "NDR,HDR,EDR", "cable": "NDR,HDR",
        "advice": "No issue was observed", "ber": "15E-255", "ext": ""}  # fmt: skip


def mlxlink(**changed):
    (found,) = events(MLXLINK.format(**{**GOOD, **changed}))
    return found


def test_one_link_in_health():
    found = mlxlink()
    assert (found.host, found.nic, found.fields["recommendation"]) == ("node-07", "mlx5_3", None)
    names = ("speed_gbps", "enabled_gbps", "cable_gbps", "ber", "ber_kind", "minutes")
    assert shown(found, *names) == (100.0, 100.0, 100.0, 0.0, "symbol", 8123.4)


def test_the_error_rate_that_counts_is_that_of_the_kind_of_link():
    assert shown(mlxlink(speed="IB-EDR"), "ber", "ber_kind") == (2e-9, "effective")
    assert shown(mlxlink(ber="3E-9"), "ber", "ber_kind") == (3e-9, "symbol")


def test_speeds_of_ethernet():
    found = mlxlink(speed="200G", enabled="400G_4X,200G_4X,100G_2X", cable="400G_4X", ext="(Ext.)")
    assert shown(found, "speed_gbps", "enabled_gbps", "cable_gbps") == (200.0, 400.0, 400.0)


def test_colours_and_advice():
    found = mlxlink(state="\x1b[31mPolling\x1b[0m", advice="Cable is unplugged")
    assert shown(found, "state", "recommendation") == ("Polling", "Cable is unplugged")
    assert "Recommendation" in found.text


@pytest.mark.parametrize(
    "text", ["Operational Info\n", "CA: node-17 mlx5_3:\n", "-I- Stage Warnings Errors\n", '"ifname": "mlx5_0"\n', f"{ROOT}ports/1/state:\n", f"$ cat {ROOT}ports/1/state\n"]
)  # fmt: skip
def test_cut_off_behind_the_first_line(text):
    assert [one.fields.get("state") for one in events(text)] in ([], [None])
