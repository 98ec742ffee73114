"""How long a job had stood still when the scheduler ended it.

``slurm.cancelled`` gets ``stalled``: seconds from the last step that the whole job completed to the
end that the line states, None where the logs show no step or the stamps do not tell. A limit that
ends a job in its steps is the end that was planned; one that ends it hours after them only ended a
hang.
"""

from collections.abc import Iterable

from diagnose.facts.clock import Clocks
from diagnose.facts.progress import Progress
from diagnose.ingest.stamp import parse_stamp
from diagnose.model.event import Event

NAME = "slurm.cancelled"


def relate_cancels(events: Iterable[Event], progress: Progress, clocks: Clocks) -> None:
    """Complete the ends by Slurm, in place.

    Args:
        events: All of the input.
        progress: Of the input.
        clocks: Of the input, repaired.
    """
    ends = [event for event in events if event.name == NAME]
    last = progress.last_step() if ends else None
    for event in ends:
        event.fields["stalled"] = None
        stamp = parse_stamp(str(event.fields.get("at") or ""))
        if stamp is None or last is None or last.instant is None:
            continue
        at = clocks.instant(*stamp, host=event.host, file=event.file)
        apart = clocks.difference(last.instant, at)
        event.fields["stalled"] = None if apart is None else max(0.0, apart[0])
