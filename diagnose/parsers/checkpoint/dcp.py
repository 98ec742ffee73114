"""The ``.metadata`` of a checkpoint of torch.distributed.checkpoint (DCP): what lies where.

A pickle of ``Metadata`` (torch 2.1 to 2.13, distributed/checkpoint/metadata.py): ``state_dict_metadata``
has a row for each tensor with its size and its chunks, or a mark for an object; ``planner_data`` the
path of each name; ``storage_data`` the file, offset and length of each item. The coordinator writes
it last, under another name until it is whole. A save without coordination has one for each rank,
``__0.metadata``.

The files it names are complete if each reaches as far as its items. It states the folder the save
went to, which nothing here repeats.

*Empty*, *cut off*: the pickle is damaged, the checkpoint cannot be loaded.
"""

import math
from collections.abc import Iterator
from typing import Any

from diagnose.ingest.source import Entry
from diagnose.parsers.checkpoint import pickles
from diagnose.parsers.checkpoint.inside import Contents, Damage, Piece, Tensor
from diagnose.parsers.checkpoint.safetensors import LARGEST, MOST_DIMENSIONS
from diagnose.parsers.checkpoint.structure import StandIn, field, pairs
from diagnose.parsers.plain_pickle import kept

CHUNKS = 4_000_000
"""Chunks of all tensors that are counted; where there are more, the rest counts as filled."""

PIECES = 4_000
"""Places of tensors that are kept, evenly spread where there are more."""


def contents(entry: Entry) -> Contents | None:
    """Return what a metadata file says; None where it cannot be read."""
    if entry.size > pickles.MOST_BYTES:
        return None
    data = entry.read(0, entry.size)
    if data is None:
        return None
    with kept():
        read = pickles.load(data)
        if read.damage is not None:
            wrong = Damage("truncated", f"its pickle {read.damage}", None, entry.size)
            return Contents(suspicious=read.suspicious, problem=wrong)
        if read.value is None:
            return Contents(suspicious=read.suspicious)
        return _told(read.value, read.suspicious)


def _told(metadata: Any, suspicious: dict[str, str]) -> Contents:
    """Return what ``Metadata`` says."""
    described = _described(field(metadata, "state_dict_metadata"))
    places = field(metadata, "storage_data")
    needs: dict[str, int | None] = {}
    pieces: list[Piece] = []
    apart = len(places) // PIECES + 1 if isinstance(places, dict) else 1
    for count, piece in enumerate(_pieces(places)):
        needs[piece.path] = max(needs.get(piece.path) or 0, piece.offset + piece.length)
        if count % apart == 0 and described.get(piece.name, (None, True))[0] is not None:
            pieces.append(piece)
    return Contents(
        keys=_tops(field(metadata, "planner_data"), described),
        suspicious=suspicious,
        needs=needs,
        tensors={name: one for name, (one, _) in described.items() if one is not None},
        pieces=tuple(pieces),
        holes=tuple(name for name, (_, filled) in described.items() if not filled),
    )


def _described(table: Any) -> dict[str, tuple[Tensor | None, bool]]:
    """Return each name with its tensor, None for an object, and whether its chunks fill it."""
    found: dict[str, tuple[Tensor | None, bool]] = {}
    left = CHUNKS
    for name, row in pairs(table):
        if not isinstance(name, str):
            continue
        shape, chunks = _shape(field(row, "size")), field(row, "chunks")
        if shape is None or not isinstance(chunks, list):
            found[name] = (None, True)
            continue
        left -= len(chunks)
        tensor = Tensor(_dtype(field(row, "properties")), shape)
        found[name] = (tensor, left < 0 or _filled(chunks, shape))
    return found


def _filled(chunks: list[Any], shape: tuple[int, ...]) -> bool:
    """Return whether chunks have as many elements as their tensor; True where they do not say."""
    sizes = [_shape(field(chunk, "sizes")) for chunk in chunks]
    known = [size for size in sizes if size is not None]
    return len(known) < len(sizes) or sum(map(math.prod, known)) >= math.prod(shape)


def _shape(value: Any) -> tuple[int, ...] | None:
    """Return the numbers of a ``torch.Size``, None where it is no such."""
    if not isinstance(value, tuple | list) or len(value) > MOST_DIMENSIONS:
        return None
    whole = tuple(one for one in value if type(one) is int and 0 <= one < LARGEST)
    return whole if len(whole) == len(value) else None


def _dtype(properties: Any) -> str:
    """Return the type that the properties of a tensor name first."""
    state = properties.state if isinstance(properties, StandIn) else None
    first = state[0] if isinstance(state, tuple) and state else field(properties, "dtype")
    return first.name if isinstance(first, StandIn) else ""


def _pieces(table: Any) -> Iterator[Piece]:
    for index, place in pairs(table):
        name = field(index, "fqn")
        path, offset, length = (field(place, key) for key in ("relative_path", "offset", "length"))
        if not isinstance(path, str) or type(offset) is not int or type(length) is not int:
            continue
        if isinstance(name, str) and 0 <= offset < LARGEST and 0 <= length < LARGEST:
            yield Piece(name, path, offset, length)


def _tops(paths: Any, described: dict[str, tuple[Tensor | None, bool]]) -> tuple[str, ...]:
    """Return the names at the top of what was saved, as it was saved or by the names' first parts."""
    tops = {
        path[0]: None
        for _, path in pairs(paths)
        if isinstance(path, tuple) and path and isinstance(path[0], str)
    }
    return tuple(tops or {name.partition(".")[0]: None for name in described})
