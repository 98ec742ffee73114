"""Measure ``diagnose`` on one long log of Megatron iteration lines.

::

    python bench/iterations.py /tmp/rank63.log --lines 1000000
"""

import argparse
import random
import subprocess
import sys
import time
from pathlib import Path

from planted import Megatron


def write(path: Path, lines: int) -> None:
    """Write the log of a healthy run, if it is not there yet."""
    if path.exists():
        return
    log = Megatron(random.Random(0), noise=0.01)
    with path.open("w") as file:
        for number in range(1, lines + 1):
            log.step(number)
            if len(log.lines) == 1000 or number == lines:
                file.write("\n".join(log.lines) + "\n")
                log.lines.clear()


def main() -> int:
    """Print the fastest of several runs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    write(options.path, options.lines)
    command = [sys.executable, "-m", "diagnose", str(options.path), "--jobs", str(options.jobs)]
    best = float("inf")
    for _ in range(options.runs):
        started = time.perf_counter()
        subprocess.run([*command, "--format", "json"], stdout=subprocess.DEVNULL, check=False)
        best = min(best, time.perf_counter() - started)
    size = options.path.stat().st_size
    print(f"{options.lines:,} lines, {size / 1e9:.2f} GB: {best:.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
