"""Measure how fast a folder of logs is diagnosed, beside tools that only search or read it.

::

    python bench/scan.py /tmp/logs --jobs 2

Prints a table: wall time, bytes a second, processor time and the memory of the largest process. The
searches look for the literals that the parsers look for. The files are read once before, so that
all of them come from the page cache.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from diagnose.parsers import parsers
from diagnose.parsers.base import BlockParser, BulkParser, LineParser


@dataclass(frozen=True)
class Result:
    """What one command took.

    Args:
        name: Of the command.
        wall: Seconds.
        processor: Seconds of all its processes.
        memory: Bytes of its largest process, mapped files included.
        status: Exit status.
    """

    name: str
    wall: float
    processor: float
    memory: int
    status: int


def measure(name: str, command: Sequence[str], output: Path) -> Result:
    """Run a command.

    Args:
        name: Of the command.
        command: Its words.
        output: Where its output goes. GNU grep stops at the first hit where that is ``/dev/null``.
    """
    started = time.perf_counter()
    with output.open("wb") as stream:
        process = subprocess.Popen(command, stdout=stream, env={**os.environ, "LC_ALL": "C"})
        _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    unit = 1 if sys.platform == "darwin" else 1024
    return Result(
        name,
        wall,
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss * unit,
        process.returncode,
    )


def literals() -> list[str]:
    """Return all literals that the shipped parsers wait for."""
    found: set[str] = set()
    for parser in parsers():
        if isinstance(parser, LineParser):
            found.update(literal for pattern in parser.patterns for literal in pattern.required)
        elif isinstance(parser, BlockParser | BulkParser):
            found.update(parser.opens)
    return sorted(literal for literal in found if "\n" not in literal)


def commands(folder: Path, words: Path, jobs: int | None) -> dict[str, list[str]]:
    """Return the commands to compare, by name; the searches count lines."""
    files = sorted(str(path) for path in folder.rglob("*") if path.is_file())
    program = [sys.executable, "-m", "diagnose", str(folder), "--format", "json"]
    found = {
        "cat": ["cat", *files],
        "diagnose": [*program, *(["--jobs", str(jobs)] if jobs else [])],
        "grep -F": ["grep", "-c", "-F", "-f", str(words), *files],
    }
    if shutil.which("rg"):
        found["rg -F"] = ["rg", "--no-config", "-c", "-F", "-f", str(words), *files]
    return found


def table(results: Sequence[Result], size: int) -> str:
    """Return the results as text, aligned.

    Args:
        results: In the order of the rows.
        size: Bytes that each command read.
    """
    lines = [f"{'command':<12}{'wall s':>10}{'GB/s':>10}{'cpu s':>10}{'MiB':>10}{'status':>10}"]
    lines += [
        f"{one.name:<12}{one.wall:>10.2f}{size / one.wall / 1e9:>10.2f}{one.processor:>10.2f}"
        f"{one.memory / 2**20:>10.0f}{one.status:>10}"
        for one in results
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure the folder that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, help="worker processes of diagnose")
    parser.add_argument("--runs", type=int, default=3, help="the fastest of them counts")
    options = parser.parse_args()
    size = sum(path.stat().st_size for path in options.folder.rglob("*") if path.is_file())
    wanted = literals()
    with tempfile.TemporaryDirectory() as scratch:
        words = Path(scratch, "literals")
        words.write_text("\n".join(wanted) + "\n", encoding="utf-8")
        print(f"{size / 1e9:.2f} GB, {len(wanted)} literals, {os.cpu_count()} cores", flush=True)
        compared = commands(options.folder, words, options.jobs)
        results = []
        for name, command in compared.items():
            output = Path(os.devnull) if name == "cat" else Path(scratch, "output")
            if name == "cat":
                measure(name, command, output)
            runs = [measure(name, command, output) for _ in range(options.runs)]
            results.append(min(runs, key=lambda result: result.wall))
    print(table(results, size))


if __name__ == "__main__":
    main()
