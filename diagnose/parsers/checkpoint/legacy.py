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
from diagnose.parsers.checkpoint.inside import Contents, Damage, in_bytes, saved
from diagnose.parsers.checkpoint.pickles import Pickle

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
    if not isinstance(named, list) or not all(
        isinstance(key, str) and key in objects.storages for key in named
    ):
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
    return saved(read[3])


def _read(entry: Entry) -> list[Pickle] | None:
    """Return the pickles up to the first that is damaged or too large."""
    for most in (FIRST, pickles.MOST_BYTES):
        data = entry.read(0, most)
        if data is None:
            return None
        read = list(_pickles(data))
        whole = len(data) >= entry.size
        if whole or (len(read) == PICKLES and read[-1].damage is None):
            return read
    return None


def _pickles(data: bytes) -> Iterator[Pickle]:
    at = 0
    for _ in range(PICKLES):
        pickle = pickles.load(data, at)
        yield pickle
        if pickle.value is None:
            return
        at = pickle.stop
