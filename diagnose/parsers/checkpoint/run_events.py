"""What is said of the checkpoints of a run together: pointers, the one to resume from, gaps.

Not a parser: the judge of checkpoints asks it.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from diagnose.model.event import Event, Nature, Value
from diagnose.parsers.checkpoint.checkpoint_events import LISTED, event_of
from diagnose.parsers.checkpoint.completeness import State
from diagnose.parsers.checkpoint.layouts import Layout
from diagnose.parsers.checkpoint.pointers import Pointer
from diagnose.parsers.checkpoint.tree import Checkpoint


def of_pointers(
    known: Sequence[Pointer], points: Sequence[Checkpoint], states: dict[str, State]
) -> Iterator[Event]:
    """Yield what is wrong with pointers: they lead nowhere, to a broken checkpoint, or to an old one."""
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
            yield event_of("ckpt.latest_dangling", Nature.ERROR, name, text, fields, 1)
        newest = max((one.number for one in near if one.number is not None), default=None)
        if aim is not None and newest is not None and newest > (aim.number or newest):
            point = next(one for one in near if one.number == newest)
            if states[point.path].complete is None:
                fields |= {"step": aim.step, "newest": newest, "newest_path": point.shown}
                text = f"{name} points to {target!r}, the newest step there is {newest}"
                yield event_of("ckpt.latest_behind", Nature.MEASUREMENT, name, text, fields, 1)


def of_run(
    run: Sequence[Checkpoint],
    states: dict[str, State],
    layouts: dict[str, Layout],
    exports: Collection[str],
) -> Iterator[Event]:
    """Yield the checkpoint to resume from, and the saves that are missing before the newest.

    Args:
        run: The checkpoints of a run, in rising order.
        states: Whether each is whole, by path.
        layouts: Of each, by path.
        exports: Paths of those that hold weights only; they count where all are such.
    """
    resumable = [point for point in run if point.path not in exports] or run
    whole = [point for point in resumable if states[point.path].complete]
    newer = run[run.index(whole[-1]) + 1 :] if whole else run
    broken = [
        f"{one.shown}: {'; '.join(states[one.path].why)}" for one in newer if states[one.path].why
    ]
    if whole:
        newest = whole[-1]
        fields: dict[str, Value] = {
            "step": newest.step,
            "path": newest.shown,
            "layout": layouts[newest.path].framework,
            "newer": [*broken[:LISTED]],
            "behind": (run[-1].number or 0) - (newest.number or 0),
            "parent": newest.parent,
        }
        text = f"{newest.shown}: newest complete checkpoint"
        text += f", step {newest.step}" if newest.step is not None else ""
        yield event_of("ckpt.newest_complete", Nature.MEASUREMENT, newest.shown, text, fields)
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
            yield event_of("ckpt.save_gap", Nature.MEASUREMENT, after.shown, text, fields)
