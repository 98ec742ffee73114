"""Checkpoints as folders: names, sizes, headers, directories and indexes, never a tensor.

Layouts: torch.distributed.checkpoint (DCP; torchtitan, Megatron ``torch_dist``), DeepSpeed, Megatron
legacy, Hugging Face Trainer, verl, and single torch or safetensors files. A folder named after a
step (``global_step500``, ``iter_0000500``, ``step-500``, ``checkpoint-500``) is one checkpoint.

A DCP rank with nothing to write has no file, so holes in its numbers prove nothing; a file counts
as missing there when all other steps have it. A missing last rank shows only against other steps.
Sizes are compared with the same file of other steps, since shards of one step differ by design.

*Empty*: no marker file, so nothing is said. *Cut off*: a save that died leaves no completion
marker (DCP's ``.metadata``, Hugging Face's ``trainer_state.json``, the ``latest`` of DeepSpeed).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median
from typing import Literal

from diagnose.ingest.lazy import LazyPattern
from diagnose.ingest.source import Entry
from diagnose.model.event import Event, Nature, Value
from diagnose.parsers.base import FolderParser
from diagnose.parsers.checkpoint import indexes, look
from diagnose.parsers.checkpoint.look import DATA
from diagnose.parsers.checkpoint.names import RNG, expected_names

Layout = Literal["dcp", "deepspeed", "megatron", "hf", "verl", "nemo", "orbax", "torch"]

STEP = LazyPattern(r"(?:^|/)(?:global_step_?|iter_|step[-_]|checkpoint-)(\d+)(?=/)")
WANTED = LazyPattern(
    r"(?:\.distcp|\.metadata(?:\.tmp)?|\.(?:pt|pth|ckpt|safetensors|nemo)|-unfinished"
    r"|(?:^|/)(?:latest|latest_universal|latest_checkpointed_iteration\.txt|trainer_state\.json"
    r"|_CHECKPOINT_METADATA|manifest\.ocdbt|commit_success\.txt|random_states_\d+\.pkl"
    r"|\S*\.index\.json|(?:pytorch_model|optimizer|scheduler|sampler|training_args|adapter_model)\S*\.bin)"
    r")$"
)
UNNAMED = LazyPattern(r"__\d+_\d+\.distcp$|\.metadata(?:\.tmp)?$|-\d{5}-of-\d{5}\.\w+$")
"""Files that make their folder a checkpoint though its name states no step."""

BROKEN = ("ckpt.zero_size", "ckpt.truncated", "ckpt.tensor_holes", "ckpt.index_mismatch")
"""Events of a file with which its checkpoint cannot be whole."""

POINTERS = ("latest", "latest_checkpointed_iteration.txt")


LISTED = 50
"""Missing files that an event names; it counts all."""
SHRINK, SHRINK_BYTES = 0.99, 64 << 10
"""A file this much smaller than in other steps, where it has one size, is an outlier."""


@dataclass(slots=True)
class Checkpoint:
    """The files of one step.

    Args:
        path: Folder, relative to the input folder; empty for that folder itself.
        step: As the name states it.
        files: By their path inside the checkpoint.
    """

    path: str
    step: int | None
    files: dict[str, Entry] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        """Path as events name it."""
        return self.path or "."

    @property
    def parent(self) -> str:
        """Folder that holds the steps of one run."""
        return self.path.rpartition("/")[0]

    def inside(self, name: str) -> str:
        """Return the path of a file relative to the input folder."""
        return f"{self.path}/{name}" if self.path else name


def wants(name: str) -> bool:
    """Return whether a name belongs to a checkpoint."""
    return WANTED.search(name) is not None


def read(folder: str, entries: list[Entry]) -> Iterator[Event]:
    """Check each checkpoint, compare the steps, follow the pointers."""
    entries = sorted((e for e in entries if wants(e.name)), key=lambda entry: entry.name)
    seen = look.look(entries)
    damaged: set[str] = set()
    for event in look.events(entries, seen, _step_of):
        if event.name in BROKEN:
            damaged.add(event.file)
        yield event
    for entry in entries:
        if entry.name.endswith("-unfinished"):  # NeMo puts its marker beside the checkpoint
            yield _unfinished(entry.name.removesuffix("-unfinished"), None, entry.name)
    checkpoints = _checkpoints(folder, entries)
    pointers = [e for e in entries if e.name.rpartition("/")[2] in POINTERS]
    missing = {
        point.path: _missing(point, checkpoints, _needed(point, seen)) for point in checkpoints
    }
    state: dict[str, bool | None] = {}
    for point in checkpoints:
        broken = any(point.inside(name) in damaged for name in point.files)
        pointed = _pointed_step(point.parent, pointers)
        state[point.path] = _complete(point, bool(missing[point.path]), broken, pointed)
        yield from _checkpoint_events(point, missing[point.path], state[point.path])
        yield from _outliers(point, checkpoints)
    yield from _pointer_events(pointers, checkpoints, state)
    for parent in sorted({point.parent for point in checkpoints}):
        whole = [
            p for p in checkpoints if p.parent == parent and state[p.path] and p.step is not None
        ]
        if whole:
            newest = max(whole, key=lambda point: point.step or 0)
            fields: dict[str, Value] = {"step": newest.step, "path": newest.shown}
            text = f"{newest.shown}: newest complete checkpoint, step {newest.step}"
            yield _event("ckpt.newest_complete", Nature.MEASUREMENT, newest.shown, 0, text, fields)


def _step_of(name: str) -> int | None:
    step = STEP.search(name)
    return int(step[1]) if step else None


def _event(
    name: str, nature: Nature, file: str, line: int, text: str, fields: dict[str, Value]
) -> Event:
    return Event(
        name=name, nature=nature, file=file, line=line, end_line=line, text=text, fields=fields
    )


def _checkpoints(folder: str, entries: list[Entry]) -> list[Checkpoint]:
    """Group files by checkpoint; the input folder itself may be one."""
    found: dict[str, Checkpoint] = {}
    own = STEP.search(folder.rstrip("/") + "/")
    for entry in entries:
        step = STEP.search(entry.name)
        if step:
            path = entry.name[: step.end()]
            number = int(step[1])
        elif own:
            path, number = "", int(own[1])
        elif UNNAMED.search(entry.name):
            path, number = entry.name.rpartition("/")[0], None
        else:
            continue
        point = found.setdefault(path, Checkpoint(path, number))
        name = entry.name[len(path) + 1 :] if path else entry.name
        point.files[name] = entry
    return [found[path] for path in sorted(found)]


def layout_of(point: Checkpoint) -> Layout:
    """Return which program's layout the names show."""
    names = "\n".join(point.files)
    if ".distcp" in names or re.search(r"(?:^|/)\.metadata(?:\.tmp)?$", names, re.MULTILINE):
        return "nemo" if "weights/" in names else "dcp"
    if "_states.pt" not in names and (
        re.search(r"(?:^|/)checkpoint-\d+$", point.path) or "trainer_state.json" in point.files
    ):
        return "hf"
    if "_states.pt" in names:
        return "hf" if "trainer_state.json" in names else "deepspeed"
    if "_world_size_" in names:
        return "verl"
    if re.search(r"(?:^|/)mp_rank_\d+", names, re.MULTILINE):
        return "megatron"
    if "_CHECKPOINT_METADATA" in names or "manifest.ocdbt" in names:
        return "orbax"
    return "torch"


def _needed(point: Checkpoint, seen: look.Look) -> set[str]:
    """Return the files that the indexes in a checkpoint name, by their path inside it."""
    own = {entry.name for entry in point.files.values()}
    needed = indexes.needed(one for one in seen.indexes if one.entry.name in own)
    return {name.removeprefix(point.inside("")) for name in needed}


def _missing(point: Checkpoint, checkpoints: list[Checkpoint], needed: set[str]) -> list[str]:
    """Return the files that an index, numbering or the other steps say should be there."""
    names = set(point.files)
    expected = needed | expected_names(names)
    others = [
        {_stepless(name, p) for name in p.files}
        for p in checkpoints
        if p is not point
        and p.parent == point.parent
        and _marked(p)
        and layout_of(p) == layout_of(point)
    ]
    own = {_stepless(name, point) for name in names}
    if len(others) >= 2 and names:
        expected |= {name for name in set.intersection(*others) - own if DATA.search(name)}
    return sorted(expected - names - own)


def _stepless(name: str, point: Checkpoint) -> str:
    return name.replace(f"global_step{point.step}/", "global_stepN/")


def _marked(point: Checkpoint) -> bool:
    names = point.files
    return layout_of(point) != "dcp" or ".metadata" in names


def _complete(point: Checkpoint, missing: bool, broken: bool, pointed: int | None) -> bool | None:
    layout, names = layout_of(point), point.files
    if missing or broken or any(name.endswith((".metadata.tmp", "-unfinished")) for name in names):
        return False
    if layout == "dcp":
        return ".metadata" in names and any(name.endswith(".distcp") for name in names)
    if layout == "hf":
        return "trainer_state.json" in names and any(DATA.search(name) for name in names)
    if layout in ("deepspeed", "megatron", "verl"):
        newer = pointed is not None and point.step is not None and point.step > pointed
        return not newer
    return None


def _checkpoint_events(
    point: Checkpoint, missing: list[str], complete: bool | None
) -> Iterator[Event]:
    layout, names = layout_of(point), point.files
    size = sum(entry.size for entry in names.values())
    fields: dict[str, Value] = {
        "path": point.shown,
        "layout": layout,
        "step": point.step,
        "files": len(names),
        "bytes": size,
        "complete": complete,
        "has_optimizer": _has(layout, names, r"(?:^|/)optim|optim_states|(?:^|/)global_step"),
        "has_scheduler": _has(layout, names, r"(?:^|/)scheduler|extra_state|(?:^|/)global_step"),
        "has_rng": _has(layout, names, r"rng_state|random_states|extra_state"),
        "rng_files": sum(RNG.search(name) is not None for name in names),
    }
    state = {True: "complete", False: "not complete", None: "completeness unknown"}[complete]
    text = f"{point.shown}: {layout} checkpoint, {len(names)} files, {size} bytes, {state}"
    yield _event("ckpt.folder", Nature.MEASUREMENT, point.shown, 0, text, fields)
    if missing:
        holes: dict[str, Value] = {
            "path": point.shown,
            "step": point.step,
            "layout": layout,
            "missing": [*missing[:LISTED]],
            "count": len(missing),
            "expected": len(names) + len(missing),
        }
        text = f"{point.shown}: {len(missing)} files missing, first {missing[0]}"
        yield _event("ckpt.missing_shards", Nature.ERROR, point.shown, 0, text, holes)
    if marker := _marker(layout, names):
        yield _unfinished(point.shown, point.step, marker)


def _unfinished(path: str, step: int | None, marker: str) -> Event:
    fields: dict[str, Value] = {"path": path, "step": step, "marker": marker}
    text = f"{path}: save not finished ({marker})"
    return _event("ckpt.marker_incomplete", Nature.ERROR, path, 0, text, fields)


def _has(layout: Layout, names: dict[str, Entry], regex: str) -> bool | None:
    """Only layouts with a file a state can say that a state is absent."""
    if layout not in ("hf", "verl"):
        return None
    return any(re.search(regex, name) for name in names)


def _marker(layout: Layout, names: dict[str, Entry]) -> str | None:
    for name in names:
        if name.endswith(".metadata.tmp"):
            return name
    if layout == "dcp" and ".metadata" not in names:
        return "no .metadata"
    if layout == "hf" and "trainer_state.json" not in names:
        return "no trainer_state.json"
    return None


def _outliers(point: Checkpoint, checkpoints: list[Checkpoint]) -> Iterator[Event]:
    others = [p for p in checkpoints if p is not point and p.parent == point.parent]
    for name, entry in point.files.items():
        if not DATA.search(name) or entry.size == 0:
            continue
        sizes = [p.files[name].size for p in others if name in p.files and p.files[name].size]
        if len(sizes) < 2 or max(sizes) - min(sizes) > 0.001 * max(sizes):
            continue
        usual = int(median(sizes))
        if entry.size < SHRINK * usual and usual - entry.size > SHRINK_BYTES:
            fields: dict[str, Value] = {
                "path": entry.name, "step": point.step, "size": entry.size, "median": usual,
                "against": "other steps",
            }  # fmt: skip
            text = f"{entry.name}: {entry.size} bytes, {usual} in the other steps"
            yield _event("ckpt.size_outlier", Nature.ERROR, entry.name, 1, text, fields)


def _pointed_step(parent: str, pointers: list[Entry]) -> int | None:
    for pointer in pointers:
        if pointer.name.rpartition("/")[0] == parent:
            found = re.search(rb"(\d+)\s*$", pointer.head)
            return int(found[1]) if found else None
    return None


def _pointer_events(
    pointers: list[Entry], checkpoints: list[Checkpoint], state: dict[str, bool | None]
) -> Iterator[Event]:
    for pointer in pointers:
        parent = pointer.name.rpartition("/")[0]
        near = [point for point in checkpoints if point.parent == parent]
        if not near or (pointer.size and not pointer.head):
            continue
        target = pointer.head.decode("utf-8", "replace").strip()
        steps = {point.path.rpartition("/")[2]: point for point in near}
        steps |= {str(point.step): point for point in near}
        why = None
        if target == "release":
            continue
        if not target:
            why = "it is empty"
        elif target not in steps:
            why = "no such checkpoint is there"
        elif state[steps[target].path] is False:
            why = "that checkpoint is not complete"
        if why:
            fields: dict[str, Value] = {"path": pointer.name, "points_to": target, "why": why}
            text = f"{pointer.name} points to {target!r}: {why}"
            yield _event("ckpt.latest_dangling", Nature.ERROR, pointer.name, 1, text, fields)


PARSERS = (
    FolderParser(
        name="checkpoint-folder",
        title="Checkpoint folders by names, sizes, headers and indexes",
        wants=wants,
        read=read,
        emits=(
            "ckpt.folder",
            "ckpt.missing_shards",
            "ckpt.marker_incomplete",
            "ckpt.size_outlier",
            "ckpt.latest_dangling",
            "ckpt.newest_complete",
            *look.EVENTS,
        ),
    ),
)
