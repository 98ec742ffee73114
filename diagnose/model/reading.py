"""What came out of the sources: the input of every later stage."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from diagnose.model.event import Clock, Event, Points

if TYPE_CHECKING:
    from diagnose.model.topology import Topology


@dataclass(slots=True, kw_only=True)
class SourceSummary:
    """What is known of one source apart from its records.

    Args:
        name: As reports show it.
        bytes: Size as read, after decompression.
        lines: Number of lines.
        rank: Global rank that the file name states, if any.
        local_rank: Rank on its host, likewise.
        host: Host, likewise.
        attempt: Restart count, likewise.
        speakers: Global ranks that the prefixes of its lines state, where it holds several, with
            the stamp of the last line of each, None where it has none.
        first_time: Stamp near the first line, seconds as in ``Line.time``.
        last_time: Stamp near the last line.
        clock: What they are measured against; where only one has a year, that one.
    """

    name: str
    bytes: int = 0
    lines: int = 0
    rank: int | None = None
    local_rank: int | None = None
    host: str | None = None
    attempt: int = 0
    speakers: dict[int, float | None] = field(default_factory=dict)
    first_time: float | None = None
    last_time: float | None = None
    clock: Clock = Clock.NONE


@dataclass(slots=True, frozen=True, kw_only=True)
class Extent:
    """How far an interrupted reading came, in bytes as they are stored.

    Args:
        read: What was read.
        found: What there is, None of a pipe.
    """

    read: int
    found: int | None


@dataclass(slots=True, kw_only=True)
class Reading:
    """All that was read.

    Args:
        sources: In the order of discovery, which is the order of names.
        looked_at: More files, of which names, sizes and headers alone were read (checkpoints).
        events: In the order of sources, then of lines.
        points: One entry a metric and writer.
        skipped: ``{"file", "reason"}`` of what could not be read.
        truncated: ``{"file", "what", ...}`` of what was cut or capped, and how much.
        partial: How far it came before it was interrupted, None where it was not.
        topology: Who has which name and address by the inventory of the team, if there is one.
    """

    sources: list[SourceSummary] = field(default_factory=list)
    looked_at: int = 0
    events: list[Event] = field(default_factory=list)
    points: list[Points] = field(default_factory=list)
    skipped: list[dict[str, str]] = field(default_factory=list)
    truncated: list[dict[str, Any]] = field(default_factory=list)
    partial: Extent | None = None
    topology: "Topology | None" = None

    def broke_off(self, file: str, reason: str) -> None:
        """Note that a file was not read to its end, and why."""
        what = f"not read to its end: {reason}"
        self.truncated.append({"file": file, "what": what, "count": 1})
