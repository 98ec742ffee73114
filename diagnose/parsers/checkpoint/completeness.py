"""Whether a checkpoint is whole: yes, no or unknown, and why.

Not a parser: the judge of checkpoints asks it. A save that was interrupted shows as a file that is
missing or damaged, as a marker of an unfinished save, or as a marker of a finished one that is not
there. What only the checkpoints beside it show (a last rank that they have) counts where nothing else
explains it: several missing high ranks may as well be a smaller world size.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from diagnose.ingest.lazy import LazyPattern
from diagnose.parsers.checkpoint.layouts import Layout
from diagnose.parsers.checkpoint.mixed import Mixed
from diagnose.parsers.checkpoint.names import expected_names, is_tail
from diagnose.parsers.checkpoint.pointers import Pointer
from diagnose.parsers.checkpoint.tree import DATA, Checkpoint

ALIKE = 0.01
"""Single files of one run differ by less than this share where all are whole."""

NUMBERED = ("zero", "universal", "legacy", "zarr", "local")
"""Forms whose files are numbered by rank, and whose pointer is written last."""

TEMPORARY = LazyPattern(
    r"\.tmp$|\.partial$|\.inprogress$|(?:^|/)tmp[^/]*$|\.orbax-checkpoint-tmp|-unfinished$"
)

WEIGHTS = LazyPattern(r"model|\.distcp$|\.safetensors$|^global_step")
"""Files of weights, of adapters too, in a checkpoint of Hugging Face's Trainer."""

TRAINED = LazyPattern(r"^(?:optimizer|scheduler|rng_state)")
"""Other files of state that it saves beside them."""


@dataclass(slots=True)
class State:
    """What is known of one checkpoint.

    Args:
        complete: None if names and first bytes cannot say.
        why: What speaks against it, in words; empty for a complete one.
        missing: Files that should be there.
        marker: The sign of an unfinished save, None without one.
    """

    complete: bool | None
    why: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    marker: str | None = None


def nowhere(names: set[str]) -> set[str]:
    """Return that no file can lie beyond what was listed."""
    return set()


def state_of(
    point: Checkpoint,
    layout: Layout,
    others: Sequence[Checkpoint],
    finished: Sequence[Checkpoint],
    *,
    damaged: Sequence[str] = (),
    mixed: Mixed | None = None,
    needed: Collection[str] = (),
    unfinished: str | None = None,
    pointer: Pointer | None = None,
    beyond: Callable[[set[str]], set[str]] = nowhere,
    hidden: bool = True,
) -> State:
    """Judge one checkpoint.

    Args:
        point: The checkpoint.
        layout: Of it.
        others: The other checkpoints of its run that have this layout.
        finished: Those of them that lack no marker of their own.
        damaged: What is wrong with which of its files, in words.
        mixed: Files of another save in it.
        needed: Files that its indexes or contents call for, by their path inside it.
        unfinished: Marker beside it that says so (NeMo 2).
        pointer: The pointer of its run.
        beyond: Returns those of its files that may stand where a listing is cut off.
        hidden: Files whose names begin with a dot would show.
    """
    names = set(point.files)
    holes = (expected_names(names) | set(needed) | _weights(point, layout)) - names
    absent = _absent(point, finished)
    tail = is_tail(absent, point.files)
    wanted = holes if tail else holes | absent
    unseen = beyond(wanted)
    state = State(None, list(damaged), sorted(wanted - unseen))
    state.marker = unfinished or own_marker(point, layout, hidden=hidden)
    state.marker = state.marker or _usual_marker(point, others)
    if state.missing:
        more = len(state.missing) - 1
        state.why.append(f"{state.missing[0]}{f' and {more} more' if more else ''} missing")
    if state.marker:
        state.why.append(state.marker)
    if mixed:
        state.why.append(f"{mixed.names[0]} is of another save")
    if state.why:
        state.complete = False
        return state
    if not hidden and layout.form in ("dcp", "torch_dist"):
        state.why.append("the listing shows no hidden files, so not .metadata either")
    elif unseen:
        state.why.append("the listing may be cut off there")
    elif tail:
        state.why.append("the highest ranks of the other steps have no file here")
    elif doubt := _doubt(point, layout, others, pointer):
        state.why.append(doubt)
    else:
        state.complete = True
    return state


def _absent(point: Checkpoint, finished: Sequence[Checkpoint]) -> set[str]:
    """Return the files that all other finished checkpoints of the run have."""
    if len(finished) < 2 or not point.files:
        return set()
    common = set.intersection(*(set(one.alike) for one in finished))
    return {name for name in common - set(point.alike) if DATA.search(name)}


def _weights(point: Checkpoint, layout: Layout) -> set[str]:
    """Return the file of weights that one of Hugging Face's Trainer needs, where it has none.

    People copy trainer_state.json alone as a log; with other state beside it, it is a checkpoint.
    """
    names = point.files
    saved = "trainer_state.json" in names and any(map(TRAINED.search, names))
    lacking = layout.framework == "hf" and saved and not any(map(WEIGHTS.search, names))
    return {"model.safetensors"} if lacking else set()


def own_marker(point: Checkpoint, layout: Layout, *, hidden: bool = True) -> str | None:
    """Return the sign that a save did not finish, None without one.

    Args:
        point: The checkpoint.
        layout: Of it.
        hidden: Files whose names begin with a dot would show.
    """
    names = point.files
    if "orbax-checkpoint-tmp" in point.path:
        return "a temporary folder of Orbax"
    temporary = next((name for name in sorted(names) if TEMPORARY.search(name)), None)
    if temporary is not None:
        return temporary
    folders = {name.rpartition("/")[0] for name in names if name.endswith(".distcp")}
    for folder in sorted(folders):
        inner = f"{folder}/" if folder else ""
        local = any(n.startswith(f"{inner}__") and n.endswith(".metadata") for n in names)
        if hidden and f"{inner}.metadata" not in names and not local:
            return f"no {inner}.metadata"
    resumable = any(name.startswith(("optimizer.", "rng_state", "scheduler.")) for name in names)
    if layout.framework == "hf" and "trainer_state.json" not in names and resumable:
        return "no trainer_state.json"
    return None


def _usual_marker(point: Checkpoint, others: Sequence[Checkpoint]) -> str | None:
    """Return the marker of a finished save that other checkpoints have and this one lacks."""
    for sign in ("trainer_state.json", "commit_success.txt"):
        if sign not in point.files and any(sign in other.files for other in others):
            return f"no {sign}"
    return None


def _doubt(
    point: Checkpoint, layout: Layout, others: Sequence[Checkpoint], pointer: Pointer | None
) -> str | None:
    """Return why a checkpoint without a fault is not known to be whole."""
    names = point.files
    if layout.framework == "hf" and "trainer_state.json" not in names:
        return "no trainer_state.json: an export of weights, or an interrupted save"
    if layout.framework == "hf" or layout.form in ("dcp", "torch_dist"):
        return None if any(DATA.search(name) for name in names) else "no data file"
    if layout.form in NUMBERED:
        pointed = pointer.step if pointer else None
        if pointer and pointed is not None and point.number is not None and point.number > pointed:
            return f"newer than {pointer.entry.name.rpartition('/')[2]} says"
        return None
    if layout.form == "file":
        return _doubt_of_file(point, others)
    if layout.framework == "accelerate" or "_CHECKPOINT_METADATA" in names:
        return None
    if layout.form == "sharded":  # its names state how many there are
        return None
    return "its names do not say"


def _doubt_of_file(point: Checkpoint, others: Sequence[Checkpoint]) -> str | None:
    """A single file is judged by its bytes where they are known, else by its size."""
    if all(entry.head for entry in point.files.values()):
        return None
    alike = sum(abs(one.size - point.size) <= ALIKE * point.size for one in others)
    return None if alike >= 2 else "a single file of which only the size is known"
