"""Bandwidth by message size and from run to run.

``bench.falls`` is a test whose large messages are slower than its best ones: ``peak_busbw`` at
``peak_size``, ``last_busbw`` at ``largest_size``, and ``ratio``. ``bench.unsteady`` are runs of one
test, one behind the other, that go up and down: ``runs``, ``turns`` between good and bad ones,
``lowest_busbw`` and ``highest_busbw``.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from diagnose.model.event import Event, Value

EVENTS = ("bench.falls", "bench.unsteady")

SMALLEST = 1 << 20
"""Bytes; smaller messages are latency."""

LARGE = 256 << 20
"""Bytes that the largest message needs."""

FALLEN = 0.75
"""Share of the peak under which the two largest messages have fallen."""

LOW = 0.8
"""Share of the best run under which a run is a bad one."""

FEWEST_TURNS = 3
"""Changes between good and bad runs; two settings that are compared change once."""


def derive(tests: Sequence[Event]) -> Iterator[Event]:
    """Yield both events, each at the place of a test."""
    for test in tests:
        yield from _falls(test)
    alike: dict[tuple[Value, ...], list[tuple[float, Event]]] = defaultdict(list)
    for test in tests:
        plateau = test.number("plateau_busbw")
        if plateau:
            names = ("collective", "ranks", "nodes", "gpu_model", "plateau_size")
            same = (*(test.fields.get(name) for name in names), str(test.fields.get("hosts")))
            alike[test.file, *same].append((plateau, test))
    for runs in alike.values():
        yield from _unsteady(runs)


def _falls(test: Event) -> Iterator[Event]:
    sizes, rates = test.fields.get("sizes"), test.fields.get("busbws")
    if not isinstance(sizes, list) or not isinstance(rates, list):
        return
    rows = [
        (size, rate)
        for size, rate in zip(sizes, rates, strict=True)
        if isinstance(size, int) and isinstance(rate, float) and size >= SMALLEST
    ]
    rows.sort()
    if len(rows) < 4 or rows[-1][0] < LARGE:
        return
    peak_size, peak = max(rows, key=lambda row: row[1])
    if peak > 0 and all(rate < FALLEN * peak for _, rate in rows[-2:]):
        fields: dict[str, Value] = {
            **_which(test), "peak_busbw": peak, "peak_size": peak_size,
            "last_busbw": rows[-1][1], "largest_size": rows[-1][0], "ratio": rows[-1][1] / peak,
        }  # fmt: skip
        yield replace(test, name=EVENTS[0], fields=fields, fact=None)


def _unsteady(runs: Sequence[tuple[float, Event]]) -> Iterator[Event]:
    best = max(rate for rate, _ in runs)
    good = [rate >= LOW * best for rate, _ in runs]
    turns = sum(before != after for before, after in pairwise(good))
    if turns >= FEWEST_TURNS:
        lowest, worst = min(runs, key=lambda run: run[0])
        fields: dict[str, Value] = {
            **_which(worst), "runs": len(runs), "turns": turns, "lowest_busbw": lowest,
            "highest_busbw": best,
        }  # fmt: skip
        yield replace(worst, name=EVENTS[1], fields=fields, fact=None)


def _which(test: Event) -> dict[str, Value]:
    return {name: test.fields.get(name) for name in ("tool", "collective", "nodes", "hosts")}
