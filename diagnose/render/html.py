"""The report as one HTML page that needs nothing else, for a mail, a ticket or a build."""

from collections.abc import Iterator, Sequence
from html import escape

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

_LISTED = (Item, Proof, Sparkline, Note, Command)

_STYLE = """\
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2 { line-height: 1.25; }
h1 { font-size: 1.4rem; }
h2 { font-size: 1.1rem; margin-top: 2rem; }
code, pre { font: 0.85rem/1.5 ui-monospace, monospace; }
pre { overflow-x: auto; margin: 0.25rem 0; padding: 0.5rem 0.75rem; background: #8881; }
table { border-collapse: collapse; }
td, th { text-align: left; padding: 0.2rem 1rem 0.2rem 0; vertical-align: top; }
.bad { color: #c5221f; }
.unsure { color: #a56300; }
.good { color: #188038; }
.none, .note { opacity: 0.7; }
"""


def render(report: ReportData, *, verbose: bool = False, lang: Language = "en") -> str:
    """Return the page of a report.

    Log text is escaped, and nothing on the page runs or is loaded from elsewhere.

    Args:
        report: What to show.
        verbose: All that is known.
        lang: Language of the words around the findings.
    """
    blocks = outline(report, lang=lang, verbose=verbose)
    body = "\n".join(line for run in _runs(blocks) for line in _drawn(run))
    return (
        f'<!DOCTYPE html>\n<html lang="{lang}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{_text(report.summary)}</title>\n<style>\n{_STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _runs(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Yield blocks that belong together: a list, the rows of the stages, or one block alone."""
    run: list[Block] = []
    for block in blocks:
        together = bool(run) and (
            (isinstance(block, _LISTED) and isinstance(run[0], _LISTED))
            or (isinstance(block, StageRow) and isinstance(run[0], StageRow))
        )
        if run and not together:
            yield run
            run = []
        run.append(block)
    if run:
        yield run


def _drawn(run: list[Block]) -> Iterator[str]:
    if isinstance(run[0], StageRow):
        yield "<table>"
        yield from (_stage(block) for block in run if isinstance(block, StageRow))
        yield "</table>"
    elif isinstance(run[0], _LISTED):
        yield from _listed(run)
    else:
        yield from _single(run[0])


def _single(block: Block) -> Iterator[str]:
    match block:
        case Headline(label, text, tone):
            yield f'<h1><span class="{tone}">{_text(label)}</span> {_text(text)}</h1>'
        case Heading(text):
            yield f"<h2>{_text(text)}</h2>"
        case Group(text):
            yield f"<p><u>{_text(text)}</u></p>"
        case Prose(text, label):
            yield (
                f"<p><strong>{_text(label)}</strong> {_text(text)}</p>"
                if label
                else (f"<p>{_text(text)}</p>")
            )
        case Table(head, rows, tones):
            yield "<table>"
            yield f"<tr>{''.join(f'<th>{_text(cell)}</th>' for cell in head)}</tr>"
            for row, tone in zip(rows, tones, strict=True):
                cells = "".join(f"<td>{_text(cell)}</td>" for cell in row[:-1])
                yield f'<tr>{cells}<td class="{tone}">{_text(row[-1])}</td></tr>'
            yield "</table>"


def _listed(run: list[Block]) -> Iterator[str]:
    """Yield a list; remarks and commands stand inside the entry above them."""
    numbered = any(isinstance(block, Item) and block.number for block in run)
    yield "<ol>" if numbered else "<ul>"
    opened = False
    for block in run:
        if not isinstance(block, Note | Command) or not opened:
            if opened:
                yield "</li>"
            number = f' value="{block.number}"' if isinstance(block, Item) and block.number else ""
            yield f"<li{number}>"
            opened = True
        yield _entry(block)
    yield f"</li>\n</{'ol' if numbered else 'ul'}>"


def _entry(block: Block) -> str:
    match block:
        case Item(text, _, tag):
            return _text(text) + (f' <strong class="unsure">[{_text(tag)}]</strong>' if tag else "")
        case Proof(place, text):
            return f"<code>{_text(place)}</code>\n<pre>{_lines(text)}</pre>"
        case Sparkline(label, values, said):
            bars = sparkline(values, len(values))
            return f"{_text(label)} <code>{escape(bars)}</code> {_text(said)}"
        case Note(text):
            return f'<div class="note">{_text(text)}</div>'
        case Command(text):
            return f"<pre>{_lines(text)}</pre>"
    raise AssertionError(block)


def _stage(row: StageRow) -> str:
    return (
        f'<tr><td>{_text(row.stage)}</td><td class="{row.tone}">{_text(row.state)}</td>'
        f"<td>{_text(row.checked)}</td><td>{_text(row.why)}</td></tr>"
    )


def _text(text: str) -> str:
    return escape(one_line(text))


def _lines(text: str) -> str:
    return escape("\n".join(visible(line) for line in text.strip().split("\n")))
