"""What two chunks of one source must know of each other so that together they are the whole.

Each chunk is read as if no record of the one before went on in it, so that none waits for another.
Where such a record goes on with a line that opened one of its own, it is read once more.
"""

from dataclasses import dataclass

from diagnose.model.event import Clock
from diagnose.model.reading import SourceSummary
from diagnose.parsers.blocks import Places
from diagnose.parsers.edges import Edges
from diagnose.parsers.speakers import Speakers


@dataclass(slots=True)
class Chunk:
    """What is known of a chunk beside its records, until it is part of the whole.

    Args:
        begun: Lines that it was told belong to records begun before it.
        beyond: Lines behind it that belong to its records, counted from its end.
        opened: Lines of its first piece at which records begin.
        size: Clean bytes.
        edges: Its first and last bytes.
        speakers: Who writes into it.
        clock: What the stamps of its measurements are measured against.
        ends_in_line: Whether its last line has no end; such a line is not yet counted.
    """

    begun: Places
    beyond: Places
    opened: Places
    size: int
    edges: Edges
    speakers: Speakers
    clock: Clock
    ends_in_line: bool

    def fits(self, beyond: Places) -> bool:
        """Return whether it reads the same behind a chunk with such lines beyond it."""
        if beyond == self.begun:
            return True
        reach = max((at for lines in beyond.values() for at in lines), default=-1)
        inside = any(self.opened.get(parser, set()) & lines for parser, lines in beyond.items())
        return not inside and reach < self.size

    def append(self, later: "Chunk") -> None:
        """Make the next chunk part of this one."""
        self.beyond = later.beyond
        self.edges.append(later.edges)
        self.speakers.append(later.speakers)
        if self.clock is Clock.NONE:
            self.clock = later.clock
        if later.size:
            self.ends_in_line = later.ends_in_line

    def state(self, summary: SourceSummary) -> None:
        """Write what it says as a whole source into its summary."""
        self.edges.state(summary)
        # Lines of a metric file have no stamps in front; their columns do.
        if summary.clock is Clock.NONE:
            summary.clock = self.clock
        summary.speakers = self.speakers.ranks
        summary.lines += self.ends_in_line
