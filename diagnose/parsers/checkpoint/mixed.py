"""Files of another save in a checkpoint: a rank did not write, and its old file stayed.

Not a parser: the judge of checkpoints asks it. It shows in names, in the step that files state inside,
or in the times of the last write. Programs count their steps in more ways than one, from 0 or in
micro-batches, so files of one kind are held against each other, and against the name of their
checkpoint only where another checkpoint of the run has the same step inside as in its name.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mode
from typing import Literal

from diagnose.model.event import Value
from diagnose.parsers.checkpoint import write_times
from diagnose.parsers.checkpoint.tree import Checkpoint, step_of

STEP_KEYS = ("iteration", "global_steps", "global_step", "step")

Values = Mapping[str, Mapping[str, Value]]
"""Plain values in the state of files, by the file's path in its checkpoint and dotted name."""


@dataclass(frozen=True, slots=True)
class Mixed:
    """The files of another save.

    Args:
        names: Of the files, inside the checkpoint.
        by: How it shows.
        steps: That names or contents state, rising; empty where times show it.
    """

    names: list[str]
    by: Literal["name", "content", "time"]
    steps: list[int]


def mixed(
    point: Checkpoint, others: Sequence[Checkpoint], values: Mapping[str, Values]
) -> Mixed | None:
    """Return the files of another save, None where there are none.

    Args:
        point: The checkpoint.
        others: The other checkpoints of its run.
        values: In the files of each checkpoint, by its path.
    """
    return _by_name(point) or _by_content(point, others, values) or _by_time(point, others)


def steps_inside(values: Values) -> dict[str, dict[str, int]]:
    """Return the step that each file states inside, by the kind of the file."""
    found: dict[str, dict[str, int]] = {}
    for name, known in values.items():
        key = next((key for key in STEP_KEYS if key in known), None)
        step = known[key] if key else None
        if isinstance(step, int) and not isinstance(step, bool):
            found.setdefault(f"{key} of {re.sub(r'[0-9]+', '', name)}", {})[name] = step
    return found


def _by_name(point: Checkpoint) -> Mixed | None:
    steps = {
        name: step for name in point.files if "/" in name and (step := step_of(name)) is not None
    }
    return None if point.step is None else _strangers(steps, point.step, "name")


def _by_content(
    point: Checkpoint, others: Sequence[Checkpoint], values: Mapping[str, Values]
) -> Mixed | None:
    for kind, steps in steps_inside(values[point.path]).items():
        own = point.step if point.step in steps.values() else mode(steps.values())
        if point.step is not None and own != point.step and _counts_alike(kind, others, values):
            own = point.step
        if own is not None and (found := _strangers(steps, own, "content")):
            return found
    return None


def _counts_alike(kind: str, others: Sequence[Checkpoint], values: Mapping[str, Values]) -> bool:
    """Return whether files of this kind state the step that the name of their checkpoint has."""
    return any(
        other.step in steps_inside(values[other.path]).get(kind, {}).values() for other in others
    )


def _by_time(point: Checkpoint, others: Sequence[Checkpoint]) -> Mixed | None:
    old = write_times.left_over(point, others)
    names = sorted(name for name, entry in point.files.items() if entry in old)
    return Mixed(names, "time", []) if names else None


def _strangers(steps: Mapping[str, int], own: int, by: Literal["name", "content"]) -> Mixed | None:
    names = sorted(name for name, step in steps.items() if step != own)
    return Mixed(names, by, sorted({*steps.values(), own})) if names else None
