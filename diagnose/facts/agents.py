"""Which ranks torchrun's agents speak of, and whose words stand in their tables.

An agent states once, in the result of the rendezvous, which global ranks its node has. Later it
names workers by their rank on the node. The node's name is that of the master address where the
group is the first one, else what a prefix or a table says.
"""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

from diagnose.facts.records import Records
from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Value
from diagnose.parsers.convert import short_host

AGENTS = "torchrun."
PLACEMENT = "torchrun.placement"
TABLE = "torchrun.child_failed"
WORKER_LINES = frozenset({"torchrun.process_failed", "torchrun.sigterm", "torchrun.unkillable"})
KILLED = "kernel.oom_kill"

ERROR_FILE_PARTS = 4
"""Of ``torchelastic_ab/none_cd/attempt_0/3/error.json``, from the folder of the run on."""

NAME = LazyPattern(r"[A-Za-z][\w-]*(?:\.[\w-]+)*$")
TASK = LazyPattern(r"\s*(\d{1,6}): ")
RANK_PREFIX = "[rank"
NOBODY = frozenset({"localhost"})


@dataclass(frozen=True, slots=True)
class Node:
    """What one agent stated of its node.

    Args:
        file: Where.
        line: Where.
        agent: Pid of the agent, None before 2.5.
        host: If known.
        ranks: Global rank by rank on the node.
    """

    file: str
    line: int
    agent: Value
    host: str | None
    ranks: dict[int, int]


def worker_ranks(event: Event) -> dict[int, int]:
    """Return the global ranks by rank on the node that an agent states."""
    pairs = (event.fields.get(name) for name in ("local_ranks", "global_ranks"))
    local, ranks = (one if isinstance(one, list) else [] for one in pairs)
    return {
        number: rank
        for number, rank in zip(local, ranks, strict=False)
        if isinstance(number, int) and isinstance(rank, int)
    }


def drop_node_ranks(records: Records) -> None:
    """Take back ranks that are only numbers of srun's tasks, in place, where each task is an agent.

    An agent's own lines show it, where ``srun -l`` numbers them. Whatever else has such a number
    and no rank of its own was written by somebody on that node.
    """
    tasks: dict[str, set[int]] = {}
    for event in records.beginning(AGENTS):
        if found := TASK.match(event.text):
            tasks.setdefault(event.file, set()).add(int(found[1]))
    if not tasks:
        return
    reading = records.reading
    stated = {event.file for event in reading.events if RANK_PREFIX in event.text}
    for event in reading.events:
        found = TASK.match(event.text) if event.file in tasks else None
        named = event.name == TABLE or RANK_PREFIX in event.text
        if found and not named and event.rank == int(found[1]):
            event.rank = None
    for points in reading.points:
        if points.file not in stated and points.rank in tasks.get(points.file, ()):
            points.rank = None
    for source in reading.sources:
        for task in tasks.get(source.name, ()) if source.name not in stated else ():
            source.speakers.pop(task, None)


def name_workers(records: Records) -> None:
    """Give lines and tables of agents the rank and host of the worker they name, in place."""
    nodes: list[Node] = []
    for event in records.named.get(PLACEMENT, ()):
        event.host = event.host or _master(event)
        agent = event.fields.get("agent")
        nodes.append(Node(event.file, event.line, agent, event.host, worker_ranks(event)))
    for event in records.beginning(AGENTS):
        node = _node_of(event, nodes) if event.name != PLACEMENT else None
        if node is None:
            continue
        event.host = event.host or node.host
        if event.rank is None and event.local_rank is not None:
            event.rank = node.ranks.get(event.local_rank)
    tables = [event for event in records.named.get(TABLE, ()) if event.rank is not None]
    _name_table_lines(tables, records.reading.events)
    _name_pids(tables, records.among({KILLED, *WORKER_LINES}))


def name_tasks(records: Records, world_size: int | None) -> None:
    """Take the tasks that srun saw end for ranks, in place, where each task is one rank.

    Under torchrun a task is a node; so one of the numbers must be beyond the count of nodes.
    """
    if world_size is None or records.beginning(AGENTS):
        return
    ends = records.named.get("launcher.exit", [])
    tasks = {id(event): listed for event in ends if (listed := _tasks(event))}
    if not tasks:
        return
    nodes = {event.host for event in records.reading.events} - {None}
    if max(map(max, tasks.values())) < max(1, len(nodes)):
        return
    for event in ends:
        only = tasks.get(id(event), [])
        if event.rank is None and len(only) == 1 and only[0] < world_size:
            event.rank = only[0]


def _tasks(event: Event) -> list[int]:
    tasks = event.fields.get("tasks")
    return [one for one in tasks if isinstance(one, int)] if isinstance(tasks, list) else []


def _master(event: Event) -> str | None:
    name = event.fields.get("master_addr")
    if event.fields.get("group_rank") != 0 or not isinstance(name, str):
        return None
    return short_host(name) if NAME.match(name) and name not in NOBODY else None


def _node_of(event: Event, nodes: Iterable[Node]) -> Node | None:
    """Return what the agent of a line stated last before it, None where several may have."""
    here = [node for node in nodes if node.file == event.file and node.line < event.line]
    agent = event.fields.get("agent")
    own = [node for node in here if agent is not None and node.agent == agent]
    if own:
        return own[-1]
    if (
        len({node.agent for node in here}) == 1
        and len({tuple(one.ranks.values()) for one in here}) == 1
    ):
        return here[-1] if agent is None or here[-1].agent is None else None
    return None


def _name_table_lines(tables: Iterable[Event], events: Iterable[Event]) -> None:
    """Give what stands inside an entry of a table of failures to the worker of that entry."""
    entries: dict[str, list[Event]] = {}
    for event in sorted(tables, key=lambda one: one.line):
        entries.setdefault(event.file, []).append(event)
    files = {
        _tail(path): entry
        for listed in entries.values()
        for entry in listed
        if isinstance(path := entry.fields.get("error_file"), str)
    }
    starts = {file: [entry.line for entry in listed] for file, listed in entries.items()}
    for event in events if entries else ():
        if event.rank is not None or event.name == TABLE:
            continue
        owner = files.get(_tail(event.file)) if files else None
        if event.file in entries:
            place = bisect_left(starts[event.file], event.line) - 1
            before = entries[event.file][place] if place >= 0 else None
            owner = before if before is not None and event.line <= before.end_line else owner
        if owner is not None:
            event.rank, event.local_rank = owner.rank, owner.local_rank
            event.host = event.host or owner.host


def _name_pids(entries: Iterable[Event], events: Iterable[Event]) -> None:
    """Give what names a worker by its pid alone the worker of the table that has that pid.

    A kernel log without a host names a worker where one table alone says that this pid was killed.
    """
    tables: dict[int, list[Event]] = {}
    for event in entries:
        if event.pid is not None:
            tables.setdefault(event.pid, []).append(event)
    for event in events if tables else ():
        known = tables.get(event.pid, []) if event.pid is not None else []
        if event.name == KILLED:
            killed = [one for one in known if one.fields.get("signal") == "SIGKILL"]
            known = killed if event.host is None else []
        else:
            known = [one for one in known if one.file == event.file]
        if len({(one.rank, one.host) for one in known}) == 1:
            event.rank = known[0].rank if event.rank is None else event.rank
            event.host = event.host or known[0].host


def _tail(path: str) -> str:
    """Return the end of a path that tells error files apart: run, attempt and rank on the node."""
    return "/".join(path.split("/")[-ERROR_FILE_PARTS:])
