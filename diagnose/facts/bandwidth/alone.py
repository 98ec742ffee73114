"""Tests in which every process measured itself.

``bench.alone`` stands at the first of them, with ``processes``: nccl-tests that were built without
MPI, or started by a launcher that their MPI does not know, all call themselves rank 0 of 1.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from diagnose.model.event import Event

EVENTS = ("bench.alone",)


def derive(tests: Sequence[Event]) -> Iterator[Event]:
    """Yield one event where two processes or more ran by themselves and none together."""
    ran = [test for test in tests if test.fields.get("ranks") is not None]
    processes = sum(int(test.number("alone") or 1) for test in ran)
    if processes > 1 and all(test.fields["ranks"] == 1 for test in ran):
        fields = {"tool": ran[0].fields.get("tool"), "processes": processes}
        yield replace(ran[0], name=EVENTS[0], fields={**fields}, fact=None, host=None)
