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
from diagnose.parsers.checkpoint.pickles import StandIn
from diagnose.parsers.checkpoint.safetensors import LARGEST, MOST_DIMENSIONS
from diagnose.parsers.plain_pickle import kept

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
        structure = pickles.load(data)
        if structure.damage is not None:
            wrong = Damage("truncated", f"its pickle {structure.damage}", None, entry.size)
            return Contents(suspicious=structure.suspicious, problem=wrong)
        if structure.value is None:
            return Contents(suspicious=structure.suspicious)
        return _told(pickles.fields(structure.value), structure.suspicious)


def _told(parts: dict[Any, Any], suspicious: dict[str, str]) -> Contents:
    """Return what the fields of ``Metadata`` say."""
    described = _described(parts.get("state_dict_metadata"))
    places = parts.get("storage_data")
    needs: dict[str, int | None] = {}
    pieces: list[Piece] = []
    apart = len(places) // PIECES + 1 if isinstance(places, dict) else 1
    for count, piece in enumerate(_pieces(places)):
        needs[piece.path] = max(needs.get(piece.path) or 0, piece.offset + piece.length)
        if count % apart == 0 and described.get(piece.name, (None, True))[0] is not None:
            pieces.append(piece)
    return Contents(
        keys=_tops(parts.get("planner_data"), described),
        suspicious=suspicious,
        needs=needs,
        tensors={name: one for name, (one, _) in described.items() if one is not None},
        pieces=tuple(pieces),
        holes=tuple(name for name, (_, filled) in described.items() if not filled),
    )


def _described(table: Any) -> dict[str, tuple[Tensor | None, bool]]:
    """Return each name with its tensor, None for an object, and whether its chunks fill it."""
    found: dict[str, tuple[Tensor | None, bool]] = {}
    for name, row in pickles.pairs(table):
        if not isinstance(name, str):
            continue
        parts = pickles.fields(row)
        shape = _shape(parts.get("size"))
        chunks = parts.get("chunks")
        if shape is None or not isinstance(chunks, list):
            found[name] = (None, True)
            continue
        sizes = [_shape(pickles.fields(chunk).get("sizes")) for chunk in chunks]
        volume = sum(math.prod(size) for size in sizes if size is not None)
        tensor = Tensor(_dtype(parts.get("properties")), shape)
        found[name] = (tensor, None in sizes or volume >= math.prod(shape))
    return found


def _shape(value: Any) -> tuple[int, ...] | None:
    """Return the numbers of a ``torch.Size``, None where it is no such."""
    if not isinstance(value, tuple | list) or len(value) > MOST_DIMENSIONS:
        return None
    whole = tuple(one for one in value if type(one) is int and 0 <= one < LARGEST)
    return whole if len(whole) == len(value) else None


def _dtype(properties: Any) -> str:
    """Return the type that the properties of a tensor name first."""
    state = properties.state if isinstance(properties, StandIn) else None
    first = (
        state[0] if isinstance(state, tuple) and state else pickles.fields(properties).get("dtype")
    )
    return first.name if isinstance(first, StandIn) else ""


def _pieces(table: Any) -> Iterator[Piece]:
    for index, place in pickles.pairs(table):
        name = pickles.fields(index).get("fqn")
        parts = pickles.fields(place)
        path, offset, length = (parts.get(key) for key in ("relative_path", "offset", "length"))
        if not isinstance(path, str) or type(offset) is not int or type(length) is not int:
            continue
        if isinstance(name, str) and 0 <= offset < LARGEST and 0 <= length < LARGEST:
            yield Piece(name, path, offset, length)


def _tops(paths: Any, described: dict[str, tuple[Tensor | None, bool]]) -> tuple[str, ...]:
    """Return the names at the top of what was saved, as it was saved or by the names' first parts."""
    tops = {
        path[0]: None
        for _, path in pickles.pairs(paths)
        if isinstance(path, tuple) and path and isinstance(path[0], str)
    }
    return tuple(tops or {name.partition(".")[0]: None for name in described})
