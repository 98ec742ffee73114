"""One stage of reading alone, without the start of the program and all that comes after.

::

    python bench/alone.py scan /tmp/logs --jobs 2

``unpack`` decompresses with the libraries that ``diagnose`` uses; ``scan`` lets Hyperscan look for
the literals of all parsers and rules, and counts the hits; ``read`` is what ``diagnose`` does up to
its events. Prints the seconds as JSON.
"""

import argparse
import json
import os
import time
import zlib
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import hyperscan
import zstandard

from diagnose import api
from diagnose.ingest.literals import Literal
from diagnose.ingest.pieces import PIECE
from diagnose.scanning.inputs import read_paths
from diagnose.scanning.local import Local

CHUNK = 16 << 20
"""Bytes of a large file that one process takes at a time."""

PACKED = 64 << 10
"""Compressed bytes given to a decompressor at a time."""

DECOMPRESSORS: dict[str, Callable[[], Any]] = {
    ".gz": lambda: zlib.decompressobj(31),
    ".zst": lambda: zstandard.ZstdDecompressor().decompressobj(),
}


def unpack(path: Path, start: int) -> int:
    """Decompress a file of one frame and return its size.

    Args:
        path: Its end says how it is packed.
        start: Always 0.
    """
    size, decompressor = start, DECOMPRESSORS[path.suffix]()
    with path.open("rb", buffering=0) as file:
        while packed := file.read(PACKED):
            size += len(decompressor.decompress(packed))
    return size


class Scan:
    """Counts the hits of literals as Hyperscan reports them.

    Args:
        literals: Compiled once, before processes are forked.
    """

    def __init__(self, literals: tuple[Literal, ...]) -> None:
        self.database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        self.database.compile(
            expressions=[literal.text for literal in literals],
            ids=list(range(len(literals))),
            elements=len(literals),
            flags=[hyperscan.HS_FLAG_SINGLEMATCH if one.once else 0 for one in literals],
            literal=True,
        )
        self.hits = 0

    def __call__(self, path: Path, start: int) -> int:
        """Scan a chunk of a file and return the hits so far."""
        with path.open("rb", buffering=0) as file:
            file.seek(start)
            for _ in range(0, CHUNK, PIECE):
                self.database.scan(file.read(PIECE), match_event_handler=self._count)
        return self.hits

    def _count(self, number: int, start: int, end: int, flags: int, context: object) -> None:
        self.hits += 1


def in_processes(
    work: Callable[[Path, int], int], units: list[tuple[Path, int]], jobs: int
) -> Callable[[], None]:
    """Return what does the work in forked processes.

    Args:
        work: Gets a path and where to begin.
        units: What it gets.
        jobs: Number of processes.
    """

    def run() -> None:
        with get_context("fork").Pool(jobs, _keep, (work,)) as pool:
            pool.starmap(_work, units, chunksize=1)
            pool.close()
            pool.join()

    return run


_KEPT: list[Callable[[Path, int], int]] = []


def _keep(work: Callable[[Path, int], int]) -> None:
    _KEPT.append(work)


def _work(path: Path, start: int) -> int:
    return _KEPT[0](path, start)


def stage(name: str, folder: Path, jobs: int) -> Callable[[], object]:
    """Return a stage, ready to run.

    Args:
        name: ``unpack``, ``scan`` or ``read``.
        folder: With the logs.
        jobs: Number of processes.
    """
    files = sorted(folder.iterdir())
    if name == "unpack":
        return in_processes(unpack, [(path, 0) for path in files], jobs)
    reader = api.load_knowledge().reader
    reader.matcher.places(bytes(PIECE))  # much text, for which the literals are compiled
    if name == "read":
        return lambda: read_paths([str(folder)], reader, engine=Local(jobs))
    chunks = [(path, at) for path in files for at in range(0, path.stat().st_size, CHUNK)]
    return in_processes(Scan(reader.matcher.literals), chunks, jobs)


def main() -> None:
    """Print what a stage takes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("stage", choices=("unpack", "scan", "read"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    run = stage(options.stage, options.folder, options.jobs)
    before, started = sum(os.times()[:4]), time.perf_counter()
    run()
    wall = time.perf_counter() - started
    print(json.dumps({"wall": wall, "processor": sum(os.times()[:4]) - before}))


if __name__ == "__main__":
    main()
