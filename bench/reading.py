"""Measure the reading of a folder alone: discovery, scan and parsers, no start, facts or rules.

::

    python bench/reading.py /tmp/logs --jobs 2
"""

import argparse
import time
from pathlib import Path

from diagnose import api
from diagnose.ingest.discover import discover
from diagnose.scanning.local import Local
from diagnose.scanning.reading import read_all


def main() -> None:
    """Print the fastest of several runs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    reader = api.load_knowledge().reader
    best, size = float("inf"), 0
    for _ in range(options.runs):
        sources = discover([str(options.folder)]).sources
        started = time.perf_counter()
        reading, _ = read_all(sources, reader, wants=lambda name: False, engine=Local(options.jobs))
        best = min(best, time.perf_counter() - started)
        size = sum(source.bytes for source in reading.sources)
    print(f"{size / 1e9:.2f} GB in {best:.2f} s: {size / best / 1e9:.2f} GB/s")


if __name__ == "__main__":
    main()
