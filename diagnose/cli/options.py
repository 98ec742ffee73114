"""The options of a run, the same wherever they are taken."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from diagnose.model.report import LEVELS, Level
from diagnose.render.words import LANGUAGES, Language

Command = TypeVar("Command", bound=Callable[..., Any])

FORMATS = ("text", "json", "markdown", "html", "sarif")
COLORS = ("auto", "always", "never")
ENGINES = ("local", "dask")


def moment(value: str) -> str:
    """Return a date, with or without a time of day and a zone, in full.

    Raises:
        click.BadParameter: It is not in the notation of ISO 8601.
    """
    try:
        return datetime.fromisoformat(value).isoformat()
    except ValueError:
        message = f"{value!r} is not a time; write 2026-01-02T12:06:41 or 2026-01-02"
        raise click.BadParameter(message) from None


def processes(value: str) -> int:
    """Return a number of processes.

    Raises:
        click.BadParameter: It is not a whole number of at least 1.
    """
    if not value.strip().isdecimal() or int(value) < 1:
        raise click.BadParameter(f"expected a whole number of at least 1, found {value!r}")
    return int(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What the options of a run say, as ``run_options`` declares them."""

    format: str
    output: Path | None
    rules: tuple[Path, ...]
    playbooks: tuple[Path, ...]
    baseline: Path | None
    topology: Path | None
    since: str | None
    until: str | None
    jobs: int | None
    engine: str
    scheduler: str | None
    fail_on: Level
    exit_zero: bool
    verbose: bool
    quiet: bool
    color: str
    lang: Language


def _option(name: str, **declared: Any) -> Callable[[Command], Command]:
    variable = f"DIAGNOSE_{name.upper().replace('-', '_')}"
    return click.option(f"--{name}", envvar=variable, **declared)


def _folder(name: str, what: str) -> Callable[[Command], Command]:
    return _option(
        name,
        multiple=True,
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        metavar="DIR",
        help=f"{what} laid over the shipped ones; may be repeated.",
    )


def rules_option(command: Command) -> Command:
    """Add ``--rules``."""
    return _folder("rules", "Rules and overlays")(command)


def jobs_option(command: Command) -> Command:
    """Add ``--jobs``."""
    return _option(
        "jobs",
        type=processes,
        metavar="N",
        help="Processes to read with; one a core by default.",
    )(command)


def playbooks_option(command: Command) -> Command:
    """Add ``--playbooks``."""
    return _folder("playbooks", "Playbooks")(command)


def list_format_option(command: Command) -> Command:
    """Add the ``--format`` of commands that print a list."""
    return click.option(
        "--format",
        "style",
        type=click.Choice(("text", "json")),
        default="text",
        show_default=True,
        help="How to print the list.",
    )(command)


def draft_options(logs: str, drafted: str) -> Callable[[Command], Command]:
    """Return what adds ``--from`` and ``--output`` to a command that drafts a file from logs.

    Args:
        logs: Which logs it wants.
        drafted: What it writes.
    """

    def add(command: Command) -> Command:
        source = click.option(
            "--from",
            "paths",
            type=click.Path(),
            metavar="PATH",
            required=True,
            multiple=True,
            help=f"{logs}: a folder, file, archive or glob; may be repeated.",
        )
        target = click.option(
            "--output",
            type=click.Path(dir_okay=False, writable=True, path_type=Path),
            metavar="FILE",
            help=f"Write the {drafted} to a file, not to standard output.",
        )
        return source(target(command))

    return add


def run_options(command: Command) -> Command:
    """Add every option of a run; each is also ``DIAGNOSE_...`` and a key of diagnose.yaml."""
    options = (
        _option(
            "format",
            type=click.Choice(FORMATS),
            default="text",
            show_default=True,
            help="Format of the report.",
        ),
        _option(
            "output",
            type=click.Path(dir_okay=False, writable=True, path_type=Path),
            metavar="FILE",
            help="Write the report to a file, not to standard output.",
        ),
        rules_option,
        playbooks_option,
        _option(
            "baseline",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Judge the run against what is expected of it.",
        ),
        _option(
            "topology",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Inventory of hosts, adapters and switches.",
        ),
        _option("since", type=moment, metavar="TIME", help="Leave out what is older."),
        _option("until", type=moment, metavar="TIME", help="Leave out what is newer."),
        jobs_option,
        _option(
            "engine",
            type=click.Choice(ENGINES),
            default="local",
            show_default=True,
            help="Who reads: this machine, or the workers of a Dask cluster.",
        ),
        _option(
            "scheduler",
            metavar="ADDRESS",
            help="Dask scheduler, as tcp://10.0.0.1:8786 or as the file it wrote.",
        ),
        _option(
            "fail-on",
            type=click.Choice(LEVELS),
            default="high",
            show_default=True,
            help="Exit with status 1 for root causes of this level and above.",
        ),
        _option("exit-zero", is_flag=True, help="Exit with status 0 whatever was found."),
        _option("verbose", is_flag=True, help="Print all that is known."),
        _option("quiet", is_flag=True, help="Print the summary only, and no progress."),
        _option(
            "color",
            type=click.Choice(COLORS),
            default="auto",
            show_default=True,
            help="Colour; auto means on a terminal unless NO_COLOR is set.",
        ),
        _option(
            "lang",
            type=click.Choice(LANGUAGES),
            default="en",
            show_default=True,
            help="Language of playbooks and of the words around the findings.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command
