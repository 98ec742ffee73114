"""Write a folder of logs of a large NCCL job, for measuring how fast logs are read.

::

    python bench/generate.py /tmp/logs --size 2GiB --ranks 64
    python bench/generate.py /tmp/hang --size 1GiB --ranks 1024 --fault hang --steps all
    python bench/generate.py /tmp/parts --size 1GiB --files 10000

The same options give the same bytes; what is in them says ``ranklog``. Each rank has a file of its
own, or several (``rank7.012.log``), or all write into one (``job.log``): the lines are the same.
"""

import argparse
import gzip
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

import zstandard
from ranklog import FAULTS, Content

UNITS = {
    "": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
}  # fmt: skip

TURN = 4 << 10
"""Bytes that a rank writes in one go where all write into one file."""

OPENERS: dict[str | None, tuple[str, Callable[[Path], BinaryIO]]] = {
    None: ("", lambda path: path.open("wb")),
    "gz": (".gz", lambda path: cast(BinaryIO, gzip.GzipFile(path, "wb", 6, mtime=0))),
    "zst": (".zst", lambda path: cast(BinaryIO, zstandard.open(path, "wb"))),
}
"""By packing: the end of the name, and what opens a file."""


def write(
    folder: Path, size: int, content: Content, files: int | None = None, pack: str | None = None
) -> None:
    """Write a folder of logs.

    Args:
        folder: Made where it is not there.
        size: Bytes of all logs together, unpacked.
        content: What is in them.
        files: 1 for all ranks in one, None for one each, else about so many.
        pack: One of ``OPENERS``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    end, opened = OPENERS[pack]
    for name, pieces in _files(content.logs(size), files, size):
        with opened(folder / f"{name}.log{end}") as file:
            for piece in pieces:
                file.write(piece)


def _files(
    logs: list[Iterator[bytes]], files: int | None, size: int
) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield the name and the pieces of each file."""
    if files == 1:
        yield "job", _in_turn(logs)
    elif files is None:
        yield from ((f"rank{rank}", log) for rank, log in enumerate(logs))
    else:
        for rank, log in enumerate(logs):
            for part, piece in enumerate(_blocks(log, size // files)):
                yield f"rank{rank}.{part:03d}", [piece]


def _in_turn(logs: list[Iterator[bytes]]) -> Iterator[bytes]:
    """Yield a few lines of each log by turns."""
    writers = [_blocks(log, TURN) for log in logs]
    while writers:
        turns = [next(writer, None) for writer in writers]
        yield b"".join(turn for turn in turns if turn is not None)
        writers = [one for one, turn in zip(writers, turns, strict=True) if turn is not None]


def _blocks(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Yield the same lines in blocks of at most ``size`` bytes, or of one longer line."""
    held = b""
    for piece in pieces:
        held += piece
        begin = 0
        while len(held) - begin > size:
            end = held.rfind(b"\n", begin, begin + size) + 1 or held.find(b"\n", begin) + 1
            yield held[begin:end]
            begin = end
        held = held[begin:]
    if held:
        yield held


def bytes_of(text: str) -> int:
    """Return the number of bytes that ``2GB`` or ``300MiB`` stands for."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(\w*)", text)
    if found is None or found[2] not in UNITS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write 300MiB or 2GB")
    return int(float(found[1]) * UNITS[found[2]])


def main() -> None:
    """Write the folder that the command line asks for."""
    usual = Content()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size", type=bytes_of, default="256MiB", help="of all logs, unpacked")
    parser.add_argument("--ranks", type=int, default=16)
    parser.add_argument("--files", type=int, help="1, or more than ranks; default: one a rank")
    parser.add_argument("--setups", type=float, default=usual.setups, help="their share of bytes")
    parser.add_argument("--errors", type=float, default=usual.errors, help="their share of bytes")
    parser.add_argument("--steps", choices=("last", "all"), default=usual.steps, help="who prints")
    parser.add_argument("--fault", choices=FAULTS, default=usual.fault, help="what the job dies of")
    parser.add_argument("--pack", choices=[pack for pack in OPENERS if pack])
    parser.add_argument("--seed", type=int, default=usual.seed)
    options = parser.parse_args()
    content = Content(
        ranks=options.ranks,
        setups=options.setups,
        errors=options.errors,
        steps=options.steps,
        fault=options.fault,
        seed=options.seed,
    )
    write(options.folder, options.size, content, options.files, options.pack)


if __name__ == "__main__":
    main()
