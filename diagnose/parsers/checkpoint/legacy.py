"""Files of torch.save before 1.6, or with ``_use_new_zipfile_serialization=False``.

Five pickles follow each other: a magic number, the version of the format (1001), notes on the machine,
the objects, and the keys of the tensors' storages; then of each storage the number of its elements in
8 bytes and the elements. The objects name each storage with its type and number of elements, so the
size of the whole file follows from the pickles. Nothing marks the end.

*Empty*: no magic number. *Cut off*: within a pickle, or fewer bytes than the storages take.
"""

from collections.abc import Iterator

from diagnose.ingest.source import Entry
from diagnose.parsers.checkpoint import pickles
from diagnose.parsers.checkpoint.inside import Contents, Damage, in_bytes
from diagnose.parsers.checkpoint.pickles import Structure

MAGIC = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
PICKLES = 5
LENGTH = 8
"""Bytes before each storage."""

FIRST = 1 << 20
"""Bytes read at first; the pickles of most files are shorter."""


def damage(entry: Entry) -> Damage | None:
    """Return what is wrong with a file, None for nothing and where it cannot be told."""
    read = _read(entry)
    if read is None:
        return None
    if read[-1].damage is not None:
        reason = f"its pickle {read[-1].damage}"
        return Damage("truncated", reason, None, entry.size)
    if len(read) < PICKLES:
        return None
    objects, keys = read[3], read[4]
    named = keys.value
    if not isinstance(named, list) or any(key not in objects.storages for key in named):
        return None
    expected = keys.stop + sum(LENGTH + objects.storages[key] for key in named)
    if entry.size == expected:
        return None
    short = expected - entry.size
    reason = f"{in_bytes(abs(short))} {'short' if short > 0 else 'too many'}: its pickles call for {expected:,}"
    return Damage("truncated" if short > 0 else "size-mismatch", reason, expected, entry.size)


def contents(entry: Entry) -> Contents | None:
    """Return what a file holds; None where it cannot be read."""
    read = _read(entry)
    if read is None or len(read) < 4:
        return None
    objects = read[3]
    return Contents(
        keys=pickles.keys(objects.value),
        values=pickles.values(objects.value),
        suspicious=objects.suspicious,
    )


def _read(entry: Entry) -> list[Structure] | None:
    """Return the pickles up to the first that is damaged or too large."""
    for most in (FIRST, pickles.MOST_BYTES):
        data = entry.read(0, most)
        if data is None:
            return None
        read = list(_structures(data))
        whole = len(data) >= entry.size
        if whole or (len(read) == PICKLES and read[-1].damage is None):
            return read
    return None


def _structures(data: bytes) -> Iterator[Structure]:
    at = 0
    for _ in range(PICKLES):
        structure = pickles.load(data, at)
        yield structure
        if structure.value is None:
            return
        at = structure.stop
