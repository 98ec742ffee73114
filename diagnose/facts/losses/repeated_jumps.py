"""Jumps of the loss that come back at the same step in another run of the job.

``train.jump_again``
    Two attempts, one of them resumed, jumped at ``step``, within ``apart`` steps of each other: the
    data of that place is the same. ``ratio`` of the smaller jump; ``first_file`` and ``first_line``
    name the earlier one.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from diagnose.facts.clock import Clocks
from diagnose.facts.losses.courses import RUNS_APART
from diagnose.facts.points import event_from
from diagnose.model.event import Event, Value

EVENTS = ("train.jump_again",)

NEAR = 2
"""Steps by which two jumps at one place of the data may differ, and ..."""

NEAR_SHARE = 0.001
"""... the share of the step, for logs that print every tenth."""


def derive(jumps: Sequence[Event], clocks: Clocks) -> Iterator[Event]:
    """Yield the first jump that comes back.

    Args:
        jumps: ``train.loss_jump`` of all runs, in any order.
        clocks: Of the input.
    """
    known = [one for one in jumps if isinstance(one.fields.get("step"), int)]
    for early, late in pairwise(sorted(known, key=_step)):
        apart = _step(late) - _step(early)
        if apart > max(NEAR, NEAR_SHARE * _step(late)) or not _are_two_runs(early, late, clocks):
            continue
        first, again = sorted((early, late), key=lambda one: (one.attempt, one.file, one.line))
        fields: dict[str, Value] = {
            "step": _step(again),
            "apart": apart,
            "before": again.fields.get("before"),
            "after": again.fields.get("after"),
            "ratio": min(float(str(one.fields["ratio"])) for one in (first, again)),
            "first_file": first.file,
            "first_line": first.line,
        }
        yield event_from(again, EVENTS[0], fields)
        return


def _step(event: Event) -> int:
    step = event.fields["step"]
    assert isinstance(step, int)
    return step


def _are_two_runs(one: Event, other: Event, clocks: Clocks) -> bool:
    if one.rank != other.rank:
        return False
    if one.file == other.file or one.attempt != other.attempt:
        return True
    here, there = clocks.of(one), clocks.of(other)
    if here is None or there is None or here.domain.family != there.domain.family:
        return False
    # As printed: two runs that reach the same step look like two clocks of one moment.
    return abs(here.seconds - there.seconds) > RUNS_APART
