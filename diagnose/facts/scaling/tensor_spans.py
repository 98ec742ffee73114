"""``train.tensor_parallel``: the size of tensor parallelism and how many nodes a group of it spans.

The nodes are those of the ranks of each group where the logs place them. Else they follow from how
many ranks a node holds: by the topology line of NCCL's largest communicator, by the launcher or, as
an upper bound, by nvidia-smi's table. One row of one GPU is a piece of a table, not the node.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from diagnose.facts.job import JobModel
from diagnose.facts.settings import whole
from diagnose.model.event import Event, Value

EVENT = "train.tensor_parallel"


def tensor_spans(events: Sequence[Event], job: JobModel) -> Iterator[Event]:
    """Yield the largest size of tensor parallelism, once.

    Args:
        events: Of the input.
        job: Where its ranks are.
    """
    sizes: list[tuple[int, Event]] = []
    largest = (0, 0)
    launched = listed = 0
    for event in events:
        value = event.fields.get("value")
        if event.name == "nccl.comm_topology":
            found = (
                whole(event.fields.get("nranks")) or 0,
                whole(event.fields.get("local_ranks")) or 0,
            )
            largest = max(largest, found)
        elif event.name == "torchrun.placement":
            ranks = event.fields.get("local_ranks")
            launched = max(launched, len(ranks) if isinstance(ranks, list) else 0)
        elif event.name == "nvidia_smi.gpu":
            rows = whole(event.fields.get("listed")) or 0
            listed = max(listed, rows if rows > 1 else 0)
        elif event.fact == "arg.tensor_model_parallel_size" and isinstance(value, int):
            sizes.append((value, event))
    if not sizes:
        return
    size, event = max(sizes, key=lambda one: one[0])
    per_node = (largest[1] if largest[0] >= size else 0) or launched or listed
    nodes = _placed(size, job) or (-(-size // per_node) if per_node else None)
    fields: dict[str, Value] = {"size": size, "ranks_per_node": per_node or None, "nodes": nodes}
    yield replace(event, name=EVENT, fields=fields, fact=None)


def _placed(size: int, job: JobModel) -> int | None:
    """Return the nodes of the widest group, None where no group is placed whole."""
    groups: dict[int, list[str]] = {}
    for rank in job.placements:
        if host := job.host_of(rank):
            groups.setdefault(rank // size, []).append(host)
    whole_ones = [hosts for hosts in groups.values() if len(hosts) == size]
    return max((len(set(hosts)) for hosts in whole_ones), default=None)
