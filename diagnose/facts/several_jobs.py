"""Whether the input mixes the logs of several jobs, or of several runs of one.

=============== ================================================================================
``job.several`` The same global ranks were started by several processes at once, each set of them in
                files and a communicator of its own: their logs were put into one folder. ``ranks``
                that stand for several, ``sizes`` of the communicators, ``files``, one of each
=============== ================================================================================

Without attempts to tell them apart, a rank is one process. A file that goes on behind a restart
holds both of its processes, and a second communicator of one job is joined by the same processes.
"""

from collections.abc import Iterable, Iterator

from diagnose.model.event import Event, Nature, Value

EVENTS = ("job.several",)


FEWEST = 2
"""Ranks that must have several processes; one may be a log that was copied or numbered wrongly."""


def derive(inits: Iterable[Event]) -> Iterator[Event]:
    """Yield what shows that jobs were mixed, once.

    Args:
        inits: The ``nccl.comm_init`` of the input, with ranks and attempts completed.
    """
    inits = [event for event in inits if event.communicator]
    processes: dict[tuple[int, int], dict[str, Event]] = {}
    for event in inits:
        if event.rank is not None and event.pid is not None:
            of_rank = processes.setdefault((event.attempt, event.rank), {})
            of_rank.setdefault(event.file, event)
    members: dict[str, set[str]] = {}
    for event in inits:
        members.setdefault(str(event.communicator), set()).add(event.file)
    twice = {
        rank: list(files.values())
        for (_, rank), files in processes.items()
        if len(files) > 1 and _apart([members[str(one.communicator)] for one in files.values()])
    }
    if len(twice) < FEWEST:
        return
    shown = twice[min(twice)]
    ranks: list[Value] = [*sorted(twice)]
    sizes: list[Value] = [one.fields.get("nranks") for one in shown]
    files: list[Value] = [one.file for one in shown]
    yield Event(
        name=EVENTS[0], nature=Nature.MEASUREMENT, file=shown[-1].file, line=shown[-1].line,
        end_line=shown[-1].line, text=shown[-1].text,
        fields={"ranks": ranks, "sizes": sizes, "files": files},
        attempt=shown[-1].attempt,
    )  # fmt: skip


def _apart(groups: list[set[str]]) -> bool:
    """Return whether no two groups of files share one, and each is more than a single file."""
    return all(len(files) > 1 for files in groups) and sum(map(len, groups)) == len(
        set().union(*groups)
    )
