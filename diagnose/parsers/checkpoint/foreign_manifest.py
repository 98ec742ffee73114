"""Manifests of other programs that list the files of checkpoints: JSON with a path and a size for each.

W&B's ``manifest.json`` of an artifact and plain lists, as object stores and copy tools write them::

    {"version": 1, "contents": {"global_step500/mp_rank_00_model_states.pt": {"digest": "…", "size": 4294967296}}}
    [{"path": "global_step500/mp_rank_00_model_states.pt", "size": 4294967296}]

They give the checks of a listing (``listing``). Lists of checksums are read there as well.

*Empty*: nothing is listed. *Cut off*: a file that is no whole JSON is left out.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from diagnose.ingest.source import Entry
from diagnose.model.event import Event, Line
from diagnose.parsers.base import Document, FileParser, Note
from diagnose.parsers.checkpoint.judge import EVENTS, Tree, judge
from diagnose.parsers.checkpoint.placing import placed
from diagnose.parsers.checkpoint.tree import ENDINGS, wants
from diagnose.parsers.gate import Gate

PATHS = ("path", "name", "file", "key", "Key", "Path", "filename")
SIZES = ("size", "bytes", "Size", "size_bytes", "length")
UNKNOWN = -1
LIMIT = 32 << 20
"""Bytes of a manifest that is read."""

_START = re.compile(
    rb'^[\s\xef\xbb\xbf]*(?:\{.{0,2000}"(?:contents|files|Contents)"|\[\s*\{)', re.DOTALL
)
_QUOTED = re.compile(r'"([^"\\]{3,1000})"')


def accepts(name: str, head: bytes) -> bool:
    """Return whether the first bytes are those of a list of files of checkpoints."""
    if not _START.match(head) or b'"manifest_version"' in head:
        return False
    return any(wants(word) for word in _QUOTED.findall(head.decode("utf-8", "replace")))


def read(document: Document) -> Iterator[Event]:
    """Judge the checkpoints that a manifest lists.

    Raises:
        Note: It is too large, or no whole JSON.
    """
    try:
        entries = list(_entries(json.loads(document.text(LIMIT).lstrip("\ufeff"))))
    except (ValueError, RecursionError) as error:
        raise Note("a list of files that is no whole JSON") from error
    if len(entries) < 2:
        return
    lines = _lines(document, {entry.name for entry in entries})
    yield from placed(judge(Tree("", entries)), lines)


def _entries(data: Any) -> Iterator[Entry]:
    """Yield the files of the forms that are known."""
    if isinstance(data, dict):
        data = next((data[key] for key in ("contents", "files", "Contents") if key in data), None)
    rows: list[tuple[Any, Any]] = []
    if isinstance(data, dict):
        rows = list(data.items())
    elif isinstance(data, list):
        rows = [(_first(one, PATHS), one) for one in data if isinstance(one, dict)]
    for path, row in rows:
        size = _first(row, SIZES) if isinstance(row, dict) else row
        if isinstance(path, str) and wants(path):
            known = isinstance(size, int) and not isinstance(size, bool) and size >= 0
            yield Entry(path.removeprefix("./"), size if known else UNKNOWN)


def _first(row: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((row[name] for name in names if name in row), None)


def _lines(document: Document, paths: set[str]) -> dict[str, Line]:
    """Return the line of each file; one line may hold them all."""
    found: dict[str, Line] = {}
    for line in document.lines():
        for word in _QUOTED.findall(line.raw):
            path = word.removeprefix("./")
            if path in paths:
                found.setdefault(path, line)
    return found or {"": next(iter(document.lines()))}


PARSERS = (
    FileParser(
        name="checkpoint-foreign-manifest",
        title="Lists of the files of checkpoints as JSON: W&B artifacts, object stores",
        accepts=accepts,
        gate=Gate(starts=(b"{", b"["), holds=tuple(f'{ending}"'.encode() for ending in ENDINGS)),
        read=read,
        emits=EVENTS,
        sample='[{"path": "global_step500/mp_rank_00_model_states.pt", "size": 4294967296}, {"path": "global_step500/zero_pp_rank_0_mp_rank_00_optim_states.pt", "size": 2147483648}]',
    ),
)
