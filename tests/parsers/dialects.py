"""Feeds text to a parser the way the reader does, without the reader."""

from diagnose.model.event import Event, Line, Measurement
from diagnose.parsers.base import BlockParser, BulkParser, FileParser, LineParser


class Block:
    is_first = True

    def __init__(self, text, opens=()):
        self.data = text.encode() if isinstance(text, str) else text
        found = [(self.data.find(literal.encode()), len(literal)) for literal in opens]
        self.places = sorted(start + length for start, length in found if start >= 0)

    def line_at(self, offset):
        number = self.data.count(b"\n", 0, offset) + 1
        start = self.data.rfind(b"\n", 0, offset) + 1
        end = self.data.find(b"\n", offset)
        raw = self.data[start : end if end >= 0 else len(self.data)].decode("utf-8", "replace")
        raw = raw.rstrip("\r")
        return Line("a.log", number, raw, raw)

    def line_numbers(self, offsets):
        return [self.data.count(b"\n", 0, offset) + 1 for offset in offsets]

    def prefix_at(self, offset):
        return None  # each line is read by itself


class Document:
    def __init__(self, text, name="a.json"):
        self.name, self.whole = name, text

    def lines(self):
        for number, raw in enumerate(self.whole.split("\n"), 1):
            yield Line(self.name, number, raw.rstrip("\r"), raw.rstrip("\r"))

    def text(self, limit=64 << 20):
        return self.whole

    def at(self, text, number=1):
        return Line(self.name, number, text, text)


def records(module, text, name="a.json"):
    """Return all records that the parsers of a module find, those without a literal left out."""
    found = []
    data = text.encode() if isinstance(text, str) else text
    for parser in module.PARSERS:
        if isinstance(parser, BulkParser):
            if any(literal.encode() in data for literal in parser.opens):
                found.extend(parser.read(Block(data, parser.opens)))
        elif isinstance(parser, FileParser):
            if parser.accepts(name, data[: 64 << 10]):
                found.extend(parser.read(Document(data.decode("utf-8", "replace"), name)))
        elif isinstance(parser, LineParser):
            found.extend(_of_lines(parser, data.decode("utf-8", "replace")))
        elif isinstance(parser, BlockParser):
            for line in Document(data.decode("utf-8", "replace")).lines():
                if any(literal in line.text for literal in parser.opens) and parser.starts(line):
                    found.extend(parser.read([line]))
    return found


def _of_lines(parser, text):
    for line in Document(text).lines():
        for pattern in parser.patterns:
            if not any(literal in line.raw for literal in pattern.required):
                continue
            event = pattern.match(line)
            if event and parser.refine:
                event = parser.refine(event, line)
            if event:
                yield event


def measured(module, text, name="a.json"):
    return [r for r in records(module, text, name) if isinstance(r, Measurement)]


def events(module, text, name="a.json"):
    return [r for r in records(module, text, name) if isinstance(r, Event)]
