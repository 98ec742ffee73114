"""``diagnose playbooks``, ``parsers`` and ``schema``: what there is, and in which shape."""

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from diagnose.cli.options import list_format_option, playbooks_option
from diagnose.cli.output import columns, echo
from diagnose.errors import Problem, RuleErrors, UsageError

SCHEMAS = ("report", "rule", "playbook", "baseline", "topology")


def listing(rows: list[dict[str, Any]], style: str, names: tuple[str, ...]) -> None:
    """Print rows, all of their keys as JSON or some of them as a table as wide as the page."""
    if style == "json":
        echo(json.dumps(rows, ensure_ascii=False, indent=2) + "\n")
        return
    widths = [max((len(str(row[name])) for row in rows), default=0) for name in names]
    lines = (
        "  ".join(str(row[name]).ljust(width) for name, width in zip(names, widths, strict=True))
        for row in rows
    )
    echo("".join(f"{cut(line.rstrip())}\n" for line in lines))


def cut(line: str) -> str:
    """Return a line that fits the page, with a mark where its end is left out."""
    width = columns()
    return line if len(line) <= width else line[: width - 2].rstrip() + " …"


def unknown(kind: str, name: str, known: list[str]) -> UsageError:
    """Return the error for an id that does not exist, with the nearest one that does."""
    from diagnose.engine.reader import suggestion

    return UsageError(f"there is no {kind} {name!r}{suggestion(name, known)}")


@click.group()
def playbooks() -> None:
    """List and show playbooks."""


@playbooks.command("list")
@playbooks_option
@list_format_option
def list_playbooks(playbooks: tuple[Path, ...], style: str) -> None:
    """List all playbooks."""
    from diagnose.playbooks import load_playbooks, shown

    rows = [
        {
            "id": one.id,
            "title": shown(one.title["en"]),
            "when": shown(one.when["en"]),
            "file": one.file,
        }
        for one in load_playbooks(playbooks).values()
    ]
    listing(rows, style, ("id", "title"))


def _playbook_ids(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
    from diagnose.playbooks import playbook_texts

    texts = playbook_texts(context.params.get("playbooks") or (), [])
    return [name for text in texts if (name := Path(text.name).stem).startswith(begun)]


@playbooks.command("show")
@click.argument("identifier", metavar="ID", shell_complete=_playbook_ids)
@playbooks_option
def show_playbook(identifier: str, playbooks: tuple[Path, ...]) -> None:
    """Print one playbook as it stands in its file."""
    from diagnose.playbooks import playbook_texts

    problems: list[Problem] = []
    texts = {Path(text.name).stem: text.text for text in playbook_texts(playbooks, problems)}
    if problems:
        raise RuleErrors(problems)
    if identifier not in texts:
        raise unknown("playbook", identifier, list(texts))
    echo(texts[identifier])


@click.group()
def parsers() -> None:
    """Show what is recognised in logs."""


@parsers.command("list")
@list_format_option
def list_parsers(style: str) -> None:
    """List all dialects with a sample of each."""
    from diagnose.parsers import parsers as all_parsers
    from diagnose.parsers.base import LineParser
    from diagnose.render.visible import visible

    rows = []
    for one in all_parsers():
        if isinstance(one, LineParser):
            sample = one.patterns[0].sample
            events = sorted({pattern.event for pattern in one.patterns})
        else:
            sample = getattr(one, "sample", "")
            events = sorted(one.emits)
        kind = type(one).__name__.removesuffix("Parser").lower()
        row = {"name": one.name, "kind": kind, "title": one.title, "emits": events}
        rows.append({**row, "sample": sample})
    if style == "json":
        listing(rows, style, ())
        return
    for row in rows:
        head = f"{row['name']} ({row['kind']}): {row['title']}"
        shown = textwrap.wrap(head, columns(), subsequent_indent="  ")
        for line in str(row["sample"]).strip("\n").split("\n")[:4]:
            shown.append(cut(f"    {visible(line)}".rstrip()))
        echo("".join(f"{line}\n" for line in shown))


@click.command()
@click.argument("name", metavar="NAME", type=click.Choice(SCHEMAS))
def schema(name: str) -> None:
    """Print the JSON Schema of a report, rule, playbook, baseline or topology."""
    from diagnose.render import schemas

    makers: dict[str, Callable[[], schemas.Schema]] = {
        "report": schemas.report_schema,
        "rule": schemas.rule_schema,
        "playbook": schemas.playbook_schema,
        "baseline": schemas.baseline_schema,
        "topology": schemas.topology_schema,
    }
    echo(json.dumps(makers[name](), ensure_ascii=False, indent=2) + "\n")
