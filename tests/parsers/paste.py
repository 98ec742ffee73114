"""Reads a pasted text with one or all parsers, headings and prefixes included."""

import io

from diagnose.ingest.pieces import Pieces
from diagnose.ingest.sniff import NOBODY
from diagnose.parsers import parsers
from diagnose.parsers.collect import Collector
from diagnose.parsers.kept import events_of
from diagnose.parsers.reader import Reader

READER = Reader(parsers())


def events(text, name=None):
    """Return the events of a text, those of one name where one is given."""
    into = Collector("paste.txt")
    READER.read("paste.txt", NOBODY, Pieces(io.BytesIO(text.encode()), heading=()), into)
    return [event for event in events_of(into.records()) if name in (None, event.name)]
