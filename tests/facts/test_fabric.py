"""Ports of the fabric, laid side by side."""

from diagnose.facts.case import build
from diagnose.model.event import Nature

from .build import event, reading


def named(name, *records):
    return [one for one in build(reading(*records)).events if one.name == name]


def port(host, sm_lid, gid="fe80:0000:0000:0000:a088:c203:00ab:12c0", device="mlx5_0"):
    fields = {"device": device, "port": 1, "state": "ACTIVE", "link_layer": "InfiniBand",
              "sm_lid": sm_lid, "gid": gid}  # fmt: skip
    return event("ib.port", Nature.MEASUREMENT, file=f"{host}.txt", host=host, fields=fields)


def test_the_manager_of_a_port_is_compared_over_hosts_and_not_over_rails():
    (found,) = named("ib.subnets_differ", port("node-07", 1), port("node-09", 44))
    assert found.fields["values"] == ["node-07: 1", "node-09: 44"]
    rails = port("node-07", 1), port("node-07", 44, device="mlx5_1"), port("node-09", 1)
    assert not named("ib.subnets_differ", *rails)
    assert not named("ib.subnets_differ", port("node-07", 1), port("node-09", 0))


def test_many_hosts_are_counted_and_not_listed():
    ports = [port(f"node-{number:02d}", 44 if number == 9 else 1) for number in range(20)]
    (found,) = named("ib.subnets_differ", *ports)
    assert found.fields["values"] == ["node-00 and 18 more: 1", "node-09: 44"]


def test_functions_without_an_address_do_not_share_one():
    unset = "fe80:0000:0000:0000:0000:0000:0000:0000"
    assert not named("ib.guid_twice", port("node-07", 1, unset), port("node-09", 1, unset))


def test_an_address_belongs_to_one_host():
    (found,) = named("ib.guid_twice", port("node-07", 1), port("node-09", 1))
    assert found.fields["hosts"] == ["node-07", "node-09"]
    assert not named("ib.guid_twice", port("node-07", 1), port("node-07", 1, device="mlx5_1"))
    prefix = "fe80:0000:0000:0000"
    assert not named("ib.guid_twice", port("node-07", 1, prefix), port("node-09", 1, prefix))
