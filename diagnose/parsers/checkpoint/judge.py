"""What the files of a tree say of its checkpoints, as events.

Not a parser: those of folders and listings call it. Each file is looked at, each checkpoint judged
by itself and beside the others of its run, and each run asked which of its checkpoints to resume from.
``look`` says which events tell of single files.

======================== =========================================================================
``ckpt.folder``          A checkpoint: layout, step, files, bytes, ``complete`` and ``why`` not, which
                         parts of the state it has, world and parallel size that its names show
``ckpt.missing_shards``  Files that numbering or the other steps call for
``ckpt.marker_incomplete`` The sign of a save that did not finish
``ckpt.mixed_steps``     Files of another step in a checkpoint; ``by`` says how it shows
``ckpt.size_outlier``    A file smaller than that of other steps or ranks
``ckpt.rng_same``        Random states of all ranks that are byte for byte the same
``ckpt.slow_writers``    Ranks whose files were written long after those of the others
``ckpt.slow_write``      A save that took far longer than others as large
``ckpt.save_gap``        Steps between which a save is missing
``ckpt.latest_dangling`` A pointer to nothing, to a broken checkpoint, or garbled
``ckpt.latest_behind``   A pointer to an older step than the newest one
``ckpt.newest_complete`` The step to resume from, and what is wrong with the newer ones
======================== =========================================================================
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from diagnose.ingest.source import Entry
from diagnose.model.event import Event
from diagnose.parsers.checkpoint import (
    checkpoint_events,
    indexes,
    look,
    mixed,
    run_events,
    sizes,
)
from diagnose.parsers.checkpoint.completeness import State, own_marker, state_of
from diagnose.parsers.checkpoint.contents import parts_of, stated_names
from diagnose.parsers.checkpoint.inside import Contents
from diagnose.parsers.checkpoint.layouts import layout_of
from diagnose.parsers.checkpoint.pointers import pointers
from diagnose.parsers.checkpoint.tree import Checkpoint, checkpoints, series_of, step_of

EVENTS = (
    *look.EVENTS,
    "ckpt.folder",
    "ckpt.missing_shards",
    "ckpt.marker_incomplete",
    "ckpt.mixed_steps",
    "ckpt.size_outlier",
    "ckpt.rng_same",
    "ckpt.slow_writers",
    "ckpt.slow_write",
    "ckpt.save_gap",
    "ckpt.latest_dangling",
    "ckpt.latest_behind",
    "ckpt.newest_complete",
)

BROKEN = ("ckpt.zero_size", "ckpt.truncated", "ckpt.tensor_holes", "ckpt.index_mismatch")
"""Events of a file with which its checkpoint cannot be whole."""

FEW = 0.1
"""Share of the files that may be missing from a listing in no order that is not cut off."""

UNFINISHED = "-unfinished"
"""End of the name of NeMo's marker, which lies beside its checkpoint."""


@dataclass(frozen=True, slots=True)
class Tree:
    """Files to judge.

    Args:
        folder: Name of the folder that their names are relative to.
        entries: The files; a size below 0 is unknown.
        exact: Sizes are in bytes and not rounded.
        first: The first file of a listing that may begin before it, None if it does not.
        last: The last file of one that may go on behind it, likewise.
        ordered: Files stand in the order of their names, so that it shows what lies beyond.
        hidden: Files whose names begin with a dot would show.
        digests: Of the contents of files, by name, where they are known.
    """

    folder: str
    entries: Sequence[Entry]
    exact: bool = True
    first: str | None = None
    last: str | None = None
    ordered: bool = True
    hidden: bool = True
    digests: Mapping[str, str] = field(default_factory=dict)

    def beyond(self, point: Checkpoint) -> Callable[[set[str]], set[str]]:
        """Return what tells which missing files of a checkpoint a cut listing may not show.

        Where files stand in no order, one that is missing among many was not cut off.
        """
        names = {entry.name for entry in point.files.values()}
        first = self.first if self.first in names else None
        last = self.last if self.last in names else None

        def unseen(missing: set[str]) -> set[str]:
            if first is None and last is None:
                return set()
            if not self.ordered:
                return missing if len(missing) > max(1, FEW * len(names)) else set()
            paths = {name: f"{point.path}/{name}" if point.path else name for name in missing}
            return {
                name
                for name, path in paths.items()
                if (first is not None and path < first) or (last is not None and path > last)
            }

        return unseen


def judge(tree: Tree) -> Iterator[Event]:
    """Check each file, each checkpoint, each run; events name files relative to the folder."""
    entries = sorted(tree.entries, key=lambda entry: entry.name)
    seen = look.look(entries)
    damaged: dict[str, str] = {}
    for event in look.events(entries, seen, step_of):
        if event.name in BROKEN:
            damaged.setdefault(event.file, event.text.removeprefix(f"{event.file}: "))
        yield event
    points = checkpoints(tree.folder, entries)
    needed = _by_checkpoint(points, indexes.needed(seen.indexes))
    layouts = {point.path: layout_of(point) for point in points}
    whole = {
        point.path: own_marker(point, layouts[point.path], hidden=tree.hidden) is None
        for point in points
    }
    unfinished = _markers(entries)
    known = pointers(entries)
    inside = {point.path: _contents(point, seen) for point in points}
    values = {path: {n: one.values for n, one in files.items()} for path, files in inside.items()}
    states: dict[str, State] = {}
    exports: set[str] = set()
    for point in points:
        layout = layouts[point.path]
        others = [
            other
            for other in points
            if other is not point and other.series == point.series and layouts[other.path] == layout
        ]
        keys = {name: one.keys for name, one in inside[point.path].items()}
        parts = parts_of(point, layout, keys)
        strangers = mixed.mixed(point, others, values)
        outliers = [*sizes.outliers(point, others, exact=tree.exact)]
        small = {one.entry.name: f"smaller than in the {one.against}" for one in outliers}
        known_bad = small | damaged
        state = states[point.path] = state_of(
            point,
            layout,
            others,
            [other for other in others if whole[other.path]],
            damaged=[
                f"{name}: {known_bad[entry.name]}"
                for name, entry in point.files.items()
                if entry.name in known_bad
            ],
            mixed=strangers,
            needed=needed[point.path] | stated_names(point, values[point.path]),
            unfinished=unfinished.pop(_stem(point.path), None),
            pointer=next((one for one in known if one.parent == point.parent), None),
            beyond=tree.beyond(point),
            hidden=tree.hidden,
        )
        if parts.weights_only:
            exports.add(point.path)
        yield from checkpoint_events.of_checkpoint(
            point, layout, state, parts, values[point.path], strangers
        )
        yield from checkpoint_events.of_random_states(point, tree.digests)
        yield from (checkpoint_events.of_outlier(point, one) for one in outliers)
        if strangers is None:
            yield from checkpoint_events.of_times(point, others)
    for stem, marker in unfinished.items():
        yield checkpoint_events.unfinished(stem, None, marker)
    yield from run_events.of_pointers(known, points, states)
    for run in series_of(points):
        yield from run_events.of_run(run, states, layouts, exports)


def _by_checkpoint(points: Sequence[Checkpoint], paths: Iterable[str]) -> dict[str, set[str]]:
    """Return some paths by the innermost checkpoint they lie in, each relative to it."""
    known = {point.path for point in points}
    found: dict[str, set[str]] = {path: set() for path in known}
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in known:
            folder = folder.rpartition("/")[0]
        if folder in known:
            found[folder].add(path.removeprefix(f"{folder}/"))
    return found


def _contents(point: Checkpoint, seen: look.Look) -> dict[str, Contents]:
    """Return what is in the files of a checkpoint that were looked into, by their path inside it."""
    return {
        name: seen.inside[entry.name]
        for name, entry in point.files.items()
        if entry.name in seen.inside
    }


def _markers(entries: Iterable[Entry]) -> dict[str, str]:
    """Return NeMo's markers of unfinished saves by the stem of their checkpoint."""
    names = (entry.name for entry in entries if entry.name.endswith(UNFINISHED))
    return {name.removesuffix(UNFINISHED): name for name in names}


def _stem(path: str) -> str:
    return path.removesuffix(".ckpt").removesuffix("-EMA")
