"""Which files of a tree are one checkpoint.

Not a parser: those of folders, listings and manifests ask it. A checkpoint is a folder that is
named after a step (``global_step500``, ``iter_0000500``, ``step-500``, ``checkpoint-500``,
``name--val_loss=1.2-step=500``; Orbax: a bare number), a single file that is
(``epoch=1-step=500.ckpt``, ``ckpt_500.pt``), or a folder that holds files only checkpoints have.

The innermost such folder counts, so that several runs may lie in one tree. DeepSpeed's folder
inside one of Hugging Face belongs to it, whatever step it names.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from diagnose.ingest.lazy import LazyPattern
from diagnose.ingest.source import Entry

Unit = Literal["step", "epoch", "save"]

STEP_FOLDER = LazyPattern(
    r"^(?P<word>global_step|iter|step|checkpoint|ckpt|epoch)(?P<mark>[-_=]?)(?P<number>\d+)"
    r"(?:_universal|-last|\.orbax-checkpoint-tmp\S*)?$"
)
NAMED_STEP = LazyPattern(r"(?:^|[-_.])step=(\d+)")
NUMBER_FOLDER = LazyPattern(r"^(\d+)(?:\.orbax-checkpoint-tmp\S*)?$")
ORBAX_FILE = LazyPattern(
    r"(?:^|/)(?:_CHECKPOINT_METADATA|_METADATA|_sharding|manifest\.ocdbt|commit_success\.txt)$"
)
RANK_FOLDER = LazyPattern(r"^(?:mp_rank_\d+(?:_\d+)*|tp_rank_\d+_pp_rank_\d+)$")
STEP_FILE = LazyPattern(
    r"(?:^|[-_.])(?P<word>global_step|step|iter|ba|ckpt|checkpoint|epoch)[-_=]?"
    r"(?:\d+_)?(?P<number>\d+)(?:[-_.][^/]*)?\.(?:pt|pth|pth\.tar|ckpt|bin|safetensors|nemo)$"
)
RANK_SUFFIX = LazyPattern(r"[-_]rank_?\d+(?=\.\w+$)")
PART_FOLDER = LazyPattern(
    r"^(?:weights|context|checkpoint|sharded|\w+_fsdp_\d+|optimizer_\d+|_?actor|_?critic|zero)$"
)
"""Folders inside a checkpoint."""

UNNAMED = LazyPattern(
    r"__\d+_\d+\.distcp$|\.metadata(?:\.tmp)?$|-\d{5}-of-\d{5}\.\w+$|_states\.pt$"
    r"|(?:^|/)(?:model_optim_rng\.pt|distrib_optim\.pt|random_states_\d+\.pkl|trainer_state\.json)$"
    r"|_world_size_\d+_rank_\d+\.pt$|_fsdp_\d+_rank_?\d+\.(?:bin|pt)$"
)
"""Files that make their folder a checkpoint though its name states no step."""

WANTED = LazyPattern(
    r"(?:\.distcp|\.metadata(?:\.tmp)?|\.(?:pt|pth|ckpt|safetensors|nemo)|-unfinished"
    r"|(?:^|/)(?:latest|latest_universal|latest_checkpointed_iteration\.txt|trainer_state\.json"
    r"|_CHECKPOINT_METADATA|_METADATA|manifest\.ocdbt|commit_success\.txt|\.zarray"
    r"|(?:random_states|custom_checkpoint)_\d+\.pkl|\S+\.pth\.tar|iter_\d+/metadata\.json"
    r"|\S*\.index\.json|(?:pytorch_model|optimizer|scheduler|sampler|dl_state_dict|training_args"
    r"|adapter_model)\S*\.bin)"
    r")$"
)
"""Files of checkpoints, by their names."""

ENDINGS = (
    ".distcp", ".metadata", ".tmp", ".pt", ".pth", ".ckpt", ".safetensors", ".nemo", "-unfinished",
    "latest", "latest_universal", "latest_checkpointed_iteration.txt", "trainer_state.json",
    "_METADATA", "manifest.ocdbt", "commit_success.txt", ".zarray", ".pkl", ".tar", ".bin",
    "metadata.json", ".index.json",
)  # fmt: skip
"""How these names end."""

DATA = LazyPattern(r"\.(?:distcp|pt|pth|pth\.tar|ckpt|bin|safetensors|nemo|pkl)$")
"""Files that hold state, by their names."""

UNITS: dict[str, Unit] = {"epoch": "epoch", "checkpoint_": "save"}


@dataclass(eq=False)
class Checkpoint:
    """The files of one checkpoint; what is worked out of them counts once all are there.

    Args:
        path: Folder or single file, relative to the input folder; empty for that folder itself.
        word: What the name says before the number; checkpoints of one series share it.
        number: As the name states it, None without one.
        files: By their path inside the checkpoint.
    """

    path: str
    word: str = ""
    number: int | None = None
    files: dict[str, Entry] = field(default_factory=dict)

    @property
    def step(self) -> int | None:
        """Training step, None where the name counts epochs or saves."""
        return self.number if UNITS.get(self.word, "step") == "step" else None

    @property
    def shown(self) -> str:
        """Path as events name it."""
        return self.path or "."

    @property
    def parent(self) -> str:
        """Folder that holds the steps of one run."""
        return self.path.rpartition("/")[0]

    @property
    def series(self) -> tuple[str, str]:
        """What the checkpoints of one run have in common."""
        return self.parent, self.word

    @cached_property
    def modified(self) -> float | None:
        """When its last file was written, seconds since 1970."""
        return max(
            (e.modified for e in self.files.values() if e.modified is not None), default=None
        )

    @cached_property
    def alike(self) -> dict[str, Entry]:
        """Files by names that do not state the step, to compare with other checkpoints."""
        own = self.path.rpartition("/")[2]
        inner = f"global_step{self.number}/"
        return {
            "" if name == own else name.replace(inner, "global_stepN/"): entry
            for name, entry in self.files.items()
        }

    @cached_property
    def data(self) -> list[Entry]:
        """The files that hold state."""
        return [entry for name, entry in sorted(self.files.items()) if DATA.search(name)]

    @cached_property
    def size(self) -> int:
        """Bytes of its files, as far as they are known."""
        return sum(max(0, entry.size) for entry in self.files.values())


def wants(name: str) -> bool:
    """Return whether a name belongs to a checkpoint."""
    return WANTED.search(name) is not None


def checkpoints(folder: str, entries: Iterable[Entry]) -> list[Checkpoint]:
    """Return the checkpoints among files, in the order of their paths.

    Args:
        folder: Name of the folder that the names are relative to; it may be a checkpoint itself.
        entries: The files.
    """
    entries = list(entries)
    own = _step_of(folder.rstrip("/").rpartition("/")[2], "")
    unnamed = {_unnamed_root(entry.name) for entry in entries if UNNAMED.search(entry.name)}
    found: dict[str, Checkpoint] = {}
    for entry in entries:
        place = _place(entry.name)
        if place is None and own is not None:
            place = "", *own, entry.name
        if place is None and (root := _unnamed_root(entry.name)) in unnamed:
            place = root, "", None, entry.name.removeprefix(root).lstrip("/")
        if place is None:
            continue
        path, word, number, inner = place
        found.setdefault(path, Checkpoint(path, word, number)).files[inner] = entry
    return [found[path] for path in sorted(found)]


def step_of(name: str) -> int | None:
    """Return the step of the checkpoint that a file lies in, as its path states it."""
    place = _place(name)
    return None if place is None else Checkpoint(place[0], place[1], place[2]).step


def series_of(points: Iterable[Checkpoint]) -> list[list[Checkpoint]]:
    """Return the numbered checkpoints of each run, in rising order."""
    runs: dict[tuple[str, str], list[Checkpoint]] = {}
    for point in points:
        if point.number is not None:
            runs.setdefault(point.series, []).append(point)
    return [sorted(run, key=lambda point: point.number or 0) for _, run in sorted(runs.items())]


Place = tuple[str, str, int | None, str]
"""Path of the checkpoint, word, number, and the path of the file inside it."""


def _place(name: str) -> Place | None:
    parts = name.split("/")
    for depth in range(len(parts) - 2, -1, -1):
        step = _step_of(parts[depth], "/".join(parts[depth + 1 :]))
        if step is None:
            continue
        while depth:
            outer = _step_of(parts[depth - 1], "")
            nested = outer is not None and (outer[0], step[0]) == ("checkpoint-", "global_step")
            if outer is None or (outer[1] != step[1] and not nested):
                break
            depth, step = depth - 1, outer
        return "/".join(parts[: depth + 1]), *step, "/".join(parts[depth + 1 :])
    return _file_place(parts)


def _file_place(parts: list[str]) -> Place | None:
    """Return the checkpoint that a single file, or one file of each rank, is."""
    found = STEP_FILE.search(parts[-1])
    if found is None or "-of-" in parts[-1]:
        return None
    named = NAMED_STEP.search(parts[-1])
    word, number = ("step=", int(named[1])) if named else (found["word"], int(found["number"]))
    if len(parts) > 1 and RANK_FOLDER.match(parts[-2]):
        return "/".join([*parts[:-2], parts[-1]]), word, number, "/".join(parts[-2:])
    root = RANK_SUFFIX.compiled.sub("", parts[-1])
    return "/".join([*parts[:-1], root]), word, number, parts[-1]


def _step_of(folder: str, inner: str) -> tuple[str, int] | None:
    """Return word and number of a folder that is named after a step.

    Args:
        folder: Its name.
        inner: Path of a file in it; a bare number needs one that Orbax writes.
    """
    if found := STEP_FOLDER.match(folder):
        mark = found["mark"] if found["word"] in ("checkpoint", "ckpt") else ""
        return found["word"] + mark, int(found["number"])
    if found := NAMED_STEP.search(folder):
        return "step=", int(found[1])
    found = NUMBER_FOLDER.match(folder)
    return ("", int(found[1])) if found and ORBAX_FILE.search(inner) else None


def _unnamed_root(name: str) -> str:
    parts = name.split("/")[:-1]
    while parts and (PART_FOLDER.match(parts[-1]) or RANK_FOLDER.match(parts[-1])):
        parts.pop()
    return "/".join(parts)
