"""Kubernetes beside the ends of containers: where pods run, drained nodes, pods that never started.

Read from ``kubectl describe``, ``get pod -o wide`` or ``-o yaml``, ``get nodes`` and ``get events``::

    Name:             worker-3
    Node:             node-07/10.0.4.7

    worker-3   0/1     Evicted   0          10m   <none>   node-07   <none>   <none>

``k8s.placed`` is a pod on a node, ``k8s.object`` the object that the lines below it describe; with
both, what the same output says later belongs to that node. ``k8s.evicted`` without a ``resource``
is the word of a table, which leaves out why. ``k8s.drained`` is a node that people or a controller
emptied. Tolerations name the taints of lost nodes on every pod and are not read.

``k8s.finished`` is when the container ended of whose end the lines around it tell, at that time.

*Empty*: no such output in the input. *Cut off*: a line cut short gives nothing.
"""

from email.utils import parsedate_to_datetime

from diagnose.ingest.stamp import parse_stamp
from diagnose.model.event import Clock, Event, Line, Nature
from diagnose.parsers.base import LineParser, Pattern
from diagnose.parsers.convert import short_host
from diagnose.parsers.kubernetes_events import name_object


def _complete(event: Event, line: Line) -> Event | None:
    if event.name == "k8s.finished":
        stamp = _moment(str(event.fields["at"]))
        if stamp is None:
            return None
        event.time, event.clock = stamp
    host = event.host
    if host is not None and host.startswith("<"):
        event.host = None
    name_object(event, line)
    return event


def _moment(text: str) -> tuple[float, Clock] | None:
    """Return the moment of ``Mon, 14 Sep 2026 04:48:45 +0000`` or of an ISO stamp."""
    try:
        return parsedate_to_datetime(text).timestamp(), Clock.UTC
    except ValueError:
        return parse_stamp(text)


def _pattern(event: str, regex: str, nature: Nature, sample: str, **constants: str) -> Pattern:
    return Pattern(
        event=event,
        regex=regex,
        nature=nature,
        source="Kubernetes 1.2x, kubectl describe, get and events, kubelet and controllers",
        sample=sample,
        types={"host": short_host},
        constants=constants,
    )


_POD = r"(?P<pod>[a-z0-9][a-z0-9.-]*)"
_ROW = rf"^(?:[a-z0-9-]+ +)?{_POD} +\d+/\d+ +"
_START = "ImagePullBackOff|ErrImagePull|InvalidImageName|CreateContainerConfigError|CreateContainerError|RunContainerError"

PODS = LineParser(
    name="kubernetes",
    title="Kubernetes: where pods run, evictions, drained and lost nodes, pods that did not start",
    patterns=(
        _pattern("k8s.object", rf"^Name: +{_POD}$", Nature.SETTING, "Name:             worker-3"),
        _pattern("k8s.placed", r"^Node: +(?P<host>[\w.<>-]+)(?:/\S+)?$", Nature.SETTING,
                 "Node:             node-07/10.0.4.7"),
        _pattern("k8s.placed", r"^\s*\"?nodeName\"?: \"?(?P<host>[\w.-]+)\"?,?$", Nature.SETTING, "  nodeName: node-07"),
        _pattern("k8s.placed", r"Successfully assigned (?:[\w-]+/)?(?P<pod>[\w.-]+) to (?P<host>[\w.-]+)",
                 Nature.SETTING, "Normal  Scheduled  2m  default-scheduler  Successfully assigned train/worker-3 to node-07",
                 how="scheduled"),
        _pattern("k8s.placed", rf"{_ROW}(?:Running|Completed|Error|CrashLoopBackOff|Terminating|OOMKilled|Unknown|ContainerStatusUnknown) .{{1,80}} (?P<host>[a-z0-9][a-z0-9.-]*) +<none> +\S+ *$",
                 Nature.SETTING, "worker-3   1/1     Running   0          10m   10.0.4.7   node-07   <none>   <none>"),
        _pattern("k8s.finished", r"^\s*Finished: +(?P<at>\w{3}, \d{1,2} \w{3} \d{4} [\d:]{8} [+-]\d{4})$", Nature.MEASUREMENT,
                 "      Finished:     Mon, 14 Sep 2026 04:48:45 +0000"),
        _pattern("k8s.finished", r"^\s*\"?finishedAt\"?: \"?(?P<at>\d{4}-\d\d-\d\dT[\d:]{8}Z)\"?,?$", Nature.MEASUREMENT,
                 '        finishedAt: "2026-09-14T04:48:45Z"'),
        _pattern("k8s.evicted", rf"{_ROW}Evicted (?:.{{1,80}} (?P<host>[a-z0-9][a-z0-9.-]*) +<none> +\S+ *$)?", Nature.ERROR,
                 "worker-3   0/1     Evicted   0          10m   <none>   node-07   <none>   <none>"),
        _pattern("k8s.node_lost", r"Kubelet stopped posting node status|\bNodeLost\b|which was running pod .{1,80} is unresponsive",
                 Nature.ERROR, "  Ready   Unknown   Mon, 14 Sep 2026 04:48:45 +0000   NodeStatusUnknown   Kubelet stopped posting node status."),
        _pattern("k8s.node_lost", r"^(?P<host>[a-z0-9][a-z0-9.-]*) +NotReady(?:,SchedulingDisabled)? +\S+ +\S+ +v\d",
                 Nature.ERROR, "node-07   NotReady   <none>   90d   v1.29.4"),
        _pattern("k8s.node_lost", r"^\s*(?:Taints: +)?node\.kubernetes\.io/(?:unreachable|not-ready):NoExecute$",
                 Nature.ERROR, "Taints:             node.kubernetes.io/unreachable:NoExecute"),
        _pattern("k8s.node_lost", r"Node (?P<host>[\w.-]+) status is now: NodeNotReady", Nature.ERROR,
                 "12m   Normal   NodeNotReady   node/node-07   Node node-07 status is now: NodeNotReady"),
        _pattern("k8s.node_lost", r"DeletionByPodGC", Nature.ERROR, "    reason: DeletionByPodGC"),
        _pattern("k8s.drained", r"\bnode/(?P<host>[\w.-]+) (?:already )?(?:cordoned|drained)", Nature.ERROR, "node/node-07 cordoned"),
        _pattern("k8s.drained", r"evicting pod (?:[\w-]+/)?(?P<pod>[\w.-]+)", Nature.ERROR, "evicting pod train/worker-3"),
        _pattern("k8s.drained", r"Node (?P<host>[\w.-]+) status is now: NodeNotSchedulable", Nature.ERROR,
                 "Normal  NodeNotSchedulable  3m  kubelet  Node node-07 status is now: NodeNotSchedulable"),
        _pattern("k8s.drained", r"EvictionByEvictionAPI|TerminationByKubelet", Nature.ERROR, "    reason: EvictionByEvictionAPI"),
        _pattern("k8s.drained", r"Node is shutting down|imminent node shutdown|[Rr]eason: +\"?NodeShutdown", Nature.ERROR,
                 "    Message:  Pod was terminated in response to imminent node shutdown."),
        _pattern("k8s.start_failed", rf"{_ROW}(?:Init:)?(?P<reason>{_START})\b", Nature.ERROR, "worker-3   0/1     ImagePullBackOff   0   10m"),
        _pattern("k8s.start_failed", rf"\b(?:Error: |[Rr]eason: +)(?P<reason>{_START})\b", Nature.ERROR,
                 "Warning  Failed  2m  kubelet  Error: ImagePullBackOff"),
        _pattern("k8s.start_failed", r"\b(?P<reason>FailedMount|FailedAttachVolume|FailedCreatePodSandBox) (?P<message>.*)",
                 Nature.ERROR, 'Warning  FailedMount  2m  kubelet  MountVolume.SetUp failed for volume "data" : mount failed: exit status 32'),
        _pattern("k8s.admission_failed", r"UnexpectedAdmissionError.{0,200}?(?P<message>no healthy devices.*|Allocate failed.*)",
                 Nature.EFFECT, "Warning  UnexpectedAdmissionError  2m  kubelet  Allocate failed due to no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu"),
    ),
    refine=_complete,
)  # fmt: skip

PARSERS = (PODS,)
