"""What the index of a checkpoint says of the files beside it, held against these files.

An index is DCP's ``.metadata`` (each rank's ``__0.metadata`` where there is no common one) or a
``*.index.json`` of Hugging Face, which names the file of each tensor. From DCP's follow the bytes
each file must reach, from the headers of safetensors whether the tensors are in the files named.
An index none of whose files is here says nothing: the weights are elsewhere.

*Empty*, *cut off*: an index that cannot be read is damaged itself and says nothing of others.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from diagnose.ingest.lazy import LazyPattern
from diagnose.ingest.source import Entry, read_pieces
from diagnose.parsers.checkpoint import dcp, safetensors
from diagnose.parsers.checkpoint.inside import Contents, Damage, Piece, in_bytes
from diagnose.parsers.checkpoint.safetensors import Header

METADATA = LazyPattern(r"(?:^|/)(?:__\d+)?\.metadata$")
INDEX = LazyPattern(r"\.index\.json$")

MOST_JSON = 64 << 20
"""Bytes of an index in JSON."""

MOST_METADATA = 64 << 20
"""Bytes of all metadata of DCP that is read of one input folder, the newest first."""

ZIP = b"PK\x03\x04"


@dataclass(frozen=True, slots=True)
class Index:
    """An index with the files beside it.

    Args:
        entry: The index file.
        contents: What it says.
        beside: The files in its folder, by their path relative to it; those it names and others.
    """

    entry: Entry
    contents: Contents
    beside: dict[str, Entry]

    def inside(self, path: str) -> str:
        """Return a path relative to the index as one relative to the input folder."""
        folder = self.entry.name.rpartition("/")[0]
        return f"{folder}/{path}" if folder else path

    @property
    def missing(self) -> list[str]:
        """Files it names that are not here, relative to it."""
        return [path for path in self.contents.needs if path not in self.beside]

    @property
    def leftovers(self) -> list[str]:
        """Shards of DCP that it does not name, relative to it: those of an earlier save."""
        needs = self.contents.needs
        if not needs or not METADATA.search(self.entry.name):
            return []
        return [path for path in self.beside if path.endswith(".distcp") and path not in needs]

    def damaged(self) -> dict[str, Damage]:
        """What it shows to be wrong with the files, by their path relative to it."""
        found: dict[str, Damage] = {}
        for path, need in self.contents.needs.items():
            entry = self.beside.get(path)
            if entry is not None and need is not None and 0 < entry.size < need:
                short = need - entry.size
                reason = f"{in_bytes(short)} short: {self.shown} calls for {need:,}"
                found[path] = Damage("size-mismatch", reason, need, entry.size)
        for piece in self._bad_starts():
            entry = self.beside[piece.path]
            reason = (
                f"{piece.name} does not begin at byte {piece.offset:,}, where {self.shown} says"
            )
            found.setdefault(piece.path, Damage("member", reason, None, entry.size))
        return found

    @property
    def shown(self) -> str:
        """Name of the index without folders."""
        return self.entry.name.rpartition("/")[2]

    def _bad_starts(self) -> Iterator[Piece]:
        """Yield tensors of DCP at whose place no zip begins, where others do begin with one.

        Newer versions may store items in other ways, the same for all.
        """
        bad: list[Piece] = []
        good = 0
        pieces = [one for one in self.contents.pieces if one.path in self.beside and one.length]
        read = read_pieces((self.beside[one.path], one.offset, len(ZIP)) for one in pieces)
        for piece, start in zip(pieces, read, strict=True):
            if start == ZIP:
                good += 1
            elif start is not None and len(start) == len(ZIP):
                bad.append(piece)
        if good:
            yield from bad

    def headers(self) -> dict[str, Header]:
        """Return the headers of the whole files of safetensors that it names, by path."""
        paths = [path for path in self.contents.homes.values() if path.endswith(".safetensors")]
        read = {
            path: safetensors.header(self.beside[path])
            for path in dict.fromkeys(paths)
            if path in self.beside
        }
        return {path: one for path, one in read.items() if isinstance(one, Header)}

    def strangers(self, headers: dict[str, Header]) -> dict[str, list[str]]:
        """Return the tensors that are not in the file it names for them, by file.

        Args:
            headers: Of the files.
        """
        found: dict[str, list[str]] = {}
        for tensor, path in self.contents.homes.items():
            if path in headers and tensor not in headers[path].tensors:
                found.setdefault(path, []).append(tensor)
        return found


def read(entries: list[Entry]) -> list[Index]:
    """Return the indexes among files that can be read, each with what lies beside it.

    Of DCP the common metadata counts, and those of single ranks only where it is not there.
    """
    by_folder: dict[str, dict[str, Entry]] = {}
    for entry in entries:
        folder, _, name = entry.name.rpartition("/")
        by_folder.setdefault(folder, {})[name] = entry
    found: list[Index] = []
    left = MOST_METADATA
    for entry in sorted(entries, key=lambda one: (one.modified or 0, one.name), reverse=True):
        folder, _, name = entry.name.rpartition("/")
        files = by_folder[folder]
        if METADATA.search(name):
            if (name != ".metadata" and ".metadata" in files) or entry.size > left:
                continue
            left -= entry.size
            contents = dcp.contents(entry)
        elif INDEX.search(name):
            contents = json_contents(entry)
        else:
            continue
        if contents is not None:
            below = _below(folder, files, contents, by_folder)
            found.append(Index(entry, contents, below))
    return sorted(found, key=lambda index: index.entry.name)


def _below(
    folder: str,
    files: dict[str, Entry],
    contents: Contents,
    by_folder: dict[str, dict[str, Entry]],
) -> dict[str, Entry]:
    """Return the files beside an index and those it names in folders below."""
    beside = dict(files)
    for path in contents.needs:
        under, _, name = path.rpartition("/")
        if under:
            where = by_folder.get(f"{folder}/{under}" if folder else under, {})
            if name in where:
                beside[path] = where[name]
    return beside


def needed(found: Iterable[Index]) -> set[str]:
    """Return the files that indexes name, relative to the input folder."""
    return {
        index.inside(path)
        for index in found
        if len(index.missing) < len(index.contents.needs)
        for path in index.contents.needs
    }


def json_contents(entry: Entry) -> Contents | None:
    """Return what an index of Hugging Face says; None where it cannot be read."""
    if entry.size > MOST_JSON:
        return None
    data = entry.read(0, entry.size)
    if data is None:
        return None
    try:
        table = json.loads(data)
    except (ValueError, RecursionError):
        table = None
    homes = table.get("weight_map") if isinstance(table, dict) else None
    if not isinstance(homes, dict):
        reason = "it is no JSON object with a weight_map"
        return Contents(problem=Damage("header", reason, None, entry.size))
    named = {str(tensor): path for tensor, path in homes.items() if _is_below(path)}
    stated = table.get("metadata")
    total = stated.get("total_size") if isinstance(stated, dict) else None
    return Contents(
        keys=tuple(named),
        needs=dict.fromkeys(named.values()),
        homes=named,
        total_size=int(total) if isinstance(total, int | float) else None,
    )


def _is_below(path: Any) -> bool:
    return isinstance(path, str) and not path.startswith("/") and ".." not in path.split("/")
