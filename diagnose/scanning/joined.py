"""The chunks of one source, put together as the part that the whole source would give."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from diagnose.model.reading import SourceSummary
from diagnose.parsers.collect import Collector
from diagnose.scanning.chunk import Chunk
from diagnose.scanning.units import Part, Unit


@dataclass(slots=True)
class Joined:
    """What the units of one source give, put together as it comes in.

    A chunk joins the others as soon as all those before it are there, so that of a large source no
    more is kept than of a small one.

    Args:
        units: Of the source, in the order of its bytes.
        again: Reads a unit once more.
    """

    units: Sequence[Unit]
    again: Callable[[Unit], list[Part]]
    _waiting: dict[int, list[Part]] = field(default_factory=dict)
    _next: int = 0
    _parts: list[Part] = field(default_factory=list)
    _summary: SourceSummary | None = None
    _chunk: Chunk | None = None
    _into: Collector | None = None

    @property
    def complete(self) -> bool:
        """Whether all units are there."""
        return self._next == len(self.units)

    def add(self, number: int, parts: list[Part]) -> None:
        """Take what a unit gave.

        Args:
            number: Its place among the units.
            parts: One, or those of an archive.
        """
        self._waiting[number] = parts
        while self._next in self._waiting:
            for part in self._waiting.pop(self._next):
                self._join(part)
            self._next += 1

    def parts(self) -> list[Part]:
        """Return the source as far as its units are there one behind the other."""
        if self._summary is None or self._into is None:
            return self._parts
        whole = Part(self._summary, list(self._into.records()), self._into.notes, self._chunk)
        whole.settle()
        return [whole, *self._parts]

    def _join(self, part: Part) -> None:
        if part.chunk and self._chunk and not part.chunk.fits(self._chunk.beyond):
            unit = replace(self.units[self._next], begun=self._chunk.beyond)
            (part,) = self.again(unit)
        if part.chunk is None:
            self._parts.append(part)
            if self._chunk is not None:
                self._chunk.beyond = {}
        elif self._chunk is None or self._summary is None or self._into is None:
            self._summary, self._chunk = part.summary, part.chunk
            self._into = Collector(part.summary.name)
            self._into.absorb(part.records, part.notes)
        else:
            self._into.absorb(part.records, part.notes, self._summary.lines)
            self._summary.bytes += part.summary.bytes
            self._summary.lines += part.summary.lines
            self._chunk.append(part.chunk)
