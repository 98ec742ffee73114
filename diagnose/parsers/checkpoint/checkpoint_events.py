"""What is said of one checkpoint, as events.

Not a parser: the judge of checkpoints asks it.
"""

from collections.abc import Iterator, Mapping, Sequence

from diagnose.model.event import Event, Nature, Value
from diagnose.parsers.checkpoint import write_times
from diagnose.parsers.checkpoint.completeness import State
from diagnose.parsers.checkpoint.contents import PARTS, Parts, world_inside
from diagnose.parsers.checkpoint.layouts import Layout
from diagnose.parsers.checkpoint.mixed import Mixed, Values
from diagnose.parsers.checkpoint.names import RNG, model_ranks, world_size, zero_ranks
from diagnose.parsers.checkpoint.sizes import Outlier
from diagnose.parsers.checkpoint.tree import Checkpoint

LISTED = 50
"""Files that an event names; it counts all."""


def event_of(
    name: str, nature: Nature, file: str, text: str, fields: dict[str, Value], line: int = 0
) -> Event:
    """Return an event about a file or folder, named relative to the input folder."""
    return Event(
        name=name, nature=nature, file=file, line=line, end_line=line, text=text, fields=fields
    )


def of_checkpoint(
    point: Checkpoint,
    layout: Layout,
    state: State,
    parts: Parts,
    values: Values,
    mixed: Mixed | None,
) -> Iterator[Event]:
    """Yield what a checkpoint is and what it lacks.

    Args:
        point: The checkpoint.
        layout: Of it.
        state: Whether it is whole.
        parts: Of the state of a run that it holds.
        values: In its files, as far as they were read.
        mixed: The files of another save in it.
    """
    yield _folder(point, layout, state, parts, values)
    if state.missing:
        holes: dict[str, Value] = {
            "path": point.shown,
            "step": point.step,
            "layout": layout.framework,
            "missing": [*state.missing[:LISTED]],
            "count": len(state.missing),
            "expected": len(point.files) + len(state.missing),
        }
        count = len(state.missing)
        counted = "1 file" if count == 1 else f"{count} files"
        text = f"{point.shown}: {counted} missing, first {state.missing[0]}"
        yield event_of("ckpt.missing_shards", Nature.ERROR, point.shown, text, holes)
    if state.marker:
        yield unfinished(point.shown, point.step, state.marker)
    if mixed is not None:
        yield _mixed_event(point, mixed)


def _folder(point: Checkpoint, layout: Layout, state: State, parts: Parts, values: Values) -> Event:
    names = point.files
    zero, model = zero_ranks(names), model_ranks(names)
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
        "world_size": world_size(names) or world_inside(values),
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
    return event_of("ckpt.folder", Nature.MEASUREMENT, point.shown, text, fields)


def unfinished(path: str, step: int | None, marker: str) -> Event:
    """Return the event of a save that did not finish, with the sign of it."""
    fields: dict[str, Value] = {"path": path, "step": step, "marker": marker}
    text = f"{path}: save not finished ({marker})"
    return event_of("ckpt.marker_incomplete", Nature.ERROR, path, text, fields)


def _mixed_event(point: Checkpoint, found: Mixed) -> Event:
    count, first = len(found.names), found.names[0]
    fields: dict[str, Value] = {
        "path": point.shown,
        "step": point.step,
        "steps": [*found.steps],
        "paths": [*found.names[:LISTED]],
        "count": count,
        "by": found.by,
    }
    text = f"{point.shown}: {count} files of another save, first {first} (by {found.by})"
    return event_of("ckpt.mixed_steps", Nature.ERROR, point.shown, text, fields)


def of_random_states(point: Checkpoint, digests: Mapping[str, str]) -> Iterator[Event]:
    """Yield whether all ranks have the same random state, by the digests of their files."""
    found = [digests.get(entry.name) for name, entry in point.files.items() if RNG.search(name)]
    if len(found) > 1 and None not in found and len(set(found)) == 1:
        fields: dict[str, Value] = {"path": point.shown, "step": point.step, "files": len(found)}
        text = f"{point.shown}: {len(found)} files of random states are the same"
        yield event_of("ckpt.rng_same", Nature.MEASUREMENT, point.shown, text, fields)


def of_outlier(point: Checkpoint, found: Outlier) -> Event:
    """Return the event of a file that is smaller than those of other steps or ranks."""
    name, size = found.entry.name, found.entry.size
    fields: dict[str, Value] = {
        "path": name, "step": point.step, "size": size, "median": found.usual,
        "against": found.against,
    }  # fmt: skip
    text = f"{name}: {size} bytes, {found.usual} in the {found.against}"
    return event_of("ckpt.size_outlier", Nature.ERROR, name, text, fields, 1)


def of_times(point: Checkpoint, others: Sequence[Checkpoint]) -> Iterator[Event]:
    """Yield who wrote a checkpoint late, or that it was written slowly beside the others of its run."""
    if late := write_times.lateness(point):
        fields: dict[str, Value] = {
            "path": point.shown, "step": point.step, "ranks": [*late.ranks], "late": late.late,
            "median": late.usual, "writers": late.writers, "kind": late.kind,
        }  # fmt: skip
        text = f"{point.shown}: {late.kind} {late.ranks[0]} wrote {late.late:.0f} s after the first"
        yield event_of("ckpt.slow_writers", Nature.MEASUREMENT, point.shown, text, fields)
    elif slow := write_times.slower(point, others):
        fields = {"path": point.shown, "step": point.step, "span": slow[0], "median": slow[1]}
        fields["bytes"] = point.size
        text = f"{point.shown}: written in {slow[0]:.0f} s, others in {slow[1]:.0f} s"
        yield event_of("ckpt.slow_write", Nature.MEASUREMENT, point.shown, text, fields)
