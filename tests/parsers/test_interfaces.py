import pytest
from communication import check_table, cut_anywhere, holds, read

from diagnose.parsers.fabric import interfaces

ADDRESSES = """\
1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000
    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00
    inet 127.0.0.1/8 scope host lo
       valid_lft forever preferred_lft forever
5: ens1f0np0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP group default qlen 1000
    link/ether a0:88:c2:ab:12:c0 brd ff:ff:ff:ff:ff:ff
    altname enp26s0f0np0
    inet 10.0.0.7/24 brd 10.0.0.255 scope global ens1f0np0
       valid_lft forever preferred_lft forever
    inet6 fe80::a288:c2ff:feab:12c0/64 scope link
       valid_lft forever preferred_lft forever
6: ens1f1np1: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 1500 qdisc mq state DOWN group default qlen 1000
    link/ether a0:88:c2:ab:12:c1 brd ff:ff:ff:ff:ff:ff
7: ib0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 2044 qdisc mq state UP group default qlen 256
    link/infiniband 00:00:10:49:fe:80:00:00:00:00:00:00:a0:88:c2:03:00:ab:12:c0 brd 00:ff:ff:ff
    inet 10.9.0.7/16 brd 10.9.255.255 scope global ib0
"""

STATISTICS = """\
5: ens1f0np0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP mode DEFAULT group default qlen 1000
    link/ether a0:88:c2:ab:12:c0 brd ff:ff:ff:ff:ff:ff
    RX:     bytes    packets errors dropped  missed   mcast
     918273645001  712345678      0     412       0   81234
    TX:     bytes    packets errors dropped carrier collsns
     882736450192  698123412      0       0       0       0
8: eth0@if31: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1450 qdisc noqueue master bond0 state UP mode DEFAULT group default
    link/ether 02:42:ac:11:00:02 brd ff:ff:ff:ff:ff:ff link-netnsid 0
"""

BRIEF = """\
lo               UNKNOWN        127.0.0.1/8 ::1/128
ens1f0np0        UP             10.0.0.7/24 fe80::a288:c2ff:feab:12c0/64
ens1f1np1        DOWN
eth0@if31        UP             10.244.0.9/24
"""

IFCONFIG = """\
eth0: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 9000
        inet 10.0.0.7  netmask 255.255.255.0  broadcast 10.0.0.255
        ether a0:88:c2:ab:12:c0  txqueuelen 1000  (Ethernet)
        RX packets 712345678  bytes 918273645001 (918.2 GB)
ib1: flags=4099<UP,BROADCAST,MULTICAST>  mtu 4092
        unspec 00-00-10-49-FE-80-00-00-00-00-00-00-00-00-00-00  txqueuelen 256  (UNSPEC)
"""


def found(text):
    return {one.fields["interface"]: one for one in read(interfaces, text)}


def assert_addresses(seen):
    assert list(seen) == ["lo", "ens1f0np0", "ens1f1np1", "ib0"]
    assert not holds(seen["ens1f0np0"], {"mtu": 9000, "carrier": True, "up": True, "link": "ether", "addresses": ["10.0.0.7/24"]})  # fmt: skip
    assert not holds(seen["ens1f1np1"], {"mtu": 1500, "carrier": False, "up": True, "state": "DOWN", "addresses": []})  # fmt: skip
    assert not holds(seen["ib0"], {"mtu": 2044, "link": "infiniband", "addresses": ["10.9.0.7/16"]})
    assert not holds(seen["lo"], {"link": "loopback", "addresses": ["127.0.0.1/8"]})


@pytest.mark.parametrize(
    "text",
    [
        ADDRESSES,
        ADDRESSES.replace("\n", "\r\n"),
        "".join(f"node-07: {line}\n" for line in ADDRESSES.splitlines()),
        "".join(line.lstrip() + "\n" for line in ADDRESSES.splitlines()),
        ADDRESSES.replace("    ", "\t"),
    ],
)
def test_states_and_addresses(text):
    assert_addresses(found(text))


def test_statistics_and_containers():
    seen = found(STATISTICS)
    assert not holds(seen["ens1f0np0"], {"mtu": 9000, "addresses": [], "end_line": 6})
    assert not holds(seen["eth0"], {"mtu": 1450, "master": "bond0", "carrier": True})


def test_the_brief_form():
    seen = found(BRIEF)
    assert not holds(seen["ens1f0np0"], {"carrier": True, "addresses": ["10.0.0.7/24"], "mtu": None})  # fmt: skip
    assert not holds(seen["ens1f1np1"], {"carrier": False, "addresses": []})
    assert not holds(seen["eth0"], {"addresses": ["10.244.0.9/24"]})
    links = "lo               UNKNOWN        00:00:00:00:00:00 <LOOPBACK,UP,LOWER_UP>\nens9             DOWN           a0:88:c2:ab:12:c0 <NO-CARRIER,BROADCAST,MULTICAST,UP>\n"
    assert not holds(found(links)["ens9"], {"up": True, "carrier": False, "addresses": []})


def test_one_line_each():
    text = "5: ens1f0np0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP mode DEFAULT group default qlen 1000\\    link/ether a0:88:c2:ab:12:c0 brd ff:ff:ff:ff:ff:ff\n"
    assert not holds(found(text * 2)["ens1f0np0"], {"mtu": 9000, "link": "ether"})


def test_ifconfig():
    seen = found(IFCONFIG)
    assert not holds(seen["eth0"], {"mtu": 9000, "carrier": True, "addresses": ["10.0.0.7"]})
    assert not holds(seen["ib1"], {"mtu": 4092, "up": True, "carrier": None})


def test_cuts_and_declarations():
    cut_anywhere(interfaces, ADDRESSES[:420])
    check_table(interfaces)
