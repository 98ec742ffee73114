"""Safetensors files: their size follows from their header.

::

    8 bytes   N, little endian
    N bytes   {"__metadata__": {"format": "pt"}, "wte": {"dtype": "BF16", "shape": [8, 4], "data_offsets": [0, 64]}}
    data

Offsets count from the end of the header. The tensors follow each other without gaps, each takes what
type and shape call for, and the file ends with the last one. So a file is whole or not without a look
at a tensor.

*Empty*: at least the 8 bytes are there. *Cut off*: fewer bytes than the header calls for.
"""

import json
import math
from dataclasses import dataclass
from typing import Any, TypeGuard

from diagnose.ingest.source import Entry
from diagnose.parsers.checkpoint.inside import Contents, Damage, Tensor, in_bytes

LONGEST_HEADER = 100_000_000
"""Bytes; the library refuses more."""

BITS = {
    "BOOL": 8, "I8": 8, "U8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32,
    "I64": 64, "U64": 64, "F64": 64, "C64": 64, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}  # fmt: skip
"""Of one element (safetensors 0.3 to 0.8, tensor.rs)."""

MOST_DIMENSIONS = 64
LARGEST = 1 << 62
"""Bytes or elements; a larger number describes no tensor."""


@dataclass(frozen=True, slots=True)
class Header:
    """What stands before the data.

    Args:
        tensors: By name.
        metadata: What the writer noted.
        end: Bytes the file has if it is whole.
    """

    tensors: dict[str, Tensor]
    metadata: dict[str, str]
    end: int


def damage(entry: Entry) -> Damage | None:
    """Return what is wrong with a file, None for nothing and where it cannot be told."""
    found = header(entry)
    return found if isinstance(found, Damage) else None


def contents(entry: Entry) -> Contents | None:
    """Return the tensors of a file; None for a damaged one."""
    found = header(entry)
    if not isinstance(found, Header):
        return None
    return Contents(keys=tuple(found.tensors), tensors=found.tensors, values={**found.metadata})


def header(entry: Entry) -> Header | Damage | None:
    """Return the header of a file, or what is wrong with it or with the size of the file.

    None stands for what cannot be told, since nothing but the first bytes is at hand.
    """
    size = entry.size
    if size < 8:
        return _short(8, size, "not even the length of its header is there")
    length = int.from_bytes(entry.head[:8], "little")
    if other := _other_format(entry.head):
        return Damage("header", other, None, size)
    if length > LONGEST_HEADER:
        reason = f"its first bytes are not those of safetensors: a header of {length:,} bytes"
        return Damage("header", reason, None, size)
    if 8 + length > size:
        return _short(8 + length, size, "it ends inside its header")
    text = entry.read(8, length)
    if text is None:
        return None
    try:
        table = json.loads(text)
    except (ValueError, RecursionError):
        table = None
    if not isinstance(table, dict):
        return Damage("header", "its header is no JSON object", None, size)
    return _judged(table, 8 + length, size)


def _short(expected: int, size: int, why: str) -> Damage:
    reason = f"{in_bytes(expected - size)} short: {why}"
    return Damage("truncated", reason, expected, size)


def _other_format(head: bytes) -> str | None:
    if head.startswith(b"PK\x03\x04"):
        return "it is a file of torch.save, not safetensors"
    if head[0] == 0x80 and head[1] <= 5 and any(head[2:8]):
        return "it is a pickle, not safetensors"
    return None


def _judged(table: dict[str, Any], start: int, size: int) -> Header | Damage:
    metadata = table.pop("__metadata__", None) or {}
    tensors: dict[str, Tensor] = {}
    spans: list[tuple[int, int]] = []
    for name, row in table.items():
        tensor = _tensor(row)
        if tensor is None:
            return Damage("header", f"its header does not describe {name}", None, size)
        begin, end = row["data_offsets"]
        if isinstance(tensor, str):
            return Damage(
                "header", f"tensor {name} has {end - begin:,} bytes, {tensor}", None, size
            )
        tensors[name] = tensor
        spans.append((begin, end))
    at = 0
    for begin, end in sorted(spans):
        if begin != at:
            what = "overlap" if begin < at else "leave a gap"
            return Damage("header", f"its tensors {what} at byte {min(at, begin):,}", None, size)
        at = end
    expected = start + at
    if size < expected:
        return _short(expected, size, f"its header calls for {expected:,}")
    if size > expected:
        reason = f"{in_bytes(size - expected)} too many: its header calls for {expected:,}"
        return Damage("size-mismatch", reason, expected, size)
    noted = metadata if isinstance(metadata, dict) else {}
    return Header(tensors, {str(key): str(value) for key, value in noted.items()}, expected)


def _tensor(row: Any) -> Tensor | str | None:
    """Return a tensor, None where its row is no description, a text where its bytes do not fit."""
    if not isinstance(row, dict):
        return None
    dtype, shape, offsets = row.get("dtype"), row.get("shape"), row.get("data_offsets")
    if not isinstance(dtype, str) or not _wholes(shape) or not _wholes(offsets):
        return None
    if len(offsets) != 2 or offsets[0] > offsets[1]:
        return None
    taken = offsets[1] - offsets[0]
    bits = BITS.get(dtype)
    if bits is not None and math.prod(shape) * bits != 8 * taken:
        return f"its shape {shape} of {dtype} calls for {-(-math.prod(shape) * bits // 8):,}"
    return Tensor(dtype, tuple(shape), taken)


def _wholes(value: Any) -> TypeGuard[list[int]]:
    return (
        isinstance(value, list)
        and len(value) <= MOST_DIMENSIONS
        and all(type(one) is int and 0 <= one < LARGEST for one in value)
    )
