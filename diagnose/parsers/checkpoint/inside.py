"""What is found inside a file of a checkpoint: what it holds, or what is wrong with it."""

from dataclasses import dataclass, field
from typing import Literal

from diagnose.parsers.checkpoint.pickles import Pickle
from diagnose.parsers.checkpoint.structure import Plain, keys, values

Kind = Literal[
    "zero", "truncated", "zeros", "lfs", "webpage", "header", "member", "size-mismatch"
]  # fmt: skip
"""What is wrong: nothing in it, its end is missing, zeros in place of data, a pointer of git-lfs, a
page or message of a server, no head of its format, damage inside, too few or too many bytes."""


def in_bytes(count: int) -> str:
    """Return a number of bytes in words, such as ``1,024 bytes``."""
    return f"{count:,} byte{'' if count == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class Damage:
    """Why a file cannot be what was saved.

    Args:
        kind: What is wrong.
        reason: The same in words, as what follows the name and the size of the file.
        expected: Bytes it should have, None where nothing states them.
        found: Bytes it has.
    """

    kind: Kind
    reason: str
    expected: int | None = None
    found: int | None = None


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor as a header of safetensors or the metadata of DCP describes it.

    Args:
        dtype: As written there, such as ``BF16`` or ``torch.bfloat16``.
        shape: Its size in each dimension.
        bytes: Of its data in this file; None where it is not stated.
    """

    dtype: str
    shape: tuple[int, ...]
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """A tensor of a DCP checkpoint, or a part of it, in its file.

    Args:
        name: Of the tensor.
        path: File it lies in, relative to the metadata.
        offset: Byte it begins at.
        length: Its bytes.
    """

    name: str
    path: str
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Contents:
    """What a file holds, as far as it can be told without reading a tensor.

    Args:
        keys: Names at the top of what was saved, such as ``model`` and ``rng_state``.
        values: Plain values by dotted name, such as ``iteration`` and ``args.world_size``.
        suspicious: Names in a pickle that can run code, each with what it does.
        members: Of a file of torch.save, size and checksum of each member by its name behind the
            first ``/``; the checksum is None where the job wrote none. Equal members in files of
            different ranks are equal tensors.
        needs: Of an index, the files it names, relative to it, each with the bytes it calls for;
            None where it states none.
        tensors: Of safetensors and of DCP's metadata, by name.
        homes: Of an index of safetensors, the file each tensor is said to be in.
        pieces: Of DCP's metadata, where some of the tensors lie.
        holes: Of DCP's metadata, tensors that their chunks do not fill.
        total_size: Bytes of all tensors as an index states them.
        problem: What only a look inside shows to be wrong, None for nothing.
    """

    keys: tuple[str, ...] = ()
    values: dict[str, Plain] = field(default_factory=dict)
    suspicious: dict[str, str] = field(default_factory=dict)
    members: dict[str, tuple[int, int | None]] = field(default_factory=dict)
    needs: dict[str, int | None] = field(default_factory=dict)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    homes: dict[str, str] = field(default_factory=dict)
    pieces: tuple[Piece, ...] = ()
    holes: tuple[str, ...] = ()
    total_size: int | None = None
    problem: Damage | None = None


def saved(
    pickle: Pickle,
    members: dict[str, tuple[int, int | None]] | None = None,
    problem: Damage | None = None,
) -> Contents:
    """Return the contents of a file by the pickle that describes what was saved in it.

    Args:
        pickle: As read.
        members: Of a zip.
        problem: What the look inside showed to be wrong.
    """
    return Contents(
        keys=keys(pickle.value),
        values=values(pickle.value),
        suspicious=pickle.suspicious,
        members=members or {},
        problem=problem,
    )
