"""Events as the shipped parsers read them of a text, for tests of what follows from them."""

from functools import cache

from diagnose.facts.clock import Clocks
from diagnose.ingest.paste import split
from diagnose.parsers import parsers
from diagnose.parsers.reader import Reader
from diagnose.scanning.local import Local
from diagnose.scanning.reading import read_all


@cache
def _reader():
    return Reader(parsers())


def read(text):
    """Return the events of a text and its clocks; headings such as ``==> a.log <==`` split it."""
    reading, _ = read_all(
        split(text.encode()), _reader(), wants=lambda name: False, engine=Local(1)
    )
    return reading.events, Clocks(reading)
