"""What conditions select: events, facts, members of populations and series, other findings.

One set of functions answers for all of them who they speak of, what their fields are and which line
in the logs shows them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from diagnose.engine.schema import Rule
from diagnose.facts.case import Case
from diagnose.model.event import Clock, Event, Fact
from diagnose.model.report import Culprit

if TYPE_CHECKING:
    from diagnose.facts.series import SeriesView


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A rank or host that lacks something, differs from the rest, or whose series stands out.

    Args:
        rank: Its global rank, if it is one.
        host: Its host.
        value: What it has instead; None where it lacks something.
        event: The line that shows it: its own statement, or of an absence a line of those that
            have what it lacks.
    """

    rank: int | None
    host: str | None
    value: Any
    event: Event | None


@dataclass(frozen=True, slots=True, eq=False)
class Fired:
    """A finding of another rule."""

    match: "Match"


Record = Event | Fact | Member | Fired


@dataclass(frozen=True, slots=True)
class Adjusted:
    """Corroboration or doubt that held.

    Args:
        by: What it added, negative for doubt.
        events: The first lines that show it.
    """

    by: float
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Match:
    """One finding that a rule proposes.

    Args:
        rule: The rule.
        group: Value of its ``by``; None for the job, or where the records lack it.
        events: The evidence in the order of the sources, capped.
        count: How many records of the logs it stands for.
        names: Records by their ``as`` names.
        culprit: Who is guilty; NICs and GPUs without their host.
        confidence: Of the rule after ``raise`` and ``lower``.
        title: One line.
        explanation: Why.
        missing: Evidence that would decide.
        with_values: Values for the playbook.
        cleared: Later evidence made it history.
        series: The statistic behind it, if any.
        onset: The event that began first, as far as the clocks tell.
        adjusted: What raised or lowered the confidence.
        problems: Texts or searches that failed.
    """

    rule: Rule
    group: Any
    events: tuple[Event, ...]
    count: int
    names: dict[str, list[Record]]
    culprit: Culprit
    confidence: float
    title: str
    explanation: str
    missing: tuple[str, ...] = ()
    with_values: dict[str, Any] = field(default_factory=dict)
    cleared: bool = False
    series: "SeriesView | None" = None
    onset: Event | None = None
    adjusted: tuple[Adjusted, ...] = ()
    problems: tuple[str, ...] = ()


class Moment(float):
    """Seconds that print as the date and time they are.

    Args:
        seconds: As in ``Event.time``.
        shown: How they print.
    """

    def __new__(cls, seconds: float, shown: str) -> "Moment":
        """Return a number that keeps its text."""
        made = super().__new__(cls, seconds)
        made.shown = shown
        return made

    shown: str

    def __str__(self) -> str:
        return self.shown


class View:
    """A record as templates see it: any field by its name, null where it has none.

    A peer that is printed by its address is the host that has it, where the job model knows.
    """

    __slots__ = ("_case", "_record")

    def __init__(self, record: Record, case: Case) -> None:
        self._record = record
        self._case = case

    def __getitem__(self, name: str) -> Any:
        value = field_of(self._record, name, self._case)
        if name in ("time", "onset") and isinstance(value, int | float):
            event = witness(self._record)
            return moment(value, event.clock if event else Clock.NONE, self._case)
        if name == "peer" and isinstance(value, str):
            return self._case.job.host_of_address(value) or value
        return value

    def __str__(self) -> str:
        event = witness(self._record)
        return event.text if event else str(self["value"])


def moment(seconds: float, clock: Clock, case: Case) -> Moment:
    """Return a stamp that prints as reports print it, as far as its clock goes."""
    shown = case.iso(seconds, clock)
    if shown is None and clock is Clock.UPTIME:
        shown = f"{seconds:.0f} s after boot"
    if shown is None:
        form = "%m-%d %H:%M:%S" if clock is Clock.YEARLESS else "%H:%M:%S"
        shown = datetime.fromtimestamp(seconds, UTC).strftime(form)
    return Moment(seconds, shown)


def witness(record: Record) -> Event | None:
    """Return the line in the logs that shows a record."""
    if isinstance(record, Event):
        return record
    if isinstance(record, Fired):
        return record.match.events[0] if record.match.events else None
    return record.event


def witnesses(record: Record) -> tuple[Event, ...]:
    """Return all lines that show a record."""
    if isinstance(record, Fired):
        return record.match.events
    event = witness(record)
    return () if event is None else (event,)


def count_of(record: Record) -> int:
    """Return how many records of the logs this one stands for."""
    if isinstance(record, Event):
        return record.count
    return record.match.count if isinstance(record, Fired) else 1


def field_of(record: Record, name: str, case: Case) -> Any:
    """Return a field or attribute of a record, None where it has none.

    Rank and host are completed from the job model.
    """
    if name in ("rank", "host"):
        found = identities(record, name, case)
        return found[0] if found else None
    if isinstance(record, Fired):
        return getattr(record.match.culprit, name, None)
    if isinstance(record, Fact | Member) and name == "value":
        return record.value
    if isinstance(record, Fact) and name == "name":
        return record.name
    event = witness(record)
    if event is None:
        return None
    try:
        return event[name]
    except KeyError:
        return None


def identities(record: Record, kind: str, case: Case) -> tuple[Any, ...]:
    """Return who a record speaks of: none if unknown, several only for another finding.

    Args:
        record: The record.
        kind: ``rank``, ``host``, ``gpu``, ``nic``, ``communicator``, ``attempt``, ``file`` or
            ``step``.
        case: Its job model completes what the record does not print.
    """
    if isinstance(record, Fired):
        return guilty(record.match.culprit, record.match.events, kind, case)
    value = _identity(record, kind, case)
    return () if value is None else (value,)


def guilty(culprit: Culprit, events: Iterable[Event], kind: str, case: Case) -> tuple[Any, ...]:
    """Return whom a finding speaks of: its culprit where it names such, else its evidence."""
    named: list[Any] = []
    if kind == "rank":
        named = list(culprit.ranks)
    elif kind == "host":
        placed = (case.job.host_of(rank) for rank in culprit.ranks)
        named = [*culprit.hosts, *(host for host in placed if host is not None)]
    found = dict.fromkeys(named)
    if not found:
        values = (_identity(event, kind, case) for event in events)
        found = dict.fromkeys(value for value in values if value is not None)
    return tuple(found)


def _identity(record: Event | Fact | Member, kind: str, case: Case) -> Any:
    event = witness(record)
    if kind == "rank":
        return record.rank if not isinstance(record, Event) else _rank(record, case)
    if kind == "host":
        return record.host or case.job.host_of(_identity(record, "rank", case))
    if event is None:
        return None
    if kind == "gpu":
        return _gpu(record, event, case)
    if kind == "nic":
        return _on_host(record.host, event.nic)
    if kind == "step":
        return event.fields.get("step")
    if isinstance(record, Member) and record.value is None:
        return event.attempt if kind == "attempt" else None
    return getattr(event, kind)


def _rank(event: Event, case: Case) -> int | None:
    if event.rank is not None or event.host is None or event.gpu is None:
        return event.rank
    try:
        return case.job.rank_of_gpu(event.host, event.gpu)
    except ValueError:  # a GPU that is neither an index nor a PCI address
        return None


def _gpu(record: Event | Fact | Member, event: Event, case: Case) -> str | None:
    """Return ``host/gpu``; the job model's spelling where it knows the rank."""
    host = _identity(record, "host", case)
    placed = case.job.gpu_of(_identity(record, "rank", case))
    return _on_host(host, placed or event.gpu)


def _on_host(host: str | None, name: str | None) -> str | None:
    return f"{host}/{name}" if host and name else name
