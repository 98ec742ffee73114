"""The seconds of a run, each booked once."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from operator import sub
from typing import NamedTuple

from diagnose.facts.goodput.stretches import Stretch

PARTS = (
    "productive", "warm_up", "lost_work", "save", "evaluation", "stall", "restart", "unknown",
)  # fmt: skip

SLACK = 1.5
"""Times of its usual length up to which a step is just a step."""

WARM_UP = 50
"""Steps of an attempt whose excess is its warm-up."""


class Save(NamedTuple):
    """A save that training waited for: when it is in the logs, and how long it took."""

    moment: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of steps with what is known of it.

    Args:
        run: The steps.
        kept: Steps above this one were thrown away by a restart.
        evaluations: Lines that speak of an evaluation.
    """

    run: Stretch
    kept: float
    evaluations: list[int]


def account(
    spans: Sequence[Span],
    usual: float,
    saves: Sequence[Save],
    begin: float,
    end: float,
    ends: dict[int, float],
    *,
    finished: bool,
) -> dict[str, float]:
    """Return the seconds of each part; together they are the time from begin to end.

    Where a later attempt seems to overlap an earlier one, its clock is behind: it counts from the
    end of that one, and the whole is longer than from begin to end.

    Args:
        spans: In order.
        usual: Seconds of a step.
        saves: In order.
        begin: When the run began.
        end: When it ended.
        ends: The last sign of each attempt.
        finished: Whether its end was planned.
    """
    book = _Book(usual, saves)
    cursor = begin
    previous: Stretch | None = None
    for span in spans:
        run = span.run
        first = max(cursor, run.times[0])
        # The first line sums up steps as well, where the logs reach back that far.
        own = min(first - cursor, run.stride * usual)
        if previous is None:
            book.add("warm_up", cursor, first - own)
        else:
            ended = cursor
            if run.attempt != previous.attempt:
                ended = min(max(cursor, ends.get(previous.attempt, cursor)), first - own)
            book.add("stall", cursor, ended)
            book.add("restart", ended, first - own)
        book.spent["lost_work" if run.steps[0] > span.kept else "productive"] += own
        begins = previous is not None or run.steps[0] <= WARM_UP
        cursor = book.steps(span, cursor, begins=begins)
        previous = run
    book.add("unknown" if finished else "stall", cursor, end)
    total = sum(book.spent.values())
    book.spent["unknown"] += max(0.0, end - begin - total)
    return book.spent


class _Book:
    def __init__(self, usual: float, saves: Sequence[Save]) -> None:
        self.spent = dict.fromkeys(PARTS, 0.0)
        self._usual = usual
        self._moments = [save.moment for save in saves]
        self._saves = saves

    def add(self, part: str, begin: float, end: float) -> None:
        """Book a time without steps, its saves apart."""
        if end > begin:
            saved = min(end - begin, self._saved(begin, end))
            self.spent["save"] += saved
            self.spent[part] += end - begin - saved

    def steps(self, span: Span, cursor: float, *, begins: bool) -> float:
        """Book the time between the steps of a stretch, and return where it ends.

        Args:
            span: The stretch.
            cursor: Up to when the time is booked.
            begins: Whether its first steps are those of an attempt.
        """
        run = span.run
        # A writer whose clock is behind begins where the one before it ended.
        late = max(0.0, cursor - run.times[0])
        moments = [time + late for time in run.times] if late else run.times
        work = list(map(sub, moments[1:], moments))
        strides = list(map(sub, run.steps[1:], run.steps))
        longest = SLACK * self._usual
        odd = {
            place
            for place, (took, stride) in enumerate(zip(work, strides, strict=True))
            if took > longest * stride
        }
        odd |= {
            place - 1
            for moment in self._moments
            if 0 < (place := bisect_left(moments, moment)) < len(moments)
        }
        for place in odd:
            saved = min(work[place], self._saved(moments[place], moments[place + 1]))
            self.spent["save"] += saved
            rest, bound = work[place] - saved, self._usual * strides[place]
            excess = rest - bound if rest > SLACK * bound else 0.0
            self.spent[_why(span, place, begins=begins)] += excess
            work[place] = rest - excess
        border = max(0, bisect_right(run.steps, span.kept) - 1)
        self.spent["productive"] += sum(work[:border])
        self.spent["lost_work"] += sum(work[border:])
        return moments[-1]

    def _saved(self, begin: float, end: float) -> float:
        first, last = bisect_right(self._moments, begin), bisect_right(self._moments, end)
        return sum(save.seconds for save in self._saves[first:last])


def _why(span: Span, place: int, *, begins: bool) -> str:
    """Return what made a step long."""
    above, below = span.run.lines[place], span.run.lines[place + 1]
    found = bisect_right(span.evaluations, above)
    if found < len(span.evaluations) and span.evaluations[found] < below:
        return "evaluation"
    early = span.run.steps[place + 1] - span.run.steps[0] <= WARM_UP
    return "warm_up" if begins and early else "stall"
