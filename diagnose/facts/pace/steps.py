"""The job's pace: the seconds that a step takes, one series for all attempts and ranks."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median

from diagnose.facts.points import Point
from diagnose.model.event import Points

COLUMNS = ("steps", "spans", "seconds", "gaps", "times", "lines", "work", "attempts")


@dataclass(slots=True, kw_only=True)
class Pace:
    """The series; all columns have one value for each line.

    Args:
        metric: What it is taken from; ``time`` where only stamps tell it.
        timed: Whether ``seconds`` are seconds; of a throughput without stamps they are shares.
        writers: By attempt, the series whose lines these are.
        steps: Steps, counted on where the program counts from zero in each epoch.
        spans: Steps since the line before, which it stands for.
        seconds: Of one step, the mean over those it stands for.
        gaps: Seconds since the line before that its steps do not account for; 0 where unknown.
        times: Stamps, NaN where unknown.
        lines: Where they stand.
        work: Of a step, in samples or tokens; 0 where it is not known.
        attempts: Of which start of the job they are.
        epochs: Steps at which the program's counter began anew.
        is_single: Whether ``seconds`` are those of the last step of a line alone.
    """

    metric: str
    timed: bool = True
    writers: dict[int, Points] = field(default_factory=dict)
    steps: list[float] = field(default_factory=list)
    spans: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    work: list[float] = field(default_factory=list)
    attempts: list[int] = field(default_factory=list)
    epochs: list[float] = field(default_factory=list)
    is_single: bool = False

    def __len__(self) -> int:
        return len(self.steps)

    def at(self, place: int) -> tuple[Points, Point]:
        """Return the series and the point of a line, for an event that stands there."""
        point = Point(self.steps[place], self.times[place], self.seconds[place], self.lines[place])
        return self.writers[self.attempts[place]], point

    @property
    def wall_time(self) -> float:
        """Seconds that the series covers, gaps included."""
        if self.is_single:
            usual = median(self.seconds)
            unseen = sum((span - 1) * usual for span in self.spans if span > 1)
            steps = sum(self.seconds) + unseen
        else:
            steps = sum(map(float.__mul__, self.seconds, self.spans))
        return steps + sum(gap for gap in self.gaps if gap > 0)


def stretches(pace: Pace) -> Iterator[tuple[int, int]]:
    """Yield first line and line behind the last of each attempt."""
    begin = 0
    for place in range(1, len(pace) + 1):
        if place == len(pace) or pace.attempts[place] != pace.attempts[begin]:
            yield begin, place
            begin = place
