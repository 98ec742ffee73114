r"""Listings of checkpoints: what most people have in place of the files.

``ls -l``, ``ls -lR``, ``find -ls`` and ``-printf``, ``du -a``, ``tree -s``, ``aws s3 ls``, ``gsutil ls -l``,
``stat`` and lists of checksums, in a file of their own or between other lines of a log or paste::

    $ ls -lR /data/ckpt
    /data/ckpt:
    total 8
    -rw-r--r-- 1 train train   14 Aug  1 10:03 latest
    drwxr-xr-x 2 train train 4096 Aug  1 10:03 global_step500

    /data/ckpt/global_step500:
    total 8388612
    -rw-r--r-- 1 train train 4294967296 Aug  1 10:02 mp_rank_00_model_states.pt

They give the same checks as a folder, without those of bytes; findings point to the listing's lines. Units
of ``ls -h`` and blocks of ``du`` are too coarse for small differences of size, dates without seconds for
short delays.

*Empty*: nothing is said. *Cut off*: by ``head``, ``tail`` or a paste; files that would stand beyond the end
are not called missing.
"""

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import islice, pairwise

from diagnose.ingest.lazy import LazyPattern
from diagnose.ingest.source import Entry
from diagnose.model.event import Event, Line
from diagnose.parsers.base import BlockParser, Document, FileParser, Note
from diagnose.parsers.checkpoint.judge import EVENTS, Tree, judge
from diagnose.parsers.checkpoint.listing_rows import UNKNOWN, Row, row_of
from diagnose.parsers.checkpoint.placing import placed
from diagnose.parsers.checkpoint.tree import wants
from diagnose.parsers.gate import Gate

LONGEST = 20_000
"""Lines of a listing inside a log."""

HEAD = 64 << 10
"""Bytes of a file from which on it is read as a whole."""

STRANGE = 3
"""Lines of something else that may stand between two rows."""

FIRST = 10
"""Lines of which one at least is of a listing where the file is one; a log is told by them."""

LINES = 400
"""Lines that are looked at."""

OTHERS = 0.1
"""Share of other lines from which on a file is no listing."""

BRANCH = LazyPattern(r"[├└|`][-─]{2} ?\[")
INDENT = 4
"""What stands before the files of ``tree``, and the columns of a level of folders."""

HALF_YEAR = timedelta(days=183).total_seconds()

OPENS = (
    "-rw-", "-rwx", "-r--", "drwx", "dr-x", ".distcp", "_states.pt", ".safetensors", "model_optim_rng.pt",
    "rng_state", "trainer_state.json", ".metadata", "random_states_", "_world_size_", ".ckpt", ".nemo",
    "pytorch_model", "/iter_0", "/checkpoint-", "/global_step", "/step-", "latest_checkpointed_iteration",
    "ls -l", "ls -R", "ls -a", "tree -", "s3 ls", "-- [", "── [",
)  # fmt: skip


@dataclass(slots=True)
class _Listing:
    """The files of a listing as they are read, with the line of each.

    Args:
        base: Folder that bare names are in.
        levels: Folders above the next row of a tree.
        left: Column in which a tree begins, None before its first row.
        rows: File by path.
        lines: Line by path.
        folders: Folders by path.
        stat: File that ``stat`` speaks of.
        texts: What ``cat`` showed of pointers.
        hidden: Files whose names begin with a dot would show, as without ``-a`` they do not.
        opened: Something before the first file shows that the listing begins there.
        closed: Something behind the last file shows that it ends there.
    """

    base: str = ""
    levels: list[str] = field(default_factory=list)
    left: int | None = None
    rows: dict[str, Row] = field(default_factory=dict)
    lines: dict[str, Line] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    hidden: bool = False
    opened: bool = False
    closed: bool = False
    stat: str = ""
    texts: dict[str, str] = field(default_factory=dict)

    def add(self, row: Row, line: Line) -> None:
        if row.kind in ("heading", "command", "total"):
            self.opened = self.opened or not self.rows
            self.closed = bool(self.rows)
            if row.kind == "heading" and not self.base:
                self._enter(*row.name.rpartition("/")[::2])
            if row.kind != "total":
                self.base, self.levels = row.name, []
            return
        if row.kind == "stat":
            self._add_stat(row, line)
            return
        dotted = row.name.rpartition("/")[2].startswith(".")
        self.hidden = self.hidden or dotted or row.kind not in ("ls", "tree")
        depth = self._depth(line) if row.kind == "tree" else 0
        path = self._path(row, depth)
        if row.kind == "tree":
            self.levels[depth:] = [path]
        if row.folder:
            self.folders.add(path)
        else:
            self.closed = False
            self.rows[path], self.lines[path] = row, line

    def _enter(self, parent: str, name: str) -> None:
        """Put the files in front of the first heading into the folder that its folder is in."""
        if parent and name in self.folders:
            self.rows = {f"{parent}/{path}": row for path, row in self.rows.items()}
            self.lines = {f"{parent}/{path}": line for path, line in self.lines.items()}

    def _depth(self, line: Line) -> int:
        """Return the folders above a row of a tree; prefixes and blanks stand before all rows alike."""
        found = BRANCH.search(line.raw)
        column = found.start() if found else 0
        if self.left is None:
            self.left = column % INDENT if line.raw == line.text else column
        return max(0, column - self.left + 1) // INDENT

    def _path(self, row: Row, depth: int) -> str:
        if row.kind == "tree":
            above = self.levels[depth - 1] if 0 < depth <= len(self.levels) else self.base
        else:
            above = self.base if row.kind == "ls" else ""
        return _joined(above, row.name)

    def _add_stat(self, row: Row, line: Line) -> None:
        """``stat`` gives a file in several lines."""
        if row.name:
            self.stat = _joined("", row.name)
            self.rows[self.stat], self.lines[self.stat] = row, line
        elif known := self.rows.get(self.stat):
            size = known.size if row.size < 0 else row.size
            self.rows[self.stat] = replace(
                known, size=size, modified=row.modified or known.modified
            )


def starts(line: Line) -> bool:
    """Return whether a line may begin a listing of checkpoints."""
    row = _row(line)
    if row is None or row.kind == "total":
        return False
    return row.kind != "heading" or bool(wants(f"{row.name}/model.pt"))


def ends(lines: list[Line], following: Line) -> bool:
    """Return whether a listing has ended before a line."""
    if following.text.strip() and _row(following) is None:
        return not any(_row(line) for line in lines[-STRANGE:])
    return False


def read_block(lines: list[Line]) -> Iterator[Event]:
    """Judge the checkpoints of a listing inside a log.

    Raises:
        Note: It is too long.
    """
    if len(lines) >= LONGEST:
        raise Note(f"a listing of over {LONGEST} lines inside a log; give it as a file of its own")
    yield from read(lines)


def read_document(document: Document) -> Iterator[Event]:
    """Judge the checkpoints of a file that is one listing."""
    yield from read(document.lines())


def read(lines: Iterable[Line]) -> Iterator[Event]:
    """Judge the checkpoints of a listing; events stand at its lines."""
    listing = _Listing()
    shown = ""
    for line in lines:
        row = _row(line)
        if shown:
            listing.texts[shown] = line.text
        shown = _joined("", row.name) if row is not None and row.kind == "cat" else ""
        if row is not None and not shown:
            listing.add(row, line)
    _settle_blocks(listing.rows)
    listing.rows = {path: row for path, row in listing.rows.items() if wants(path)}
    if len(listing.rows) < 2 or not _is_listing(listing):
        return
    names = list(listing.rows)
    times = _times(listing)
    entries = [
        Entry(path, row.size, listing.texts.get(path, "").encode(), modified=times.get(path))
        for path, row in listing.rows.items()
    ]
    tree = Tree(
        "",
        entries,
        exact=all(row.exact for row in listing.rows.values()),
        first=None if listing.opened else names[0],
        last=None if listing.closed else names[-1],
        ordered=_ordered(names),
        hidden=listing.hidden,
        digests={path: row.digest for path, row in listing.rows.items() if row.digest},
    )
    yield from placed(judge(tree), {path: listing.lines[path] for path in names})


def _row(line: Line) -> Row | None:
    """Return the row of a line; what looks like a stamp before it may be its own date."""
    bare = row_of(line.text)
    if line.text == line.raw or (bare is not None and bare.modified is not None):
        return bare
    return row_of(line.raw) or bare


def _is_listing(listing: _Listing) -> bool:
    """Return whether rows are more than names and numbers in a sentence of a log."""
    return any(row.kind != "find" or row.modified is not None for row in listing.rows.values()) or (
        len(listing.rows) > 3
    )


def _ordered(names: list[str]) -> bool:
    """Return whether the files of each folder stand in the order of their names."""
    keys = [name.rpartition("/") for name in names]
    return all(
        before[2].lower() <= after[2].lower()
        for before, after in pairwise(keys)
        if before[0] == after[0]
    )


def _settle_blocks(rows: dict[str, Row]) -> None:
    """Give ``du``'s rows their bytes: it lists folders too, and counts blocks of 1 KiB.

    Bytes (``-b``) are rarely all multiples of four. Nothing may be an empty file or one whose blocks
    are not written yet.
    """
    blocks = [path for path, row in rows.items() if row.kind == "du"]
    above = {path.rpartition("/")[0] for path in blocks}
    if not blocks or not (above & rows.keys() or any(not rows[path].exact for path in blocks)):
        return
    unit = 1 if any(rows[path].size % 4 for path in blocks) else 1024
    for path in blocks:
        row = rows[path]
        size = row.size * (unit if row.exact else 1) or UNKNOWN
        rows[path] = replace(row, size=size, exact=False)


def _joined(above: str, name: str) -> str:
    path = (
        name
        if name.startswith("/") or "://" in name or not above
        else f"{above.rstrip('/')}/{name}"
    )
    while path.startswith("./"):
        path = path[2:]
    return path


def _times(listing: _Listing) -> dict[str, float]:
    """Return the times of files; where some dates have no year, only theirs compare.

    ``ls`` leaves the year out within half a year, so January follows December.
    """
    dated = {path: row for path, row in listing.rows.items() if row.modified is not None}
    yearless = {path for path, row in dated.items() if row.yearless}
    times = {
        path: row.modified or 0.0 for path, row in dated.items() if not yearless or path in yearless
    }
    if yearless and max(times.values()) - min(times.values()) > HALF_YEAR:
        middle = (max(times.values()) + min(times.values())) / 2
        times = {p: t + 2 * HALF_YEAR if t < middle else t for p, t in times.items()}
    return times


def accepts(name: str, head: bytes) -> bool:
    """Return whether a file is a long listing and nothing else."""
    if len(head) < HEAD:
        return False
    lines = (line.decode("utf-8", "replace").rstrip("\n") for line in io.BytesIO(head))
    first = list(islice(lines, FIRST))
    if not any(map(row_of, first)):
        return False
    texts = [text for text in (*first, *islice(lines, LINES - FIRST)) if text.strip()]
    kinds = set()
    strange = 0
    for text in texts:
        row = row_of(text)
        if row is not None:
            kinds.add(row.kind)
            continue
        strange += 1
        if strange >= OTHERS * len(texts):
            return False
    return not kinds.isdisjoint(("ls", "find", "store", "du", "tree"))


SAMPLE = """\
-rw-r--r-- 1 train train 4294967296 Aug  1 10:02 /data/ckpt/global_step500/mp_rank_00_model_states.pt
-rw-r--r-- 1 train train 2147483648 Aug  1 10:02 /data/ckpt/global_step500/zero_pp_rank_0_mp_rank_00_optim_states.pt
-rw-r--r-- 1 train train 2147483648 Aug  1 10:03 /data/ckpt/global_step500/zero_pp_rank_2_mp_rank_00_optim_states.pt
"""

PARSERS = (
    BlockParser(
        name="checkpoint-listing",
        title="Listings of checkpoints: ls, find, du, tree, object stores, stat, checksums",
        opens=OPENS,
        starts=starts,
        ends=ends,
        read=read_block,
        emits=EVENTS,
        sample=SAMPLE,
        maximum=LONGEST,
    ),
    FileParser(
        name="checkpoint-listing-file",
        title="The same as a long file of its own",
        accepts=accepts,
        gate=Gate(least=HEAD),
        read=read_document,
        emits=EVENTS,
        sample=SAMPLE,
        alone=True,
    ),
)
