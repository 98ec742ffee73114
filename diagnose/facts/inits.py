"""Communicators that ranks began to set up and none finished, and who never began.

=================== ==============================================================================
``nccl.init_stuck``  The first ``Init START`` of a communicator without any ``COMPLETE``;
                     ``started`` of ``nranks`` ranks began. Where its numbers are global ranks,
                     ``silent`` are those whose log is there and has no such line, ``unseen`` those
                     without a log
=================== ==============================================================================

Releases before 2.18 print no beginning, so nothing is known of theirs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from diagnose.facts.job import JobModel
from diagnose.facts.settings import whole
from diagnose.model.event import Event, Nature, Value

EVENTS = ("nccl.init_stuck",)

FEWEST = 3
"""Ranks that must have begun; of fewer the rest of the log may be missing."""


def stuck_inits(events: Sequence[Event], job: JobModel) -> Iterator[Event]:
    """Yield the communicators that were begun and not finished, in the order of their lines."""
    begun: dict[tuple[int, str], dict[int, Event]] = {}
    finished = set()
    for event in events:
        if event.name != "nccl.comm_init" or event.communicator is None:
            continue
        group = event.attempt, event.communicator
        number = whole(event.fields.get("comm_rank"))
        if event.fields.get("phase") == "complete":
            finished.add(group)
        elif number is not None:
            begun.setdefault(group, {}).setdefault(number, event)
    for group, members in begun.items():
        size = max(whole(one.fields.get("nranks")) or 0 for one in members.values())
        if group in finished or len(members) < FEWEST or 2 * len(members) < size:
            continue
        missing = set(range(size)) - members.keys()
        if any(event.rank != number for number, event in members.items()):
            missing = set()  # The numbers are of a smaller group, whose other ranks are not known.
        silent, unseen = missing & job.ranks_with_logs, missing - job.ranks_with_logs
        fields: dict[str, Value] = {
            "nranks": size, "started": len(members), "silent": [*sorted(silent)],
            "unseen": [*sorted(unseen)], "share": len(silent) / size,
            "unseen_share": len(unseen) / size,
        }  # fmt: skip
        first = min(members.values(), key=lambda one: (one.file, one.line))
        yield replace(
            first, name=EVENTS[0], nature=Nature.MEASUREMENT, fields=fields,
            rank=None, local_rank=None, host=None, gpu=None, pid=None,
        )  # fmt: skip
