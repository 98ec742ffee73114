from diagnose.facts.pods import name_nodes
from diagnose.model.event import Clock, Nature

from .build import event, reading


def k8s(name, line, file="describe.txt", host=None, **fields):
    return event(f"k8s.{name}", Nature.ERROR, file, line, host=host, fields=fields)


def test_what_stands_below_a_node_belongs_to_it():
    events = [
        k8s("object", 1, pod="worker-3"),
        k8s("placed", 2, host="node-07"),
        k8s("evicted", 9, resource="memory"),
        k8s("object", 20, pod="worker-4"),
        k8s("placed", 21, host="node-08"),
        k8s("container_terminated", 29, reason="OOMKilled"),
    ]
    name_nodes(reading(*events))
    assert [one.host for one in events if "resource" in one.fields] == ["node-07"]
    assert [one.host for one in events if "reason" in one.fields] == ["node-08"]
    assert events[5].fields["pod"] == "worker-4"


def test_a_pod_that_is_not_placed_takes_no_node_from_the_one_before():
    events = [
        k8s("object", 1, pod="worker-3"),
        k8s("placed", 2, host="node-07"),
        k8s("object", 20, pod="worker-4"),
        k8s("not_scheduled", 29),
    ]
    name_nodes(reading(*events))
    assert events[3].host is None


def test_a_pod_is_on_the_node_that_another_file_states():
    events = [
        k8s("placed", 3, "pods.txt", "node-07", pod="worker-3"),
        k8s("drained", 1, "drain.txt", pod="worker-3"),
        k8s("drained", 2, "drain.txt", pod="worker-9"),
    ]
    name_nodes(reading(*events))
    assert [one.host for one in events[1:]] == ["node-07", None]


def test_a_pod_that_moved_is_on_no_certain_node():
    events = [
        k8s("placed", 3, "pods.txt", "node-07", pod="worker-3"),
        k8s("placed", 4, "pods.txt", "node-08", pod="worker-3"),
        k8s("evicted", 1, "events.txt", pod="worker-3"),
    ]
    name_nodes(reading(*events))
    assert events[2].host is None


def test_a_host_that_the_line_states_stays():
    events = [
        k8s("object", 1, pod="a"),
        k8s("placed", 2, host="node-07"),
        k8s("drained", 3, host="node-09"),
    ]
    name_nodes(reading(*events))
    assert events[2].host == "node-09"


def test_a_pod_that_found_a_node_after_all_was_only_late():
    events = [
        k8s("not_scheduled", 1, "events.txt"),
        k8s("placed", 2, "events.txt", "node-07", pod="worker-3", how="scheduled"),
        k8s("not_scheduled", 3, "events.txt"),
    ]
    name_nodes(reading(*events))
    assert [one.nature for one in events[::2]] == [Nature.MEASUREMENT, Nature.ERROR]


def test_a_container_ended_when_it_finished():
    events = [
        k8s("container_terminated", 4, reason="OOMKilled"),
        k8s("container_terminated", 5, exit_code=137),
        k8s("finished", 7),
        k8s("container_terminated", 40, exit_code=137),
    ]
    events[2].time, events[2].clock = 1_789_361_325.0, Clock.UTC
    name_nodes(reading(*events))
    assert [one.time for one in events] == [1_789_361_325.0] * 3 + [None]
    assert events[0].clock is Clock.UTC
