"""PyTorch's flight recorder: what each rank had called, entered and finished when it was dumped.

A dump is one file a rank, a pickle or JSON, mostly without an extension: ``nccl_trace_rank_5``,
``comm_lib_trace_rank_5``, ``_dump_5``. The number at the end of the name is the rank. Sample (JSON, 2.10)::

    {"version": "2.10", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}},
     "pg_status": {"0": {"last_enqueued_collective": "7", "last_started_collective": "-1", "last_completed_collective": "6"}},
     "entries": [{"record_id": 6, "pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": 7, ...}]}

Versions 2.1 to 2.10 look like this; before, the file is the list of entries alone. ``pg_id`` counts the
groups of one rank and means another group elsewhere; the name is the same everywhere. Only entries
link the two; a group without an entry is found by the order in which groups are numbered, where all
names are numbers.

``fr.dump`` says what the rank had called last, ``fr.group`` how far it got in one group.
``last_completed`` counts what the watchdog has seen finish. Without counters in the file (before 2.5)
they come from the entries, which a wrapped ring no longer holds in full.

Empty: the process ended while it wrote the file. Cut off: the file is not used and is listed as skipped.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from diagnose.errors import Unreadable
from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Nature, Value
from diagnose.parsers import plain_pickle
from diagnose.parsers.base import Document, FileParser, make_event
from diagnose.parsers.convert import spans
from diagnose.parsers.flight_recorder_calls import Call, call, in_order, whole, words
from diagnose.parsers.gate import Gate

FILE = LazyPattern(
    r"(?:^|[/!])(?:(?:nccl|comm_lib)_trace_rank_[^/!]*|_?(?:fr_|nccl_)?dump_\d{1,6})(?:\.\w+)*$"
)
"""Names that PyTorch and NVIDIA's resiliency extension give to dumps."""

NUMBER = LazyPattern(r"(\d{1,6})(?:\.[A-Za-z]\w*)*$")

PICKLE = LazyPattern(rb"\x80[\x02-\x05](?:\x95[\x00-\xff]{8})?(?:\}|\])")
PICKLE_KEYS = LazyPattern(rb"pg_config|pg_status|collective_seq_id|profiling_name")
OBJECT = LazyPattern(
    rb'(?:\xef\xbb\xbf)?\s*\{\s*"(?:version|entries|pg_config|pg_status|comm_lib_version|nccl_\w+|rank|host_name)"'
)
LIST = LazyPattern(rb'(?:\xef\xbb\xbf)?\s*\[\s*\{\s*"')
JSON_KEYS = LazyPattern(
    rb'"(?:pg_config|pg_status)"\s*:\s*\{|"(?:collective_seq_id|profiling_name)"\s*:'
)

LIMIT = 64 << 20
"""Bytes of one dump; 20,000 calls with their frames take about 15 MiB."""

ENTRIES, GROUPS, MEMBERS = 500_000, 4096, 200_000
"""Entries and groups of one dump and ranks of one group that are read."""

PENDING, FINISHED = 8, 4
"""Calls of one group that an event lists: the oldest unfinished and the newest finished ones."""

FRAMES = 6
"""Frames of a call that an event lists."""


@dataclass(slots=True)
class Group:
    """One process group as a rank's dump shows it.

    Args:
        name: The same on all ranks.
        desc: What it is for.
        members: Global ranks, empty if unknown.
        status: Counters, as far as the dump has them for this group.
        calls: In the order of calls.
        p2p: Whether some of them are sends or receives, which have numbers of their own.
    """

    name: str
    desc: str | None = None
    members: tuple[int, ...] = ()
    status: Mapping[str, Any] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    p2p: bool = False


def accepts(name: str, head: bytes) -> bool:
    """Return whether a file is a dump, by its first bytes; a damaged one by its name as well."""
    named = FILE.search(name) is not None
    if not head:
        return named
    if PICKLE.match(head):
        return named or PICKLE_KEYS.search(head) is not None
    if named and OBJECT.match(head):
        return True
    return bool(OBJECT.match(head) or LIST.match(head)) and JSON_KEYS.search(head) is not None


def read(document: Document) -> Iterator[Event]:
    """Yield what a dump says of the rank and of each of its groups.

    Raises:
        Unreadable: It is empty, cut off or damaged, or would run code.
    """
    dump = _load(document.data)
    if isinstance(dump, list):
        dump = {"version": "1", "entries": dump}
    if not isinstance(dump, dict) or not dump.keys() & {"entries", "pg_config", "pg_status"}:
        raise Unreadable("looks like a flight-recorder dump and has neither entries nor groups")
    entries = dump.get("entries")
    calls = _calls(entries)
    groups = _groups(dump, calls)
    if entries and not calls and not any(group.members for group in groups):
        raise Unreadable("a flight-recorder dump of which no entry can be read as a call")
    rank = _rank(document, groups)
    yield _dump_event(document, rank, dump, groups, calls)
    for group in groups:
        yield _group_event(document, rank, group, calls)


def _load(data: bytes) -> Any:
    if not data:
        raise Unreadable("an empty flight-recorder dump: the process ended while it wrote the file")
    if len(data) > LIMIT:
        raise Unreadable(f"a flight-recorder dump of more than {LIMIT >> 20} MiB")
    try:
        return plain_pickle.load(data) if data[:1] == b"\x80" else json.loads(data)
    except plain_pickle.Refused as error:
        raise Unreadable(f"a flight-recorder dump that {error}") from error
    except RecursionError as error:
        raise Unreadable("a flight-recorder dump that is nested too deep") from error
    except ValueError as error:
        what = "is cut off before its end or damaged"
        raise Unreadable(f"a flight-recorder dump that {what}") from error


def _calls(entries: object) -> list[Call]:
    listed = entries[:ENTRIES] if isinstance(entries, list) else []
    found = (call(one, place) for place, one in enumerate(listed) if isinstance(one, Mapping))
    return in_order(one for one in found if one is not None)


def _groups(dump: Mapping[str, Any], calls: Sequence[Call]) -> list[Group]:
    """Return all groups that a dump names, with their members, counters and calls."""
    config, status = (_map(dump.get(key)) for key in ("pg_config", "pg_status"))
    counters = {
        number: one
        for key, one in status.items()
        if (number := whole(key)) is not None and isinstance(one, Mapping)
    }
    names: dict[int, str] = {}
    groups: dict[str, Group] = {}
    for one in calls:
        name = one.name if one.name is not None else str(one.group)
        names.setdefault(one.group, name)
        group = groups.setdefault(name, Group(name, one.desc))
        group.calls.append(one)
        group.p2p = group.p2p or one.p2p
    for name, group in groups.items():
        _describe(group, _configured(name, group, config, groups))
    used = {name for name in groups if name in config}
    for name in list(config)[:GROUPS]:
        # An entry's name that the configuration lacks stands for one of its unused groups.
        if name in used or any(group.members == _members(config[name]) for group in groups.values()
                               if group.name not in config):  # fmt: skip
            continue
        groups[name] = _describe(Group(name), config[name])
    for number, name in {**_by_order(names, config, counters), **names}.items():
        if name in groups:
            groups[name].status = counters.get(number, {})
    return list(groups.values())


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _describe(group: Group, settings: object) -> Group:
    desc = _map(settings).get("desc")
    if group.desc is None and isinstance(desc, str) and desc not in ("", "undefined"):
        group.desc = desc
    group.members = _members(settings)
    return group


def _configured(
    name: str, group: Group, config: Mapping[str, Any], groups: Mapping[str, Group]
) -> object:
    """Return the settings of a group that an entry names.

    gloo's default group is ``""`` in the configuration and ``0`` in the entries: a group that has no
    settings by its name has those with its description, or the only ones that no other group has.
    """
    if name in config:
        return config[name]
    free = [config[one] for one in config if one not in groups]
    alike = [one for one in free if group.desc and _map(one).get("desc") == group.desc]
    chosen = alike or free
    return chosen[0] if len(chosen) == 1 else None


def _members(settings: object) -> tuple[int, ...]:
    """Return the ranks of a group, which even JSON has as the text ``"[0, 1, 2]"``."""
    listed = _map(settings).get("ranks")
    if isinstance(listed, str):
        try:
            listed = json.loads(listed) if len(listed) <= 10 * MEMBERS else None
        except (ValueError, RecursionError):
            return ()
    ranks = [whole(one) for one in listed[:MEMBERS]] if isinstance(listed, list) else []
    return tuple(sorted({one for one in ranks if one is not None and one >= 0}))


def _by_order(
    names: Mapping[int, str], config: Mapping[str, Any], counters: Mapping[int, Any]
) -> dict[int, str]:
    """Return the names of groups by their number on this rank, as far as the order tells.

    PyTorch numbers groups as it names them, one after the other, so both lists have one order; what
    the entries say has to agree with it. A single name that is left belongs to the single number.
    """
    numbers = sorted(counters)
    if len(numbers) == len(config) and all(name.isdecimal() for name in config):
        pairs = dict(zip(numbers, sorted(config, key=int), strict=True))
        if all(pairs.get(number) == name for number, name in names.items()):
            return pairs
    taken = set(names.values())
    rest = [name for name in config if name not in taken]
    free = [number for number in numbers if number not in names]
    return {free[0]: rest[0]} if len(rest) == len(free) == 1 else {}


def _rank(document: Document, groups: Sequence[Group]) -> int | None:
    """Return the rank: of the file name, else the only one that is in all groups of the dump."""
    named = document.at("").rank
    if named is not None:
        return named
    shared = [set(group.members) for group in groups if group.members]
    common = set.intersection(*shared) if shared else set()
    number = NUMBER.search(document.name)
    if number is not None and (int(number[1]) in common or not shared):
        return int(number[1])
    return next(iter(common)) if len(common) == 1 else None


def _dump_event(
    document: Document,
    rank: int | None,
    dump: Mapping[str, Any],
    groups: Sequence[Group],
    calls: Sequence[Call],
) -> Event:
    open_calls = sum(_waits(one, group) for group in groups for one in group.calls)
    last = calls[-1] if calls else None
    world = max((group for group in groups if group.desc == "default_pg"),
                key=lambda one: len(one.members), default=None)  # fmt: skip
    fields: dict[str, Value] = {
        "version": words(dump.get("version")),
        "entries": len(calls),
        "pending": open_calls,
        "wrapped": bool(calls) and calls[0].record > 0,
        "last_op": last.op if last else None,
        "last_created": last.created if last else None,
        "last_site": last.site if last else None,
        "last_frames": list(last.frames[:FRAMES]) if last else [],
    }
    if world is not None and world.members:
        fields["world_size"] = len(world.members)
    text = (
        f"flight-recorder dump{_of(rank)}: {len(calls)} calls kept, {open_calls} of them not completed"
        + (f", the last a {last.op}" if last else "")
    )
    return _event("fr.dump", document, rank, text, fields, None)


def _group_event(
    document: Document, rank: int | None, group: Group, calls: Sequence[Call]
) -> Event:
    waiting = [one for one in group.calls if _waits(one, group)]
    finished = [one for one in group.calls if not _waits(one, group)]
    fields: dict[str, Value] = {
        "group": group.desc,
        "members": spans(group.members),
        **_counters(group, waiting, wrapped=bool(calls) and calls[0].record > 0),
        "pending": len(waiting),
        "p2p": group.p2p,
        "calls": [one.signature() for one in (*finished[-FINISHED:], *waiting[:PENDING])],
    }
    if waiting:
        oldest = waiting[0]
        fields |= {
            "seq": oldest.seq,
            "op": oldest.op,
            "peer": oldest.peer,
            "numel_in": oldest.numel_in,
            "dtype": oldest.dtype,
            "state": oldest.state,
            "created": oldest.created,
            "timeout": oldest.timeout,
            "record": oldest.record,
            "site": oldest.site,
            "frames": list(oldest.frames[:FRAMES]),
        }
    text = (
        f"flight-recorder dump{_of(rank)}: {group.desc or 'group'} {group.name}: "
        f"last enqueued {_shown(fields['last_enqueued'])}, last completed {_shown(fields['last_completed'])}, "
        + (
            f"{len(waiting)} pending from {waiting[0].op} #{waiting[0].seq} on"
            if waiting
            else "nothing pending"
        )
    )
    return _event("fr.group", document, rank, text, fields, group.name)


def _waits(one: Call, group: Group) -> bool:
    """Return whether a call is still waited for; the counters know of ends the entries miss."""
    completed = whole(group.status.get("last_completed_collective"))
    counted = completed is not None and not one.p2p and one.seq <= completed
    return not (one.done or (counted and not group.p2p))


def _counters(group: Group, waiting: Sequence[Call], *, wrapped: bool) -> dict[str, Value]:
    """Return the three counters, from the entries where the dump has none; None if unknown."""
    enqueued, started, completed = (
        whole(group.status.get(f"last_{what}_collective"))
        for what in ("enqueued", "started", "completed")
    )
    if not group.status:
        seen = [one.seq for one in group.calls if not one.p2p]
        enqueued = max(seen, default=None if wrapped else 0)
        completed = enqueued
        if waiting:
            completed = min(one.seq for one in waiting) - 1
    return {
        "last_enqueued": enqueued,
        "last_started": None if started == -1 else started,
        "last_completed": completed,
    }


def _of(rank: int | None) -> str:
    return "" if rank is None else f" of rank {rank}"


def _shown(value: Value) -> str:
    return "unknown" if value is None else str(value)


def _event(
    name: str,
    document: Document,
    rank: int | None,
    text: str,
    fields: Mapping[str, Value],
    group: str | None,
) -> Event:
    who: dict[str, Value] = {"rank": rank, "communicator": group}
    return make_event(name, Nature.MEASUREMENT, document.at(text), {**fields, **who})


def _sample() -> str:
    entry: dict[str, Any] = {
        "record_id": 6, "pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": 7,
        "p2p_seq_id": 0, "op_id": 7, "profiling_name": "nccl:all_reduce", "state": "scheduled",
        "time_created_ns": 1767607200_000000000, "input_sizes": [[1024]], "input_dtypes": ["Float"],
        "output_sizes": [[1024]], "output_dtypes": ["Float"], "retired": False, "timeout_ms": 600000,
        "is_p2p": False,
    }  # fmt: skip
    counters = {"enqueued": "7", "started": "-1", "completed": "6"}
    dump = {
        "version": "2.10",
        "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}},
        "pg_status": {"0": {f"last_{key}_collective": value for key, value in counters.items()}},
        "entries": [entry],
    }
    return json.dumps(dump)


def _read(document: Document) -> Iterable[Event]:
    return list(read(document))


PARSERS = (
    FileParser(
        name="flight-recorder",
        title="Dumps of PyTorch's flight recorder, pickle or JSON, versions 1 to 2.10",
        accepts=accepts,
        gate=Gate(
            names=("trace_rank_", "dump_"),
            starts=(b"\x80", b"{", b"["),
            holds=(b"pg_config", b"pg_status", b"collective_seq_id", b"profiling_name"),
        ),
        read=_read,
        emits=("fr.dump", "fr.group"),
        sample=_sample(),
        alone=True,
    ),
)
