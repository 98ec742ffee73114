"""Which pods that Kubernetes ended are none of the job's.

The events of a namespace speak of everybody's pods. A pod is another's where

* ranks print names of pods as their host, all are placed, and its name has no beginning in common
  with theirs (the launcher of a job is called like its workers); or
* no node is known for it, and on every host of the job a rank or its launcher told of an end of its
  own. Whoever is evicted, preempted or killed with the whole pod tells of none.
"""

from collections.abc import Iterable, Sequence

from diagnose.facts.job import JobModel
from diagnose.model.event import Event, Nature

ENDS = frozenset({"k8s.evicted", "k8s.preempted", "k8s.container_terminated"})

OWN_END = frozenset({"c10d.watchdog_timeout", "python.exception", "torchrun.child_failed"})
"""What a rank, or its launcher about it, says at an end that is not the end of its pod."""

KILLED = "SIGKILL"


class ForeignPods:
    """The pods of others, if the job's own places are known.

    Args:
        events: All of the input, with ranks and hosts completed.
        job: Who is who.
        hosts: Hosts of the job, empty where a rank is not placed.
    """

    def __init__(self, events: Sequence[Event], job: JobModel, hosts: Iterable[str]) -> None:
        self._hosts = set(hosts)
        named = {str(pod) for event in events if (pod := event.fields.get("pod"))}
        self._stems = {_stem(host) for host in self._hosts & named}
        told = {event.host or job.host_of(event.rank) for event in events if _tells(event)}
        killed = any(event.fields.get("signal") == KILLED for event in events)
        self._all_told = bool(self._hosts) and self._hosts <= told and not killed

    def exclude(self, event: Event) -> bool:
        """Return whether Kubernetes speaks of the end of another's pod."""
        pod = event.fields.get("pod")
        if event.name not in ENDS or not isinstance(pod, str) or pod in self._hosts:
            return False
        if self._stems:
            return _stem(pod) not in self._stems
        return self._all_told and event.host not in self._hosts


def _tells(event: Event) -> bool:
    return event.name in OWN_END and event.nature in (Nature.ERROR, Nature.EFFECT)


def _stem(name: str) -> str:
    return name.partition("-")[0]
