"""What a rule is: frozen data, and the tables of keys from which it is read and documented."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

from diagnose.engine.compare import Comparison
from diagnose.model.event import Nature
from diagnose.model.report import Level

Group = Literal["rank", "host", "gpu", "nic", "attempt", "file", "job"]
Join = Literal["rank", "host", "gpu", "communicator"]
Population = Literal["ranks", "hosts"]
Scope = Literal["gpu", "rank", "host", "communicator", "job"]
RuleRole = Literal["root", "symptom", "context"]

GROUPS: tuple[Group, ...] = ("rank", "host", "gpu", "nic", "attempt", "file", "job")
JOINS: tuple[Join, ...] = ("rank", "host", "gpu", "communicator")
SCOPES: tuple[Scope, ...] = ("gpu", "rank", "host", "communicator", "job")
ROLES: tuple[RuleRole, ...] = ("root", "symptom", "context")
CULPRITS = ("ranks", "hosts", "gpus", "nics", "files")
CAPTURES = ("int", "float", "bytes", "duration", "rank", "host", "ip", "pci")
STATS = (
    "median", "p95", "mad_z", "slope", "step_change", "period", "cv", "ratio_to_peers",
    "ratio_to_baseline", "before_after",
)  # fmt: skip
SAME_STEP = "same_step"
SAME_ATTEMPT = "same_attempt"


class Key(NamedTuple):
    """One key of a mapping in a rule file.

    Args:
        type: What may stand there, in words.
        default: What holds without it; ``required`` where it must be there.
        meaning: What it says.
    """

    type: str
    default: str
    meaning: str


RULE_KEYS: Mapping[str, Key] = {
    "id": Key("kebab-case", "required", "permanent; equals the file name; says what it is"),
    "aliases": Key("list of ids", "[]", "former ids; keep working in overlays"),
    "title": Key("template", "required", "one line, with the values"),
    "cause": Key("cause", "required", "id of causes.yaml; stage, owner and symptoms come from it"),
    "symptoms": Key("list of 1-13", "from the cause", "only to narrow or extend"),
    "level": Key("info | low | medium | high | critical", "medium", "how bad if true"),
    "role": Key("root | symptom | context", "root", "whether it may be the answer"),
    "applies": Key("map of version constraints", "{}", "versions, framework and engine it is for"),
    "match": Key("condition", "required", "what must be there"),
    "unless": Key("condition or list", "none", "contradicting evidence; silences the rule"),
    "by": Key(" | ".join(GROUPS), "job", "one finding per value"),
    "culprit": Key("map of expressions", "{}", "ranks, hosts, gpus, nics, files"),
    "explains": Key("list of ids or maps", "[]", "findings that follow from this one"),
    "explained_by": Key("list of ids or maps", "none", "all that may be behind it; no other does"),
    "cleared_by": Key("condition or `progress`", "none", "later evidence that makes it history"),
    "confidence": Key("0-1", "0.7", "of the rule alone"),
    "raise": Key("list of {when, by}", "[]", "corroboration"),
    "lower": Key("list of {when, by}", "[]", "doubt"),
    "explanation": Key("template", "required unless role is context", "why, with the arithmetic"),
    "missing": Key("list of templates", "[]", "evidence that would decide, and how to get it"),
    "playbook": Key("playbook id", "required unless role is context", "what to do"),
    "with": Key("map of expressions", "{}", "values for the playbook beyond the standard ones"),
    "references": Key("list of URLs", "[]", "where more is written"),
    "tests": Key("list", "required", "logs and what the rule must say of them"),
}

_SELECT = {
    "where": Key("map of comparisons", "{}", "what the fields must be"),
    "nature": Key(
        "nature or list", "all but advice and unrelated", "which kinds of statement count"
    ),
    "count": Key("comparison", "none", "how many records"),
    "distinct": Key("{field, comparison}", "none", "how many different values of a field"),
    "rate": Key("{comparison, per}", "none", "most records in any span of that length"),
}
_MEMBER = {
    "as": Key("name", "none", "name of the records in templates, always a list"),
    "same": Key(" | ".join(JOINS), "none", "joins to the members before it, or to the finding"),
}
_ACROSS = {"across": Key("ranks | hosts", "none", "compare the members of this population")}
_CAPTURE = {
    **_SELECT,
    "capture": Key("map of types", "{}", f"types of named groups: {', '.join(CAPTURES)}"),
    "literals": Key("list of texts", "derived", "texts of which each matching line holds one"),
    **_MEMBER,
}
_FACT = {
    "where": Key("comparison, or map of comparisons", "none", "what the value must be"),
    "count": _SELECT["count"],
    "distinct": _SELECT["distinct"],
    **_ACROSS,
    "minority": Key("comparison", "none", "how many members differ from at least 75 %"),
    "missing": Key("comparison", "none", "how many members lack it"),
    **_MEMBER,
}
_SEVERAL = {
    "within": Key("duration | N lines | same_step | same_attempt", "none", "how close together"),
    "same": _MEMBER["same"],
}
CONDITION_KEYS: Mapping[str, Mapping[str, Key]] = {
    "event": {
        "event": Key("event name", "required", "a record that a parser found"),
        **_SELECT,
        **_ACROSS,
        "missing": Key("comparison", "none", "how many members lack it"),
        **_MEMBER,
    },
    "fact": {"fact": Key("fact name", "required", "a version, choice or setting"), **_FACT},
    "env": {"env": Key("variable", "required", "an environment variable"), **_FACT},
    "series": {
        "series": Key("metric", "required", "numbers over time"),
        "by": Key("rank | host | file | job", "job", "one series per value"),
        "over": Key("{last, skip}", "all", "which steps"),
        "stat": Key(" | ".join(STATS), "median", "what is computed"),
        "fraction": Key("comparison", "none", "share of windows that must satisfy it"),
        "at": Key("condition on an event", "none", "pivot of before_after"),
        "window": Key("number of steps", "20", "length of one window"),
        **{name: Key("number", "none", "bound of the statistic") for name in
           ("gte", "gt", "lte", "lt", "equals")},
        **_MEMBER,
    },
    "text": {"text": Key("text or list", "required", "all in one line"), **_CAPTURE},
    "regex": {"regex": Key("regular expression", "required", "found in a line"), **_CAPTURE},
    "rule": {"rule": Key("rule id", "required", "that rule has fired"), **_MEMBER},
    "all": {"all": Key("list of conditions", "required", "every one holds"), **_SEVERAL},
    "any": {"any": Key("list of conditions", "required", "at least one holds"),
            "same": _MEMBER["same"]},
    "sequence": {"sequence": Key("list of conditions", "required", "in this order"), **_SEVERAL},
}  # fmt: skip
"""The forms of a condition, each named by the key that marks it, with all its keys."""

EXPLAIN_KEYS: Mapping[str, Key] = {
    "rule": Key("rule id or cause:PATTERN", "required", "what it explains"),
    "scope": Key(" | ".join(SCOPES), "communicator", "what both must share"),
    "within": Key("duration", "the effect's own timeout + 60 s", "longest lag"),
    "before": Key("duration", "0", "how much later than its effect it may be logged"),
}


class Explain(NamedTuple):
    """One edge of the cascade graph.

    Args:
        target: Rule id, or ``cause:`` and a cause with ``*``.
        scope: What cause and effect must share.
        within: Longest lag in seconds; None for the effect's own timeout and 60 s.
        before: Seconds by which the cause may be logged after its effect.
    """

    target: str
    scope: Scope = "communicator"
    within: float | None = None
    before: float = 0.0


class Distinct(NamedTuple):
    """How many different values of a field."""

    field: str
    bound: Comparison


class Rate(NamedTuple):
    """Most records in any span of ``per`` seconds."""

    bound: Comparison
    per: float


@dataclass(frozen=True, slots=True)
class Quantity:
    """How many records there must be; without any, at least one."""

    count: Comparison | None = None
    distinct: Distinct | None = None
    rate: Rate | None = None

    def __bool__(self) -> bool:
        return bool(self.count or self.distinct or self.rate)

    @property
    def only_lower_bounds(self) -> bool:
        """Whether more records can never spoil it."""
        bounds = (self.count, self.distinct and self.distinct.bound, self.rate and self.rate.bound)
        return all(bound.only_lower_bounds for bound in bounds if bound)


Where = tuple[tuple[str, Comparison], ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EventCondition:
    """Records of one event; also ``text:`` and ``regex:``, which are events of their own.

    Args:
        event: Name of the event.
        where: Comparisons by field.
        nature: Kinds of statement that count; empty for all but advice and unrelated.
        quantity: How many.
        name: The ``as`` name.
        same: What it shares with the members before it.
        form: Key that marks it: ``event``, ``text`` or ``regex``.
        text: Literals of a ``text:``, all in one line.
        regex: Pattern of a ``regex:``.
        capture: Types of its named groups.
        literals: Given required literals.
        own_nature: Nature that records of a ``text:`` or ``regex:`` get.
    """

    event: str
    where: Where = ()
    nature: tuple[Nature, ...] = ()
    quantity: Quantity = Quantity()
    name: str | None = None
    same: Join | None = None
    form: Literal["event", "text", "regex"] = "event"
    text: tuple[str, ...] = ()
    regex: str | None = None
    capture: tuple[tuple[str, str], ...] = ()
    literals: tuple[str, ...] = ()
    own_nature: Nature = Nature.ERROR


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FactCondition:
    """Facts of one name; ``env:`` is the fact ``env.NAME``."""

    fact: str
    where: Where = ()
    quantity: Quantity = Quantity()
    name: str | None = None
    same: Join | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AcrossCondition:
    """Members of a population that lack something or differ from the rest.

    Args:
        of: What is looked for.
        across: The population.
        missing: How many lack it; None where ``minority`` is asked.
        minority: How many differ from a value that at least 75 % have.
        name: The ``as`` name.
        same: What it shares with the members before it.
    """

    of: EventCondition | FactCondition
    across: Population
    missing: Comparison | None = None
    minority: Comparison | None = None
    name: str | None = None
    same: Join | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeriesCondition:
    """A statistic of a metric.

    Args:
        metric: Canonical name.
        by: Whose series.
        last: Steps at the end that count; None for all.
        skip: Steps at the start that do not count.
        stat: One of ``STATS``.
        bound: Of the statistic.
        fraction: Share of windows that must satisfy it.
        at: Event that parts before from after.
        window: Steps of one window.
        name: The ``as`` name.
        same: What it shares with the members before it.
    """

    metric: str
    by: Literal["rank", "host", "file", "job"] = "job"
    last: int | None = None
    skip: int = 0
    stat: str = "median"
    bound: Comparison = Comparison(())
    fraction: Comparison | None = None
    at: EventCondition | None = None
    window: int = 20
    name: str | None = None
    same: Join | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RuleCondition:
    """Another rule has fired."""

    rule: str
    name: str | None = None
    same: Join | None = None


class Within(NamedTuple):
    """How close together the members of a condition must be.

    Args:
        kind: ``seconds``, ``lines``, ``step`` or ``attempt``.
        length: Of the window; 0 for the last two.
    """

    kind: Literal["seconds", "lines", "step", "attempt"]
    length: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class All:
    """Every member holds."""

    members: tuple["Condition", ...]
    within: Within | None = None
    same: Join | None = None
    name: None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnyOf:
    """At least one member holds."""

    members: tuple["Condition", ...]
    same: Join | None = None
    name: None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sequence:
    """Every member holds, each after the one before it."""

    members: tuple["Condition", ...]
    within: Within | None = None
    same: Join | None = None
    name: None = None


Leaf = EventCondition | FactCondition | AcrossCondition | SeriesCondition | RuleCondition
Several = All | AnyOf | Sequence
Condition = Leaf | Several


class Adjustment(NamedTuple):
    """Corroboration or doubt: what it is worth when a condition holds."""

    when: Condition
    by: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Rule:
    """One rule; the attributes are the keys of ``RULE_KEYS``.

    Args:
        stage: Of its cause.
        unless: Conditions, any of which silences it.
        cleared_by: A condition, ``progress`` or None.
        raises: The key ``raise``.
        lowers: The key ``lower``.
        values: The key ``with``.
        tests: As they stand in the file; empty unless they were asked for.
        file: Where it was read.
        pack: Folder it came from; None for a shipped rule.
    """

    id: str
    title: str
    cause: str
    stage: str
    match: Condition
    aliases: tuple[str, ...] = ()
    symptoms: tuple[int, ...] = ()
    level: Level = "medium"
    role: RuleRole = "root"
    applies: Mapping[str, str] = field(default_factory=dict)
    unless: tuple[Condition, ...] = ()
    by: Group = "job"
    culprit: Mapping[str, str] = field(default_factory=dict)
    explains: tuple[Explain, ...] = ()
    explained_by: tuple[Explain, ...] = ()
    cleared_by: Condition | Literal["progress"] | None = None
    confidence: float = 0.7
    raises: tuple[Adjustment, ...] = ()
    lowers: tuple[Adjustment, ...] = ()
    explanation: str | None = None
    missing: tuple[str, ...] = ()
    playbook: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    references: tuple[str, ...] = ()
    tests: tuple[Any, ...] = ()
    file: str = ""
    pack: str | None = None

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """All conditions at the top of a key, in the order of the keys."""
        found = [self.match, *self.unless]
        if self.cleared_by is not None and self.cleared_by != "progress":
            found.append(self.cleared_by)
        found.extend(entry.when for entry in (*self.raises, *self.lowers))
        return tuple(found)

    @cached_property
    def texts(self) -> tuple[EventCondition, ...]:
        """Its ``text:`` and ``regex:`` conditions, in the order of the file."""
        leaves = (leaf for top in self.conditions for leaf in event_conditions(top))
        return tuple(leaf for leaf in leaves if leaf.form != "event")


def walk(condition: Condition) -> Iterator[Condition]:
    """Yield a condition and all below it, in the order of the file."""
    yield condition
    if isinstance(condition, Several):
        for member in condition.members:
            yield from walk(member)


def leaves(condition: Condition) -> Iterator[Leaf]:
    """Yield the conditions below a condition that have no members."""
    for part in walk(condition):
        if not isinstance(part, Several):
            yield part


def event_conditions(condition: Condition) -> Iterator[EventCondition]:
    """Yield all conditions on events, also those inside populations and series."""
    for leaf in leaves(condition):
        inner = leaf.of if isinstance(leaf, AcrossCondition) else leaf
        if isinstance(inner, SeriesCondition) and inner.at is not None:
            yield inner.at
        if isinstance(inner, EventCondition):
            yield inner


def fact_conditions(condition: Condition) -> Iterator[FactCondition]:
    """Yield all conditions on facts, also those inside populations."""
    for leaf in leaves(condition):
        inner = leaf.of if isinstance(leaf, AcrossCondition) else leaf
        if isinstance(inner, FactCondition):
            yield inner


def event_names(rule: Rule) -> frozenset[str]:
    """Return the names of parsers' events that a rule asks for."""
    return frozenset(
        leaf.event
        for top in rule.conditions
        for leaf in event_conditions(top)
        if leaf.form == "event"
    )


def fact_names(rule: Rule) -> frozenset[str]:
    """Return the names of facts that a rule asks for."""
    return frozenset(leaf.fact for top in rule.conditions for leaf in fact_conditions(top))


def series_names(rule: Rule) -> frozenset[str]:
    """Return the metrics that a rule asks for."""
    return frozenset(
        leaf.metric
        for top in rule.conditions
        for leaf in leaves(top)
        if isinstance(leaf, SeriesCondition)
    )


def rule_names(rule: Rule) -> frozenset[str]:
    """Return the other rules that a rule asks for."""
    return frozenset(
        leaf.rule
        for top in rule.conditions
        for leaf in leaves(top)
        if isinstance(leaf, RuleCondition)
    )


def field_names(rule: Rule) -> frozenset[tuple[str, str]]:
    """Return (event, field) of every field that a condition on an event reads."""
    found: set[tuple[str, str]] = set()
    for top in rule.conditions:
        for leaf in event_conditions(top):
            found.update((leaf.event, name) for name, _ in leaf.where)
            if leaf.quantity.distinct is not None:
                found.add((leaf.event, leaf.quantity.distinct.field))
    return frozenset(found)


def names(condition: Condition) -> frozenset[str]:
    """Return the ``as`` names that a condition gives."""
    return frozenset(leaf.name for leaf in leaves(condition) if leaf.name)


def compares_population(rule: Rule) -> bool:
    """Return whether a rule claims by comparison or absence, so that missing logs matter."""
    peers = ("mad_z", "ratio_to_peers")
    return any(
        isinstance(leaf, AcrossCondition)
        or (isinstance(leaf, SeriesCondition) and leaf.by != "job" and leaf.stat in peers)
        for leaf in leaves(rule.match)
    )
