import json

from communication import check_table, cut_anywhere, holds, read

from diagnose.parsers.fabric import neighbours, rdma_netdevs, ucx_info

TEXT = """\
-------------------------------------------------------------------------------
LLDP neighbors:
-------------------------------------------------------------------------------
Interface:    ens1f0np0, via: LLDP, RID: 3, Time: 12 days, 02:13:44
  Chassis:
    ChassisID:    mac 44:aa:50:01:02:03
    SysName:      leaf-03
    SysDescr:     Cumulus Linux version 5.9 running on Mellanox
    Capability:   Bridge, on
  Port:
    PortID:       ifname swp7
    PortDescr:    swp7
    TTL:          120
-------------------------------------------------------------------------------
Interface:    ens1f1np1, via: LLDP, RID: 4, Time: 0 day, 00:01:05
  Chassis:
    ChassisID:    mac 44:aa:50:01:02:99
  Port:
    PortID:       local 1/14
-------------------------------------------------------------------------------
"""


def test_neighbours():
    first, second = read(neighbours, TEXT)
    assert not holds(first, {"interface": "ens1f0np0", "switch": "leaf-03", "switch_port": "swp7", "seconds": 12 * 86400 + 2 * 3600 + 13 * 60 + 44})  # fmt: skip
    assert not holds(second, {"switch": "44:aa:50:01:02:99", "switch_port": "1/14", "seconds": 65})
    prefixed = "".join(f"node-07: {line}\n" for line in TEXT.splitlines())
    assert [one.host for one in read(neighbours, prefixed)] == ["node-07", "node-07"]


def test_pairs():
    text = "lldp.ens1f0np0.via=LLDP\nlldp.ens1f0np0.age=1 day, 00:00:01\nlldp.ens1f0np0.chassis.mac=44:aa:50:01:02:03\nlldp.ens1f0np0.chassis.name=leaf-03\nlldp.ens1f0np0.port.ifname=swp7\nlldp.bond0.100.chassis.name=leaf-04\n"
    first, second = read(neighbours, text)
    assert not holds(first, {"interface": "ens1f0np0", "switch": "leaf-03", "switch_port": "swp7", "seconds": 86401})  # fmt: skip
    assert second.fields["interface"] == "bond0.100"


def test_json_of_one_and_of_several():
    one = {"ens1f0np0": {"via": "LLDP", "age": "1 day, 00:00:01", "chassis": {"leaf-03": {"id": {}}}, "port": {"id": {"type": "ifname", "value": "swp7"}}}}  # fmt: skip
    for listed in (one, [one]):
        text = json.dumps({"lldp": {"interface": listed}}, indent=2)
        (found,) = read(neighbours, text)
        assert not holds(found, {"interface": "ens1f0np0", "switch": "leaf-03", "switch_port": "swp7"})  # fmt: skip


def test_which_interface_belongs_to_which_device():
    text = (
        "mlx5_0 port 1 ==> ibp26s0 (Up)\n"
        "mlx5_3 port 1 <===> ibp94s0 (Down)\n"
        "0000:1a:00.0 mlx5_4 (MT4129 - MCX75310AAS-NEA) ConnectX-7 HCA fw 28.41.1000 port 1 (ACTIVE) ==> ibp26s0 (Up)\n"
        "mlx5_bond_0 (MT4123 - MT_0000000223) ConnectX-6 VPI adapter card fw 20.31.1014 port 1 (DOWN  ) ==> bond0 (Down)\n"
    )
    text += "mlx5_1 (MT4123 - MCX653106A-ECAT) ConnectX-6 VPI adapter card, 100Gb/s (HDR100, EDR IB and 100GbE), dual-port QSFP56 fw 20.28.4512 port 1 (ACTIVE) ==> ib0 (Up)\n"
    short, down, verbose, old, long = read(rdma_netdevs, text)
    assert not holds(short, {"device": "mlx5_0", "nic": "mlx5_0", "port": 1, "netdev": "ibp26s0", "carrier": "Up"})  # fmt: skip
    assert down.fields["carrier"] == "Down"
    assert not holds(verbose, {"pci": "0000:1a:00.0", "model": "ConnectX-7 HCA", "firmware": "28.41.1000", "state": "ACTIVE"})  # fmt: skip
    assert not holds(old, {"device": "mlx5_bond_0", "state": "DOWN", "netdev": "bond0"})
    assert not holds(long, {"device": "mlx5_1", "firmware": "20.28.4512", "netdev": "ib0"})
    check_table(rdma_netdevs)


def test_transports_of_ucx():
    text = ucx_info.PARSERS[0].sample
    (found,) = read(ucx_info, text)
    assert not holds(found, {"rdma": True, "gdr": False, "whole": True, "devices": ["memory", "mlx5_0:1"]})  # fmt: skip
    without = text.replace("rc_mlx5", "tcp").replace("mlx5_0:1", "eth0")
    assert not holds(read(ucx_info, without)[0], {"rdma": False, "transports": ["self", "tcp"]})
    failed = text + "# < failed to open interface >\n"
    assert read(ucx_info, failed)[0].fields["failed"] == ["mlx5_0:1"]
    check_table(ucx_info)


def test_cuts_and_declarations():
    cut_anywhere(neighbours, TEXT[160:560])
    check_table(neighbours)
