"""Where in a run something happens that may hold up its steps.

What the logs show happening counts before what the arguments announce.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from diagnose.facts.pace.recurrence import multiples
from diagnose.facts.pace.steps import Pace
from diagnose.facts.points import step_before
from diagnose.facts.settings import arguments, whole
from diagnose.model.event import Event, Points
from diagnose.model.reading import Reading

SAVES = ("ckpt.save", "ckpt.save_start", "ckpt.save_end", "ckpt.save_scheduled")

EVALUATIONS = ("train.eval_start", "train.eval_end")

EVERY = {
    "save": ("save_interval",),
    "evaluation": ("eval_interval",),
    "garbage collection": ("manual_gc_interval",),
    "logging": ("log_interval", "steps_per_print"),
    "accumulation": ("gradient_accumulation_steps",),
}
"""Arguments that announce it every so many steps."""

TITAN_COLLECTS = 50
"""Steps after which torchtitan collects garbage unless told otherwise."""


@dataclass(frozen=True, slots=True)
class Places:
    """The steps of one kind of thing.

    Args:
        kind: ``epoch``, or one of ``EVERY``.
        steps: In order.
        every: Their distance where an argument announces it.
        shown: Whether the logs show it happening.
    """

    kind: str
    steps: list[float]
    every: int | None
    shown: bool

    @property
    def distance(self) -> float | None:
        """How far apart they usually lie, None if that is not known."""
        apart = [late - early for early, late in pairwise(self.steps)]
        return self.every or (median(apart) if apart else None)


def places(reading: Reading, pace: Pace) -> list[Places]:
    """Return what is known to happen in a run."""
    settings = arguments(reading.events)
    counters = _counters(reading.points)
    shown = {
        "save": _happened(SAVES, reading.events, counters),
        "evaluation": [
            *_happened(EVALUATIONS, reading.events, counters),
            *_steps("validation_loss", reading.points, counters),
        ],
        "garbage collection": _steps("gc_time", reading.points, counters),
        "epoch": [*pace.epochs, *_epochs(reading.points)],
    }
    every = {
        kind: next((size for name in names if (size := whole(settings.get(name)))), None)
        for kind, names in EVERY.items()
    }
    if settings.get("job.framework") == "torchtitan" and every["garbage collection"] is None:
        every["garbage collection"] = TITAN_COLLECTS
    samples, batch = (whole(settings.get(name)) for name in ("num_examples", "global_batch_size"))
    every["epoch"] = samples // batch if samples and batch and samples > batch else None
    found = []
    for kind, announced in every.items():
        steps = sorted(set(shown.get(kind, ())))
        if steps:
            found.append(Places(kind, steps, announced, shown=True))
        elif announced and announced > 1:
            found.append(Places(kind, multiples(announced, 0, pace.steps), announced, shown=False))
    return found


def workers(reading: Reading) -> set[int]:
    """Return the distances at which a slow worker of the loader shows: their number or twice it."""
    number = whole(arguments(reading.events).get("num_workers"))
    return {number, 2 * number} if number and number > 1 else set()


def _counters(series: Iterable[Points]) -> dict[str, Points]:
    """Return the longest series of each file."""
    found: dict[str, Points] = {}
    for points in series:
        known = found.get(points.file)
        if known is None or len(points.lines) > len(known.lines):
            found[points.file] = points
    return found


def _happened(
    names: Collection[str], events: Iterable[Event], counters: Mapping[str, Points]
) -> list[float]:
    """Return the steps that some events name, else those before them in the file."""
    found: list[float] = []
    for event in events:
        if event.name not in names:
            continue
        step = event.fields.get("step")
        if step is None and event.file in counters:
            step = step_before(counters[event.file], event.line)
        if isinstance(step, int | float):
            found.append(float(step))
    return found


def _steps(
    metric: str, series: Iterable[Points], counters: Mapping[str, Points]
) -> Iterator[float]:
    """Yield the steps of a metric, of lines without a step those before them in the file."""
    for points in series:
        if points.metric != metric:
            continue
        for step, line in zip(points.steps, points.lines, strict=True):
            before = step if step == step else step_before(counters[points.file], line)
            if before is not None:
                yield float(before)


def _epochs(series: Iterable[Points]) -> list[float]:
    """Return the first step of each later whole epoch."""
    found = []
    for points in series:
        if points.metric != "epoch":
            continue
        last: float | None = None
        for epoch, step in zip(points.values, points.steps, strict=True):
            if last is not None and epoch != last and epoch == int(epoch) and step == step:
                found.append(step)
            last = epoch
    return found
