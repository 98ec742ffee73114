"""Where the time of a run went, as far as its logs tell: training, saves, restarts, lost work.

All on one clock: of each attempt the writer with most stamped steps speaks for the job, and what it
shows is laid end to end from the first stamp to the last. Each second is counted once, so that the
parts are never more than the whole.
"""

from collections.abc import Iterable, Iterator
from statistics import median

from diagnose.facts.case import Case
from diagnose.facts.goodput.account import PARTS, Save, Span, account
from diagnose.facts.goodput.job_clock import JobClock
from diagnose.facts.goodput.stretches import Stretch, evenly, stretches
from diagnose.facts.marks import ENDS
from diagnose.facts.progress import SUCCESS
from diagnose.model.event import Event, Nature
from diagnose.model.report import Goodput

FEWEST = 20
"""Stamped steps from which on an account is given."""

EVALUATION = ("train.eval_start", "train.eval_end")
"""Records of an evaluation without a loss."""

Stamped = tuple[Event, float]
"""An event and when it was printed, on the clock of the job."""

NEAR = 0.5
"""A step time that a program prints is believed from this share of the time between its lines."""


def goodput(case: Case) -> Goodput | None:
    """Return where the time of a run went.

    None where stamps or steps are missing, and where the logs are of several runs.
    """
    if case.named("job.several"):
        return None
    clock = JobClock(case.clocks, case.file_clocks)
    runs = stretches(case, clock)
    if sum(len(run.times) for run in runs) < FEWEST:
        return None
    usual = _usual(case, runs)
    stamped = _stamped(case, clock, runs)
    ends = dict(_ends(case, clock, runs, stamped))
    begin = min(runs[0].times[0], *_begins(case, clock, runs[0], stamped))
    end = max(run.times[-1] for run in runs)
    end = max(end, ends.get(runs[-1].attempt, end))
    if usual <= 0 or end <= begin:
        return None
    kept, lost_steps = _kept(case, runs)
    spans = [
        Span(run, limit, sorted(_evaluations(case, run)))
        for run, limit in zip(runs, kept, strict=True)
    ]
    spent = account(
        spans, usual, _saves(case, clock, runs), begin, end, ends,
        finished=any(event.attempt == runs[-1].attempt for event in _ended(case)),
    )  # fmt: skip
    wall = sum(spent.values())
    trained = spent["productive"]
    return Goodput(
        wall=round(wall, 3),
        **{part: round(spent[part], 3) for part in PARTS},
        goodput=round(trained / wall, 4),
        ettr=round((trained + spent["lost_work"]) / wall, 4),
        step_time=round(usual, 4),
        lost_steps=lost_steps,
    )


def _usual(case: Case, runs: list[Stretch]) -> float:
    """Return the usual seconds of a step, as printed where something else is in every line."""
    usual = median(pace for run in runs for pace in run.paces())
    files = {run.file for run in runs}
    stated = [
        value
        for points in case.series("step_time")
        if points.file in files
        for value in evenly(points.values)
    ]
    printed = median(stated) if stated else usual
    return printed if NEAR * usual <= printed < usual else usual


def _stamped(case: Case, clock: JobClock, runs: list[Stretch]) -> list[Stamped]:
    """Return what the processes of the job stamped; tools and kernels log other times as well."""
    files = {run.file for run in runs}
    return [
        (event, moment)
        for event in case.events
        if event.nature is not Nature.UNRELATED and (event.rank is not None or event.file in files)
        if (moment := clock.of(event)) is not None
    ]


def _ends(
    case: Case, clock: JobClock, runs: list[Stretch], stamped: Iterable[Stamped]
) -> Iterator[tuple[int, float]]:
    """Yield the last moment of each attempt."""
    last: dict[int, float] = {}
    for event, printed in stamped:
        last[event.attempt] = max(printed, last.get(event.attempt, printed))
    for source in case.reading.sources:
        moment = clock.at(source.last_time, source.clock, host=source.host, file=source.name)
        if moment is not None and source.name == runs[-1].file:
            attempt = runs[-1].attempt
            last[attempt] = max(moment, last.get(attempt, moment))
    yield from last.items()


def _begins(
    case: Case, clock: JobClock, first: Stretch, stamped: Iterable[Stamped]
) -> Iterator[float]:
    """Yield the moments of the attempt that came first, up to its first step."""
    for event, printed in stamped:
        own = event.rank is not None or event.file == first.file
        if own and event.attempt == first.attempt:
            yield printed
    for source in case.reading.sources:
        moment = clock.at(source.first_time, source.clock, host=source.host, file=source.name)
        if moment is not None and source.name == first.file:
            yield moment
    yield first.times[0]


def _kept(case: Case, runs: list[Stretch]) -> tuple[list[float], int]:
    """Return the step up to which each stretch was kept, and the steps that were lost in all."""
    kept = [float("inf")] * len(runs)
    lost = 0
    for number, run in enumerate(runs[1:], start=1):
        resumed = _resumed(case, run)
        lost += max(0, int(runs[number - 1].steps[-1] - resumed))
        kept[:number] = [min(limit, resumed) for limit in kept[:number]]
    return kept, lost


def _resumed(case: Case, run: Stretch) -> float:
    """Return the step from which a stretch went on: of the checkpoint, else before its first."""
    loaded = [
        step
        for event in case.events
        if event.name.startswith("ckpt.load_") and event.attempt == run.attempt
        for step in [event.fields.get("step")]
        if isinstance(step, int | float) and step <= run.steps[0]
    ]
    return max(0.0, float(loaded[-1]) if loaded else run.steps[0] - run.stride)


def _saves(case: Case, clock: JobClock, runs: list[Stretch]) -> list[Save]:
    """Return the saves that training waited for; what several ranks say of one is one save."""
    found: list[Save] = []
    for event in case.named("ckpt.save"):
        lasted, moment = event.fields.get("lasted"), clock.of(event)
        if moment is None:
            moment = next((at for run in runs if (at := run.behind(event)) is not None), None)
        if moment is not None and isinstance(lasted, int | float):
            found.append(Save(moment, float(lasted)))
    merged: list[Save] = []
    for save in sorted(found):
        begin = save.moment - save.seconds
        while merged and begin < merged[-1].moment:
            known = merged.pop()
            begin = min(begin, known.moment - known.seconds)
        merged.append(Save(save.moment, save.moment - begin))
    return merged


def _evaluations(case: Case, run: Stretch) -> Iterator[int]:
    """Yield the lines of a stretch's file that speak of an evaluation."""
    for points in case.series("validation_loss"):
        if points.file == run.file:
            yield from points.lines
    for name in EVALUATION:
        yield from (event.line for event in case.named(name) if event.file == run.file)


def _ended(case: Case) -> Iterator[Event]:
    """Yield the planned ends."""
    for name in ENDS:
        for event in case.named(name):
            if event.fields.get("reason") in SUCCESS:
                yield event
