"""Which rank is somewhere else than its peers, by the stacks dumped while a job hung.

=================== ==============================================================================
``stack.minority``  The stack of a rank that is elsewhere while most ranks wait for it, or in
                    another collective than they; at the rank's own dump
``stack.alone``     The stack of a rank that waits for nobody, where under ``FEWEST_DUMPED`` ranks
                    were dumped: it proves nothing by itself, and may say why a rank is missing
``stack.all_wait``  All dumped ranks are in the same collective, or wait for their GPUs in each of
                    several dumps; names nobody
=================== ==============================================================================

The last dump of each rank counts; launchers, loader workers and other helpers do not. Ranks in a
collective, in a wait for the device or for a message are those that wait. Where stacks show no
native frames, a wait for the device stands as one line of the program: most ranks at that same
line wait as well. Fewer than ``MAJORITY`` of them is no majority: the stages of a pipeline differ
by design, and a tie names nobody. A dump is one moment, so that ``snapshots`` and ``moved`` say
whether the rank was seen more than once, and elsewhere before.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from diagnose.facts.ended_workers import pid_owners
from diagnose.model.event import Event, Nature, Value

EVENTS = ("stack.minority", "stack.alone", "stack.all_wait")

DUMP = "stack.dump"

MAJORITY = 0.6
"""Share of the dumped ranks that must wait before the others are suspects."""

FEWEST_WAITING = 2
"""Ranks that must wait; one against one says nothing."""

FEWEST_DUMPED = 3
"""Ranks that must be dumped for a vote."""

WAITING = ("collective", "device", "p2p", "backward", "queue")
"""Kinds of work in which a rank waits for others, or for its own GPU."""

FETCHES = "fetch (fetch.py:"
"""Frame of a loader worker that makes a batch; one without it waits for the next order."""

IN_THE_DARK = frozenset({"lock", "sleep", "unknown", "subprocess"})
"""What native stacks alone say of nearly every wait in Python."""

NATIVE_TOOLS = frozenset({"gdb", "kernel"})

CRASHES = ("Segmentation fault", "Bus error", "Illegal instruction", "Floating point exception")
"""Faults after which a stack shows the crash and no wait."""

Who = tuple[int, int | None, str | None, int | None, str | None]
"""Attempt, and rank, else host and process, else file."""


@dataclass(frozen=True, slots=True)
class Member:
    """One rank of the vote.

    Args:
        dump: Its last one.
        earlier: Those before it, oldest first.
        workers: Dumps of its loader workers that make a batch.
    """

    dump: Event
    earlier: tuple[Event, ...]
    workers: tuple[Event, ...]

    @property
    def doing(self) -> str:
        """What it does, see ``parsers/stack_sites``."""
        return str(self.dump.fields["doing"])

    @property
    def place(self) -> tuple[Value, ...]:
        """What tells one collective from another: the call, and the way to it."""
        way = self.dump.fields["way"]
        return (self.dump.fields["call"], *(way if isinstance(way, list) else ()))


def name_pids(events: Sequence[Event]) -> None:
    """Give dumps that name only a process the rank whose own lines have that pid, in place.

    Hosts count pids each on their own: most of the dumps have to find an owner, or none does.
    """
    unnamed = [
        event
        for event in events
        if event.name == DUMP
        and event.rank is None
        and event.host is None
        and event.pid is not None
    ]
    by_pid = pid_owners(event for event in events if event.name != DUMP) if unnamed else {}
    known = [event for event in unnamed if event.pid in by_pid]
    if len(known) >= FEWEST_DUMPED and len(known) >= MAJORITY * len(unnamed):
        for event in known:
            event.rank = by_pid[event.pid or 0]


def derive(events: Sequence[Event]) -> Iterator[Event]:
    """Yield the ranks that stand out, in the order of attempts and dumps."""
    votes: dict[int, list[Member]] = {}
    for (attempt, *_), member in _members(events).items():
        votes.setdefault(attempt, []).append(member)
    for members in votes.values():
        yield from _minority(members)


def _members(events: Sequence[Event]) -> dict[Who, Member]:
    dumps: dict[Who, list[Event]] = {}
    for event in events:
        if event.name == DUMP and _counts(event):
            known = dumps.setdefault(_who(event), [])
            # Of a rank's processes the first is the rank, those behind it are its children.
            if not known or None in (event.pid, known[0].pid) or event.pid == known[0].pid:
                known.append(event)
    helpers = [event for event in events if event.name == DUMP and _makes_batch(event)]
    return {
        who: Member(
            found[-1],
            tuple(found[:-1]),
            tuple(one for one in helpers if _is_of(one, found[-1])),
        )
        for who, found in dumps.items()
    }


def _makes_batch(event: Event) -> bool:
    frames = event.fields["frames"]
    return (
        event.fields["role"] == "helper"
        and isinstance(frames, list)
        and any(str(frame).startswith(FETCHES) for frame in frames)
    )


def _is_of(worker: Event, rank: Event) -> bool:
    """Return whether a worker belongs to a rank: by number, else by the file of its dump."""
    if worker.rank is not None or rank.rank is not None:
        return worker.rank == rank.rank and worker.attempt == rank.attempt
    return worker.file == rank.file


def _counts(event: Event) -> bool:
    fields = event.fields
    if fields["role"] != "rank" or str(fields["fault"] or "").startswith(CRASHES):
        return False
    return not (fields["tool"] in NATIVE_TOOLS and fields["doing"] in IN_THE_DARK)


def _who(event: Event) -> Who:
    if event.rank is not None:
        return event.attempt, event.rank, None, None, None
    if event.pid is not None:
        return event.attempt, None, event.host, event.pid, None
    return event.attempt, None, None, None, event.file


def _minority(members: Sequence[Member]) -> Iterator[Event]:
    if len(members) < FEWEST_DUMPED:
        for member in members:
            if member.doing not in WAITING:
                yield _event(member, None, 0, len(members), "alone")
        return
    waiting = [one for one in members if one.doing in WAITING]
    if not _are_most(waiting, members):
        waiting = _at_one_line(members)
    if not _are_most(waiting, members):
        return
    others = [one for one in members if one not in waiting]
    usual = _usual(waiting)
    if others:
        for member in others:
            yield _event(member, usual, len(waiting), len(members), "elsewhere")
        return
    divergent = list(_other_collectives(waiting))
    yield from divergent
    if not divergent and all(_is_stuck(one) for one in members):
        yield _all_wait(usual, members)


def _is_stuck(member: Member) -> bool:
    """Return whether a rank waits for others, and not for a moment as each training step does."""
    again = any(one.fields["site"] == member.dump.fields["site"] for one in member.earlier)
    return member.doing == "collective" or (member.doing in ("device", "backward") and again)


def _all_wait(usual: Member, members: Sequence[Member]) -> Event:
    names = ("doing", "call", "site", "code")
    ranks: list[Value] = [one.dump.rank for one in members if one.dump.rank is not None]
    fields: dict[str, Value] = {name: usual.dump.fields[name] for name in names}
    return replace(
        usual.dump,
        name="stack.all_wait",
        nature=Nature.MEASUREMENT,
        fields=fields | {"dumped": len(members), "ranks": ranks},
        rank=None,
        local_rank=None,
        host=None,
        pid=None,
        fact=None,
    )


def _are_most(some: Sequence[Member], members: Sequence[Member]) -> bool:
    return len(some) >= max(FEWEST_WAITING, MAJORITY * len(members))


def _other_collectives(members: Sequence[Member]) -> Iterator[Event]:
    """Yield the ranks in another collective, or outside all, where most are in one."""
    places = Counter(one.place for one in members if one.doing == "collective")
    if not places:
        return
    (usual_place, most), *_ = places.most_common(1)
    usual = next(one for one in members if one.place == usual_place)
    if not _are_most([one for one in members if one.place == usual_place], members):
        return
    for member in members:
        if member.doing == "collective" and member.place != usual_place:
            same = member.place[0] == usual_place[0]
            yield _event(member, usual, most, len(members), "place" if same else "call")
        elif member.doing == "device":
            yield _event(member, usual, most, len(members), "device")


def _at_one_line(members: Sequence[Member]) -> list[Member]:
    """Return the ranks at the line of the program that most are at, none where all differ."""
    lines = Counter(one.dump.fields["site"] for one in members if one.doing == "python")
    if not lines:
        return []
    (line, _), *_ = lines.most_common(1)
    return [one for one in members if one.doing == "python" and one.dump.fields["site"] == line]


def _usual(waiting: Sequence[Member]) -> Member:
    """Return one of the ranks that wait as most of them do."""
    kinds = Counter((one.doing, one.dump.fields["call"]) for one in waiting)
    (kind, _), *_ = kinds.most_common(1)
    return next(one for one in waiting if (one.doing, one.dump.fields["call"]) == kind)


def _event(member: Member, usual: Member | None, waiting: int, dumped: int, differs: str) -> Event:
    dump = member.dump
    names = ("doing", "call", "site", "code", "state", "holder", "tool", "frames", "command")
    same = [one for one in member.earlier if one.fields["tool"] == dump.fields["tool"]]
    places = [one.fields["site"] for one in same]
    fields: dict[str, Value] = {
        **{name: dump.fields[name] for name in names},
        "differs": differs,
        "workers": [_place(worker) for worker in member.workers],
        "workers_doing": [worker.fields["doing"] for worker in member.workers],
        "usual": usual.doing if usual else None,
        "usual_call": usual.dump.fields["call"] if usual else None,
        "usual_site": usual.dump.fields["site"] if usual else None,
        "waiting": waiting,
        "dumped": dumped,
        "snapshots": 1 + len(places),
        "moved": any(place != dump.fields["site"] for place in places),
    }
    return replace(
        dump,
        name="stack.alone" if usual is None else "stack.minority",
        nature=Nature.MEASUREMENT,
        fields=fields,
        fact=None,
    )


def _place(dump: Event) -> str:
    """Return the innermost frame of a worker, and the frame of the user's code that led to it."""
    frames, code = dump.fields["frames"], dump.fields["code"]
    first = str(frames[0]) if isinstance(frames, list) else ""
    return first if code in (None, first) else f"{first} from {code}"
