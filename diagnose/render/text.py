"""The report for a terminal or a pipe."""

from collections.abc import Iterator
from io import StringIO

from rich.console import Console
from rich.text import Text

from diagnose.model.report import ReportData
from diagnose.render.blocks import (
    Block,
    Command,
    Group,
    Heading,
    Headline,
    Item,
    Note,
    Proof,
    Prose,
    Sparkline,
    StageRow,
    Table,
)
from diagnose.render.outline import outline
from diagnose.render.sparkline import sparkline
from diagnose.render.visible import one_line, visible
from diagnose.render.words import Language

TONES = {"bad": "bold red", "unsure": "bold yellow", "good": "bold green", "none": "dim"}


PROOF_LINES = 3
"""Lines that the text of one place may take unless all is asked for."""


GAP = 2
"""Columns between two cells of a table."""

LEAST = 20
"""Columns that a text needs to stand beside another."""


def render(
    report: ReportData,
    *,
    width: int = 80,
    color: bool = False,
    verbose: bool = False,
    lang: Language = "en",
    plain: bool = False,
) -> str:
    """Return the text of a report.

    Control characters of the logs are spelled out; nothing in them is read as markup.

    Args:
        report: What to show.
        width: Columns. Commands are never wrapped, so that they can be copied.
        color: With the escape sequences of colour.
        verbose: All that is known in place of one screen.
        lang: Language of the words around the findings.
        plain: Series drawn in ASCII.
    """
    console = Console(
        file=StringIO(),
        width=max(width, 40),
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
        force_jupyter=False,
        legacy_windows=False,
        highlight=False,
    )
    for block in outline(report, lang=lang, verbose=verbose):
        for line in _draw(block, console, plain):
            line.rstrip()
            console.print(line, soft_wrap=True)
    drawn = console.file
    assert isinstance(drawn, StringIO)
    return drawn.getvalue().lstrip("\n")


def _draw(block: Block, console: Console, plain: bool) -> Iterator[Text]:
    match block:
        case Headline(label, text, tone):
            yield Text()
            head = Text.assemble((label, TONES[tone]), (one_line(text), "bold"))
            yield from _wrapped(head, "", "  ", console)
        case Heading(text):
            yield Text()
            yield from _wrapped(Text(one_line(text), "bold"), "", "  ", console)
        case Group(text):
            yield Text(f"  {text}", "underline")
        case Prose(text, label):
            named = Text.assemble((label, "bold"), one_line(text))
            yield from _wrapped(named, "  ", "  ", console)
        case Proof():
            yield from _proof(block, console)
        case Sparkline():
            yield from _bars(block, console, plain)
        case Item(text, number, tag):
            marker = f"{number}. " if number else "- "
            line = Text.assemble(one_line(text), (f" [{tag}]" if tag else "", "bold yellow"))
            yield from _wrapped(line, f"  {marker}", " " * (2 + len(marker)), console)
        case Note(text):
            yield from _wrapped(Text(one_line(text), "dim"), "     ", "     ", console)
        case Command(text):
            for typed in text.strip().split("\n"):
                yield Text.assemble("       ", (visible(typed), "cyan"))
        case StageRow(stage, state, checked, why, tone):
            cells = Text.assemble(
                "  ", _cell(stage, 12), (_cell(state, 13), TONES[tone]), _cell(checked, 13)
            )
            beside = console.width - cells.cell_len >= LEAST
            indent = " " * (cells.cell_len if beside else 4)
            lines = list(_wrapped(Text(one_line(why)), indent, indent, console))
            if beside and lines:
                lines[0] = cells.append_text(lines[0][len(indent) :])
            else:
                yield cells
            yield from lines
        case Table():
            yield from _table(block, console)


def _table(block: Table, console: Console) -> Iterator[Text]:
    """Yield the rows in columns; the first column takes what the others leave and is wrapped."""
    columns = list(zip(block.head, *block.rows, strict=True))
    names, *others = [max(Text(cell).cell_len for cell in column) for column in columns]
    room = max(LEAST, min(names, console.width - sum(others) - GAP * (len(others) + 1)))
    tones = ["dim", *(TONES[tone] for tone in block.tones)]
    for number, (row, tone) in enumerate(zip([block.head, *block.rows], tones, strict=True)):
        first, *rest = list(Text(one_line(row[0])).wrap(console, room)) or [Text()]
        line = Text.assemble(" " * GAP, _cell(first.plain.rstrip(), room))
        for cell, width in zip(row[1:-1], others[:-1], strict=True):
            line.append(" " * GAP + _cell(one_line(cell), width))
        line.append(" " * GAP).append(one_line(row[-1]), tone)
        if number == 0:
            line.stylize("dim")
        yield line
        yield from (Text(" " * GAP + part.plain) for part in rest)


def _proof(block: Proof, console: Console) -> Iterator[Text]:
    place = visible(block.place)
    text = Text(visible(block.text.strip()), "dim")
    beside = len(place) <= console.width // 3
    indent = " " * (len(place) + 4) if beside else "    "
    if not beside:
        yield Text(f"  {place}", "cyan")
    lines = list(_wrapped(text, indent, indent, console))
    if not block.whole and len(lines) > PROOF_LINES:
        last = lines[PROOF_LINES - 1]
        last.truncate(console.width - 2, overflow="crop")
        lines = [*lines[: PROOF_LINES - 1], last.append(" …")]
    if beside and lines:
        lines[0] = Text.assemble("  ", (place, "cyan"), "  ", lines[0][len(indent) :])
    yield from lines


def _bars(block: Sparkline, console: Console, plain: bool) -> Iterator[Text]:
    """Yield a series in one line, or its bars below its numbers where one is too narrow."""
    label, said = one_line(block.label), one_line(block.said)
    bars = sparkline(block.values, console.width - 4, plain=plain)
    line = Text.assemble("  ", (label, "cyan"), "  ", bars, "  ", (said, "dim"))
    if line.cell_len <= console.width:
        yield line
        return
    head = Text.assemble((label, "cyan"), "  ", (said, "dim"))
    yield from _wrapped(head, "  ", "    ", console)
    yield Text(f"    {bars}")


def _cell(text: str, width: int) -> str:
    padded = Text(text)
    padded.pad_right(width - padded.cell_len)
    return padded.plain


def _wrapped(text: Text, first: str, rest: str, console: Console) -> Iterator[Text]:
    """Yield the lines of a text, each behind its indent; words longer than a line are folded."""
    width = console.width - max(len(first), len(rest))
    for number, line in enumerate(text.wrap(console, width)):
        line.rstrip()
        yield Text(rest if number else first).append_text(line)
