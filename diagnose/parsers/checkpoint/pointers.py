"""The small files that name the step to resume from.

Not a parser: the judge of checkpoints asks it. DeepSpeed's ``latest`` holds a tag, Megatron-LM's and
verl's ``latest_checkpointed_iteration.txt`` a number or ``release``. A line end behind it is fine.
"""

import re
from dataclasses import dataclass

from diagnose.ingest.lazy import LazyPattern
from diagnose.ingest.source import Entry
from diagnose.parsers.checkpoint.tree import Checkpoint

NAMES = ("latest", "latest_universal", "latest_checkpointed_iteration.txt")
NUMBER = LazyPattern(r"(\d+)\D*$")


@dataclass(frozen=True, slots=True)
class Pointer:
    """A pointer and what it holds.

    Args:
        entry: The file.
        target: What it names, blanks at the ends taken off.
        garbled: What is wrong with the text itself, None if nothing.
    """

    entry: Entry
    target: str
    garbled: str | None

    @property
    def parent(self) -> str:
        """Folder it lies in."""
        return self.entry.name.rpartition("/")[0]

    @property
    def step(self) -> int | None:
        """The number it names."""
        found = NUMBER.search(self.target)
        return int(found[1]) if found and not self.garbled else None

    def leads_to(self, point: Checkpoint) -> bool:
        """Return whether it names a checkpoint beside it, or the folder inside one around it."""
        if point.path == self.parent and "trainer_state.json" in point.files:
            return any(name.startswith(f"{self.target}/") for name in point.files)
        if point.parent != self.parent:
            return False
        return self.target in (point.path.rpartition("/")[2], str(point.number))


def pointers(entries: list[Entry]) -> list[Pointer]:
    """Return the pointers among files whose text is known."""
    return [
        _pointer(entry)
        for entry in entries
        if entry.name.rpartition("/")[2] in NAMES and (entry.head or entry.size == 0)
    ]


def _pointer(entry: Entry) -> Pointer:
    text = entry.head.decode("utf-8", "replace")
    target = text.strip("\ufeff\0 \t\r\n")
    garbled = None
    if not target:
        garbled = "it is empty" if not entry.head.strip(b"\0 \t\r\n") else "it holds no text"
        if entry.head.strip(b" \t\r\n") and not entry.head.strip(b"\0 \t\r\n"):
            garbled = "it holds zeros"
    elif text.startswith("\ufeff"):
        garbled = "it begins with a byte-order mark"
    elif "\0" in text:
        garbled = "it holds zeros"
    elif re.search(r"[\r\n]\s*\S", text.strip()) or " " in target:
        garbled = "text follows the name"
    elif entry.name.endswith(".txt") and target != "release" and not target.isdecimal():
        garbled = "it is no whole number"
    return Pointer(entry, target, garbled)
