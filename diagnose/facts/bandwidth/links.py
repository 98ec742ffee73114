"""Tests between two adapters against the rate of their ports.

``bench.link_judged`` is a test of RDMA over a device whose port is listed in the same input:
``rate_gbps`` is the rate of the port, ``ratio`` what was measured over it. Messages under 64 KiB do
not fill a link.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from diagnose.facts.bandwidth.adapters import Adapters
from diagnose.model.event import Event

EVENTS = ("bench.link_judged",)

RDMA = frozenset({"write", "read", "send"})
LEAST_SIZE = 64 << 10


def derive(tests: Sequence[Event], adapters: Adapters) -> Iterator[Event]:
    """Yield each test that can be judged, at its place."""
    for test in tests:
        measured, size = test.number("gbps"), test.number("size")
        if not measured or test.fields.get("operation") not in RDMA or (size or 0) < LEAST_SIZE:
            continue
        rate = adapters.rate(test.host, test.nic)
        if rate is not None:
            fields = {**test.fields, "rate_gbps": rate, "ratio": measured / rate}
            yield replace(test, name=EVENTS[0], fields=fields, fact=None)
