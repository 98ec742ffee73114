"""Which node a pod ran on, and so whom Kubernetes speaks of.

What ``kubectl describe`` prints below the name of a pod and of its node belongs to that node; a
line that names a pod belongs to the node that any output places it on. The name of a file, which
mostly repeats the pod, is no node. A pod that the same output places after all was only late, so
that it found no node before is no error. The end of a container happened when it ``Finished``.
"""

from collections.abc import Iterable, Mapping

from diagnose.model.event import Event, Nature
from diagnose.model.reading import Reading

FAMILY = "k8s."
OBJECT, PLACED, NOT_PLACED = "k8s.object", "k8s.placed", "k8s.not_scheduled"
ENDED, FINISHED = "k8s.container_terminated", "k8s.finished"

BESIDE = 4
"""Lines between the reason of an end and its time, in the layouts of kubectl."""


def name_nodes(reading: Reading) -> None:
    """Give the events of Kubernetes the node they speak of, and their weight and time, in place.

    Args:
        reading: Whose events are changed; they are in the order of sources and lines.
    """
    events = [event for event in reading.events if event.name.startswith(FAMILY)]
    _date_ends(events)
    if not any(event.name == PLACED for event in events):
        return
    by_file = {source.name: source.host for source in reading.sources}
    stated = {id(event) for event in events if event.host not in (None, by_file.get(event.file))}
    _below_their_heading(events, stated)
    _late(events)
    nodes = _nodes(event for event in events if event.name == PLACED)
    for event in events:
        pod = event.fields.get("pod")
        if id(event) not in stated and isinstance(pod, str) and pod in nodes:
            event.host = nodes[pod]


def _below_their_heading(events: Iterable[Event], stated: set[int]) -> None:
    """Give events the node that stands above them in the description of one object."""
    file = pod = node = None
    for event in events:
        if event.file != file or event.name == OBJECT:
            file, pod, node = event.file, None, None
        if event.name == OBJECT:
            pod = event.fields.get("pod")
        elif event.name == PLACED and "pod" not in event.fields:
            node = event.host
            event.fields["pod"] = pod
        elif event.fields.get("pod") is None and id(event) not in stated:
            if node is not None:
                event.host = node
            if pod is not None:
                event.fields["pod"] = pod


def _date_ends(events: Iterable[Event]) -> None:
    """Give the ends of containers the moment that stands beside them."""
    finished: dict[str, list[Event]] = {}
    events = list(events)
    for event in events:
        if event.name == FINISHED:
            finished.setdefault(event.file, []).append(event)
    for event in events:
        if event.name != ENDED or event.time is not None:
            continue
        beside = [
            one for one in finished.get(event.file, []) if abs(one.line - event.line) <= BESIDE
        ]
        if beside:
            nearest = min(beside, key=lambda one: abs(one.line - event.line))
            event.time, event.clock = nearest.time, nearest.clock


def _late(events: Iterable[Event]) -> None:
    """Take attempts to place a pod for no error where a later one in that file succeeded."""
    waiting: dict[str, list[Event]] = {}
    for event in events:
        if event.name == NOT_PLACED:
            waiting.setdefault(event.file, []).append(event)
        elif event.name == PLACED and event.fields.get("how") == "scheduled":
            for earlier in waiting.pop(event.file, []):
                earlier.nature = Nature.MEASUREMENT


def _nodes(placed: Iterable[Event]) -> Mapping[str, str]:
    """Return the node of each pod that ran on one only."""
    found: dict[str, set[str]] = {}
    for event in placed:
        pod = event.fields.get("pod")
        if isinstance(pod, str) and event.host is not None:
            found.setdefault(pod, set()).add(event.host)
    return {pod: next(iter(hosts)) for pod, hosts in found.items() if len(hosts) == 1}
