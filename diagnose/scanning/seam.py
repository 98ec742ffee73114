"""What two chunks of one source must know of each other so that together they are the whole.

Each chunk is read as if nothing went on from the one before, so that none waits for another. Where
that turns out wrong, it is read once more.
"""

from dataclasses import dataclass, field

from diagnose.ingest.headings import Hosts
from diagnose.ingest.sniff import identity
from diagnose.model.event import Clock
from diagnose.model.reading import SourceSummary
from diagnose.parsers.blocks import Places
from diagnose.parsers.edges import Edges
from diagnose.parsers.speakers import Speakers


@dataclass(frozen=True, slots=True)
class Seam:
    """What goes on from one chunk to the next.

    Args:
        lines: Lines behind the seam that belong to records begun before it.
        heading: The hosts of the heading above; None where headings do not count.
    """

    lines: Places = field(default_factory=dict)
    heading: Hosts | None = None


@dataclass(slots=True)
class Chunk:
    """What is known of a chunk beside its records, until it is part of the whole.

    Args:
        before: What it was read with.
        after: What goes on behind it.
        opened: Lines of its first piece at which records begin.
        size: Clean bytes.
        edges: Its first and last bytes.
        speakers: Who writes into it.
        clock: What the stamps of its measurements are measured against.
        ends_in_line: Whether its last line has no end; such a line is not yet counted.
    """

    before: Seam
    after: Seam
    opened: Places
    size: int
    edges: Edges
    speakers: Speakers
    clock: Clock
    ends_in_line: bool

    def fits(self, seam: Seam) -> bool:
        """Return whether it reads the same behind a chunk that ends with a seam."""
        if seam == self.before:
            return True
        reach = max((at for lines in seam.lines.values() for at in lines), default=-1)
        inside = any(self.opened.get(name, set()) & lines for name, lines in seam.lines.items())
        return seam.heading == self.before.heading and reach < self.size and not inside

    def append(self, later: "Chunk") -> None:
        """Make the next chunk part of this one."""
        self.after = later.after
        self.edges.append(later.edges)
        self.speakers.append(later.speakers)
        if self.clock is Clock.NONE:
            self.clock = later.clock
        if later.size:
            self.ends_in_line = later.ends_in_line

    def state(self, summary: SourceSummary) -> None:
        """Write what it says as a whole source into its summary."""
        self.edges.state(summary, identity(summary.name))
        # Lines of a metric file have no stamps in front; their columns do.
        if summary.clock is Clock.NONE:
            summary.clock = self.clock
        summary.speakers = self.speakers.ranks
        summary.lines += self.ends_in_line
