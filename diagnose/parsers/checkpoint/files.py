"""What the first and last bytes of one file of a checkpoint say of it.

Not a parser: the judge of checkpoints asks it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from diagnose.ingest.source import Entry
from diagnose.model.event import Value


@dataclass(frozen=True, slots=True)
class Damage:
    """What is wrong with a file, in words."""

    reason: str


@dataclass(frozen=True, slots=True)
class Contents:
    """What is in a file of state, as far as it was read.

    Args:
        keys: Names at its top.
        values: Plain values by dotted name.
    """

    keys: Collection[str] = ()
    values: Mapping[str, Value] = field(default_factory=dict)


def contents(entry: Entry) -> Contents | None:
    """Return what is in a file, None where that was not read."""
    return None


def damage(entry: Entry) -> Damage | None:
    """Return what first and last bytes say is wrong with a data file, None if nothing.

    A zip of torch.save ends with its end-of-central-directory record of 22 bytes, as no comment
    follows it; safetensors begins with the length of its header.
    """
    reason = _reason(entry)
    return None if reason is None else Damage(reason)


def _reason(entry: Entry) -> str | None:
    head, tail = entry.head, entry.tail
    if not head:
        return None
    if head.startswith(b"version https://git-lfs"):
        return "a git-lfs pointer, not the data"
    if head.lstrip().lower().startswith((b"<!doctype", b"<html", b'{"error"')):
        return "a web page or error message, not the data"
    if not any(head):
        return "begins with zeros"
    if head.startswith(b"PK\x03\x04"):
        if tail and b"PK\x05\x06" not in tail:
            return "the zip directory at the end is missing"
        return None
    if entry.name.endswith(".safetensors"):
        length = int.from_bytes(head[:8], "little")
        if entry.size < 8 or 8 + length > entry.size:
            return f"its header needs {8 + length} bytes"
    return None
