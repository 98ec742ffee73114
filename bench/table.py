"""Measure ``diagnose`` on logs of many shapes, beside tools that only search, read or unpack them.

::

    python bench/table.py
    python bench/table.py --size 64MiB --only nccl --only start

Each row writes its logs, reads them once so that they come from the page cache, lets all commands
take turns, and removes the logs. Prints what each command took, and then which targets are met. The
searches get the literals that ``diagnose`` itself looks for.
"""

import argparse
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

from generate import bytes_of
from measure import Command, Result, fastest
from rows import MEGABYTE, ROWS, Bench, Row

HEADINGS = ("logs", "command", "GB", "wall s", "GB/s", "cpu s", "anonymous MB", "status")
TARGETS = ("logs", "what", "measured", "target", "met")


def machine() -> str:
    """Return where and when this is measured."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (
        f"{date.today()}, {cores} cores, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}"
    )


def warm(folder: Path) -> None:
    """Read all files below a folder, once all that was written is on disk."""
    os.sync()
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb", buffering=0) as file:
                while file.read(MEGABYTE):
                    pass


def cells(row: str, command: Command, result: Result) -> tuple[str, ...]:
    """Return a line of the table."""
    size = command.size
    return (
        row,
        command.name,
        f"{size / 1e9:.2f}" if size else "",
        f"{result.wall:.2f}",
        f"{size / result.wall / 1e9:.2f}" if size else "",
        f"{result.processor:.2f}",
        f"{result.anonymous / MEGABYTE:.0f}",
        f"{result.status}",
    )


def judged(row: Row, results: dict[str, Result]) -> Iterator[tuple[str, ...]]:
    """Yield the lines of the table of targets."""
    for target in row.targets:
        bound = f"{'>=' if target.least else '<='} {target.bound:g}"
        try:
            value = target.value(results)
        except KeyError as missing:
            yield row.says, target.says, f"no {missing}", bound, ""
            continue
        yield row.says, target.says, f"{value:.3g}", bound, "yes" if target.met(value) else "no"


def print_line(*texts: str) -> None:
    """Print a line of a Markdown table."""
    print(f"| {' | '.join(texts)} |", flush=True)


def print_headings(texts: tuple[str, ...]) -> None:
    """Print the first lines of a Markdown table."""
    print()
    print_line(*texts)
    print_line(*("---" for _ in texts))


@contextmanager
def folder(parent: Path | None) -> Iterator[Path]:
    """Make a folder, and remove it with all in it."""
    made = Path(tempfile.mkdtemp(prefix="diagnose-", dir=parent))
    try:
        yield made
    finally:
        shutil.rmtree(made)


def main() -> None:
    """Measure the rows that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--size", type=bytes_of, default="2GB", help="of the usual folder")
    parser.add_argument("--only", choices=ROWS, action="append", help="rows to measure")
    parser.add_argument("--jobs", type=int, default=2, help="processes of diagnose")
    parser.add_argument("--runs", type=int, default=3, help="of each; the fastest counts")
    parser.add_argument("--scratch", type=Path, help="where the logs are written")
    options = parser.parse_args()
    print(f"{machine()}, {options.size / 1e9:.2f} GB in the usual folder")
    print_headings(HEADINGS)
    targets: list[tuple[str, ...]] = []
    for name in options.only or ROWS:
        with folder(options.scratch) as scratch:
            row = ROWS[name](Bench(scratch, options.size, options.jobs))
            if row.warm:
                warm(scratch)
            commands = [one for one in row.commands if shutil.which(one.words[0])]
            results = fastest(commands, row.runs or options.runs, scratch)
        for command in commands:
            print_line(*cells(row.says, command, results[command.name]))
        targets += judged(row, results)
    print_headings(TARGETS)
    for target in targets:
        print_line(*target)


if __name__ == "__main__":
    main()
