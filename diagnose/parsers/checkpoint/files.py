"""Whether each file of a checkpoint is whole, and what is in it, without reading a tensor.

Not a parser: the parser of checkpoint folders asks it. Read are heads, tails, directories and headers,
and the pickles that describe the tensors. A file that only a listing or an archive names is judged by
its size and first bytes.

*Empty*: damage of the kind ``zero``. *Cut off*: found for zips, safetensors, pickles, and the old
format of torch.save, whose pickles say how many bytes must follow.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from diagnose.ingest.lazy import LazyPattern
from diagnose.ingest.source import Entry
from diagnose.model.event import Event, Nature, Value
from diagnose.parsers.checkpoint import (
    dcp,
    indexes,
    legacy,
    pickles,
    random_states,
    safetensors,
    zipped,
)
from diagnose.parsers.checkpoint.indexes import INDEX, METADATA, Index
from diagnose.parsers.checkpoint.inside import Contents, Damage, saved

DATA = LazyPattern(r"\.(?:distcp|pt|pth|ckpt|bin|safetensors)$|(?:^|/)random_states_\d+\.pkl$")
INDEXES = LazyPattern(r"\.metadata$|\.index\.json$")

SERVER = LazyPattern(
    rb"\s*(?:<!doctype|<html|<\?xml|\{\s*\"(?:error|message|detail)\""
    rb"|(?:entry|repository|revision|file|page|404:?) not found|not found|access to model"
    rb"|invalid (?:username|credentials)|(?:unauthorized|forbidden|access denied)\b)"
)
"""Begin what a server answers in place of a file; compared in small letters."""

LFS = b"version https://git-lfs"

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


def damage(entry: Entry, headers: int = zipped.MOST_HEADERS) -> Damage | None:
    """Return what is wrong with a file, None for nothing and where it cannot be told.

    Args:
        entry: The file.
        headers: Of members of a zip looked at, at most.
    """
    head = entry.head
    if entry.size == 0:
        return Damage("zero", "0 bytes", None, 0)
    if not head:
        return None
    if head.startswith(LFS):
        return Damage("lfs", "a git-lfs pointer, not the data", None, entry.size)
    if SERVER.match(head.lower()):
        reason = "a web page or error message, not the data"
        return Damage("webpage", reason, None, entry.size)
    if not any(head):
        return Damage("zeros", "begins with zeros", None, entry.size)
    if INDEX.search(entry.name):
        contents = indexes.json_contents(entry)
        return contents.problem if contents else None
    if entry.name.endswith(".safetensors"):
        return safetensors.damage(entry)
    if head.startswith(zipped.START) or zipped.START.startswith(head):
        return zipped.cut(entry) if _is_shard(entry) else zipped.damage(entry, headers)
    if head.startswith(legacy.MAGIC):
        return legacy.damage(entry)
    if head[0] == 0x80:
        return _cut_pickle(entry)
    return zipped.headless(entry)


def contents(entry: Entry) -> Contents | None:
    """Return what a file holds; None where it cannot be told or is no such file."""
    head = entry.head
    if METADATA.search(entry.name):
        return dcp.contents(entry)
    if INDEX.search(entry.name):
        return indexes.json_contents(entry)
    if entry.name.endswith(".safetensors"):
        return safetensors.contents(entry)
    if _is_shard(entry):
        return None
    if head.startswith(zipped.START):
        return zipped.contents(entry)
    if head.startswith(legacy.MAGIC):
        return legacy.contents(entry)
    if head[:1] == b"\x80":
        return _pickled(entry)
    return None


def _is_shard(entry: Entry) -> bool:
    """Return whether a file is one of DCP, which holds one zip behind the other."""
    return entry.name.endswith(".distcp")


def _cut_pickle(entry: Entry) -> Damage | None:
    last = entry.read(entry.size - 1, 1)
    if last in (None, b".") or _is_shard(entry):
        return None
    return Damage("truncated", "its pickle is cut off before its end", None, entry.size)


def _pickled(entry: Entry) -> Contents | None:
    """Return what a file that is one pickle holds."""
    if entry.size > pickles.MOST_BYTES:
        return None
    data = entry.read(0, entry.size)
    if data is None:
        return None
    read = pickles.load(data)
    if read.damage is None:
        return saved(read)
    return saved(read, problem=Damage("truncated", f"its pickle {read.damage}", None, len(data)))


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
        one = damage(entry, headers)
        # The last item of a shard of DCP may be bytes of a program's own.
        if one is not None and not (one.kind == "truncated" and entry.name in whole):
            wrong[entry.name] = one
    return wrong


def _opened(entries: list[Entry]) -> Iterator[tuple[str, Contents]]:
    """Look into pickles, some of them where they are many; all ranks save the same kinds of objects."""
    pickled = [entry for entry in entries if DATA.search(entry.name) and _has_pickle(entry)]
    left = OPENED_BYTES
    for entry in pickled[:: -(-len(pickled) // OPENED) or 1]:
        inside = contents(entry) if left > 0 else None
        if inside is not None:
            left -= inside.members.get("data.pkl", (entry.size, None))[0]
            yield entry.name, inside


def _has_pickle(entry: Entry) -> bool:
    return entry.head.startswith((zipped.START, b"\x80")) and not _is_shard(entry)


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
    fields: dict[str, Value] = {"step": step, "names": [*same.names[:LISTED]], "count": count}
    text = f"{path}: the random states of {count} ranks are the same"
    return _event("ckpt.rng_duplicate", Nature.MEASUREMENT, path, text, fields)


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


def _total_event(index: Index, headers: dict[str, safetensors.Header], step: int | None) -> Event:
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
