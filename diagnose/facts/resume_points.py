"""What the checkpoints of a folder or listing mean for the run in the logs.

======================= ========================================================================
``ckpt.resume_point``   The newest complete checkpoint of a run: ``step``, ``path``, what is wrong
                        with the ``newer`` ones, and the work behind it that the logs show: ``last``
                        step, ``steps`` and ``seconds`` lost; ``ahead`` where it is beyond all
                        steps of a run that found nothing in its folder
``ckpt.layout_differs`` The newest checkpoint was ``saved`` by another world or parallel size
                        (``what``) than the run has (``current``); ``loaded`` if the logs load one
``ckpt.rng_count``      Files of random states beside the ranks of the run
======================= ========================================================================
"""

from collections.abc import Iterable, Iterator, Sequence

from diagnose.facts.checkpoints import usual_step_time
from diagnose.facts.points import event_from
from diagnose.model.event import Event, Value
from diagnose.model.reading import Reading
from diagnose.model.report import Job

EVENTS = ("ckpt.resume_point", "ckpt.layout_differs", "ckpt.rng_count")

LOADS = ("ckpt.load_start", "ckpt.load_end", "ckpt.load_failed")


def derive(reading: Reading, job: Job) -> Iterator[Event]:
    """Yield the events of this module.

    Args:
        reading: Completed.
        job: With world size, parallel layout and last step.
    """
    last = job.last_progress["step"] if job.last_progress else None
    step_time = usual_step_time(reading.points)
    loaded = any(event.name in LOADS for event in reading.events)
    looked_in = set(_looked_in(reading.events))
    for event in _newest(reading.events, "ckpt.newest_complete", "parent"):
        fields = _resume_point(event, last, step_time)
        fields["ahead"] = fields["steps"] is None and event.fields.get("parent") in looked_in
        yield event_from(event, "ckpt.resume_point", fields)
    for event in _newest(reading.events, "ckpt.folder", "run"):
        for what, saved, current in _layouts(event, job):
            if saved is None or current is None or saved == current:
                continue
            fields = {
                "path": event.fields.get("path"),
                "what": what,
                "saved": saved,
                "current": current,
                "reshards": event.fields.get("reshards"),
                "loaded": loaded,
            }
            yield event_from(event, "ckpt.layout_differs", fields)
        files = event.fields.get("rng_files")
        if files and job.world_size and files != job.world_size:
            counts: dict[str, Value] = {
                "path": event.fields.get("path"),
                "files": files,
                "ranks": job.world_size,
                "loaded": loaded,
            }
            yield event_from(event, "ckpt.rng_count", counts)


def _newest(events: Sequence[Event], name: str, key: str) -> list[Event]:
    """Return the event of the highest step of each run."""
    found: dict[Value, Event] = {}
    for event in events:
        run = event.fields.get(key)
        if event.name == name and (
            run not in found or (event.number("step") or 0) > (found[run].number("step") or 0)
        ):
            found[run] = event
    return list(found.values())


def _looked_in(events: Iterable[Event]) -> Iterator[str]:
    """Yield the folders in which a start found no checkpoint."""
    for event in events:
        path = event.fields.get("path")
        if event.name == "ckpt.load_fresh" and isinstance(path, str):
            yield path.rstrip("/")
            yield path.rpartition("/")[0]


def _resume_point(event: Event, last: float | None, step_time: float | None) -> dict[str, Value]:
    step = event.number("step")
    lost = last - step if last is not None and step is not None and last >= step else None
    return {
        "step": event.fields.get("step"),
        "path": event.fields.get("path"),
        "newer": event.fields.get("newer"),
        "last": last,
        "steps": lost,
        "seconds": lost * step_time if lost is not None and step_time else None,
    }


def _layouts(event: Event, job: Job) -> Iterator[tuple[str, Value, Value]]:
    """Yield what names of files and the run both state."""
    fields, parallel = event.fields, job.parallel
    yield "world size", fields.get("world_size") or fields.get("zero_ranks"), job.world_size
    if fields.get("layout") == "megatron":
        yield "tensor parallel size", fields.get("tp"), parallel.get("tp")
        if not (parallel.get("ep") or 1) > 1:
            yield "pipeline parallel size", fields.get("pp"), parallel.get("pp")
