"""What the files of a tree say of its checkpoints, as events.

Not a parser: those of folders and listings call it. Each file is looked at, each checkpoint judged
by itself and beside the others of its run, and each run asked which of its checkpoints to resume from.

======================== =========================================================================
``ckpt.folder``          A checkpoint: layout, step, files, bytes, ``complete`` and ``why`` not, which
                         parts of the state it has, world and parallel size that its names show
``ckpt.zero_size``       A file of state without a byte
``ckpt.truncated``       A file of state that is cut off or holds something else
``ckpt.missing_shards``  Files that numbering or the other steps call for
``ckpt.marker_incomplete`` The sign of a save that did not finish
``ckpt.mixed_steps``     Files of another step in a checkpoint; ``by`` says how it shows
``ckpt.size_outlier``    A file smaller than that of other steps or ranks
``ckpt.slow_writers``    Ranks whose files were written long after those of the others
``ckpt.slow_write``      A save that took far longer than others as large
``ckpt.save_gap``        Steps between which a save is missing
``ckpt.latest_dangling`` A pointer to nothing, to a broken checkpoint, or garbled
``ckpt.latest_behind``   A pointer to an older step than the newest one
``ckpt.newest_complete`` The step to resume from, and what is wrong with the newer ones
======================== =========================================================================
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from diagnose.ingest.source import Entry
from diagnose.model.event import Event, Nature, Value
from diagnose.parsers.checkpoint import sizes, write_times
from diagnose.parsers.checkpoint.completeness import State, state_of
from diagnose.parsers.checkpoint.contents import PARTS, parts_of, steps_inside, world_inside
from diagnose.parsers.checkpoint.files import Contents, contents, damage
from diagnose.parsers.checkpoint.layouts import DATA, layout_of
from diagnose.parsers.checkpoint.names import RNG, model_ranks, world_size, zero_ranks
from diagnose.parsers.checkpoint.pointers import Pointer, pointers
from diagnose.parsers.checkpoint.tree import Checkpoint, checkpoints, series_of, step_of

EVENTS = (
    "ckpt.folder",
    "ckpt.zero_size",
    "ckpt.truncated",
    "ckpt.missing_shards",
    "ckpt.marker_incomplete",
    "ckpt.mixed_steps",
    "ckpt.size_outlier",
    "ckpt.slow_writers",
    "ckpt.slow_write",
    "ckpt.save_gap",
    "ckpt.latest_dangling",
    "ckpt.latest_behind",
    "ckpt.newest_complete",
)

LISTED = 50
"""Files that an event names; it counts all."""

READ = 512
"""Files of a checkpoint whose contents are read."""

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
    """

    folder: str
    entries: Sequence[Entry]
    exact: bool = True
    first: str | None = None
    last: str | None = None
    ordered: bool = True

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
    damaged: dict[str, str] = {}
    for entry in entries:
        for event in _file_events(entry):
            damaged[entry.name] = str(event.fields.get("reason") or "0 bytes")
            yield event
    points = checkpoints(tree.folder, entries)
    unfinished = _markers(entries)
    known = pointers(list(entries))
    states: dict[str, State] = {}
    for point in points:
        others = [one for one in points if one is not point and one.series == point.series]
        pointer = next((one for one in known if one.parent == point.parent), None)
        broken = [
            f"{name}: {damaged[entry.name]}"
            for name, entry in point.files.items()
            if entry.name in damaged
        ]
        marker = unfinished.pop(_stem(point.path), None)
        state = state_of(
            point, others, damaged=broken, unfinished=marker, pointer=pointer,
            beyond=tree.beyond(point),
        )  # fmt: skip
        states[point.path] = state
        yield from _checkpoint_events(point, state)
        yield from _comparisons(point, others, exact=tree.exact)
    for stem, marker in unfinished.items():
        yield _unfinished(stem, None, marker)
    yield from _pointer_events(known, points, states)
    for run in series_of(points):
        yield from _run_events(run, states)


def _event(
    name: str, nature: Nature, file: str, text: str, fields: dict[str, Value], line: int = 0
) -> Event:
    return Event(
        name=name, nature=nature, file=file, line=line, end_line=line, text=text, fields=fields
    )


def _file_events(entry: Entry) -> Iterator[Event]:
    if not DATA.search(entry.name):
        return
    fields: dict[str, Value] = {
        "path": entry.name, "size": entry.size, "step": step_of(entry.name),
    }  # fmt: skip
    if entry.size == 0:
        yield _event(
            "ckpt.zero_size", Nature.ERROR, entry.name, f"{entry.name}: 0 bytes", fields, 1
        )
    elif found := damage(entry):
        text = f"{entry.name}: {entry.size} bytes, {found.reason}"
        fields["reason"] = found.reason
        yield _event("ckpt.truncated", Nature.ERROR, entry.name, text, fields, 1)


def _markers(entries: Iterable[Entry]) -> dict[str, str]:
    """Return NeMo's markers of unfinished saves by the stem of their checkpoint."""
    names = (entry.name for entry in entries if entry.name.endswith(UNFINISHED))
    return {name.removesuffix(UNFINISHED): name for name in names}


def _stem(path: str) -> str:
    return path.removesuffix(".ckpt").removesuffix("-EMA")


def _checkpoint_events(point: Checkpoint, state: State) -> Iterator[Event]:
    inside = _contents(point)
    yield _folder(point, state, inside)
    if state.missing:
        holes: dict[str, Value] = {
            "path": point.shown,
            "step": point.step,
            "layout": layout_of(point).framework,
            "missing": [*state.missing[:LISTED]],
            "count": len(state.missing),
            "expected": len(point.files) + len(state.missing),
        }
        text = f"{point.shown}: {len(state.missing)} files missing, first {state.missing[0]}"
        yield _event("ckpt.missing_shards", Nature.ERROR, point.shown, text, holes)
    if state.marker:
        yield _unfinished(point.shown, point.step, state.marker)
    yield from _mixed(point, inside)


def _contents(point: Checkpoint) -> dict[str, Contents]:
    data = [(name, entry) for name, entry in sorted(point.files.items()) if DATA.search(name)]
    read = ((name, contents(entry)) for name, entry in data[:READ])
    return {name: found for name, found in read if found is not None}


def _folder(point: Checkpoint, state: State, inside: dict[str, Contents]) -> Event:
    layout, names = layout_of(point), point.files
    parts = parts_of(point, layout, {name: found.keys for name, found in inside.items()})
    zero, model = zero_ranks(names), model_ranks(names)
    stated = world_size(names) or world_inside({n: found.values for n, found in inside.items()})
    fields: dict[str, Value] = {
        "path": point.shown,
        "layout": layout.framework,
        "form": layout.form,
        "reshards": layout.reshards,
        "step": point.step,
        "run": f"{point.parent}/{point.word}",
        "files": len(names),
        "bytes": point.size,
        "complete": state.complete,
        "why": "; ".join(state.why) or None,
        **{f"has_{part}": parts.has[part] for part in PARTS},
        "never": [*parts.never] or None,
        "weights_only": parts.weights_only,
        "rng_files": sum(RNG.search(name) is not None for name in names),
        "world_size": stated,
        "zero_dp": zero[0] if zero else None,
        "zero_ranks": zero[0] * zero[1] if zero else None,
        "tp": model[0] if model else None,
        "pp": model[1] if model else None,
        "modified": point.modified,
        "span": write_times.span(point),
    }
    words = {True: "complete", False: "not complete", None: "completeness unknown"}
    text = f"{point.shown}: {layout.framework} checkpoint, {len(names)} files, {point.size} bytes, "
    text += words[state.complete] + (f" ({fields['why']})" if state.why else "")
    return _event("ckpt.folder", Nature.MEASUREMENT, point.shown, text, fields)


def _unfinished(path: str, step: int | None, marker: str) -> Event:
    fields: dict[str, Value] = {"path": path, "step": step, "marker": marker}
    text = f"{path}: save not finished ({marker})"
    return _event("ckpt.marker_incomplete", Nature.ERROR, path, text, fields)


def _mixed(point: Checkpoint, inside: dict[str, Contents]) -> Iterator[Event]:
    """Yield files of another step, as names inside the checkpoint or the files themselves say."""
    named = {
        name: step for name in point.files if (step := step_of(name)) is not None and "/" in name
    }
    read = steps_inside({name: found.values for name, found in inside.items()})
    for by, steps in (("name", named), ("content", read)):
        known = {*steps.values()} | ({point.step} if point.step is not None else set())
        strangers = sorted(name for name, step in steps.items() if step != point.step)
        if len(known) > 1 and strangers:
            yield _mixed_event(point, strangers, by, sorted(known))


def _mixed_event(point: Checkpoint, names: list[str], by: str, steps: list[int]) -> Event:
    fields: dict[str, Value] = {
        "path": point.shown,
        "step": point.step,
        "steps": [*steps],
        "paths": [*names[:LISTED]],
        "count": len(names),
        "by": by,
    }
    text = f"{point.shown}: {len(names)} files of another save, first {names[0]} (by {by})"
    return _event("ckpt.mixed_steps", Nature.ERROR, point.shown, text, fields)


def _comparisons(
    point: Checkpoint, others: Sequence[Checkpoint], *, exact: bool
) -> Iterator[Event]:
    for found in sizes.outliers(point, others, exact=exact):
        name, size = found.entry.name, found.entry.size
        fields: dict[str, Value] = {
            "path": name, "step": point.step, "size": size, "median": found.usual,
            "against": found.against,
        }  # fmt: skip
        text = f"{name}: {size} bytes, {found.usual} in the {found.against}"
        yield _event("ckpt.size_outlier", Nature.ERROR, name, text, fields, 1)
    if old := write_times.left_over(point, others):
        inner = sorted(name for name, entry in point.files.items() if entry in old)
        yield _mixed_event(point, inner, "time", [])
    elif late := write_times.lateness(point):
        fields = {
            "path": point.shown, "step": point.step, "ranks": [*late.ranks], "late": late.late,
            "median": late.usual, "writers": late.writers, "kind": late.kind,
        }  # fmt: skip
        text = f"{point.shown}: {late.kind} {late.ranks[0]} wrote {late.late:.0f} s after the first"
        yield _event("ckpt.slow_writers", Nature.MEASUREMENT, point.shown, text, fields)
    elif slow := write_times.slower(point, others):
        fields = {"path": point.shown, "step": point.step, "span": slow[0], "median": slow[1]}
        fields["bytes"] = point.size
        text = f"{point.shown}: written in {slow[0]:.0f} s, others in {slow[1]:.0f} s"
        yield _event("ckpt.slow_write", Nature.MEASUREMENT, point.shown, text, fields)


def _pointer_events(
    known: Sequence[Pointer], points: Sequence[Checkpoint], states: dict[str, State]
) -> Iterator[Event]:
    for pointer in known:
        near = [one for one in points if pointer.parent in (one.parent, one.path)]
        if not near or pointer.target == "release":
            continue
        name, target = pointer.entry.name, pointer.target
        aim = next((point for point in near if pointer.leads_to(point)), None)
        why = pointer.garbled
        if why is None and aim is None:
            why = "no such checkpoint is there"
        elif why is None and aim is not None and states[aim.path].complete is False:
            why = "that checkpoint is not complete"
        fields: dict[str, Value] = {
            "path": name, "points_to": target, "why": why, "garbled": pointer.garbled is not None,
        }  # fmt: skip
        if why:
            text = f"{name} points to {target!r}: {why}"
            yield _event("ckpt.latest_dangling", Nature.ERROR, name, text, fields, 1)
        newest = max((one.number for one in near if one.number is not None), default=None)
        if aim is not None and newest is not None and newest > (aim.number or newest):
            point = next(one for one in near if one.number == newest)
            if states[point.path].complete is None:
                fields |= {"step": aim.step, "newest": newest, "newest_path": point.shown}
                text = f"{name} points to {target!r}, the newest step there is {newest}"
                yield _event("ckpt.latest_behind", Nature.MEASUREMENT, name, text, fields, 1)


def _run_events(run: Sequence[Checkpoint], states: dict[str, State]) -> Iterator[Event]:
    """Yield the checkpoint to resume from, and the saves that are missing before the newest."""
    whole = [point for point in run if states[point.path].complete]
    newer = run[run.index(whole[-1]) + 1 :] if whole else run
    broken = [
        f"{one.shown}: {'; '.join(states[one.path].why)}" for one in newer if states[one.path].why
    ]
    if whole:
        newest = whole[-1]
        fields: dict[str, Value] = {
            "step": newest.step,
            "path": newest.shown,
            "layout": layout_of(newest).framework,
            "newer": [*broken[:LISTED]],
            "behind": (run[-1].number or 0) - (newest.number or 0),
            "parent": newest.parent,
        }
        text = f"{newest.shown}: newest complete checkpoint"
        text += f", step {newest.step}" if newest.step is not None else ""
        yield _event("ckpt.newest_complete", Nature.MEASUREMENT, newest.shown, text, fields)
    yield from _gaps(run)


def _gaps(run: Sequence[Checkpoint]) -> Iterator[Event]:
    """Yield the places among the newest checkpoints where one is missing.

    Retention keeps fewer of the old ones, so a gap counts only between distances that are usual.
    """
    distances = [(b.number or 0) - (a.number or 0) for a, b in pairwise(run)]
    for place in range(2, len(distances) - 1):
        usual = distances[place - 1]
        regular = distances[place - 2] == usual == distances[place + 1]
        if regular and distances[place] > 1.5 * usual:
            before, after = run[place], run[place + 1]
            fields: dict[str, Value] = {
                "path": after.shown, "after": before.number, "before": after.number, "usual": usual,
            }  # fmt: skip
            text = f"{after.shown}: no checkpoint between {before.number} and {after.number}"
            yield _event("ckpt.save_gap", Nature.MEASUREMENT, after.shown, text, fields)
