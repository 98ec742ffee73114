"""Events as the shipped parsers read them of a text, for tests of what follows from them."""

from functools import cache

from diagnose.facts.clock import Clocks
from diagnose.ingest.paste import split
from diagnose.parsers import parsers
from diagnose.parsers.pool import read_all
from diagnose.parsers.reader import Reader


@cache
def _reader():
    return Reader(parsers())


def read(text):
    """Return the events of a text and its clocks; headings such as ``==> a.log <==`` split it."""
    reading, _ = read_all(split(text.encode()), _reader(), wants=lambda name: False, jobs=1)
    return reading.events, Clocks(reading)
