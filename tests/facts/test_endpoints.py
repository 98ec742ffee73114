import pytest

from diagnose.facts.endpoints import derive
from diagnose.model.event import Nature

from .build import event, fact, reading


def lost(source, peer, hca="mlx5_0", status=12, **more):
    fields = {"peer": peer, "hca": hca, "status": status, "level": "WARN"} | more.pop("fields", {})
    return event("nccl.ib.completion_error", host=source, nic=hca, fields=fields, **more)


def closed(source, peer):
    return event("nccl.socket_closed", Nature.EFFECT, host=source, fields={"peer": peer})


def address(host, ip):
    return fact("nccl.bootstrap_interface", "eth0", host=host, fields={"address": ip})


def vote(*events):
    (found,) = derive(reading(*events))
    return found.fields


def test_the_host_at_one_end_of_all():
    found = vote(lost("n1", "n9"), lost("n2", "n9"), lost("n9", "n3", "mlx5_4"))
    assert (found["edges"], found["suspect"], found["share"]) == (3, "n9", 1.0)
    assert found["coverage"] == 0.5


def test_an_address_is_the_host_that_has_it():
    events = [address("n9", "10.0.0.9"), lost("n1", "10.0.0.9"), lost("n9", "n1"), lost("n2", "n9")]
    assert vote(*events)["edges"] == 2


def test_a_triangle_has_no_suspect():
    found = vote(lost("n1", "n2"), lost("n2", "n3"), lost("n3", "n1"))
    assert (found["suspect"], found["share"]) == (None, 0.667)


def test_repetitions_and_directions_count_once():
    found = vote(*[lost("n1", "n2")] * 5, lost("n2", "n1"), lost("n1", "n3"), lost("n1", "n4"))
    assert (found["edges"], found["suspect"]) == (3, "n1")


def test_a_rail_on_many_hosts():
    rails = event("nccl.ib.devices", host="n1", fields={"hcas": ["mlx5_0", "mlx5_3"]})
    pairs = [("n1", "n2"), ("n2", "n3"), ("n3", "n4"), ("n4", "n1")]
    found = vote(rails, *[lost(a, b, "mlx5_3") for a, b in pairs])
    wanted = {"rail": "mlx5_3", "rail_share": 1.0, "rails": 2, "reporters": 4, "suspect": None}
    assert {name: found[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    "one",
    [
        lost("n1", "n2", status=5),
        lost("n1", "n1"),
        lost("n1", "n2", fields={"level": "INFO"}),
        lost(None, "n2"),
        event("nccl.connect_failed", host="n1", fields={"peer": "n2", "retrying": True}),
        event("nccl.socket_closed", host="n1", fields={}),
    ],
)
def test_what_has_no_vote(one):
    assert list(derive(reading(one))) == []


def test_kinds_and_attempts_vote_apart():
    events = [lost("n1", "n2"), closed("n1", "n2"), lost("n1", "n3", attempt=1)]
    assert [(one.fields["kind"], one.attempt) for one in derive(reading(*events))] == [
        ("rdma", 0),
        ("closed", 0),
        ("rdma", 1),
    ]


def test_two_groups_of_hosts():
    pairs = [(a, b) for a in ("n1", "n2") for b in ("n7", "n8", "n9")]
    found = vote(*[lost(a, b) for a, b in pairs])
    assert (found["sides"], found["across"]) == (["n1, n2", "n7, n8, n9"], 1.0)
    assert "sides" not in vote(*[lost(a, b) for a, b in pairs], lost("n1", "n2"))
    assert "sides" not in vote(lost("n1", "n9"), lost("n2", "n9"))


def test_of_closed_connections_the_first_of_each_process_counts():
    events = [closed("n1", "n9"), closed("n1", "n2"), closed("n2", "n9"), closed("n2", "n1")]
    for event_ in events:
        event_.file = f"{event_.host}.log"
    found = vote(*events)
    assert (found["edges"], found["suspect"]) == (2, "n9")
