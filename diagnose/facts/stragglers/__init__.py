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
from diagnose.facts.stragglers import table, unattributable
from diagnose.model.event import Clock, Event
from diagnose.model.reading import Reading

EVENTS = (
    "train.straggler", "train.ranks_imbalanced", "train.slow_collectives",
    "train.ranks_unattributable",
)  # fmt: skip


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
    # Imported here, for most inputs hold no times of two ranks.
    from diagnose.facts.stragglers.judging import judge
    from diagnose.facts.stragglers.places import places_of

    hosts = {one.rank: one.host for one in series if one.rank is not None and one.host}
    places = places_of(job, compared.ranks, hosts)
    yield from judge(compared, places, staged=job.report.parallel.get("pp") is not None)
