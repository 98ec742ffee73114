"""The report: plain data in the shape that ``docs/report.md`` promises to other programs.

Every object has just the keys of the JSON report, in their order; unknown values are None.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

from diagnose.model.comparison import BaselineTable
from diagnose.model.reading import Extent

Role = Literal["root", "contributing", "cascade", "context"]
Level = Literal["info", "low", "medium", "high", "critical"]
Verdict = Literal["root-cause", "symptoms-only", "healthy", "no-evidence"]
StageState = Literal["clear", "fault", "suspect", "no-evidence"]

LEVELS: tuple[Level, ...] = ("info", "low", "medium", "high", "critical")
STAGES = ("dataflow", "comms", "resources", "parameters")


@dataclass(slots=True, kw_only=True)
class Placement:
    """Where one rank runs."""

    rank: int
    host: str | None = None
    local_rank: int | None = None
    gpu: str | None = None
    nics: list[str] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Job:
    """The job model: what the logs say the job is."""

    world_size: int | None = None
    ranks_seen: int = 0
    ranks_missing: list[int] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    placement: list[Placement] = field(default_factory=list)
    versions: dict[str, str | None] = field(default_factory=dict)
    parallel: dict[str, int | None] = field(default_factory=dict)
    framework: str | None = None
    attempts: int = 1
    start: str | None = None
    last_progress: dict[str, Any] | None = None
    marks: dict[str, str] = field(default_factory=dict)
    checkpoint: dict[str, Any] | None = None


@dataclass(slots=True, kw_only=True)
class Culprit:
    """Who is guilty; never the victims. NICs and GPUs are written ``host/name``."""

    ranks: list[int] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    gpus: list[str] = field(default_factory=list)
    nics: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.ranks or self.hosts or self.gpus or self.nics or self.files)


@dataclass(slots=True, kw_only=True)
class Evidence:
    """One place in the logs that a finding rests on; line 0 is a file or folder as a whole."""

    file: str
    line: int
    end_line: int
    time: str | None
    rank: int | None
    host: str | None
    text: str

    @property
    def place(self) -> str:
        """As people read it: ``file:line``."""
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(slots=True, kw_only=True)
class Curve:
    """A metric over the run, as far as its writer logged it; the steps between are drawn together.

    Args:
        metric: Canonical name, such as ``step_time``.
        unit: ``s``, ``bytes``, ``share`` (0 to 1), ``tokens/s`` and so on; None without one.
        file: Where it stands.
        rank: Its writer, if known.
        host: Likewise.
        first_step: Step of the first point, if known.
        last_step: Step of the last point, likewise.
        low: Lowest value.
        high: Highest value.
        before: The level that the finding compares with, if it does.
        after: The level or value that it found.
        values: In order, one of each stretch of points: the marked, lowest or highest one where it
            lies there, else the median; None where most are no finite numbers.
        mark: Place in ``values`` at which the finding shows.
        step: Step at which it shows.
    """

    metric: str
    unit: str | None
    file: str
    rank: int | None
    host: str | None
    first_step: int | None
    last_step: int | None
    low: float | None
    high: float | None
    before: float | None
    after: float | None
    values: list[float | None]
    mark: int | None
    step: int | None


@dataclass(slots=True, kw_only=True)
class Alternative:
    """Another cause that was weighed, and why it is not the answer."""

    cause: str
    confidence: float
    why_not: str


@dataclass(slots=True, kw_only=True)
class Step:
    """One step of a playbook, filled with the incident's values.

    Args:
        group: ``confirm``, ``fix``, ``prevent`` or ``not_if``.
        kind: ``observe``, ``safe-change``, ``disruptive`` or ``destructive``.
    """

    group: str
    text: str
    command: str | None
    kind: str
    expect: str | None
    otherwise: str | None


@dataclass(slots=True, kw_only=True)
class FilledPlaybook:
    """A playbook with the incident's values in it."""

    id: str
    title: str
    steps: list[Step]


@dataclass(slots=True, kw_only=True)
class Finding:
    """One thing the rules found."""

    key: str
    id: str
    cause: str
    stage: str
    symptoms: list[int]
    role: Role
    level: Level
    confidence: float
    owner: str
    title: str
    explanation: str
    culprit: Culprit
    first_seen: str | None
    count: int
    evidence: list[Evidence]
    explains: list[str] = field(default_factory=list)
    explained_by: list[str] = field(default_factory=list)
    missing_evidence: list[str] = field(default_factory=list)
    suppressed: dict[str, str] | None = None
    alternatives: list[Alternative] = field(default_factory=list)
    playbook: FilledPlaybook | None = None
    series: list[Curve] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Stage:
    """One of the four stages of diagnosis: what was looked at and what came of it."""

    state: StageState
    checked: int
    why: str


@dataclass(slots=True, kw_only=True)
class Moment:
    """One entry of the timeline."""

    time: str | None
    what: str
    rank: int | None
    host: str | None
    finding: str | None


@dataclass(slots=True, kw_only=True)
class UnknownError:
    """A kind of error line that no rule knows."""

    template: str
    count: int
    ranks: list[int]
    first: dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Inputs:
    """What was read, what was not and why; ``partial`` where the reading was interrupted."""

    files: int = 0
    bytes: int = 0
    lines: int = 0
    skipped: list[dict[str, str]] = field(default_factory=list)
    truncated: list[dict[str, Any]] = field(default_factory=list)
    partial: Extent | None = None


@dataclass(slots=True, kw_only=True)
class Goodput:
    """Where the time of the run went, as far as the logs tell; seconds that add up to ``wall``.

    Args:
        wall: From the first stamp to the last.
        productive: In steps that were kept.
        warm_up: Before the first step, and the excess of the first steps.
        lost_work: In steps that a restart threw away.
        save: In saves that training waited for.
        evaluation: In evaluations.
        stall: Between steps for no known reason, and from the last step to the end of an attempt.
        restart: From the end of an attempt to the first step of the next.
        unknown: The rest.
        goodput: ``productive`` over ``wall``.
        ettr: All steps over ``wall``, those that were lost as well.
        step_time: Usual seconds of a step.
        lost_steps: Steps that restarts threw away.
    """

    wall: float
    productive: float
    warm_up: float
    lost_work: float
    save: float
    evaluation: float
    stall: float
    restart: float
    unknown: float
    goodput: float
    ettr: float
    step_time: float
    lost_steps: int


@dataclass(slots=True, kw_only=True)
class ReportData:
    """One report; its fields are the keys of the JSON object, in order."""

    schema: str
    tool: dict[str, Any]
    verdict: Verdict
    summary: str
    job: Job
    findings: list[Finding]
    stages: dict[str, Stage]
    timeline: list[Moment]
    unknown_errors: list[UnknownError]
    inputs: Inputs
    goodput: Goodput | None = None
    baseline: BaselineTable | None = None
