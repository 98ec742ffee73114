"""Steps that were skipped because gradients overflowed, more densely than a loss scaler needs.

``train.overflow_streak``
    The densest ``skips`` within twenty steps (or the steps of one line, if it stands for more),
    from ``step`` on, ``since_start`` steps behind the start of the program. ``total`` and
    ``share`` are those of all steps from the hundredth on; the search of the scale before is left
    out. ``scale_before``, ``scale_after`` where the scale is known; ``goes_on`` where the last
    steps of the log were skipped as well; ``after_jump`` the steps since the loss jumped, None if
    it did not within the hundred steps before. ``shown_by`` says what was counted, see ``skips``.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

from diagnose.facts.attempts import Attempts
from diagnose.facts.losses.skips import Skip, Skips, all_skips
from diagnose.model.event import Clock, Event, Nature, Points, Value
from diagnose.model.reading import Reading

STREAK = "train.overflow_streak"

WINDOW = 20
"""Steps within which skipped ones count together."""

SEARCH = 100
"""Steps at the start of a program in which a scaler may look for its range."""

FEWEST = 3
"""Skipped steps behind the search that are worth an event."""

JUMPED = 100
"""Steps before a streak in which a jump of the loss may have led to it."""


def streaks(
    reading: Reading,
    attempts: Attempts,
    loads: Mapping[str, Sequence[Event]],
    jumps: Sequence[Event],
    by_file: dict[str, Clock],
) -> Iterator[Event]:
    """Yield the densest skips of each run.

    Args:
        reading: With ranks, hosts and attempts completed.
        attempts: Of the input.
        loads: Of checkpoints, by file.
        jumps: ``train.loss_jump`` of the input.
        by_file: What the stamps of each file are measured against.
    """
    scales = {
        (one.file, one.rank, one.host): one for one in reading.points if one.metric == "loss_scale"
    }
    for skips in all_skips(reading, attempts, loads):
        if (found := _streak(skips)) is None:
            continue
        points, (first, end, fields) = skips.points, found
        fields |= _scale(scales.get((points.file, points.rank, points.host)), first, end)
        fields["after_jump"] = _after_jump(points.file, first.step, jumps)
        clock = by_file.get(points.file, Clock.NONE)
        place = min(bisect_left(points.lines, first.line), len(points.lines) - 1)
        time = points.times[place]
        timed = time == time and clock is not Clock.NONE
        yield Event(
            name=STREAK, nature=Nature.MEASUREMENT, file=points.file, line=first.line,
            end_line=first.line, text=f"skipped steps: {fields['skips']} from {first.step:g}",
            fields=fields, time=time if timed else None, clock=clock if timed else Clock.NONE,
            rank=points.rank, host=points.host, attempt=skips.attempt,
        )  # fmt: skip


def _origin(skips: Skips) -> float:
    """Return the step behind which the program started: a log that begins with skips does so."""
    begins = skips.skips and skips.skips[0].step - skips.first <= skips.interval
    return skips.first if begins else skips.origin


def _streak(skips: Skips) -> tuple[Skip, Skip, dict[str, Value]] | None:
    origin = _origin(skips)
    late = [one for one in skips.skips if one.step - origin >= SEARCH]
    total = sum(one.count for one in late)
    if total < FEWEST:
        return None
    span = max(WINDOW, skips.interval)
    best, place, inside = (0.0, 0, 0), 0, 0.0
    for end, skip in enumerate(late):
        inside += skip.count
        while late[place].step <= skip.step - span:
            inside -= late[place].count
            place += 1
        best = max(best, (inside, place, end), key=lambda one: one[0])
    most, begin, end = best
    steps = skips.last - max(origin + SEARCH, skips.first)
    fields: dict[str, Value] = {
        "step": int(late[begin].step),
        "skips": int(most),
        "within": int(span),
        "since_start": int(late[begin].step - origin),
        "total": int(total),
        "steps": int(steps),
        "share": min(1.0, total / max(steps, total)),
        "goes_on": late[-1].step >= skips.last - skips.interval,
        "shown_by": skips.shown_by,
    }
    return late[begin], late[end], fields


def _scale(scale: Points | None, first: Skip, last: Skip) -> dict[str, Value]:
    """Return the loss scale before a streak and at its end."""
    if scale is None:
        return {"scale_before": None, "scale_after": None}
    before = bisect_left(scale.lines, first.line) - 1
    after = min(bisect_left(scale.lines, last.line), len(scale.lines) - 1)
    return {
        "scale_before": scale.values[before] if before >= 0 else None,
        "scale_after": scale.values[after],
    }


def _after_jump(file: str, step: float, jumps: Sequence[Event]) -> int | None:
    found = [
        int(step - at)
        for one in jumps
        if one.file == file
        and isinstance(at := one.fields.get("step"), int)
        and 0 <= step - at <= JUMPED
    ]
    return min(found, default=None)
