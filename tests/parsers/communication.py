"""Reads text with the parsers of one module as the reader does, and checks pattern tables.

Prefixes are taken off by the real envelope, so that the samples may stand as programs print them.
"""

from contextlib import suppress

from dialects import Block, Document

from diagnose.ingest.envelope import NOBODY, peel, records
from diagnose.ingest.pattern import problems, proves
from diagnose.parsers.base import BlockParser, BulkParser, FileParser, LineParser, Note


class PeeledBlock(Block):
    def line_at(self, offset):
        line = super().line_at(offset)
        return peel(line.raw, line.file, line.number, NOBODY)


def lines_of(text):
    return [
        peel(record, "a.log", number, NOBODY)
        for number, raw in enumerate(text.split("\n"), 1)
        for record in records(raw)
    ]


def read(module, text):
    """Return the events that a module's parsers find in a text, in the order of lines."""
    lines = lines_of(text)
    found = []
    for parser in module.PARSERS:
        if isinstance(parser, LineParser):
            found.extend(_of_lines(parser, lines))
        elif isinstance(parser, BlockParser):
            found.extend(_of_blocks(parser, lines))
        elif isinstance(parser, BulkParser):
            if any(literal in text for literal in parser.opens):
                found.extend(parser.read(PeeledBlock(text, parser.opens)))
        elif isinstance(parser, FileParser) and parser.accepts("a.log", text.encode()):
            found.extend(parser.read(Document(text)))
    return sorted(found, key=lambda event: event.line)


def _of_lines(parser, lines):
    for line in lines:
        for pattern in parser.patterns:
            if any(literal in line.raw for literal in pattern.required):
                event = pattern.match(line)
                if event and parser.refine:
                    event = parser.refine(event, line)
                if event:
                    yield event


def _of_blocks(parser, lines):
    taken = -1
    for start, line in enumerate(lines):
        opens = any(literal in line.raw for literal in parser.opens)
        if start <= taken or not opens or not parser.starts(line):
            continue
        block = [line]
        for following in lines[start + 1 :]:
            if len(block) >= parser.maximum or parser.ends(block, following):
                break
            block.append(following)
        taken = start + len(block) - 1
        with suppress(Note):
            yield from parser.read(block)


def one(module, text, event=None):
    """Return the only event of a text, or the only one of a name."""
    found = [this for this in read(module, text) if event in (None, this.name)]
    assert len(found) == 1, [this.name for this in found]
    return found[0]


def names(module, text):
    return [event.name for event in read(module, text)]


def holds(event, expected):
    """Return the fields and attributes that differ from what is expected."""
    found = {key: event.fields.get(key, getattr(event, key, "absent")) for key in expected}
    return {key: found[key] for key in expected if found[key] != expected[key]}


def check_table(module):
    """Check that each pattern is safe, its literals proven, and its sample an event of its own."""
    for parser in module.PARSERS:
        for pattern in parser.patterns if isinstance(parser, LineParser) else ():
            assert problems(pattern.regex) == [], pattern.regex
            assert pattern.required and proves(pattern.regex, pattern.required), pattern.regex
            assert all(len(literal) >= 4 for literal in pattern.required), pattern.required
            assert pattern.event in names(module, pattern.sample), pattern.sample
            assert pattern.event in names(module, pattern.sample + "\r"), pattern.sample
            assert pattern.source
        if not isinstance(parser, LineParser):
            assert set(names(module, parser.sample)) & set(parser.emits), parser.name


def cut_anywhere(module, text):
    """Read a text cut at each place: nothing may raise, and no event may stand outside the text."""
    for end in range(len(text)):
        for event in read(module, text[:end]):
            assert 1 <= event.line <= event.end_line <= text.count("\n") + 1
