"""Address tables of RoCE devices: which index is routed between hosts, and what a fixed one holds.

``ib.gid_table`` is the table of one device: ``index``, the first RoCE v2 address with an IPv4
(else a global IPv6) address, None where there is none; ``fixed``, what NCCL_IB_GID_INDEX says;
``at_fixed``, what stands there (``routed``, ``link-local``, ``v1``, ``absent``);
``routed_elsewhere``, on how many other hosts that index of the same device is routed, and
``routed_anywhere`` of any; ``usual``, the index that most other hosts have it at, and ``differs``
from it; ``tables``, all indexes of the device as ``3: node-07, node-08``; ``common``, one index
that is routed on every device that is used; ``used`` and ``unused`` by NCCL, where its devices
are known.

On InfiniBand the index is ignored. The entries have no version there, or that of RoCE v1 where the
kernel says what they are, so such tables are left out.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from diagnose.facts.fabric.adapters import Adapters, place, said
from diagnose.facts.records import Named
from diagnose.facts.settings import whole
from diagnose.model.event import Event, Value

EVENTS = ("ib.gid_table",)

VARIABLE = "NCCL_IB_GID_INDEX"

Key = tuple[str, str, int]
"""Host or file, device, port."""

Entries = dict[int, Event]


def derive(named: Named, adapters: Adapters) -> Iterator[Event]:
    """Yield one event for each table, at the entry with the fixed index, else at the first one."""
    tables = {
        (where, device, port): entries
        for (where, device, port), entries in _tables(named).items()
        if not adapters.on_infiniband(where, device)
    }
    fixed = _fixed(named)
    at_fixed = {
        key: _holds(entries, fixed.get(key[0], fixed.get(None))) for key, entries in tables.items()
    }
    routed = {key: _routed(entries) for key, entries in tables.items()}
    right = {key for key, kind in at_fixed.items() if kind == "routed"}
    right_of = Counter(key[1:] for key in right)
    indexes: dict[tuple[str, int], dict[str, Value]] = {}
    for key, found in routed.items():
        indexes.setdefault(key[1:], {})[key[0]] = found[0] if found else None
    votes = {device: Counter(values.values()) for device, values in indexes.items()}
    listed = {device: said(values) for device, values in indexes.items()}
    common = _common([routed[key] for key in tables if adapters.used(key[0], key[1]) is not False])
    for key, entries in tables.items():
        where, device, port = key
        index = indexes[device, port][where]
        usual = _usual(votes[device, port], index)
        value = fixed.get(where, fixed.get(None))
        fields: dict[str, Value] = {
            "device": device,
            "port": port,
            "entries": len(entries),
            "index": index,
            "fixed": value,
            "at_fixed": at_fixed[key],
            "routed_elsewhere": right_of[device, port] - (key in right),
            "routed_anywhere": len(right),
            "usual": usual,
            "differs": index is not None and usual is not None and index != usual,
            "tables": listed[device, port],
            "common": common,
            "used": adapters.used(where, device),
            "unused": adapters.used(where, device) is False,
        }
        cited = entries.get(-1 if value is None else value) or entries[min(entries)]
        yield replace(cited, name=EVENTS[0], fields=fields, fact=None)


def _tables(named: Named) -> dict[Key, Entries]:
    found: dict[Key, Entries] = {}
    for event in named.get("ib.gid", ()):
        device, index = event.fields.get("device"), whole(event.fields.get("index"))
        filled = event.fields.get("version") and event.fields.get("kind")
        if isinstance(device, str) and index is not None and filled:
            port = whole(event.fields.get("port")) or 1
            found.setdefault((place(event), device, port), {})[index] = event
    return found


def _fixed(named: Named) -> dict[str | None, int]:
    """Return the index that the variable fixes, by host; -1 leaves the choice to NCCL.

    A host that states none has that of the others (None) where they agree.
    """
    found: dict[str | None, int] = {
        event.host: index
        for event in named.get("nccl.env", ())
        if event.fields.get("name") == VARIABLE
        and (index := whole(event.fields.get("value"))) is not None
    }
    values = set(found.values())
    if len(values) == 1:
        found[None] = values.pop()
    return found


def _routed(entries: Entries) -> list[int]:
    """Return the indexes of RoCE v2 addresses that are routed, those with IPv4 first."""
    of_kind: dict[str, list[int]] = {"ipv4": [], "ipv6": []}
    for index, event in sorted(entries.items()):
        kind = str(event.fields.get("kind"))
        if event.fields.get("version") == "v2" and kind in of_kind:
            of_kind[kind].append(index)
    return of_kind["ipv4"] + of_kind["ipv6"]


def _holds(entries: Entries, index: int | None) -> str | None:
    """Return what an index holds, None where it is not fixed or the table was not read whole."""
    if index is None:
        return None
    entry = entries.get(index)
    if entry is None:
        whole_table = any(event.fields.get("whole") for event in entries.values())
        return "absent" if whole_table or index < max(entries) else None
    if entry.fields.get("kind") == "link-local":
        return "link-local"
    return "routed" if entry.fields.get("version") == "v2" else "v1"


def _usual(votes: "Counter[Value]", own: Value) -> Value:
    """Return the index that most of the other hosts have, None where they have none or disagree."""
    others = votes.copy()
    others[own] -= 1
    (value, most), *rest = others.most_common(2)
    return None if most < 1 or (rest and rest[0][1] == most) else value


def _common(routed: list[list[int]]) -> int | None:
    """Return one index that is routed in all tables."""
    shared = set.intersection(*map(set, routed)) if routed else set[int]()
    return min(shared, default=None)
