"""Reads the text of a stack dump through all parsers, the way a source is read."""

import io

from diagnose.ingest.pieces import Pieces
from diagnose.ingest.sniff import identity
from diagnose.parsers import parsers
from diagnose.parsers.collect import Collector
from diagnose.parsers.kept import events_of
from diagnose.parsers.reader import Reader

READER = Reader(parsers())


def collected(text, name="a.log"):
    """Return what a source gives, with the notes on what could not be read."""
    into, who, data = Collector(name), identity(name), text.encode()
    stream = READER.read_whole(READER.look(name, data[: 64 << 10]), who, io.BytesIO(data), into)
    READER.read(name, who, Pieces(stream), into)
    return into


def dumps(text, name="a.log"):
    return [
        event for event in events_of(collected(text, name).records()) if event.name == "stack.dump"
    ]
