"""Where a rank stands in the job: host, slot, and its places in the parallel layout.

Megatron, DeepSpeed and torchtitan number ranks alike: tensor parallelism is innermost, then
context, data (in which expert parallelism lies), and pipeline stages outermost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from diagnose.facts.job import JobModel


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The places of one rank, None where unknown.

    Args:
        host: Its host.
        slot: Its number among the ranks of the host.
        stage: Pipeline stage.
        tensor: Number of its tensor-parallel group.
        expert: Place in its expert-parallel group.
    """

    host: str | None = None
    slot: int | None = None
    stage: int | None = None
    tensor: int | None = None
    expert: int | None = None


def places_of(job: JobModel, ranks: Sequence[int], hosts: Mapping[int, str]) -> dict[int, Place]:
    """Return the places of some ranks.

    Args:
        job: With the sizes of the layout.
        ranks: In order.
        hosts: Of ranks whose logs state it.
    """
    host_of = {rank: hosts.get(rank) or job.host_of(rank) for rank in ranks}
    members: dict[str, list[int]] = {}
    for rank, host in host_of.items():
        if host is not None:
            members.setdefault(host, []).append(rank)
    slots = {rank: slot for own in members.values() for slot, rank in enumerate(own)}
    sizes = job.report.parallel
    tensor, stages = sizes.get("tp") or 1, sizes.get("pp") or 1
    context, experts = sizes.get("cp") or 1, sizes.get("ep") or 1
    world = job.report.world_size or max(ranks) + 1
    whole = world % (tensor * context * stages) == 0
    replicas = world // (tensor * context * stages)
    return {
        rank: Place(
            host=host_of[rank],
            slot=slots.get(rank),
            stage=rank * stages // world if whole and stages > 1 else None,
            tensor=rank // tensor if whole and tensor > 1 else None,
            expert=rank // (tensor * context) % replicas % experts
            if whole and experts > 1
            else None,
        )
        for rank in ranks
    }
