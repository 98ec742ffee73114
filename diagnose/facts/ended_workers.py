"""Workers that were alive when their neighbours gave up, from what torchrun's agents had to end.

========================= =======================================================================
``torchrun.worker_alive`` A worker that its agent had to end although its neighbours had failed, all
                          of them by a timeout: alive, and late for their collective
========================= =======================================================================

torchrun calls the first rank whose patience ended the root cause, and sends SIGTERM to the rank
they had waited for. That proves nothing where a rank failed by a fault of its own: then the workers
that an agent ended are innocent.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from diagnose.facts.agents import PLACEMENT, TABLE, worker_ranks
from diagnose.facts.exits import own_exits, waiting_ranks
from diagnose.facts.identity import is_writer
from diagnose.model.event import Event, Nature, Value

EVENTS = ("torchrun.worker_alive",)

LINE = "torchrun.process_failed"

MOST_ALIVE = 2
"""Workers that may have been alive; more of them had only not timed out yet."""


@dataclass(slots=True)
class Scene:
    """The end of one agent's workers.

    Args:
        failed: Exits of its workers, by pid.
        ended: Signals that the agent sent to workers that had not failed, by pid.
    """

    failed: dict[int, Event] = field(default_factory=dict)
    ended: dict[int, Event] = field(default_factory=dict)


def derive(events: Sequence[Event]) -> Iterator[Event]:
    """Yield the workers that were alive.

    Args:
        events: With ranks, hosts and attempts completed.
    """
    for attempt in sorted({event.attempt for event in events if event.name == "torchrun.sigterm"}):
        here = [event for event in events if event.attempt == attempt]
        if not own_exits(here) and not _raised(here):
            yield from _alive(here, waiting_ranks(here))


def _raised(events: Sequence[Event]) -> bool:
    """Return whether an error of a rank's own was printed: not one that tells of waiting."""
    waits = {
        (event.file, event.line) for event in events if event.name.startswith(("c10d.", "gloo."))
    }
    return any(
        event.name.startswith(("python.error_line", "cuda."))
        and event.nature is Nature.ERROR
        and (event.file, event.line) not in waits
        for event in events
    )


def _alive(events: Sequence[Event], waited: set[int | None]) -> Iterator[Event]:
    owners = pid_owners(events)
    found: list[Event] = []
    forced = {event.pid for event in events if event.name == "torchrun.unkillable"}
    sizes = {
        (event.file, len(ranks))
        for event in events
        if event.name == PLACEMENT and (ranks := worker_ranks(event))
    }
    files = {file for file, _ in sizes}
    for scene in _scenes(events):
        late = _known(scene, owners) or _left(scene)
        late = {rank: one for rank, one in late.items() if rank not in waited}
        size = len(scene.failed) + len(scene.ended)
        if any(event.file in files and (event.file, size) not in sizes for event in late.values()):
            continue
        if len(late) < len(scene.failed) and all(
            event.rank in waited or (waited and event.fields.get("signal") == "SIGABRT")
            for event in scene.failed.values()
        ):
            host = next(iter(scene.failed.values())).host
            found += [
                replace(event, name=EVENTS[0], nature=Nature.MEASUREMENT, rank=rank, host=host,
                        fields={"failed": len(scene.failed), "forced": event.pid in forced})
                for rank, event in sorted(late.items())
            ]  # fmt: skip
    if len(found) <= MOST_ALIVE:
        yield from found


def _scenes(events: Sequence[Event]) -> list[Scene]:
    """Return what each agent saw. Tables name no agent and go by the pids in them."""
    scenes: dict[tuple[str, Value], Scene] = {}
    tables = [event for event in events if event.name == TABLE and event.pid is not None]
    for event in events:
        if event.name in ("torchrun.sigterm", LINE) and event.pid is not None:
            scene = scenes.setdefault((event.file, event.fields.get("agent")), Scene())
            (scene.failed if event.name == LINE else scene.ended)[event.pid] = event
    for (file, _), scene in scenes.items():
        alone = sum(other == file for other, _ in scenes) == 1
        hosts = {table.host for table in tables if table.file == file and table.pid in scene.failed}
        for table in tables:
            if table.file == file and (alone or table.host in hosts) and table.pid is not None:
                scene.failed[table.pid] = table
        scene.ended = {pid: one for pid, one in scene.ended.items() if pid not in scene.failed}
    return [scene for scene in scenes.values() if scene.failed and scene.ended]


def pid_owners(events: Iterable[Event]) -> dict[int, int]:
    """Return the rank of each pid that a rank's own lines state, where that is one alone."""
    found: dict[int, set[int]] = {}
    for event in events:
        if is_writer(event) and event.pid is not None and event.rank is not None:
            found.setdefault(event.pid, set()).add(event.rank)
    return {pid: next(iter(ranks)) for pid, ranks in found.items() if len(ranks) == 1}


def _known(scene: Scene, owners: Mapping[int, int]) -> dict[int, Event]:
    """Return the ended workers by rank, if their own lines tell the rank of all."""
    if not scene.ended.keys() <= owners.keys():
        return {}
    return {owners[pid]: event for pid, event in scene.ended.items()}


def _left(scene: Scene) -> dict[int, Event]:
    """Return the ended workers by rank; the ranks follow from those that failed.

    The workers of an agent have consecutive ranks, and all that did not fail were ended. Where that
    does not come out even, somebody left before, and no number is certain.
    """
    failed = {event.rank for event in scene.failed.values()} - {None}
    bases = {
        event.rank - event.local_rank
        for event in scene.failed.values()
        if event.rank is not None and event.local_rank is not None
    }
    if len(failed) != len(scene.failed) or len(bases) != 1:
        return {}
    (base,) = bases
    left = sorted(set(range(base, base + len(failed) + len(scene.ended))) - failed)
    if len(left) != len(scene.ended):
        return {}
    signals = sorted(scene.ended.values(), key=lambda event: event.line)
    return dict(zip(left, signals, strict=True))
