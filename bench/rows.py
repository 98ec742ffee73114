"""What is measured together, and what it has to reach."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from generate import write
from measure import ROOT, Command, Result
from ranklog import Content

from diagnose import api

MEGABYTE = 1_000_000

IMPORTS = "import click, yaml, regex, rich, jinja2, zstandard, hyperscan"
"""What ``diagnose`` depends on, but for Polars, which is imported only where there are series."""

SNIPPET = 200
"""Lines on standard input."""

DIAGNOSE = [sys.executable, "-m", "diagnose"]

ALONE = {"scan": "Hyperscan", "read": "our reading", "unpack": "decompressor"}
"""Names in the table, by stage."""

Results = Mapping[str, Result]


@dataclass(frozen=True)
class Target:
    """What a row has to reach.

    Args:
        says: What is measured.
        value: Computes it.
        bound: What it may be.
        least: Whether it may be no less than that, and not no more.
    """

    says: str
    value: Callable[[Results], float]
    bound: float
    least: bool = False

    def met(self, value: float) -> bool:
        """Return whether a value reaches it."""
        return value >= self.bound if self.least else value <= self.bound


@dataclass(frozen=True)
class Row:
    """What is measured together.

    Args:
        says: Its heading.
        commands: That take turns.
        targets: Over their results.
        runs: Of each command, None for as many as the command line says.
        warm: Whether the logs are read before.
    """

    says: str
    commands: Sequence[Command]
    targets: Sequence[Target]
    runs: int | None = None
    warm: bool = True


@dataclass(frozen=True)
class Logs:
    """A folder of logs.

    Args:
        folder: Where they are.
        size: Bytes, unpacked.
    """

    folder: Path
    size: int

    @property
    def files(self) -> list[str]:
        """The paths of its files."""
        return sorted(str(path) for path in self.folder.iterdir())


@dataclass(frozen=True)
class Bench:
    """Makes what rows need.

    Args:
        scratch: Folder for logs.
        size: Bytes of the usual folder.
        jobs: Worker processes.
    """

    scratch: Path
    size: int
    jobs: int

    def logs(
        self,
        share: float = 1,
        *,
        content: Content | None = None,
        files: int | None = None,
        pack: str | None = None,
    ) -> Logs:
        """Write logs and return where they are.

        Args:
            share: Of the usual size.
            content: What is in them.
            files: As for ``generate.write``.
            pack: Likewise.
        """
        size = int(self.size * share)
        folder = self.scratch / f"{len(list(self.scratch.iterdir()))}"
        write(folder, size, content or Content(), files, pack)
        return Logs(folder, size)

    def ours(self, logs: Logs, name: str = "diagnose") -> Command:
        """Return the command that diagnoses logs."""
        words = [*DIAGNOSE, str(logs.folder), "--format", "json", "--jobs", str(self.jobs)]
        return Command(name, words, logs.size)

    def alone(self, stage: str, logs: Logs, name: str | None = None) -> Command:
        """Return the command for one stage alone, called by the stage if by nothing else."""
        words = [sys.executable, str(ROOT / "bench" / "alone.py"), stage, str(logs.folder)]
        words += ["--jobs", str(self.jobs)]
        return Command(name or ALONE[stage], words, logs.size, own_clock=True)

    def searches(self, logs: Logs) -> list[Command]:
        """Return the commands that look for the same literals, and the one that only reads."""
        words = self.scratch / "literals"
        if not words.exists():
            words.write_bytes(b"\n".join(literals()) + b"\n")
        search = ["-F", "-f", str(words), *logs.files]
        return [
            Command("cat", ["cat", *logs.files], logs.size, quiet=True),
            Command("grep -c -F", ["grep", "-c", *search], logs.size),
            Command("rg -F", ["rg", "--no-config", *search], logs.size, quiet=True),
            Command("rg -c -F", ["rg", "--no-config", "-c", *search], logs.size),
        ]


def literals() -> list[bytes]:
    """Return what ``diagnose`` looks for, but what a file of one literal a line cannot hold."""
    texts = {literal.text for literal in api.load_knowledge().reader.matcher.literals}
    return sorted(text for text in texts if b"\n" not in text)


def ratio(one: str, other: str) -> Callable[[Results], float]:
    """Return what divides the wall time of one command by that of another."""
    return lambda results: results[one].wall / results[other].wall


def memory(results: Results) -> float:
    """Return the peak of the anonymous memory in MB."""
    return results["diagnose"].anonymous / MEGABYTE


def cores(results: Results) -> float:
    """Return how many cores were busy on average."""
    return results["diagnose"].processor / results["diagnose"].wall


def unpacking(results: Results) -> float:
    """Return what divides the processor time of reading by that of the decompressor."""
    return results["our reading"].processor / results["decompressor"].processor


def unpacking_adds(results: Results) -> float:
    """Return the same without the processor time that plain files take as well."""
    return (
        unpacking(results) - results["reading plain"].processor / results["decompressor"].processor
    )


def nccl(bench: Bench) -> Row:
    """One file a rank, most of it what NCCL prints."""
    logs = bench.logs()
    beside = [*bench.searches(logs), bench.alone("scan", logs), bench.alone("read", logs)]
    return Row(
        "64 files of NCCL's INFO",
        [bench.ours(logs), *beside],
        [
            Target("time by that of rg -F", ratio("diagnose", "rg -F"), 0.5),
            Target("time by that of rg -c -F", ratio("diagnose", "rg -c -F"), 0.5),
            Target("time by that of bare Hyperscan", ratio("diagnose", "Hyperscan"), 3),
            Target("anonymous memory, MB", memory, 600),
        ],
    )


def errors(bench: Bench) -> Row:
    """A fiftieth of the bytes are errors, and every rank prints its steps."""
    logs = bench.logs(0.25, content=Content(setups=0.3, errors=0.02, steps="all"))
    beside = [*bench.searches(logs), bench.alone("scan", logs), bench.alone("read", logs)]
    return Row("64 files, a fiftieth of it errors", [bench.ours(logs), *beside], [])


def files(bench: Bench) -> Row:
    """The same lines in many files."""
    few, many = bench.logs(0.5), bench.logs(0.5, files=bench.size // 2 // 100_000)
    beside = [*bench.searches(many), bench.alone("scan", many), bench.alone("read", many)]
    return Row(
        f"{len(many.files):,} files of 100 kB",
        [bench.ours(many), bench.ours(few, "64 files"), *beside],
        [Target("time by the same in 64 files", ratio("diagnose", "64 files"), 1.5)],
    )


def four(bench: Bench) -> Row:
    """Four times the bytes in as many files."""
    little, much = bench.logs(), bench.logs(4)
    return Row(
        "four times the bytes, 64 files",
        [bench.ours(much), bench.ours(little, "a quarter"), *bench.searches(much)],
        [Target("time by a quarter of the bytes", ratio("diagnose", "a quarter"), 4.4)],
    )


def ten(bench: Bench) -> Row:
    """Ten times the ranks, more than the page cache holds."""
    logs = bench.logs(10, content=Content(ranks=640))
    return Row(
        "ten times the bytes, 640 files, cold",
        [bench.ours(logs)],
        [Target("anonymous memory, MB", memory, 800)],
        runs=1,
        warm=False,
    )


def one(bench: Bench) -> Row:
    """All ranks in one file."""
    logs = bench.logs(2.5, files=1)
    beside = [*bench.searches(logs), bench.alone("scan", logs), bench.alone("read", logs)]
    return Row(
        "one file of all ranks",
        [bench.ours(logs), *beside],
        [Target("cores used", cores, 1.5, least=True)],
    )


def packed(pack: str, command: str, files: int | None = None) -> Callable[[Bench], Row]:
    """Return what makes a row of packed logs.

    Args:
        pack: How.
        command: That unpacks it.
        files: 1 for all ranks in one file, None for one each.
    """

    def row(bench: Bench) -> Row:
        """Half of the usual bytes."""
        logs, plain = bench.logs(0.5, files=files, pack=pack), bench.logs(0.5, files=files)
        beside = [
            bench.alone("unpack", logs),
            bench.alone("read", logs),
            bench.alone("read", plain, "reading plain"),
            Command(command, [command, "-dc", *logs.files], logs.size, quiet=True),
        ]
        return Row(
            f"{pack}, {len(logs.files)} file{'s' if len(logs.files) > 1 else ''}",
            [bench.ours(logs), *beside],
            [
                Target("processor time of reading by that of the decompressor", unpacking, 1.2),
                Target("the same without that of reading plain files", unpacking_adds, 1.2),
            ],
        )

    return row


def start(bench: Bench) -> Row:
    """What there is to wait for before anything is read."""
    snippet = bench.scratch / "snippet"
    lines: list[bytes] = []
    for log in sorted((ROOT / "samples" / "comms").glob("*/logs/*.log")):
        lines += log.read_bytes().splitlines(keepends=True)
    snippet.write_bytes(b"".join(lines[:SNIPPET]))
    size = snippet.stat().st_size
    return Row(
        "the start",
        [
            Command("diagnose", [*DIAGNOSE, "stdin"], size, stdin=snippet),
            Command("imports", [sys.executable, "-c", IMPORTS]),
            Command("--help", [*DIAGNOSE, "--help"]),
        ],
        [
            Target("time of 200 lines by that of the imports", ratio("diagnose", "imports"), 4),
            Target("--help, ms", lambda results: results["--help"].wall * 1000, 150),
        ],
        runs=10,
    )


ROWS: dict[str, Callable[[Bench], Row]] = {
    "start": start,
    "nccl": nccl,
    "errors": errors,
    "files": files,
    "four": four,
    "ten": ten,
    "one": one,
    "gz": packed("gz", "gzip"),
    "gz-one": packed("gz", "gzip", 1),
    "zst": packed("zst", "zstd"),
    "zst-one": packed("zst", "zstd", 1),
}
