import pytest
from communication import check_table, names, one, read

from diagnose.model.event import Clock
from diagnose.parsers import kubernetes, scheduler


def test_samples_match_and_patterns_are_safe():
    check_table(kubernetes)


@pytest.mark.parametrize(
    ("text", "pod", "host"),
    [
        ("Node:             node-07/10.0.4.7", None, "node-07"),
        ("  nodeName: node-07", None, "node-07"),
        ('    "nodeName": "node-07",', None, "node-07"),
        ("Node:             node-07.cluster.local/10.0.4.7", None, "node-07"),
        ("Node:             <none>", None, None),
        ("  Normal  Scheduled  2m  default-scheduler  Successfully assigned train/worker-3 to node-07", "worker-3", "node-07"),
        ("worker-3   1/1     Running   0          10m   10.0.4.7   node-07   <none>   <none>", "worker-3", "node-07"),
        ("worker-3   1/1     Running   2 (5m ago)   10m   10.0.4.7   node-07   <none>           <none>", "worker-3", "node-07"),
        ("train   worker-3   1/1     Running   0          10m   10.0.4.7   node-07   <none>   <none>", "worker-3", "node-07"),
    ],
)  # fmt: skip
def test_where_pods_run(text, pod, host):
    event = one(kubernetes, text, "k8s.placed")
    assert (event.fields.get("pod"), event.host) == (pod, host)


@pytest.mark.parametrize(
    ("text", "name", "host"),
    [
        ("node-07   NotReady   <none>   90d   v1.29.4", "k8s.node_lost", "node-07"),
        ("node-07   NotReady,SchedulingDisabled   worker   90d   v1.29.4-gke.100", "k8s.node_lost", "node-07"),
        ("Taints:             node.kubernetes.io/unreachable:NoExecute", "k8s.node_lost", None),
        ("                    node.kubernetes.io/not-ready:NoExecute", "k8s.node_lost", None),
        ("  Ready   Unknown   Mon, 14 Sep 2026 04:48:45 +0000   NodeStatusUnknown   Kubelet stopped posting node status.", "k8s.node_lost", None),
        ("    reason: DeletionByPodGC", "k8s.node_lost", None),
        ("node/node-07 cordoned", "k8s.drained", "node-07"),
        ("node/node-07 drained", "k8s.drained", "node-07"),
        ("    reason: EvictionByEvictionAPI", "k8s.drained", None),
        ("    reason: TerminationByKubelet", "k8s.drained", None),
        ("    Message:  Pod was terminated in response to imminent node shutdown.", "k8s.drained", None),
        ("worker-3   0/1     Evicted   0          10m   <none>   node-07   <none>   <none>", "k8s.evicted", "node-07"),
        ("worker-3   0/1     Evicted   0          10m", "k8s.evicted", None),
        ("worker-3   0/1     Init:ImagePullBackOff   0   10m", "k8s.start_failed", None),
        ("      Reason:       CreateContainerConfigError", "k8s.start_failed", None),
    ],
)  # fmt: skip
def test_ends_of_pods_and_nodes(text, name, host):
    assert one(kubernetes, text, name).host == host


@pytest.mark.parametrize(
    "text",
    [
        "Tolerations:     node.kubernetes.io/not-ready:NoExecute op=Exists for 300s",
        "                 node.kubernetes.io/unreachable:NoExecute op=Exists for 300s",
        "node-07   Ready   <none>   90d   v1.29.4",
        "node/node-07 uncordoned",
        "Name:",
        "NAME       READY   STATUS    RESTARTS   AGE",
    ],
)
def test_near_misses(text):
    assert names(kubernetes, text) == []


def test_a_described_pod_names_itself_before_its_node():
    text = (
        "Name:             worker-3\nNamespace:        train\nNode:             node-07/10.0.4.7\n"
    )
    events = read(kubernetes, text)
    assert [event.name for event in events] == ["k8s.object", "k8s.placed"]
    assert events[0].fields["pod"] == "worker-3"


@pytest.mark.parametrize(
    "text",
    [
        "      Finished:     Mon, 14 Sep 2026 04:48:45 +0000",
        "      Finished:     Mon, 14 Sep 2026 12:48:45 +0800",
        '        finishedAt: "2026-09-14T04:48:45Z"',
        '    "finishedAt": "2026-09-14T04:48:45Z",',
    ],
)
def test_when_a_container_ended(text):
    event = one(kubernetes, text)
    assert (event.time, event.clock) == (1789361325.0, Clock.UTC)


def test_a_day_that_does_not_exist_is_no_time():
    assert names(kubernetes, "      Finished:     Mon, 44 Sep 2026 04:48:45 +0000") == []


HEADING = "LAST SEEN   TYPE      REASON    OBJECT         MESSAGE\n"


@pytest.mark.parametrize(
    ("row", "name", "pod", "host"),
    [
        (
            "12m         Warning   Evicted   pod/worker-3   Pod The node was low on resource: memory. Threshold quantity: 100Mi",
            "k8s.evicted", "worker-3", None,
        ),
        (
            "train       12m         Warning   SystemOOM   node/node-07   System OOM encountered, victim process: python3, pid: 812345",
            "k8s.system_oom", None, "node-07",
        ),
        (
            "7m          Normal    NodeNotReady   node/node-07   Node node-07 status is now: NodeNotReady",
            "k8s.node_lost", None, "node-07",
        ),
        (
            "4m (x3 over 9m)   Warning   Evicted   pod/worker-3   kubelet, node-07   The node was low on resource: memory.",
            "k8s.evicted", "worker-3", "node-07",
        ),
    ],
)  # fmt: skip
def test_a_row_of_events_names_its_object(row, name, pod, host):
    module = scheduler if "NodeNotReady" not in row else kubernetes
    (event,) = [one for one in read(module, HEADING + row + "\n") if one.name == name]
    assert (event.fields.get("pod"), event.host) == (pod, host)
