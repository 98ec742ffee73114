"""What a command takes: time, processor, and the memory of all its processes together."""

import json
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, Thread

ROOT = Path(__file__).resolve().parent.parent

PAUSE = 0.02
"""Seconds between two looks at the memory."""

PROC = Path("/proc")


@dataclass(frozen=True)
class Command:
    """What is measured.

    Args:
        name: As tables show it.
        words: To run.
        size: Bytes that it reads.
        stdin: Its input, None for none.
        quiet: Its output goes to ``/dev/null``. GNU grep stops there at the first hit.
        own_clock: It prints a JSON object with its ``wall`` and ``processor`` seconds, which leave
            its start out.
    """

    name: str
    words: Sequence[str]
    size: int = 0
    stdin: Path | None = None
    quiet: bool = False
    own_clock: bool = False


@dataclass(frozen=True)
class Result:
    """What one run took.

    Args:
        wall: Seconds.
        processor: Seconds of all processes.
        anonymous: Largest sum at one time, over all processes, of the bytes that stand for no file;
            0 where the system has no ``/proc``.
        status: Exit status.
    """

    wall: float
    processor: float
    anonymous: int
    status: int


def fastest(commands: Sequence[Command], runs: int, scratch: Path) -> dict[str, Result]:
    """Return the fastest run of each command, by name, with the largest memory of all its runs.

    The commands take turns, so that what else the machine does hits all of them.

    Args:
        commands: With different names.
        runs: Of each.
        scratch: Folder for what they print.
    """
    results: dict[str, Result] = {}
    for _ in range(runs):
        for command in commands:
            new = measure(command, scratch)
            best = min(results.get(command.name, new), new, key=lambda one: one.wall)
            memory = max(results.get(command.name, new).anonymous, new.anonymous)
            results[command.name] = replace(best, anonymous=memory)
    return results


def measure(command: Command, scratch: Path) -> Result:
    """Run a command once, with the code of this checkout.

    Args:
        command: To run.
        scratch: Folder for what it prints.
    """
    printed = Path(os.devnull) if command.quiet else scratch / "output"
    environment = {**os.environ, "LC_ALL": "C", "PYTHONPATH": str(ROOT)}
    with printed.open("wb") as stdout, (command.stdin or Path(os.devnull)).open("rb") as stdin:
        started = time.perf_counter()
        process = subprocess.Popen(command.words, stdin=stdin, stdout=stdout, env=environment)
        memory = Memory(process.pid)
        memory.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
    memory.ended.set()
    memory.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    processor = usage.ru_utime + usage.ru_stime
    if command.own_clock and not process.returncode:
        told = json.loads(printed.read_text())
        wall, processor = told["wall"], told["processor"]
    return Result(wall, processor, memory.peak, process.returncode)


class Memory(Thread):
    """Keeps the peak of the anonymous memory of a process and all below it.

    Args:
        pid: Of the process.
    """

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid = pid
        self.peak = 0
        self.ended = Event()

    def run(self) -> None:
        """Look until the process ends."""
        while not self.ended.wait(PAUSE):
            self.peak = max(self.peak, sum(map(_anonymous, _tree(self.pid))))


def _tree(pid: int) -> Iterator[int]:
    yield pid
    for children in PROC.glob(f"{pid}/task/*/children"):
        for child in _text(children).split():
            yield from _tree(int(child))


def _anonymous(pid: int) -> int:
    """Return the bytes of ``RssAnon``; what a process shares with its parent counts in both."""
    kibibytes = _text(PROC / str(pid) / "status").partition("RssAnon:")[2].split(maxsplit=1)
    return int(kibibytes[0]) << 10 if kibibytes else 0


def _text(path: Path) -> str:
    """Return what a file of ``/proc`` holds, nothing where its process has ended."""
    try:
        return path.read_text()
    except OSError:
        return ""
