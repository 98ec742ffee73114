"""Who keeps whom waiting in a hang, from flight-recorder dumps and from log lines alike.

=============================== ==================================================================
``collective.stuck_on_device``  A rank on which a call has not ended (or begun) that ended (or
                                began) on others
``collective.never_entered``    A rank with nothing pending in a group whose others wait for it
``collective.behind``           A rank that others wait for, with something else pending
``collective.odd_call``         A rank whose call differs from that of most under the same number;
                                without a majority one event names no rank
``collective.order_cycle``      A rank that called two groups in another order than others
``collective.suspects``         Ranks that come into question where none can be named, since of some
                                of them nothing is known
``collective.all_waiting``      Everybody made the call and waits; nobody is named
``collective.nobody_waits``     Dumps in which every call is finished
``collective.waiting``          Those who wait for a rank that one of these events names
``collective.stale_dump``       A dump that is not of the stop that log lines tell of, and left
                                out. ``why``: ``counters``, ``age``, or ``others`` beside it
=============================== ==================================================================

Of a rank with a dump the dump is asked and its log lines are not.
"""

from collections.abc import Iterable, Iterator, Sequence

from diagnose.facts.clock import Clocks
from diagnose.facts.collectives.dumps import add_dumps
from diagnose.facts.collectives.staleness import stale_dumps
from diagnose.facts.collectives.state import Picture, mark_p2p
from diagnose.facts.collectives.text import add_text
from diagnose.facts.identity import is_writer
from diagnose.model.event import Event

EVENTS = (
    "collective.stuck_on_device",
    "collective.never_entered",
    "collective.behind",
    "collective.odd_call",
    "collective.order_cycle",
    "collective.suspects",
    "collective.all_waiting",
    "collective.nobody_waits",
    "collective.waiting",
    "collective.stale_dump",
)

ASKED = ("c10d.", "fr.")
"""Beginnings of the names of events that say how far a rank got."""

STOPS = frozenset({"c10d.watchdog_timeout", "c10d.dump_signal_observed", "c10d.dump_signal_sent"})
"""Events of an attempt that stopped and left dumps."""


def derive(
    events: Sequence[Event], world_size: int | None = None, clocks: Clocks | None = None
) -> Iterator[Event]:
    """Yield what is known of a hang, attempt by attempt.

    Args:
        events: All of the input, ranks and attempts completed.
        world_size: Ranks of the job, if known.
        clocks: When is when, to tell old dumps.
    """
    asked = [event for event in events if event.name.startswith(ASKED)]
    silent = _silent(events, world_size)
    last = max((event.attempt for event in asked if event.name in STOPS), default=0)
    attempts: dict[int, list[Event]] = {}
    for event in asked:
        # Each start of the job writes its dumps over those of the one before.
        dumped = event.name.startswith("fr.") and event.attempt == 0
        attempts.setdefault(last if dumped else event.attempt, []).append(event)
    for attempt, said in sorted(attempts.items()):
        picture = Picture(silent=silent)
        stale = list(stale_dumps(said, clocks))
        yield from stale
        files = {one.file for one in stale}
        said = [one for one in said if not (one.name.startswith("fr.") and one.file in files)]
        add_dumps(said, picture)
        add_text(said, world_size, picture)
        if not picture.groups:
            continue
        from diagnose.facts.collectives.hang import findings  # where calls are known at all

        mark_p2p(picture.groups)
        for found in findings(picture):
            found.attempt = attempt
            yield found


def _silent(events: Iterable[Event], world_size: int | None) -> frozenset[int]:
    """Return the ranks of the job of which there is neither a line nor a dump."""
    written = {
        event.rank
        for event in events
        if event.rank is not None and (is_writer(event) or event.name.startswith("fr."))
    }
    world = max(world_size or 0, max(written, default=-1) + 1)
    return frozenset(range(world)) - written
