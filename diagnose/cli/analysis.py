"""``diagnose run`` and ``diagnose stdin``."""

import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any, BinaryIO

import click
from click.core import ParameterSource

from diagnose.cli.interrupt import Interrupts, interruptible
from diagnose.cli.options import RunOptions, run_options
from diagnose.cli.output import deliver, exit_status, rendered
from diagnose.cli.progress import Bar
from diagnose.errors import INTERRUPTED, NoInputError, UsageError
from diagnose.model.report import ReportData


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path())
@run_options
@click.pass_context
def run(context: click.Context, /, paths: tuple[str, ...], **values: Any) -> None:
    """Analyse logs: folders, files, archives, globs, s3:// and other URLs; - is standard input."""
    options = _checked(RunOptions(**values), context)
    if "-" in paths:
        if len(paths) > 1:
            raise UsageError("- (standard input) cannot be combined with other paths")
        context.exit(_analyse_stdin(options))

    def analyse() -> ReportData:
        from diagnose import api

        with Bar(wanted=not options.quiet) as bar:
            return api.run(
                paths,
                rules=options.rules,
                playbooks=options.playbooks,
                baseline=options.baseline,
                topology=options.topology,
                jobs=options.jobs,
                engine=options.engine,
                scheduler=options.scheduler,
                warn=bar.say,
                since=options.since,
                until=options.until,
                progress=interrupts.during(bar),
                keep_partial=True,
                lang=options.lang,
            )

    with interruptible() as interrupts:
        status = _report(analyse, options)
    context.exit(INTERRUPTED if interrupts.came else status)


@click.command()
@run_options
@click.pass_context
def stdin(context: click.Context, /, **values: Any) -> None:
    """Analyse a snippet that is pasted or piped in."""
    context.exit(_analyse_stdin(_checked(RunOptions(**values), context)))


def _analyse_stdin(options: RunOptions) -> int:
    with interruptible() as interrupts:
        data, whole = _pasted(interrupts)

        def analyse() -> ReportData:
            from diagnose import api

            return api.run_text(
                data,
                rules=options.rules,
                playbooks=options.playbooks,
                baseline=options.baseline,
                topology=options.topology,
                since=options.since,
                until=options.until,
                lang=options.lang,
                interrupted=not whole,
            )

        status = _report(analyse, options)
    return INTERRUPTED if interrupts.came else status


def _pasted(interrupts: Interrupts) -> tuple[bytes, bool]:
    """Return what is on standard input, and whether that is all.

    Raises:
        UsageError: It is closed or cannot be read.
    """
    if sys.stdin is None:
        raise UsageError("standard input is closed; pipe a log into it or name a file")
    try:
        if not reads_terminal():
            return _piped(sys.stdin.buffer, interrupts)
        click.echo("Paste the log, then press Ctrl-D", err=True)
        return sys.stdin.buffer.read(), True
    except OSError as error:
        raise UsageError(
            f"standard input cannot be read: {error.strerror or error}; name the path instead"
        ) from error


def _piped(pipe: BinaryIO, interrupts: Interrupts) -> tuple[bytes, bool]:
    """Return the lines of a pipe, and whether they are all: Ctrl-C ends it once there are some.

    As a rule it also ends the program that writes.
    """
    lines: list[bytes] = []
    came = interrupts.during(lambda _done, _total: None)
    whole = False
    try:
        for line in pipe:
            lines.append(line)
            came(len(lines), len(lines) + 1)
        came(len(lines), len(lines))
        whole = True
    except KeyboardInterrupt:
        if not lines:
            raise
    return b"".join(lines), whole


def reads_terminal() -> bool:
    """Tell whether a person types the input."""
    return sys.stdin is not None and sys.stdin.isatty()


def _report(analyse: Callable[[], ReportData], options: RunOptions) -> int:
    """Print the report of an analysis and return the exit status."""
    try:
        report = analyse()
    except NoInputError as error:
        click.echo(f"Error: {error}", err=True)
        if error.report is not None:
            deliver(rendered(error.report, options), options.output)
        return error.exit_code
    deliver(rendered(report, options), options.output)
    if report.inputs.partial is not None:
        return INTERRUPTED
    return 0 if options.exit_zero else exit_status(report, options.fail_on)


def _checked(options: RunOptions, context: click.Context) -> RunOptions:
    """Refuse options that contradict one another, before any work is done.

    Raises:
        UsageError: They do, or the folder for the report does not exist.
    """
    if options.verbose and options.quiet:
        # One on the command line overrules the other in the environment or in diagnose.yaml.
        typed = [
            name
            for name in ("verbose", "quiet")
            if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        ]
        if len(typed) != 1:
            raise UsageError("--verbose and --quiet exclude each other")
        options = replace(options, verbose=typed == ["verbose"], quiet=typed == ["quiet"])
    if options.engine != "dask" and (
        context.get_parameter_source("scheduler") is ParameterSource.COMMANDLINE
    ):
        raise UsageError("--scheduler goes with --engine dask")
    if options.output is not None and not options.output.parent.is_dir():
        raise UsageError(f"the folder of --output {options.output} does not exist")
    if options.since is not None and options.until is not None:
        since, until = map(datetime.fromisoformat, (options.since, options.until))
        if (since.tzinfo is None) != (until.tzinfo is None):
            raise UsageError("--since and --until must both have a zone, or neither")
        if since >= until:
            raise UsageError("--since must be before --until")
    return options
