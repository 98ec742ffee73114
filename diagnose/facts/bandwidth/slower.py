"""Bandwidth tests beside each other.

``nccl_tests.slower`` is a test far below the same test on other hosts or groups of hosts. Tests of
two hosts make a table, which says more of them (``pairs``).
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

from diagnose.model.event import Event, Value

EVENTS = ("nccl_tests.slower",)

FEWEST_PEERS = 3
"""Others that a test must differ from."""

PAIR = 2
"""Hosts of a test that belongs to a table of pairs."""

LOW = 0.8
"""Share of the others' bandwidth under which a test failed."""


def derive(results: Sequence[Event]) -> Iterator[Event]:
    """Yield bandwidth tests far below the same test elsewhere.

    ``suspects`` are the hosts of the test that take part in no good one.
    """
    comparable: dict[tuple[Value, ...], list[tuple[float, Event]]] = defaultdict(list)
    for event in results:
        plateau = event.number("plateau_busbw")
        if plateau and event.fields.get("nodes") != PAIR:
            same = ("collective", "ranks", "nodes", "gpu_model", "plateau_size")
            comparable[tuple(event.fields.get(name) for name in same)].append((plateau, event))
    for tests in comparable.values():
        if len(tests) <= FEWEST_PEERS:
            continue
        level = median(plateau for plateau, _ in tests)
        good = {host for plateau, one in tests if plateau >= LOW * level for host in _hosts(one)}
        for plateau, event in tests:
            if plateau >= LOW * level:
                continue
            suspects = [host for host in _hosts(event) if host not in good]
            fields: dict[str, Value] = {
                "collective": event.fields.get("collective"), "plateau_busbw": plateau,
                "expected_busbw": level, "ratio": plateau / level, "tests": len(tests),
                "nodes": event.fields.get("nodes"), "suspects": list(suspects),
            }  # fmt: skip
            yield replace(event, name="nccl_tests.slower", fields=fields, fact=None)


def _hosts(event: Event) -> list[str]:
    if event.host is not None:
        return [event.host]
    listed = event.fields.get("hosts")
    return [str(host) for host in listed] if isinstance(listed, list) else []
