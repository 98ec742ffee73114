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


def link(host, rate, device="mlx5_0", **more):
    fields = {"device": device, "port": 1, "state": "ACTIVE", "link_layer": "InfiniBand",
              "rate_gbps": rate, "tool": "ibstat", **more}  # fmt: skip
    return event("ib.port", Nature.MEASUREMENT, file=f"{host}.txt", host=host, fields=fields)


def fast(ports, **more):
    return [
        link(f"node-{host:02d}", 400.0, f"mlx5_{number}", **more)
        for host in range(5)
        for number in range(ports)
    ]


def test_a_port_slower_than_on_other_hosts_is_found():
    (found,) = named("ib.port_slower", *fast(1), link("node-09", 200.0))
    assert (found.host, found.fields["basis"]) == ("node-09", "hosts")


def test_a_host_of_another_kind_has_no_slow_port():
    storage = link("st-01", 200.0)
    assert not named("ib.port_slower", *fast(4), storage), "a quarter of the ports"
    assert not named(
        "ib.port_slower", *fast(1, board="MT4129"), link("st-01", 200.0, board="MT4123")
    )
    older = [link("node-09", 200.0, f"mlx5_{number}") for number in range(4)]
    assert not named("ib.port_slower", *fast(4), *older), "all of its ports"
    assert named("ib.port_slower", *fast(2), *older[:2])


def state(host, word, device):
    fields = {"device": device, "port": 1, "state": word, "link_layer": "Ethernet"}
    return event("ib.port", Nature.MEASUREMENT, file=f"{host}.txt", host=host, fields=fields)


def listing(host, *hcas):
    fields = {"hcas": [*hcas]}
    return event("nccl.ib.devices", Nature.SETTING, file="rank.log", host=host, fields=fields)


def test_a_port_that_the_job_leaves_out_on_other_hosts_may_be_down():
    up = [state(f"node-{number:02d}", "ACTIVE", "mlx5_8") for number in range(4)]
    down = state("node-09", "DOWN", "mlx5_8")
    assert named("ib.port_off", *up, down)
    assert named("ib.port_off", *up, down, listing("node-00", "mlx5_0", "mlx5_8"))
    assert named("ib.port_off", *up, down, listing("node-09", "mlx5_0")), (
        "a port down is not listed"
    )
    assert not named("ib.port_off", *up, down, listing("node-00", "mlx5_0"))


def devices(host, *names, file=None, first=1):
    return [
        event("ib.device", Nature.MEASUREMENT, file=file or f"{host}.txt", line=first + number,
              host=host, fields={"device": name})
        for number, name in enumerate(names)
    ]  # fmt: skip


def test_what_a_listing_lacks_at_the_edge_of_its_text_may_be_cut_off():
    names = [f"mlx5_{number}" for number in range(4)]
    hosts = [f"node-{number:02d}" for number in range(4)]

    def cut(odd, file=None, first=100):
        usual = [
            one
            for place, host in enumerate(hosts)
            for one in devices(host, *names, file=file, first=1 + 4 * place if file else 1)
        ]
        (found,) = named("ib.difference", *usual, *devices("node-09", *odd, file=file, first=first))
        return found.fields["cut"]

    assert cut(names[:3], "paste.txt"), "the last host of a paste"
    assert not cut(names[1:], "paste.txt")
    assert not cut([names[0], *names[2:]], "paste.txt"), "in the midst"
    assert cut(names[1:], first=3), "its file begins in another way"
    assert not cut(names[1:], first=1)
