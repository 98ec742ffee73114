"""Which node a pod ran on, and so whom Kubernetes speaks of.

What ``kubectl describe`` prints below the name of a pod and of its node belongs to that node; a
line that names a pod belongs to the node that any output places it on. The name of a file, which
mostly repeats the pod, is no node.
"""

from collections.abc import Iterable, Mapping

from diagnose.model.event import Event
from diagnose.model.reading import Reading

FAMILY = "k8s."
OBJECT, PLACED = "k8s.object", "k8s.placed"


def name_nodes(reading: Reading) -> None:
    """Give the events of Kubernetes the node they speak of, in place.

    Args:
        reading: Whose events are changed; they are in the order of sources and lines.
    """
    events = [event for event in reading.events if event.name.startswith(FAMILY)]
    if not any(event.name == PLACED for event in events):
        return
    by_file = {source.name: source.host for source in reading.sources}
    stated = {id(event) for event in events if event.host not in (None, by_file.get(event.file))}
    _below_their_heading(events, stated)
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


def _nodes(placed: Iterable[Event]) -> Mapping[str, str]:
    """Return the node of each pod that ran on one only."""
    found: dict[str, set[str]] = {}
    for event in placed:
        pod = event.fields.get("pod")
        if isinstance(pod, str) and event.host is not None:
            found.setdefault(pod, set()).add(event.host)
    return {pod: next(iter(hosts)) for pod, hosts in found.items() if len(hosts) == 1}
