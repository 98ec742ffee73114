"""How long a program says that one piece of its work took.

::

    Worker[rank=5]: export/gather_weights done after 1840.22s
    [Rank 2] building the index map took 913 s

``work.lasted`` has ``what`` as printed, ``elapsed`` in seconds and the rank, where the line names one.
Only durations of 100 s and more are read: shorter ones are steps and their parts, by the million, and
make nobody wait.

*Empty*: the program states no durations. *Cut off*: a line without its unit gives nothing.
"""

from diagnose.model.event import Event, Line, Nature
from diagnose.parsers.base import LineParser, Pattern
from diagnose.parsers.convert import seconds

_AMOUNT = r"(?P<elapsed>\d{3,6}(?:\.\d{1,6})? ?s(?:ec(?:ond)?s?)?)\b"
_RANK = r"(?:\[?\b[Rr]ank[=: ]?(?P<rank>\d{1,6})\]?[:,]? ?)?"


def _named(event: Event, line: Line) -> Event | None:
    """Leave out what other dialects measure: checkpoints, and waits that are no work."""
    what = str(event.fields["what"]).lower()
    other = ("checkpoint", "wait", "timeout", "timed out", "epoch", "iteration", "job", "training")
    return None if any(word in what for word in other) else event


def _lasted(regex: str, sample: str) -> Pattern:
    return Pattern(
        event="work.lasted",
        regex=regex,
        nature=Nature.MEASUREMENT,
        source="training programs and their libraries, in plain words",
        sample=sample,
        types={"elapsed": seconds},
    )


DURATIONS = LineParser(
    name="work-durations",
    title="How long a piece of work took, in the program's own words",
    patterns=(
        _lasted(
            rf"{_RANK}(?P<what>[A-Za-z][\w/. ()-]{{3,100}}?)[ _](?:done|finished|completed|ended) (?:after|in) {_AMOUNT}",
            "Worker[rank=5]: export/gather_weights done after 1840.22s",
        ),
        _lasted(
            rf"{_RANK}(?P<what>[A-Za-z][\w/. ()-]{{3,100}}?) took {_AMOUNT}",
            "[Rank 2] building the index map took 913 s",
        ),
    ),
    refine=_named,
)

PARSERS = (DURATIONS,)
