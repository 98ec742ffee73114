"""The report for a terminal or a pipe."""

from collections.abc import Iterator

from rich.cells import cell_len, set_cell_size

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
from diagnose.render.styled import Line
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
    width = max(width, 40)
    lines = (
        line.stripped().drawn(color=color)
        for block in outline(report, lang=lang, verbose=verbose)
        for line in _draw(block, width, plain)
    )
    return "".join(f"{line}\n" for line in lines).lstrip("\n")


def _draw(block: Block, width: int, plain: bool) -> Iterator[Line]:
    match block:
        case Headline(label, text, tone):
            yield Line()
            head = Line((label, TONES[tone]), (one_line(text), "bold"))
            yield from _wrapped(head, "", "  ", width)
        case Heading(text):
            yield Line()
            yield from _wrapped(Line((one_line(text), "bold")), "", "  ", width)
        case Group(text):
            yield Line((f"  {text}", "underline"))
        case Prose(text, label):
            named = Line((label, "bold"), one_line(text))
            yield from _wrapped(named, "  ", "  ", width)
        case Proof():
            yield from _proof(block, width)
        case Sparkline():
            yield from _bars(block, width, plain)
        case Item(text, number, tag):
            marker = f"{number}. " if number else "- "
            line = Line(one_line(text), (f" [{tag}]" if tag else "", "bold yellow"))
            yield from _wrapped(line, f"  {marker}", " " * (2 + len(marker)), width)
        case Note(text):
            yield from _wrapped(Line((one_line(text), "dim")), "     ", "     ", width)
        case Command(text):
            for typed in text.strip().split("\n"):
                yield Line("       ", (visible(typed), "cyan"))
        case StageRow(stage, state, checked, why, tone):
            cells = Line(
                "  ", _cell(stage, 12), (_cell(state, 13), TONES[tone]), _cell(checked, 13)
            )
            beside = width - cells.columns >= LEAST
            indent = " " * (cells.columns if beside else 4)
            lines = list(_wrapped(Line(one_line(why)), indent, indent, width))
            if beside:
                lines[0] = Line(cells, lines[0].part(len(indent)))
            else:
                yield cells
            yield from lines
        case Table():
            yield from _table(block, width)


def _table(block: Table, width: int) -> Iterator[Line]:
    """Yield the rows in columns; the first column takes what the others leave and is wrapped."""
    columns = list(zip(block.head, *block.rows, strict=True))
    names, *others = [max(map(cell_len, column)) for column in columns]
    room = max(LEAST, min(names, width - sum(others) - GAP * (len(others) + 1)))
    tones = ["dim", *(TONES[tone] for tone in block.tones)]
    for number, (row, tone) in enumerate(zip([block.head, *block.rows], tones, strict=True)):
        first, *rest = Line(one_line(row[0])).wrapped(room)
        middle = zip(row[1:-1], others[:-1], strict=True)
        cells = [_cell(first.plain, room), *(_cell(one_line(cell), at) for cell, at in middle)]
        before = "".join(" " * GAP + cell for cell in cells) + " " * GAP
        yield Line((before, "" if number else "dim"), (one_line(row[-1]), tone))
        yield from (Line(" " * GAP, part) for part in rest)


def _proof(block: Proof, width: int) -> Iterator[Line]:
    place = visible(block.place)
    text = Line((visible(block.text.strip()), "dim"))
    beside = len(place) <= width // 3
    indent = " " * (len(place) + 4) if beside else "    "
    if not beside:
        yield Line((f"  {place}", "cyan"))
    lines = list(_wrapped(text, indent, indent, width))
    if not block.whole and len(lines) > PROOF_LINES:
        last = lines[PROOF_LINES - 1].part(len(indent)).plain
        room = width - 2 - len(indent)
        shown = set_cell_size(last, room) if cell_len(last) > room else last
        lines = [*lines[: PROOF_LINES - 1], Line(indent, (shown, "dim"), " …")]
    if beside:
        lines[0] = Line("  ", (place, "cyan"), "  ", lines[0].part(len(indent)))
    yield from lines


def _bars(block: Sparkline, width: int, plain: bool) -> Iterator[Line]:
    """Yield a series in one line, or its bars below its numbers where one is too narrow."""
    label, said = one_line(block.label), one_line(block.said)
    bars = sparkline(block.values, width - 4, plain=plain)
    line = Line("  ", (label, "cyan"), "  ", bars, "  ", (said, "dim"))
    if line.columns <= width:
        yield line
        return
    yield from _wrapped(Line((label, "cyan"), "  ", (said, "dim")), "  ", "    ", width)
    yield Line(f"    {bars}")


def _cell(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def _wrapped(text: Line, first: str, rest: str, width: int) -> Iterator[Line]:
    """Yield the lines of a text, each behind its indent."""
    for number, line in enumerate(text.wrapped(width - max(len(first), len(rest)))):
        yield Line(rest if number else first, line)
