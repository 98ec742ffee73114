"""Prefixes that repeat from line to line but for their stamp, taken off at a tenth of the cost.

A training log has a million lines with one prefix. What ``peel`` says of one of them holds for all
whose prefix differs only in a stamp with a date: the text around the stamp is the key.
"""

import re
from dataclasses import dataclass

from diagnose.ingest.envelope import peel
from diagnose.ingest.sniff import Identity
from diagnose.ingest.stamp import PLAIN, PLAIN_BYTES, plain_seconds, plain_time
from diagnose.model.event import Line

AHEAD = 8
"""Characters of the record that must repeat too: they decide where the prefixes end."""

ZONE = 900
"""Seconds that time zones differ by; any other difference is that of two stamps."""

MOST = 512
"""Prefixes remembered of one source; where there are more, something else varies in them."""


@dataclass(frozen=True, slots=True)
class StampedPrefix:
    """A prefix in which nothing but the stamp changes from line to line.

    Args:
        pattern: Regular expression of the whole prefix; its one group is the stamp.
        shift: Seconds that the zone of the stamp adds.
    """

    pattern: bytes
    shift: float

    def seconds(self, stamp: bytes) -> float | None:
        """Return what a stamp says as ``Line.time`` has it, None where it is no time."""
        plain = plain_seconds(stamp.decode())
        return None if plain is None else plain + self.shift


class Repeated:
    """Takes prefixes off lines of one source.

    Args:
        file: Name of the source.
        identity: What the name says.
    """

    def __init__(self, file: str, identity: Identity) -> None:
        self._file = file
        self._identity = identity
        self._known: dict[tuple[str, str], tuple[Line, int, float] | None] = {}

    def peel(self, raw: str, number: int, begin: int) -> Line:
        """Return a line with its prefixes taken off, as ``envelope.peel`` does.

        Args:
            raw: One record of a line.
            number: 1-based, in the original text.
            begin: Character at which the record is known to have begun.
        """
        stamp = PLAIN.search(raw, 0, begin)
        if stamp is None:
            return peel(raw, self._file, number, self._identity)
        end = stamp.end()
        key = raw[: stamp.start()], raw[end : begin + AHEAD]
        known = self._known.get(key)
        time = plain_time(stamp)
        if known is None or time is None:
            line = peel(raw, self._file, number, self._identity)
            if key not in self._known and len(self._known) < MOST:
                self._known[key] = _example(line, end, time)
            return line
        line, behind, shift = known
        return Line(
            self._file, number, raw, raw[end + behind :], time + shift, line.clock, line.rank,
            line.local_rank, line.host, line.pid, line.gpu, line.stream, line.attempt,
        )  # fmt: skip

    def prefix(self, raw: str, begin: int) -> StampedPrefix | None:
        """Return the prefix of a line that ``peel`` was asked before.

        Args:
            raw: The line.
            begin: Character at which the record is known to have begun.
        """
        stamp = PLAIN.search(raw, 0, begin)
        if stamp is None:
            return None
        known = self._known.get((raw[: stamp.start()], raw[stamp.end() : begin + AHEAD]))
        if known is None:
            return None
        before, behind = raw[: stamp.start()].encode(), raw[stamp.end() : begin].encode()
        pattern = re.escape(before) + PLAIN_BYTES + re.escape(behind)
        return StampedPrefix(pattern, known[2])


def _example(line: Line, end: int, time: float | None) -> tuple[Line, int, float] | None:
    """Return what holds for all lines with the same prefix, None where its stamp is not the line's.

    Args:
        line: With its prefixes taken off.
        end: Where the stamp ends in it.
        time: What the stamp says.
    """
    behind = len(line.raw) - len(line.text) - end
    if time is None or line.time is None or behind < 0 or not line.raw.endswith(line.text):
        return None
    shift = line.time - time
    return None if shift % ZONE else (line, behind, shift)
