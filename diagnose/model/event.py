"""What a parser says: an event, a measurement or a fact, each with its place in the logs."""

from array import array
from dataclasses import dataclass, field
from enum import StrEnum

Scalar = str | int | float | bool | None
Value = Scalar | list["Value"]


class Nature(StrEnum):
    """What kind of statement a record makes.

    ``ERROR`` may be a cause; ``EFFECT`` is normally a consequence of something else;
    ``TEARDOWN`` is the clean-up after an end; ``ADVICE`` is a guess the program prints and never
    evidence; ``PROGRESS`` shows that work went on; ``SETTING`` states a version, choice or
    variable; ``MEASUREMENT`` is a state or number read from a tool; ``UNRELATED`` has been found to
    speak of another job, host or time, and is no evidence either.
    """

    ERROR = "error"
    EFFECT = "effect"
    TEARDOWN = "teardown"
    ADVICE = "advice"
    PROGRESS = "progress"
    SETTING = "setting"
    MEASUREMENT = "measurement"
    UNRELATED = "unrelated"


class Clock(StrEnum):
    """What a time stamp is measured against.

    ``UTC`` states its zone; ``LOCAL`` has a date but no zone; ``YEARLESS`` lacks the year
    (syslog, glog); ``DAYTIME`` has only hours to seconds; ``UPTIME`` counts seconds since boot
    (dmesg); ``NONE`` is no stamp.
    """

    UTC = "utc"
    LOCAL = "local"
    YEARLESS = "yearless"
    DAYTIME = "daytime"
    UPTIME = "uptime"
    NONE = "none"


@dataclass(slots=True, frozen=True)
class Line:
    """One line of a source, with its launcher and collector prefixes taken off.

    Args:
        file: Name of the source as reports show it.
        number: 1-based line number in the original text.
        raw: The line as it stands in the source, without its end.
        text: The line behind all prefixes.
        time: Seconds since 1970 as the stamp reads, no zone applied unless it states one;
            for ``UPTIME`` seconds since boot, for ``YEARLESS`` the year is 1972, for
            ``DAYTIME`` the day is 1972-01-01.
        clock: What ``time`` is measured against.
        rank: Global rank, where a prefix or the file name states it.
        local_rank: Rank on its host, likewise.
        host: Short host name, likewise.
        pid: Process id, likewise.
        gpu: CUDA device index, where NCCL's prefix states it.
        stream: ``stdout``, ``stderr``, or the program a collector names.
        attempt: Restart count where the path states it (torchrun's ``attempt_1``), else 0.
    """

    file: str
    number: int
    raw: str
    text: str
    time: float | None = None
    clock: Clock = Clock.NONE
    rank: int | None = None
    local_rank: int | None = None
    host: str | None = None
    pid: int | None = None
    gpu: str | None = None
    stream: str | None = None
    attempt: int = 0


@dataclass(slots=True, kw_only=True)
class Event:
    """One statement found in the logs.

    ``event["status"]`` reads a field or one of the attributes, so that rules and templates need
    not know which of the two a name is.

    Args:
        name: Dotted, such as ``nccl.ib.completion_error``.
        nature: What kind of statement it is.
        file: Name of the source.
        line: First line, 1-based.
        end_line: Last line.
        text: The summary line as printed, at most 2,000 characters.
        fields: The values the parser captured, converted to seconds, bytes and numbers.
        time: As in ``Line``.
        clock: What ``time`` is measured against.
        rank: Global rank, None if unknown.
        local_rank: Rank on its host.
        host: Short host name, else an address.
        gpu: PCI address (``0000:5d:00.0``), else index as text.
        nic: Adapter name, such as ``mlx5_2``.
        communicator: NCCL ``commId`` or process-group name.
        pid: Process id.
        stream: As in ``Line``.
        attempt: 0 for the first start of the job, one more for each restart.
        count: How many records this one stands for; over 1 where the cap on kept records cut in.
        fact: Name of the fact this event states with its field ``value``, such as ``nccl.net``.
    """

    name: str
    nature: Nature
    file: str
    line: int
    end_line: int
    text: str
    fields: dict[str, Value] = field(default_factory=dict)
    time: float | None = None
    clock: Clock = Clock.NONE
    rank: int | None = None
    local_rank: int | None = None
    host: str | None = None
    gpu: str | None = None
    nic: str | None = None
    communicator: str | None = None
    pid: int | None = None
    stream: str | None = None
    attempt: int = 0
    count: int = 1
    fact: str | None = None

    def __getitem__(self, name: str) -> Value:
        """Return a field, else an attribute.

        Raises:
            KeyError: The event has neither.
        """
        if name in self.fields:
            return self.fields[name]
        if name in ATTRIBUTES:
            value: Value = getattr(self, name)
            return value
        raise KeyError(name)

    def number(self, name: str) -> float | None:
        """Return a field that is a number; None where it is absent or anything else."""
        value = self.fields.get(name)
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None

    @property
    def onset(self) -> float | None:
        """When it began: the stamp less the wait that the record itself states (``lasted``, s)."""
        lasted = self.fields.get("lasted")
        if self.time is None or not isinstance(lasted, int | float):
            return self.time
        return self.time - lasted


ATTRIBUTES = frozenset(Event.__slots__) - {"fields"} | {"onset"}


@dataclass(slots=True, frozen=True)
class Measurement:
    """Numbers of one moment, usually of one training step.

    Args:
        line: Where they stand.
        step: Step or iteration, None if the line has none.
        values: Metric name to value in base units (seconds, bytes, tokens/s); NaN and infinite
            values stay what they are.
    """

    line: Line
    step: float | None
    values: dict[str, float]


@dataclass(slots=True, frozen=True)
class Rows:
    """Measurements of many lines that one writer prints with the same metrics, as columns.

    Args:
        line: The first of the lines.
        steps: Step numbers.
        times: Seconds as in ``Line.time``.
        lines: 1-based line numbers.
        values: Metric name to values in base units.
    """

    line: Line
    steps: "array[float]"
    times: "array[float]"
    lines: "array[int]"
    values: dict[str, "array[float]"]


Writer = tuple[str, int | None, str | None, int]
"""File, rank, host and attempt."""


@dataclass(slots=True, kw_only=True)
class Points:
    """One metric of one writer over time, as columns of equal length in the order of the file.

    Args:
        metric: Canonical name, such as ``step_time``.
        file: Name of the source.
        rank: Global rank of the writer, if known.
        host: Host of the writer, if known.
        attempt: As in ``Event``.
        steps: Step numbers, NaN where the line had none.
        times: Seconds as in ``Line.time``, NaN where unknown.
        values: In base units; NaN and infinite values stay.
        lines: 1-based line numbers.
    """

    metric: str
    file: str
    rank: int | None = None
    host: str | None = None
    attempt: int = 0
    steps: "array[float]" = field(default_factory=lambda: array("d"))
    times: "array[float]" = field(default_factory=lambda: array("d"))
    values: "array[float]" = field(default_factory=lambda: array("d"))
    lines: "array[int]" = field(default_factory=lambda: array("q"))

    @property
    def writer(self) -> Writer:
        """Whose series it is."""
        return self.file, self.rank, self.host, self.attempt


@dataclass(slots=True, frozen=True)
class Fact:
    """A version, choice or setting that one process, host or the job has.

    Args:
        name: Dotted, such as ``nccl.version``; an environment variable is ``env.NAME``.
        value: As stated.
        host: Who has it.
        rank: Who has it.
        event: The statement.
    """

    name: str
    value: Value
    host: str | None
    rank: int | None
    event: Event
