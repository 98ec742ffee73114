"""Whether each file of a checkpoint is whole, and what is in it, without reading a tensor.

Not a parser: the parser of checkpoint folders asks it. Read are heads, tails, directories and headers,
and the pickles that describe the tensors. A file that only a listing or an archive names is judged by
its size and first bytes.

*Empty*: damage of the kind ``zero``. *Cut off*: found for zips, safetensors, pickles, and the old
format of torch.save, whose pickles say how many bytes must follow.
"""

from diagnose.ingest.lazy import LazyPattern
from diagnose.ingest.source import Entry
from diagnose.parsers.checkpoint import (
    dcp,
    indexes,
    legacy,
    pickles,
    safetensors,
    zipped,
)
from diagnose.parsers.checkpoint.indexes import INDEX, METADATA
from diagnose.parsers.checkpoint.inside import Contents, Damage, saved

SERVER = LazyPattern(
    rb"\s*(?:<!doctype|<html|<\?xml|\{\s*\"(?:error|message|detail)\""
    rb"|(?:entry|repository|revision|file|page|404:?) not found|not found|access to model"
    rb"|invalid (?:username|credentials)|(?:unauthorized|forbidden|access denied)\b)"
)
"""Begin what a server answers in place of a file; compared in small letters."""

PICKLE = LazyPattern(rb"\x80(?:[\x02-\x05]|$)")
LFS = b"version https://git-lfs"


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
        return zipped.cut(entry) if is_shard(entry) else zipped.damage(entry, headers)
    if head.startswith(legacy.MAGIC):
        return legacy.damage(entry)
    if is_shard(entry):
        return None
    return _cut_pickle(entry) if PICKLE.match(head) else zipped.headless(entry)


def contents(entry: Entry) -> Contents | None:
    """Return what a file holds; None where it cannot be told or is no such file."""
    head = entry.head
    if METADATA.search(entry.name):
        return dcp.contents(entry)
    if INDEX.search(entry.name):
        return indexes.json_contents(entry)
    if entry.name.endswith(".safetensors"):
        return safetensors.contents(entry)
    if is_shard(entry):
        return None
    if head.startswith(zipped.START):
        return zipped.contents(entry)
    if head.startswith(legacy.MAGIC):
        return legacy.contents(entry)
    if PICKLE.match(head):
        return _pickled(entry)
    return None


def is_shard(entry: Entry) -> bool:
    """Return whether a file is one of DCP, which holds one zip behind the other."""
    return entry.name.endswith(".distcp")


def _cut_pickle(entry: Entry) -> Damage | None:
    last = entry.read(entry.size - 1, 1)
    if last in (None, b"."):
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
