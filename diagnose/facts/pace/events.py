"""Events that say something of the job as a whole."""

from diagnose.facts.pace.steps import Pace
from diagnose.facts.points import derived_event
from diagnose.model.event import Clock, Event, Value


def job_event(
    pace: Pace, place: int, name: str, fields: dict[str, Value], by_file: dict[str, Clock]
) -> Event:
    """Return an event that stands at a line of the pace.

    It has no rank and no host: who prints the steps is not who is slow.

    Args:
        pace: Of the job.
        place: Of the line.
        name: Of the event.
        fields: What it says.
        by_file: What the stamps of each file are measured against.
    """
    points, point = pace.at(place)
    event = derived_event(points, point, name, fields, by_file)
    event.rank = event.host = None
    return event
