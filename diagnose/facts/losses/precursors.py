"""What moved in the fifty steps before the loss jumped: gradient norm, loss scale or learning rate.

``train.loss_jump`` gets these fields:

=============== ==================================================================================
``norm_known``  The gradient norm of the steps before is logged
``norm_lead``   Steps by which it rose above three times its level before the loss moved, None if
                it did not
``norm_ratio``  Highest of these norms over its level; ``norm_level``
``skips_before``Steps that were skipped for an overflow among the fifty
``rate_ratio``  Largest ratio of the learning rates of two neighbouring points, of the points near
                the jump; ``rate_before`` and ``rate_after`` are those two, at ``rate_step``
=============== ==================================================================================
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median

from diagnose.facts.losses.runs import Run, Series, Writer, writer
from diagnose.facts.points import Point, whole
from diagnose.model.event import Event

AHEAD = 50
"""Steps before a jump in which something may announce it."""

LEVEL = 100
"""Points that make the level of the norm before."""

FEWEST = 5
"""Points that the level needs."""

AT_ONCE = 3
"""Points before a jump in which a learning rate may have moved with it."""

RISEN = 3.0
"""Ratio to its level from which on a norm has risen."""


def add(jumps: Iterable[Event], runs: Sequence[Run], series: Series) -> None:
    """Add what moved before each jump, in place.

    Args:
        jumps: ``train.loss_jump`` of the input.
        runs: Of its losses.
        series: Of the input.
    """
    by_writer: dict[Writer, list[Run]] = defaultdict(list)
    for one in runs:
        by_writer[writer(one.points)].append(one)
    for jump in jumps:
        jump.fields |= {
            "norm_known": False, "norm_lead": None, "norm_ratio": None, "norm_level": None,
            "skips_before": None, "rate_ratio": None, "rate_before": None, "rate_after": None,
            "rate_step": None,
        }  # fmt: skip
        step = jump.fields.get("step")
        own = by_writer[jump.file, jump.rank, jump.host]
        run = next((it for it in own if it.above < jump.line < it.below), None)
        if run is None or not isinstance(step, int):
            continue
        _add_norm(jump, step, series.beside(run, "grad_norm", -math.inf, step - 0.5, LEVEL + AHEAD))
        _add_rate(jump, series.beside(run, "learning_rate", -math.inf, step, AT_ONCE + 1))
        skipped = series.beside(run, "skipped_steps", step - AHEAD, step - 0.5, AHEAD)
        if skipped:
            jump.fields["skips_before"] = int(sum(one.value for one in skipped))


def _add_rate(jump: Event, rates: Sequence[Point]) -> None:
    pairs = [(one, two) for one, two in pairwise(rates) if one.value > 0]
    if pairs:
        before, after = max(pairs, key=lambda pair: pair[1].value / pair[0].value)
        jump.fields |= {
            "rate_ratio": after.value / before.value,
            "rate_before": before.value,
            "rate_after": after.value,
            "rate_step": whole(after.step),
        }


def _add_norm(jump: Event, step: int, norms: Sequence[Point]) -> None:
    quiet = [one.value for one in norms if one.step < step - AHEAD]
    if len(quiet) < FEWEST:
        quiet = [one.value for one in norms[: len(norms) // 2]]
    ahead = [one for one in norms if one.step >= step - AHEAD]
    if len(quiet) < FEWEST or not ahead or not (level := median(quiet)) > 0:
        return
    risen = next((one for one in ahead if one.value >= RISEN * level), None)
    jump.fields |= {
        "norm_known": True,
        "norm_lead": None if risen is None else int(step - risen.step),
        "norm_ratio": max(one.value for one in ahead) / level,
        "norm_level": level,
    }
