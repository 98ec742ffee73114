"""Runs the tests in rule files: each through the whole pipeline, with all rules loaded once."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from diagnose.api import Knowledge, run_sources
from diagnose.engine.load import load_rules
from diagnose.engine.reader import Reader
from diagnose.engine.rule_set import RuleSet
from diagnose.engine.schema import Rule
from diagnose.errors import NoInputError, RuleErrors
from diagnose.ingest.source import Source
from diagnose.lint import errors_of, without_playbook
from diagnose.lint.cases import Case, Expectation, read_cases
from diagnose.model.report import Finding, ReportData
from diagnose.playbooks import load_playbooks


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one test.

    Args:
        rule: Id of the rule.
        test: Name of the test.
        file: File of the rule.
        failures: What was expected and what was found; empty where the test passed.
    """

    rule: str
    test: str
    file: str
    failures: tuple[str, ...]


def chosen(rules: RuleSet, *, only_packs: bool) -> list[Rule]:
    """Return the rules whose tests are to run.

    Args:
        rules: Loaded with their tests.
        only_packs: Leave out the shipped ones.
    """
    return [rule for rule in rules.rules.values() if rule.pack is not None or not only_packs]


def run_tests(knowledge: Knowledge, rules: Iterable[Rule]) -> Iterator[Outcome]:
    """Yield the outcome of each test of some rules.

    Args:
        knowledge: All rules and playbooks.
        rules: Whose tests are run; they were loaded with their tests.
    """
    for rule in rules:
        reader = Reader()
        for case in read_cases(list(rule.tests), reader):
            failures = tuple(_failures(rule, case, _report(knowledge, case)))
            yield Outcome(rule.id, case.name, rule.file, failures)
        for mistake in reader.mistakes:
            yield Outcome(rule.id, f"test {_number(mistake.path)}", rule.file, (mistake.message,))


def load_knowledge(rules: Iterable[Path] = (), playbooks: Iterable[Path] = ()) -> Knowledge:
    """Return rules with their tests, and playbooks.

    Raises:
        RuleErrors: A file is wrong; all mistakes of all files are in it.
    """
    folders, books = list(rules), list(playbooks)
    if problems := errors_of(folders, books):
        raise RuleErrors(problems)
    knowledge = Knowledge(load_rules(folders, with_tests=True), load_playbooks(books))
    if problems := without_playbook(knowledge.rules, set(knowledge.playbooks)):
        raise RuleErrors(problems)
    return knowledge


def _number(path: tuple[str | int, ...]) -> int:
    return path[1] + 1 if len(path) > 1 and isinstance(path[1], int) else 0


def _report(knowledge: Knowledge, case: Case) -> ReportData:
    sources = []
    for name, text in sorted(case.logs.items()):
        data = text.encode()
        sources.append(Source(name=name, path=None, size=len(data), data=data))
    try:
        return run_sources(sources, knowledge, baseline=case.baseline, topology=case.topology)
    except NoInputError as error:
        if error.report is None:
            raise
        return error.report


def _failures(rule: Rule, case: Case, report: ReportData) -> list[str]:
    """Return what differs from the expectation; of several findings the best fitting counts."""
    findings = [finding for finding in report.findings if finding.id == rule.id]
    failed = list(_failed_texts(rule, report))
    if not case.expect.fires:
        return [*failed, *(f"expected no finding, found: {finding.title}" for finding in findings)]
    if not findings:
        others = ", ".join(finding.key for finding in report.findings)
        only = f"only {others}" if others else "none of any rule"
        return [*failed, f"expected a finding, found {only}"]
    explained = {finding.key: finding.id for finding in report.findings}
    tried = [list(_differences(case.expect, finding, explained)) for finding in findings]
    return [*failed, *min(tried, key=len)]


def _failed_texts(rule: Rule, report: ReportData) -> Iterator[str]:
    """Yield why texts of the rule could not be filled, or its search was cut short."""
    for note in report.inputs.truncated:
        what = str(note["what"])
        if note["file"] is None and what.startswith(f"{rule.id}: "):
            yield f"failed while it ran: {what.removeprefix(f'{rule.id}: ')}"


def _differences(expect: Expectation, finding: Finding, explained: dict[str, str]) -> Iterator[str]:
    if expect.root is not None and expect.root != (finding.role == "root"):
        wanted = "a root" if expect.root else "no root"
        by = f", explained by {', '.join(finding.explained_by)}" if finding.explained_by else ""
        yield f"expected {wanted}, found role {finding.role}{by}"
    for kind, wanted_names in (expect.culprit or {}).items():
        found = sorted(map(str, getattr(finding.culprit, kind)))
        if found != sorted(wanted_names):
            yield f"expected {kind} {list(wanted_names)}, found {found}"
    if not expect.least <= finding.confidence <= expect.most:
        bounds = f"{expect.least:g} to {expect.most:g}"
        yield f"expected a confidence of {bounds}, found {finding.confidence:g}"
    effects = {*finding.explains, *(explained.get(key, "") for key in finding.explains)}
    for rule in expect.explains:
        if rule not in effects:
            yield f"expected that it explains {rule}, found {sorted(finding.explains)}"
    places = [f"{place.file}:{place.line}" for place in finding.evidence]
    for place in expect.evidence:
        if place not in places:
            yield f"expected evidence {place}, found {places}"
