"""From the times of all ranks to the one, or the few, that hold up the steps."""

from collections.abc import Iterator

from diagnose.facts.stragglers import lengths, roles, scores
from diagnose.facts.stragglers.collectives import transfers
from diagnose.facts.stragglers.gains import gains
from diagnose.facts.stragglers.places import Place
from diagnose.facts.stragglers.table import Table
from diagnose.facts.stragglers.telling import Teller
from diagnose.facts.stragglers.units import end_block, units
from diagnose.model.event import Event


def judge(compared: Table, places: dict[int, Place], *, staged: bool) -> Iterator[Event]:
    """Yield the units that hold up the steps, and what else makes ranks wait.

    Args:
        compared: The times of all ranks.
        places: Where each rank stands in the layout of the job.
        staged: Whether the size of the pipeline is known.
    """
    cells = scores.with_excess(compared)
    cells, correlation = lengths.evened(cells)
    levels = scores.usual(cells)
    imbalances, explained = roles.effects(levels, places)
    cells = scores.less(cells, explained)
    usual = scores.usual(cells)
    noise = scores.noise(cells)
    standing_out = scores.stand_out(cells, scores.bound(noise, usual))
    found, scattered = units([one.rank for one in standing_out], places)
    won = gains(cells, [unit.ranks for unit in found], scores.SIGMA * noise)
    block = None if staged else end_block(found, places)
    tell = Teller(compared, cells, places, standing_out)
    for unit, gain in zip(found, won.each, strict=True):
        if unit.is_end_stage:
            yield tell.end_stage(unit, gain)
        else:
            yield tell.straggler(unit, gain, won.explained, block)
    for imbalance in imbalances:
        yield tell.imbalance(imbalance)
    if scattered:
        yield tell.scattered(scattered)
    elif won.rest > scores.FLOOR:
        yield tell.turns(won.rest)
    if correlation is not None:
        yield tell.lengths(correlation)
    if not found and (fields := transfers(compared, cells, usual)):
        yield tell.collectives(fields)
