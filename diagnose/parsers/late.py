"""Shipped parsers by what they wait for, each imported when that has been seen.

Importing the modules of all dialects takes longer than reading a snippet, which is of a few. The
index of them, ``index.py``, is written by ``python .ci/derive.py``; a test holds it to the modules.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from diagnose.ingest.source import Entry
from diagnose.model.event import Event
from diagnose.parsers.base import Document, Record
from diagnose.parsers.gate import Gate

Wait = tuple[bool, tuple[str, ...]]
"""Literals of which one must be there, and whether its first place in a piece is enough."""


@dataclass
class Late:
    """Stands for a parser that is imported at its first use.

    Args:
        module: Name of its module.
        number: Its place in the ``PARSERS`` of the module.
    """

    module: str
    number: int

    @property
    def parser(self) -> Any:
        """The parser itself."""
        return import_module(f"diagnose.parsers.{self.module}").PARSERS[self.number]


@dataclass
class LateTextParser(Late):
    """Stands for a parser of lines, blocks or bulk.

    Args:
        waits: What each pattern of a parser of lines waits for; of the others only one.
    """

    waits: tuple[Wait, ...]


@dataclass
class LateFileParser(Late):
    """Stands for a ``FileParser``.

    Args:
        alone: As there.
        gate: As there.
    """

    alone: bool
    gate: Gate

    @property
    def name(self) -> str:
        """Of the dialect."""
        name: str = self.parser.name
        return name

    def accepts(self, name: str, head: bytes) -> bool:
        """Return whether the parser accepts a file that passed the gate."""
        accepted: bool = self.parser.accepts(name, head)
        return accepted

    def read(self, document: Document) -> Iterable[Record]:
        """Return what the parser says of a file."""
        records: Iterable[Record] = self.parser.read(document)
        return records


@dataclass
class LateFolderParser(Late):
    """Stands for a ``FolderParser``.

    Args:
        gate: As there.
    """

    gate: Gate

    def wants(self, name: str) -> bool:
        """Return whether a name passes the gate and the parser wants the file."""
        return self.gate.admits_name(name) and self.parser.wants(name)

    def read(self, folder: str, entries: list[Entry]) -> Iterable[Event]:
        """Return what the parser says of the files that lie together."""
        events: Iterable[Event] = self.parser.read(folder, entries)
        return events
