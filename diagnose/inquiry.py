"""Questions about rules: what one looks for, why it spoke or not, how a new one may begin."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice
from pathlib import Path

from diagnose.api import Knowledge, Paths, load_knowledge, unread
from diagnose.engine.draft_rule import draft
from diagnose.engine.match import match_rules
from diagnose.engine.reader import suggestion
from diagnose.engine.schema import Rule, event_conditions
from diagnose.engine.suppressed import suppression
from diagnose.engine.verdict import Judged, judge
from diagnose.engine.why_not import Account, account
from diagnose.errors import NoInputError, Unreadable, UsageError
from diagnose.facts.case import build
from diagnose.ingest.discover import discover
from diagnose.ingest.envelope import peel
from diagnose.ingest.sniff import identity
from diagnose.lint.vocabulary import vocabulary
from diagnose.parsers import parsers
from diagnose.scanning.inputs import read_paths
from diagnose.scanning.local import Local


@dataclass(frozen=True, slots=True)
class Answer:
    """Why a rule spoke or not.

    Args:
        account: Its conditions, held against the logs.
        findings: What it found, with the role of each.
    """

    account: Account
    findings: tuple[Judged, ...]


def rule_named(knowledge: Knowledge, name: str) -> Rule:
    """Return a rule by its id or a former one.

    Raises:
        UsageError: There is none; the nearest id is named.
    """
    rule = knowledge.rules.find(name)
    if rule is None:
        near = suggestion(name, list(knowledge.rules.rules))
        raise UsageError(f"there is no rule {name!r}{near}")
    return rule


def emitters(rule: Rule) -> Mapping[str, Sequence[str]]:
    """Return which parsers give the events that a rule looks at, by event.

    An event without a parser is worked out from other records.
    """
    words = vocabulary(parsers())
    asked = {
        one.event
        for condition in rule.conditions
        for one in event_conditions(condition)
        if one.form == "event"
    }
    return {name: sorted(words.events[name].parsers) for name in sorted(asked & set(words.events))}


def why_not(paths: Paths, name: str, *, rules: Paths = (), jobs: int | None = None) -> Answer:
    """Return why a rule speaks or does not on some logs.

    Args:
        paths: The logs.
        name: Id of the rule.
        rules: Folders with rules laid over the shipped ones.
        jobs: Worker processes; None takes the cores this process may use.

    Raises:
        NoInputError: Nothing could be read.
        RuleErrors: A rule is wrong.
        UsageError: There is no such rule.
    """
    knowledge = load_knowledge(rules)
    rule = rule_named(knowledge, name)
    reading, nothing = read_paths(
        [str(path) for path in paths],
        knowledge.reader,
        texts=lambda: knowledge.texts,
        engine=Local(jobs),
    )
    if nothing:
        raise NoInputError(unread(reading.skipped, reading.truncated))
    case = build(reading)
    outcomes = match_rules(knowledge.rules, case)
    suppressed = suppression(knowledge.rules, date.today())
    judged = judge(outcomes, knowledge.rules.causes, case, suppressed)
    by_id = {outcome.rule.id: outcome for outcome in outcomes}
    mine = tuple(one for one in judged if one.node.rule.id == rule.id)
    return Answer(account(rule, case, by_id), mine)


def new_rule(file: Path, line: int, *, identifier: str | None = None) -> str:
    """Return the beginning of a rule for a line of a log.

    Args:
        file: The log, plain or packed.
        line: Which line, 1-based.
        identifier: Id of the rule; None makes one.

    Raises:
        UsageError: The file cannot be read, or has no such line.
    """
    text = _line_of(file, line)
    reading, _ = read_paths([str(file)], load_knowledge().reader, engine=Local(1))
    events = [one for one in reading.events if one.line <= line <= one.end_line]
    bare = peel(text, file.name, line, identity(file.name)).text
    return draft(text, bare, events, source=file.name, identifier=identifier)


def _line_of(file: Path, line: int) -> str:
    sources = discover([str(file)]).sources if file.is_file() else []
    if not sources:
        raise UsageError(f"{file} cannot be read as a log; give FILE:LINE of a text file")
    try:
        with sources[0].open() as stream:
            found = next(islice(stream, line - 1, None), None)
    except Unreadable as error:
        raise UsageError(f"{file} cannot be read: {error}") from error
    if found is None:
        raise UsageError(f"{file} has no line {line}")
    text = found.decode("utf-8", "replace").strip()
    if not text:
        raise UsageError(f"line {line} of {file} is empty")
    return text
