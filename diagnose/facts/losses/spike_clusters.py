"""Whether the jumps of a job's losses crowd where its learning rate is highest.

``train.loss_jumps``
    Of ``jumps`` of one writer ``at_peak`` fell into steps with nine tenths of the highest learning
    rate or more, which are ``share`` of its steps; ``chance`` is the probability of so many there
    by accident. ``peak`` is that rate, ``first`` and ``last`` are the steps of the first and the
    last jump.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from diagnose.facts.losses.runs import Series
from diagnose.facts.points import event_from
from diagnose.facts.statistics import binomial_tail
from diagnose.model.event import Event, Value

NAME = "train.loss_jumps"

FEWEST = 3
"""Jumps that can crowd."""

HIGH = 0.9
"""Share of the highest learning rate from which on it counts as the peak."""


def clusters(jumps: Sequence[Event], series: Series) -> Iterator[Event]:
    """Yield how the jumps of each writer lie in the schedule of the learning rate.

    Args:
        jumps: ``train.loss_jump`` of the input.
        series: Of the input.
    """
    by_writer: dict[tuple[str, int | None, str | None], list[Event]] = defaultdict(list)
    for jump in jumps:
        if isinstance(jump.fields.get("step"), int):
            by_writer[jump.file, jump.rank, jump.host].append(jump)
    for key, found in by_writer.items():
        rates = series.by_writer.get(("learning_rate", key))
        if len(found) < FEWEST or rates is None or not rates.values:
            continue
        peak = max(rates.values)
        high = {
            step
            for step, rate in zip(rates.steps, rates.values, strict=True)
            if rate >= HIGH * peak
        }
        steps = sorted(int(str(one.fields["step"])) for one in found)
        share, count = len(high) / len(set(rates.steps)), sum(step in high for step in steps)
        last = found[-1]
        fields: dict[str, Value] = {
            "jumps": len(steps),
            "at_peak": count,
            "share": share,
            "chance": binomial_tail(count, len(steps), share),
            "peak": peak,
            "first": steps[0],
            "last": steps[-1],
        }
        yield event_from(last, NAME, fields)
