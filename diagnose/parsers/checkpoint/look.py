"""What a look at all files of an input folder shows of its checkpoints, as events.

Not a parser: the parser of checkpoint folders asks it.

========================== =======================================================================
``ckpt.zero_size``         A file without a byte
``ckpt.truncated``         A file that cannot be what was saved: ``kind``, ``reason``, ``expected`` and
                           ``short`` in bytes; ``stored``, the bytes it occupies where it has holes
``ckpt.tensor_holes``      Tensors in DCP's metadata whose parts do not fill them
``ckpt.leftover_shards``   Shards of DCP that the metadata does not name
``ckpt.index_mismatch``    Tensors that are not in the file the index names for them
``ckpt.index``             Bytes that an index states beside those its files hold
``ckpt.rng_same``          Random states of all ranks are the same
``ckpt.suspicious_pickle`` A pickle names what can run code: ``global``, ``does``
========================== =======================================================================
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from diagnose.ingest.lazy import LazyPattern
from diagnose.ingest.source import Entry
from diagnose.model.event import Event, Nature, Value
from diagnose.parsers.checkpoint import files, indexes, random_states, zipped
from diagnose.parsers.checkpoint.indexes import Index
from diagnose.parsers.checkpoint.inside import Contents, Damage
from diagnose.parsers.checkpoint.safetensors import Header

EVENTS = (
    "ckpt.zero_size",
    "ckpt.truncated",
    "ckpt.tensor_holes",
    "ckpt.leftover_shards",
    "ckpt.index_mismatch",
    "ckpt.index",
    "ckpt.rng_same",
    "ckpt.suspicious_pickle",
)

DATA = LazyPattern(
    r"\.(?:distcp|pt|pth|pth\.tar|ckpt|bin|safetensors)$|(?:^|/)random_states_\d+\.pkl$"
)
INDEXES = LazyPattern(r"\.metadata$|\.index\.json$")

HEADERS = 200_000
"""Headers of zip members looked at in one folder."""

FEWEST_HEADERS = 16
"""Of each zip, however many there are."""

OPENED, OPENED_BYTES = 256, 32 << 20
"""Files, and bytes of pickles in them, that are looked into for names that run code."""

SPARSE = 0.9
"""Share of its size a file occupies at least, unless it has holes or lies compressed."""

LISTED = 50
"""Names that an event gives; it counts all."""

StepOf = Callable[[str], int | None]


@dataclass(frozen=True, slots=True)
class Look:
    """What was found in the files of one input folder.

    Args:
        indexes: The indexes among them.
        wrong: What is wrong with a file, by its name.
        inside: What a file holds, by its name, of those that were looked into.
    """

    indexes: list[Index]
    wrong: dict[str, Damage]
    inside: dict[str, Contents]


def look(entries: list[Entry]) -> Look:
    """Check each file, hold it against the indexes beside it, look into some of the pickles."""
    found = indexes.read(entries)
    wrong = _damaged(entries, found)
    inside = {index.entry.name: index.contents for index in found}
    inside |= dict(_opened([entry for entry in entries if entry.name not in wrong]))
    wrong = {name: one.problem for name, one in inside.items() if one.problem} | wrong
    return Look(found, wrong, inside)


def events(entries: list[Entry], seen: Look, step_of: StepOf) -> Iterator[Event]:
    """Yield an event for each damaged file, and for what indexes and pickles show.

    Args:
        entries: Files of one input folder.
        seen: What was found in them.
        step_of: Gives the step that a path states.
    """
    for entry in entries:
        if entry.name in seen.wrong:
            yield _damage_event(entry, seen.wrong[entry.name], step_of(entry.name))
    for name, inside in seen.inside.items():
        for what, does in list(inside.suspicious.items())[:LISTED]:
            yield _suspicious(name, what, does)
    for same in random_states.equal(seen.inside):
        yield _equal_event(same, step_of(same.names[0]))
    for index in seen.indexes:
        yield from _index_events(index, step_of(index.entry.name))


def _damaged(entries: list[Entry], found: list[Index]) -> dict[str, Damage]:
    """Return what size, head, tail and indexes show to be wrong with files, by name."""
    wrong = {index.inside(path): one for index in found for path, one in index.damaged().items()}
    whole = {
        index.inside(path)
        for index in found
        for path, need in index.contents.needs.items()
        if need is not None and path in index.beside and index.beside[path].size >= need
    }
    headers = max(FEWEST_HEADERS, min(zipped.MOST_HEADERS, HEADERS // max(len(entries), 1)))
    for entry in entries:
        if entry.name in wrong or not (DATA.search(entry.name) or INDEXES.search(entry.name)):
            continue
        one = files.damage(entry, headers)
        # The last item of a shard of DCP may be bytes of a program's own.
        if one is not None and not (one.kind == "truncated" and entry.name in whole):
            wrong[entry.name] = one
    return wrong


def _opened(entries: list[Entry]) -> Iterator[tuple[str, Contents]]:
    """Look into pickles, some of them where they are many; all ranks save the same kinds of objects."""
    pickled = [entry for entry in entries if DATA.search(entry.name) and _has_pickle(entry)]
    left = OPENED_BYTES
    for entry in pickled[:: -(-len(pickled) // OPENED) or 1]:
        inside = files.contents(entry) if left > 0 else None
        if inside is not None:
            left -= inside.members.get("data.pkl", (entry.size, None))[0]
            yield entry.name, inside


def _has_pickle(entry: Entry) -> bool:
    return entry.head.startswith((zipped.START, b"\x80")) and not files.is_shard(entry)


def _event(name: str, nature: Nature, path: str, text: str, fields: dict[str, Value]) -> Event:
    known: dict[str, Value] = {"path": path}
    return Event(
        name=name, nature=nature, file=path, line=1, end_line=1, text=text, fields=known | fields
    )


def _damage_event(entry: Entry, wrong: Damage, step: int | None) -> Event:
    name = "ckpt.zero_size" if wrong.kind == "zero" else "ckpt.truncated"
    short = None if wrong.expected is None else wrong.expected - entry.size
    fields: dict[str, Value] = {
        "size": entry.size,
        "step": step,
        "kind": wrong.kind,
        "reason": wrong.reason,
        "expected": wrong.expected,
        "short": short if short and short > 0 else None,
        "stored": entry.stored if _has_holes(entry) else None,
    }
    text = f"{entry.name}: {entry.size} bytes"
    if entry.size:
        text += f", {wrong.reason}"
    return _event(name, Nature.ERROR, entry.name, text, fields)


def _has_holes(entry: Entry) -> bool:
    return entry.stored is not None and entry.stored < SPARSE * entry.size


def _suspicious(path: str, what: str, does: str) -> Event:
    fields: dict[str, Value] = {"global": what, "does": does}
    text = f"{path}: its pickle names {what}, which {does}"
    return _event("ckpt.suspicious_pickle", Nature.MEASUREMENT, path, text, fields)


def _equal_event(same: random_states.Equal, step: int | None) -> Event:
    path = same.folder or "."
    count = len(same.names)
    fields: dict[str, Value] = {"step": step, "names": [*same.names[:LISTED]], "files": count}
    text = f"{path}: the random states of {count} ranks are the same"
    return _event("ckpt.rng_same", Nature.MEASUREMENT, path, text, fields)


def _index_events(index: Index, step: int | None) -> Iterator[Event]:
    """Yield what an index shows of tensors and of files that do not belong to it."""
    path = index.entry.name

    def told(name: str, nature: Nature, what: str, named: list[str], **more: Value) -> Event:
        listed: list[Value] = [*named[:LISTED]]
        text = f"{path}: {what}, first {named[0]}"
        fields: dict[str, Value] = {"step": step, "names": listed, "count": len(named)}
        return _event(name, nature, path, text, fields | more)

    if holes := [*index.contents.holes]:
        what = f"{len(holes)} tensors whose parts do not fill them"
        yield told("ckpt.tensor_holes", Nature.ERROR, what, holes)
    if leftovers := index.leftovers:
        what = f"{len(leftovers)} shards that it does not name"
        yield told("ckpt.leftover_shards", Nature.MEASUREMENT, what, leftovers)
    headers = index.headers()
    for file, tensors in index.strangers(headers).items():
        what = f"{len(tensors)} tensors that are not in {file}"
        yield told("ckpt.index_mismatch", Nature.ERROR, what, tensors, shard=file)
    if headers and len(headers) == len(index.contents.needs):
        yield _total_event(index, headers, step)


def _total_event(index: Index, headers: dict[str, Header], step: int | None) -> Event:
    """Return what an index states beside what its files hold; writers count tied weights differently."""
    sizes = [one.bytes or 0 for header in headers.values() for one in header.tensors.values()]
    stated, stored = index.contents.total_size, sum(sizes)
    fields: dict[str, Value] = {
        "step": step,
        "files": len(headers),
        "tensors": len(sizes),
        "stated": stated,
        "stored": stored,
        "difference": None if stated is None else stated - stored,
    }
    text = f"{index.entry.name}: {len(sizes)} tensors in {len(headers)} files, {stored} bytes"
    return _event("ckpt.index", Nature.MEASUREMENT, index.entry.name, text, fields)
