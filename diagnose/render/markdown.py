"""The report for a ticket or a chat: the text report in Markdown."""

import re
from collections.abc import Iterator

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

_SPECIAL = re.compile(r"[\\`*_\[\]<>|#~@]")


def render(report: ReportData, *, verbose: bool = False, lang: Language = "en") -> str:
    """Return the Markdown text of a report.

    Log text stands in code and is not read as Markdown or HTML.

    Args:
        report: What to show.
        verbose: All that is known.
        lang: Language of the words around the findings.
    """
    lines: list[str] = []
    previous: Block | None = None
    for block in outline(report, lang=lang, verbose=verbose):
        if lines and not _continues(block, previous):
            lines.append("")
        lines += _draw(block)
        previous = block
    return "\n".join(lines) + "\n"


def _continues(block: Block, previous: Block | None) -> bool:
    """Tell whether a block goes on with the list or table before it."""
    if isinstance(block, Item | Proof | Sparkline | Note | Command):
        return isinstance(previous, Item | Proof | Sparkline | Note | Command)
    return isinstance(block, StageRow) and isinstance(previous, StageRow)


def _draw(block: Block) -> Iterator[str]:
    match block:
        case Headline(label, text):
            yield f"## {_escaped(label)}{' ' * label.endswith(' ')}{_escaped(text)}"
        case Heading(text):
            yield f"### {_escaped(text)}"
        case Group(text):
            yield f"**{_escaped(text)}**"
        case Prose(text, label):
            yield f"{_strong(label)}{_escaped(text)}" if label else _escaped(text)
        case Proof(place, text):
            yield f"- {_code(place)}"
            yield ""
            yield from _fenced(text.strip(), "  ")
        case Sparkline(label, values, said):
            yield f"- {_escaped(label)} {_code(sparkline(values, len(values)))} {_escaped(said)}"
        case Item(text, number, tag):
            marker = f"{number}." if number else "-"
            yield f"{marker} {_escaped(text)}" + (f" **[{_escaped(tag)}]**" if tag else "")
        case Note(text):
            yield f"    - {_escaped(text)}"
        case Command(text):
            yield ""
            yield from _fenced(text.strip(), "    ")
        case StageRow(_, state, checked, why, label=label):
            found = f"**{_escaped(state)}**, {_escaped(checked)}; {_escaped(why)}"
            yield f"- {_escaped(label)}{' ' * label.endswith(' ')}{found}"
        case Table(head, rows):
            for row in (head, ("---",) * len(head), *rows):
                cells = (cell if cell == "---" else _escaped(cell) for cell in row)
                yield f"| {' | '.join(cells)} |"


def _strong(label: str) -> str:
    """Return a label in bold; a colon with no space behind it would not end the bold type."""
    if label.endswith(" "):
        return f"**{_escaped(label)}** "
    return f"**{_escaped(label[:-1])}**{label[-1]}"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", one_line(text))


def _code(text: str) -> str:
    shown = visible(text)
    ticks = "`" * (_longest_run_of_ticks(shown) + 1)
    return f"{ticks} {shown} {ticks}" if "`" in shown else f"{ticks}{shown}{ticks}"


def _fenced(text: str, indent: str) -> Iterator[str]:
    fence = "`" * max(3, _longest_run_of_ticks(text) + 1)
    yield indent + fence
    for line in text.split("\n"):
        yield indent + visible(line)
    yield indent + fence


def _longest_run_of_ticks(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
