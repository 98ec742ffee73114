"""Hand-made readings for the tests of facts."""

import math
from array import array
from collections.abc import Sequence

from diagnose.model.event import Clock, Event, Nature, Points
from diagnose.model.reading import Reading


def event(name="c10d.watchdog_timeout", nature=Nature.ERROR, file="a.log", line=1, **more):
    if "time" in more:
        more.setdefault("clock", Clock.LOCAL)
    return Event(name=name, nature=nature, file=file, line=line, end_line=line, text=name, **more)


def init(number, nranks, line=1, phase="complete", **more):
    """An NCCL init line; ``number`` counts within the communicator."""
    fields = {"phase": phase, "comm_rank": number, "nranks": nranks}
    for name in ("cuda_dev", "nvml_dev"):
        if name in more:
            fields[name] = more.pop(name)
    nature = Nature.PROGRESS if phase == "complete" else Nature.SETTING
    more.setdefault("communicator", "0xaa")
    return event("nccl.comm_init", nature, line=line, fields=fields, **more)


def fact(name, value, line=1, **more):
    fields = {"value": value, **more.pop("fields", {})}
    return event(
        more.pop("event", name), Nature.SETTING, line=line, fields=fields, fact=name, **more
    )


def points(
    metric: str,
    values: Sequence[float],
    *,
    first: float = 1,
    steps: Sequence[float] | None = None,
    times: Sequence[float] | None = None,
    lines: Sequence[int] | None = None,
    file: str = "a.log",
    **more,
):
    count = len(values)
    return Points(
        metric=metric,
        file=file,
        steps=array("d", [first + i for i in range(count)] if steps is None else steps),
        times=array("d", [math.nan] * count if times is None else times),
        values=array("d", values),
        lines=array("q", range(1, count + 1) if lines is None else lines),
        **more,
    )


def reading(*records, sources=()):
    return Reading(
        sources=list(sources),
        events=[one for one in records if isinstance(one, Event)],
        points=[one for one in records if isinstance(one, Points)],
    )


def named(case, name):
    """Return the fields of the events of one name."""
    return [one.fields for one in case.events if one.name == name]
