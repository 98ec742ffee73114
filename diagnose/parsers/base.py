"""How a dialect is declared: five kinds of parser, one shape of pattern table.

A parser module holds a constant ``PARSERS``, a tuple of the objects below, and its docstring is the
page about the dialect: what prints it, a sample, the meaning of *empty* and of *cut off*. A parser
knows no rule, prints nothing and keeps no state between sources.

``LineParser``
    A table of patterns, each matched against single lines that hold one of its literals.
``BlockParser``
    A literal opens a record; the lines that follow, with other writers' lines left out, are handed
    over together when the end rule or the maximum closes it.
``BulkParser``
    A dialect of which files hold millions of lines. Its literals are looked for once per block of
    1 MiB, and a block that has one is handed over whole.
``FileParser``
    Chosen by a look at the first bytes, those of its gate first; gets the whole source (JSON, CSV).
``FolderParser``
    Gets the names and sizes in a folder and may read parts of files: headers and tails, never the
    data (checkpoints).
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import regex
from regex import Pattern as Compiled

from diagnose.ingest.repeated import StampedPrefix
from diagnose.ingest.source import Entry
from diagnose.model.event import Event, Line, Measurement, Nature, Rows, Value
from diagnose.parsers.derived import LITERALS
from diagnose.parsers.gate import Gate

TEXT_LIMIT = 2_000
"""Characters of a line that an event keeps."""

MATCH_TIMEOUT = 1.0
"""Seconds one pattern may spend on one line; the last guard, patterns are linear by construction."""

Convert = Callable[[str], Value]
Record = Event | Measurement | Rows


class Note(Exception):
    """A record could not be read; the text says why. Counted for the source, never fatal."""


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """One message a program prints.

    Args:
        event: Name of the event, dotted.
        regex: Searched for in ``Line.text``. Named groups become fields. The groups ``rank``,
            ``local_rank``, ``host``, ``pid``, ``gpu``, ``nic`` and ``communicator`` become the
            attributes of the event instead; ``hca`` becomes a field and the attribute ``nic``.
        nature: What kind of statement it is.
        source: Which program prints it, in which versions and from which source file.
        sample: A line it matches, invented values in the exact layout; the tests run it.
        types: Converter of each field that is not text, applied when the group took part.
        constants: Fields that every event of this pattern has.
        fact: Name of the fact it states with its field ``value``.
        literals: Texts of which each matching line holds at least one; derived from ``regex``
            where empty.
        once_per_block: Reported at most once in 1 MiB of text: for lines that come by the million
            and of which one is as good as many.
    """

    event: str
    regex: str
    nature: Nature
    source: str
    sample: str
    types: Mapping[str, Convert] = field(default_factory=dict)
    constants: Mapping[str, Value] = field(default_factory=dict)
    fact: str | None = None
    literals: tuple[str, ...] = ()
    once_per_block: bool = False

    @cached_property
    def compiled(self) -> Compiled[str]:
        """The compiled regular expression, made on first use."""
        return regex.compile(self.regex)

    @cached_property
    def required(self) -> tuple[str, ...]:
        """Literals of which every matching line holds at least one."""
        known = self.literals or LITERALS.get(self.regex)
        if known is not None:
            return known
        # Imported here: those of what ships are known, and most runs ask for no others.
        from diagnose.ingest.pattern import required_literals

        return tuple(sorted(required_literals(self.regex)))

    def match(self, line: Line) -> Event | None:
        """Return the event this line is, or None.

        Raises:
            TimeoutError: The pattern ran away; the caller reports it.
        """
        found = self.compiled.search(line.text, timeout=MATCH_TIMEOUT)
        if found is None:
            return None
        fields = dict(self.constants)
        for name, text in found.groupdict().items():
            if text is not None:
                convert = self.types.get(name)
                fields[name] = convert(text) if convert else text
        return make_event(self.event, self.nature, line, fields, fact=self.fact)


@dataclass(frozen=True, kw_only=True)
class LineParser:
    """A dialect of single lines.

    Args:
        name: Of the dialect, as ``diagnose parsers list`` shows it.
        title: What it reads, in one line.
        patterns: The table. All patterns that match a line give an event.
        refine: Corrects or completes an event from its line; None drops the event.
    """

    name: str
    title: str
    patterns: tuple[Pattern, ...]
    refine: Callable[[Event, Line], Event | None] | None = None


@dataclass(frozen=True, kw_only=True)
class BlockParser:
    """A dialect of records that span lines.

    Args:
        name: Of the dialect.
        title: What it reads, in one line.
        opens: Literals; a line with one of them may open a record.
        starts: Decides on the whole line; a line inside an open record of the same writer does
            not open another.
        ends: Called with the lines so far and the next one; True closes the record before it.
        read: Turns the lines of a record, the first included, into events and measurements.
            Raises ``Note`` where the record is cut off or makes no sense.
        emits: Event names it may give.
        sample: A record, invented values in the exact layout.
        maximum: Lines of one record at most.
    """

    name: str
    title: str
    opens: tuple[str, ...]
    starts: Callable[[Line], bool]
    ends: Callable[[list[Line], Line], bool]
    read: Callable[[list[Line]], Iterable[Record]]
    emits: tuple[str, ...]
    sample: str
    maximum: int = 200


class BlockText(Protocol):
    """1 MiB or so of whole lines, as a bulk parser sees them."""

    @property
    def data(self) -> bytes:
        """The bytes, cut at line ends."""

    @property
    def places(self) -> Sequence[int]:
        """Where in ``data`` the parser's literals end, the first place of each that is there."""

    def line_at(self, offset: int) -> Line:
        """Return the line around a byte offset of ``data``, prefixes taken off."""

    def line_numbers(self, offsets: Sequence[int]) -> "array[int]":
        """Return the 1-based numbers of the lines around byte offsets, in rising order."""

    def prefix_at(self, offset: int) -> StampedPrefix | None:
        """Return what stands before the record at a byte offset, for lines that look alike.

        None where the prefix has no stamp that alone changes from line to line.
        """


@dataclass(frozen=True, kw_only=True)
class BulkParser:
    """A dialect that comes by the million lines.

    Args:
        name: Of the dialect.
        title: What it reads, in one line.
        opens: Literals, one of which a block must hold.
        read: Turns a block into events and measurements. It searches bytes, and asks
            ``line_at`` only where it makes a record.
        emits: Event and metric names it may give.
        sample: Lines it reads.
    """

    name: str
    title: str
    opens: tuple[str, ...]
    read: Callable[[BlockText], Iterable[Record]]
    emits: tuple[str, ...]
    sample: str


class Document(Protocol):
    """A whole source, as a file parser sees it."""

    @property
    def name(self) -> str:
        """Name of the source."""

    @property
    def data(self) -> bytes:
        """The bytes, unpacked."""

    def at(self, text: str) -> Line:
        """Return a first line with a text of the parser's, for files that have no lines."""

    def lines(self) -> Iterator[Line]:
        """Return the lines from the first to the last; prefixes are not taken off."""

    def text(self, limit: int = 64 << 20) -> str:
        """Return the whole text.

        Raises:
            Note: It has more than ``limit`` bytes.
        """


@dataclass(frozen=True, kw_only=True)
class FileParser:
    """A dialect that only the whole file shows.

    Args:
        name: Of the dialect.
        title: What it reads, in one line.
        accepts: Decides by the name of the source and the first 64 KiB.
        read: Turns the file into events and measurements.
        emits: Event and metric names it may give.
        sample: A small file.
        gate: What is cheap to see of each file that ``accepts`` may accept.
        alone: The file is one record and no log. It may be binary, no other parser sees it, its
            lines are not counted, and ``read`` raises ``Unreadable`` where it is to be skipped.
    """

    name: str
    title: str
    accepts: Callable[[str, bytes], bool]
    read: Callable[[Document], Iterable[Record]]
    emits: tuple[str, ...]
    sample: str
    gate: Gate = Gate()
    alone: bool = False


@dataclass(frozen=True, kw_only=True)
class FolderParser:
    """A dialect of files that lie in a folder together.

    Args:
        name: Of the dialect.
        title: What it reads, in one line.
        wants: Decides by its name whether a file belongs to the dialect. Such a file counts as
            read; if its content is not text it is not in the list of skipped ones.
        read: Gets the name of the input folder and all entries below it that some parser wants.
        emits: Event names it may give.
        gate: Parts of names that all files of the dialect have one of.
    """

    name: str
    title: str
    wants: Callable[[str], bool]
    read: Callable[[str, list[Entry]], Iterable[Event]]
    emits: tuple[str, ...]
    gate: Gate


Parser = LineParser | BlockParser | BulkParser | FileParser | FolderParser

IDENTITY = ("rank", "local_rank", "host", "pid", "gpu", "nic", "communicator")


def make_event(
    name: str,
    nature: Nature,
    line: Line,
    fields: Mapping[str, Value] | None = None,
    *,
    end_line: int | None = None,
    fact: str | None = None,
) -> Event:
    """Return an event at a line; what the line's prefixes say is the default for who it is.

    Args:
        name: Of the event.
        nature: What kind of statement it is.
        line: The summary line of the record.
        fields: Captured values. Those named in ``IDENTITY`` become attributes; ``hca`` stays a
            field and becomes ``nic`` as well.
        end_line: Last line of the record, the same line by default.
        fact: Name of the fact it states.
    """
    rest = dict(fields or {})
    who = {key: rest.pop(key) for key in IDENTITY if key in rest}
    rank, local_rank, pid = (_whole(who.get(key)) for key in ("rank", "local_rank", "pid"))
    host, gpu, nic, communicator = (
        _words(who.get(key)) for key in ("host", "gpu", "nic", "communicator")
    )
    return Event(
        name=name,
        nature=nature,
        file=line.file,
        line=line.number,
        end_line=end_line or line.number,
        text=line.raw[:TEXT_LIMIT],
        fields=rest,
        time=line.time,
        clock=line.clock,
        rank=line.rank if rank is None else rank,
        local_rank=line.local_rank if local_rank is None else local_rank,
        host=host or line.host,
        gpu=gpu or line.gpu,
        nic=nic or _words(rest.get("hca")),
        communicator=communicator,
        pid=line.pid if pid is None else pid,
        stream=line.stream,
        attempt=line.attempt,
        fact=fact,
    )


def _whole(value: Value) -> int | None:
    return int(value) if isinstance(value, int | str) else None


def _words(value: Value) -> str | None:
    return None if value is None else str(value)
