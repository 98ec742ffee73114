"""Putting a report where it belongs, and what it means for the exit status."""

import os
import shutil
import sys
from pathlib import Path

import click

from diagnose.cli.options import RunOptions
from diagnose.errors import UsageError
from diagnose.model.report import LEVELS, Level, ReportData

WIDEST = 120
"""Columns; longer lines are hard to read."""


def columns() -> int:
    """Return how wide a page is: the terminal up to a limit, 80 where there is none."""
    return min(shutil.get_terminal_size((80, 24)).columns, WIDEST)


def rendered(report: ReportData, options: RunOptions) -> str:
    """Return the report in the format that is asked for."""
    if options.format == "json":
        from diagnose.render import json

        return json.render(report)
    if options.format == "markdown":
        from diagnose.render import markdown

        return markdown.render(report, verbose=options.verbose, lang=options.lang)
    if options.format == "html":
        from diagnose.render import html

        return html.render(report, verbose=options.verbose, lang=options.lang)
    if options.format == "sarif":
        from diagnose.render import sarif

        return sarif.render(report)
    from diagnose.render import text

    if options.quiet:
        from diagnose.render.sentences import translated
        from diagnose.render.visible import one_line

        return one_line(translated(options.lang, report.summary)) + "\n"
    return text.render(
        report,
        width=columns(),
        color=_colored(options),
        verbose=options.verbose,
        lang=options.lang,
        plain=options.output is None and not _draws_bars(),
    )


def deliver(text: str, target: Path | None) -> None:
    """Write a text to a file, else to standard output.

    Raises:
        UsageError: The file cannot be written.
    """
    if target is None:
        echo(text)
        return
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror}") from error


def echo(text: str) -> None:
    """Write to standard output in UTF-8; a reader that has gone away is no error.

    Raises:
        UsageError: It is closed, or what it goes to is full.
    """
    if sys.stdout is None:
        raise UsageError("standard output is closed; direct it to a file or a pipe")
    try:
        click.echo(text.encode("utf-8", "replace"), nl=False)
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
    except OSError as error:
        discard_output()
        message = f"standard output cannot be written: {error.strerror or error}"
        raise UsageError(message) from error


def discard_output() -> None:
    """Lead standard output nowhere.

    What is still buffered would raise again when the interpreter closes the stream.
    """
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def exit_status(report: ReportData, fail_on: Level) -> int:
    """Return 1 for a root cause at or above a level.

    Where there are only symptoms, any finding counts; a suppressed one never does.
    """
    failing = LEVELS[LEVELS.index(fail_on) :]
    return int(
        any(
            finding.level in failing
            and finding.suppressed is None
            and (finding.role == "root" or report.verdict == "symptoms-only")
            for finding in report.findings
        )
    )


def writes_terminal() -> bool:
    """Tell whether a person looks at the output."""
    return sys.stdout is not None and sys.stdout.isatty()


def _draws_bars() -> bool:
    """Tell whether what standard output goes to knows more than ASCII."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        "▁".encode(encoding)
    except (LookupError, UnicodeEncodeError):
        return False
    return True


def _colored(options: RunOptions) -> bool:
    if options.color != "auto":
        return options.color == "always"
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return options.output is None and writes_terminal() and not plain
