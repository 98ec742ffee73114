import pytest
from communication import read

from diagnose.parsers.fabric import devinfo as ib_devinfo

SAMPLE = ib_devinfo.DEVINFO.sample


def test_a_port_with_its_address():
    port, gid = sorted(read(ib_devinfo, SAMPLE), key=lambda event: event.name, reverse=True)
    wanted = {
        "device": "mlx5_0", "port": 1, "state": "ACTIVE", "phys_state": "LinkUp", "rate_gbps": 400.0,
        "lanes": 4, "speed": "NDR", "lid": 131, "board": "MT_0000000838", "active_mtu": 4096,
        "firmware": "28.41.1000", "link_layer": "InfiniBand",
    }  # fmt: skip
    assert {name: port.fields[name] for name in wanted} == wanted
    assert (port.nic, port.line, port.end_line) == ("mlx5_0", 6, 14)
    assert (gid.fields["index"], gid.fields["kind"], gid.nic) == (0, "link-local", "mlx5_0")


def test_two_devices_and_an_old_build_without_the_speed():
    second = SAMPLE.replace("mlx5_0", "mlx5_1").replace("100.0 Gbps (128)", "invalid speed (64)")
    ports = [event for event in read(ib_devinfo, SAMPLE + "\n" + second) if event.name == "ib.port"]
    assert [(one.nic, one.fields["rate_gbps"]) for one in ports] == [
        ("mlx5_0", 400),
        ("mlx5_1", 200),
    ]


def test_without_v_there_is_no_rate():
    short = SAMPLE.split("\t\t\tactive_width")[0]
    (port,) = read(ib_devinfo, short)
    assert (port.fields["state"], port.fields["rate_gbps"]) == ("ACTIVE", None)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("GID[  0]:\t\tfe80:0000:0000:0000:0ac0:ebff:fe00:0002, RoCE v1", ("v1", "link-local")),
        ("GID[  1]:\t\tfe80::ac0:ebff:fe00:2, RoCE v2", ("v2", "link-local")),
        ("GID[  2]:\t\t0000:0000:0000:0000:0000:ffff:0a28:0906, RoCE v1", ("v1", "ipv4")),
        ("GID[  3]:\t\t::ffff:10.40.9.6, RoCE v2", ("v2", "ipv4")),
        ("GID[  4]:\t\t2001:db8::7, RoCE v2", ("v2", "ipv6")),
        ("GID[  5]:\t\tzz::7, RoCE v2", None),
    ],
)
def test_addresses_of_a_piece_without_its_device(line, expected):
    found = [(e.fields["version"], e.fields["kind"]) for e in read(ib_devinfo, f"\t\t\t{line}\n")]
    assert found == ([expected] if expected else [])


def test_a_port_that_is_cut_off_before_its_state():
    assert read(ib_devinfo, SAMPLE.split("\t\t\tstate")[0]) == []


def test_two_ports_of_one_device():
    body = SAMPLE.split("\t\tport:\t1\n")[1]
    text = SAMPLE + "\t\tport:\t2\n" + body.replace("PORT_ACTIVE (4)", "PORT_DOWN (1)")
    ports = [event for event in read(ib_devinfo, text) if event.name == "ib.port"]
    assert [(one.fields["port"], one.fields["state"]) for one in ports] == [
        (1, "ACTIVE"),
        (2, "DOWN"),
    ]
