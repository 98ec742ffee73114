"""Who holds up the steps of a synchronous job, by the times that each rank states of itself.

All ranks finish a step together. The one that holds them up works long and waits short; the others
work short and wait long. What is compared is therefore the own work, never the length of the step.

``train.straggler``
    One rank, host or tensor-parallel group (``unit``; ``ranks``) whose own work is longer than that
    of the median rank in ``share`` of the steps, ``score`` times as long there (``own`` against
    ``peers``, s). ``usual`` is the median excess over all steps, ``apart`` how far the slow steps
    lie above the others: a part-time straggler has two paces, a noisy rank one. ``phase`` says
    whether ``compute`` or ``data`` makes it so. Steps would be ``gain`` shorter without it, once
    the other units are mended, and all units together account for ``explained`` of what is lost.
    ``wait_ratio`` is its wait over that of the median rank; ``chance`` bounds the probability of
    such a rank among equal ones; ``stage``: it is a whole pipeline stage, so that the division of
    layers may be to blame as well; so it may where the size of the pipeline is not known and all
    units are the first or last part of the ranks, over ``end_block`` hosts (0 if unknown);
    ``slowest``: the ten slowest ranks.
``train.ranks_imbalanced``
    ``role`` says which places of the layout are slow on all hosts (``stage``, ``expert``,
    ``slot``), or that slow ranks are too many to be faults (``scattered``), take turns (``turns``,
    ``rest`` of the step being lost to them) or have more tokens in their batch (``lengths``, with
    the ``correlation`` of tokens and own work); ``score``, ``gain`` and ``slow`` as above.
``train.slow_collectives``
    Nobody is late, and still the shortest wait of each step is ``transfer`` seconds, ``ratio`` of
    the own work; ``rise`` is its last third over its first.
``train.ranks_unattributable``
    See ``unattributable``.
"""

from collections.abc import Iterator

from diagnose.facts.attempts import Attempts
from diagnose.facts.job import JobModel
from diagnose.facts.points import derived_event, points_of
from diagnose.facts.stragglers import lengths, roles, scores, table, unattributable
from diagnose.facts.stragglers.collectives import transfers
from diagnose.facts.stragglers.gains import gains
from diagnose.facts.stragglers.places import Place, places_of
from diagnose.facts.stragglers.telling import EVENTS, Teller
from diagnose.facts.stragglers.units import end_block, units
from diagnose.model.event import Clock, Event
from diagnose.model.reading import Reading

__all__ = ["EVENTS", "derive"]


def derive(
    reading: Reading, job: JobModel, attempts: Attempts, by_file: dict[str, Clock]
) -> Iterator[Event]:
    """Yield who holds up the steps, or why that cannot be told.

    Args:
        reading: With ranks, hosts and attempts completed.
        job: Its layout and placement.
        attempts: Of the input.
        by_file: What the stamps of each file are measured against.
    """
    series = table.own_series(reading.points)
    compared = table.read(series, attempts)
    if compared is None:
        several = (job.report.world_size or len(job.ranks)) > 1
        for points, fields in unattributable.reasons(reading.points) if several else ():
            yield derived_event(
                points, points_of(points)[-1], "train.ranks_unattributable", fields, by_file
            )
        return
    hosts = {one.rank: one.host for one in series if one.rank is not None and one.host}
    places = places_of(job, compared.ranks, hosts)
    yield from _judge(compared, places, staged=job.report.parallel.get("pp") is not None)


def _judge(compared: table.Table, places: dict[int, Place], *, staged: bool) -> Iterator[Event]:
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
