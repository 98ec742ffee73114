"""Many hosts wait for acknowledgements of one that sends none.

``ib.peer_silent`` is where adapters of three hosts or more ran out of time for acknowledgements
while nobody reported a gap in what arrived: a path that drops packets makes gaps, a peer that is
dead makes silence. It has ``waiting`` (hosts), ``growth`` (of all), ``counter``, ``seconds``, and
``silent``: the one host that was read as well and whose counters of trouble all stand still, None
where no or more than one host fits.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

from diagnose.facts.fabric.counters import Growth, at_counter
from diagnose.facts.fabric.readings import Key
from diagnose.model.event import Event, Value

EVENTS = ("ib.peer_silent",)

FEWEST_WAITING = 3

TROUBLE = frozenset({"retransmits", "drops", "link", "down", "receiver", "corrupt", "storm"})
"""Kinds of counters that would tell of another cause."""

NO_GAP = frozenset(
    {"duplicate_request", "roce_slow_restart", "roce_slow_restart_trans"}
    | {"rx_missed_errors", "rx_out_of_buffer"}
)
"""Follow from a timeout as well as from a loss, or are of traffic other than RDMA."""

FEWEST = 10
"""Growth under which a counter of trouble counts as still."""


def derive(ports: Mapping[Key, Mapping[str, Growth]]) -> Iterator[Event]:
    """Yield the event, at the last reading of the adapter that waited most."""
    waited: dict[str, int] = defaultdict(int)
    troubled: set[str] = set()
    read: set[str] = set()
    most: Growth | None = None
    for grown in ports.values():
        for growth in grown.values():
            host, kind = growth.last.host, growth.meaning.kind
            if host is None:
                continue
            read.add(host)
            if kind == "timeouts" and growth.amount >= FEWEST:
                waited[host] += growth.amount
                most = growth if most is None or growth.amount > most.amount else most
            elif _tells_of_another_cause(growth):
                troubled.add(host)
    if most is None or len(waited) < FEWEST_WAITING or troubled & waited.keys():
        return
    still = read - waited.keys()
    hosts: list[Value] = [*sorted(waited)]
    fields: dict[str, Value] = {
        "waiting": hosts,
        "growth": sum(waited.values()),
        "counter": most.meaning.name,
        "device": most.last.fields.get("device"),
        "seconds": most.seconds,
        "silent": min(still) if len(still) == 1 else None,
    }
    found = at_counter(most.last, most.meaning.name, most.value, most.line, EVENTS[0], fields)
    yield replace(found, host=None, nic=None)


def _tells_of_another_cause(growth: Growth) -> bool:
    meaning = growth.meaning
    of_another = meaning.kind in TROUBLE and meaning.name not in NO_GAP
    return of_another and growth.amount >= FEWEST
