"""The library: logs in, a report out. Prints nothing and never ends the process.

What only few runs need is imported where it is used: that of baselines and topologies.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diagnose.assembly import assemble
from diagnose.engine.load import collect_rules, rule_parsers, rule_texts
from diagnose.engine.match import match_rules
from diagnose.engine.rule_set import RuleSet
from diagnose.engine.suppressed import suppression
from diagnose.engine.verdict import judge
from diagnose.errors import NoInputError, RuleErrors, UsageError
from diagnose.facts.case import Case, build
from diagnose.facts.limits import NO_LIMITS, Limits
from diagnose.ingest.address import shown
from diagnose.ingest.paste import split
from diagnose.ingest.source import Source
from diagnose.model.comparison import BaselineTable
from diagnose.model.reading import Extent, Reading
from diagnose.model.report import ReportData
from diagnose.parsers import shipped
from diagnose.parsers.reader import Reader
from diagnose.playbooks import Playbook, load_playbooks
from diagnose.scanning.engines import engine_named
from diagnose.scanning.inputs import read_paths, read_texts, scan_paths
from diagnose.scanning.local import Local
from diagnose.scanning.partial import Saved
from diagnose.scanning.reading import Progress
from diagnose.version import VERSION

if TYPE_CHECKING:
    from diagnose.model.baseline import Baseline
    from diagnose.model.topology import Topology

Paths = Sequence[str | PathLike[str]]


class Report(ReportData):
    """The answer: its attributes are the keys of the JSON report."""

    def to_json(self) -> str:
        """Return the JSON report; the same input and rules give the same bytes."""
        from diagnose.render import json

        return json.render(self)

    def to_markdown(self) -> str:
        """Return the report in a form fit for a ticket."""
        from diagnose.render import markdown

        return markdown.render(self)


@dataclass(frozen=True)
class Knowledge:
    """Rules and playbooks, loaded once for any number of runs.

    Args:
        rules: The shipped ones with those of teams laid over them.
        playbooks: By id.
    """

    rules: RuleSet
    playbooks: Mapping[str, Playbook]

    @cached_property
    def reader(self) -> Reader:
        """The shipped parsers and the text selections of the rules, ready to read sources."""
        return Reader([*shipped(), *rule_parsers(self.rules)])

    @cached_property
    def texts(self) -> dict[str, str]:
        """What the rules select by text, as scans that are saved state it."""
        return rule_texts(self.rules)


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What a team says of its machines.

    Args:
        baseline: What a run should give.
        topology: The inventory of hosts, adapters and switches.
    """

    baseline: "Baseline | None" = None
    topology: "Topology | None" = None


def load_knowledge(rules: Paths = (), playbooks: Paths = ()) -> Knowledge:
    """Return the shipped rules and playbooks with those of some folders laid over them.

    Args:
        rules: Folders with rule files, overlays and causes.
        playbooks: Folders with playbook files.

    Raises:
        RuleErrors: A file is wrong; all mistakes of all files are in it.
    """
    folders, books = [Path(folder) for folder in rules], [Path(folder) for folder in playbooks]
    ruleset = collect_rules(folders)
    if folders or books:
        # Only what a team brings is looked at closely; what ships was when it was made.
        from diagnose.lint import errors_of

        problems = errors_of(folders, books, ruleset)
    else:
        problems = [problem for problem in ruleset.problems if problem.fatal]
    if problems:
        raise RuleErrors(problems)
    return Knowledge(ruleset, load_playbooks(books))


def run(
    paths: Paths | str | PathLike[str],
    *,
    rules: Paths = (),
    playbooks: Paths = (),
    jobs: int | None = None,
    engine: str = "local",
    scheduler: str | None = None,
    warn: Callable[[str], None] | None = None,
    since: str | None = None,
    until: str | None = None,
    baseline: str | PathLike[str] | None = None,
    topology: str | PathLike[str] | None = None,
    lang: str = "en",
    progress: Progress | None = None,
    keep_partial: bool = False,
) -> Report:
    """Diagnose folders, files, archives, globs, and URLs of them.

    Args:
        paths: What to read, one path or several.
        rules: Folders with rules laid over the shipped ones.
        playbooks: Folders with playbooks laid over the shipped ones.
        jobs: Worker processes; None takes the cores this process may use.
        engine: Who reads: ``local``, this machine, or ``dask``, the workers of a Dask cluster.
        scheduler: Address of the Dask scheduler, or the file it wrote. None takes the one that Dask
            is configured for, else starts workers on this machine.
        warn: Told in a sentence that a worker of the cluster was lost and its files read again.
        since: Leave out records with an earlier stamp.
        until: Leave out records with a later stamp.
        baseline: File with what is expected of the run.
        topology: File with the inventory of hosts, adapters and switches.
        lang: Language of playbook texts, ``en`` or ``zh``.
        progress: Told the bytes read and the bytes in all, now and then.
        keep_partial: On ``KeyboardInterrupt`` judge what was read until then; the report says so in
            ``inputs.partial``.

    Raises:
        ClusterError: The cluster cannot be reached, or cannot read these files.
        KeyboardInterrupt: Nothing was read before it, or what was is not wanted.
        NoInputError: Nothing could be read; ``report`` holds the report that says why.
        RuleErrors: A rule, overlay, playbook, baseline or topology is wrong.
        UsageError: ``since`` or ``until`` is not a time, or there is no such engine.
    """
    if isinstance(paths, str | PathLike):
        paths = [paths]
    limits = Limits.stated(since, until)
    expected = _expected(baseline, topology)
    knowledge = load_knowledge(rules, playbooks)
    reading, nothing = read_paths(
        [str(path) for path in paths],
        knowledge.reader,
        texts=lambda: knowledge.texts,
        engine=engine_named(engine, jobs, scheduler, warn),
        progress=progress,
        keep_partial=keep_partial,
    )
    return _report(reading, knowledge, limits, lang, expected, nothing_read=nothing)


def scan(
    paths: Paths | str | PathLike[str],
    *,
    save: str | PathLike[str],
    rules: Paths = (),
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Saved:
    """Read logs, and save what was found in a part that ``run`` takes for them.

    Args:
        paths: As for ``run``; the parts of other scans are put together.
        save: The part. It is best called after the host, ``node-07.part``: beside others its files
            are called ``node-07/...``. A part that is there is replaced.
        rules: As for ``run``; what they select by text is looked for.
        jobs: As for ``run``.
        progress: As for ``run``.

    Raises:
        NoInputError: Nothing could be read; the part is written and says why.
        RuleErrors: As for ``run``.
        UsageError: The part cannot be written, is one of the paths, or another file is there.
    """
    # Imported here: other runs write no parts.
    from diagnose.scanning.partial_file import check_target, label_of, write_part

    if isinstance(paths, str | PathLike):
        paths = [paths]
    places = [str(path) for path in paths]
    target = Path(save)
    check_target(target, places)
    knowledge = load_knowledge(rules)
    scans = scan_paths(
        places,
        knowledge.reader,
        label_of(target),
        texts=knowledge.texts,
        leave_out=target,
        engine=Local(jobs),
        progress=progress,
    )
    saved = write_part(scans, target)
    if saved.nothing:
        raise NoInputError(unread(saved.skipped))
    return saved


def run_text(
    text: str | bytes,
    *,
    rules: Paths = (),
    playbooks: Paths = (),
    since: str | None = None,
    until: str | None = None,
    baseline: str | PathLike[str] | None = None,
    topology: str | PathLike[str] | None = None,
    lang: str = "en",
    interrupted: bool = False,
) -> Report:
    """Diagnose a pasted snippet; headings such as ``==> rank0.log <==`` split it into sources.

    Args:
        text: The snippet.
        rules: As for ``run``.
        playbooks: As for ``run``.
        since: As for ``run``.
        until: As for ``run``.
        baseline: As for ``run``.
        topology: As for ``run``.
        lang: As for ``run``.
        interrupted: More would have come; the report says so in ``inputs.partial``.

    Raises:
        NoInputError: The snippet is empty; ``report`` holds the report that says so.
        RuleErrors: As for ``run``.
        UsageError: As for ``run``.
    """
    limits = Limits.stated(since, until)
    expected = _expected(baseline, topology)
    data = text.encode() if isinstance(text, str) else text
    knowledge = load_knowledge(rules, playbooks)
    return run_sources(
        split(data),
        knowledge,
        limits=limits,
        baseline=expected.baseline,
        topology=expected.topology,
        lang=lang,
        partial=Extent(read=len(data), found=None) if interrupted else None,
    )


def _expected(
    baseline: str | PathLike[str] | None, topology: str | PathLike[str] | None
) -> Expected:
    inventory = expectations = None
    if baseline is not None:
        from diagnose.engine.read_baseline import read_baseline

        expectations = read_baseline(Path(baseline))
    if topology is not None:
        from diagnose.engine.read_topology import read_topology

        inventory = read_topology(Path(topology))
    return Expected(baseline=expectations, topology=inventory)


def new_baseline(
    paths: Paths,
    *,
    file: str = "baseline.yaml",
    force: bool = False,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> str:
    """Return the baseline file that a healthy run makes.

    Args:
        paths: The logs of the run.
        file: What the baseline will be called.
        force: Take a run that is not healthy, or several jobs, as well.
        jobs: As for ``run``.
        progress: As for ``run``.

    Raises:
        NoInputError: Nothing could be read.
        UsageError: The run is not healthy, or has nothing that can be compared.
    """
    from diagnose.facts.baseline.draft import draft
    from diagnose.render import baseline_file

    knowledge = load_knowledge()
    reading, nothing_read = read_paths(
        [str(path) for path in paths],
        knowledge.reader,
        texts=lambda: knowledge.texts,
        engine=Local(jobs),
        progress=progress,
    )
    case = build(reading)
    made = draft(case, file)
    report = _concluded(reading, case, knowledge, "en", None, nothing_read=nothing_read)
    if not force and (why := _no_measure(report, case)) is not None:
        message = f"this run is no measure for others: {why}"
        raise UsageError(f"{message}. Name a healthy run, or take this one with --force")
    if not made.tests:
        raise UsageError(
            "these logs hold nothing to compare other runs with: no step times, rates or memory "
            "of training and no table of nccl-tests"
        )
    source = ", ".join(shown(str(path)) for path in paths)
    return baseline_file.render(made, source=source, version=VERSION)


def _no_measure(report: Report, case: Case) -> str | None:
    """Return why a run is no measure for others, None for a healthy run of one job."""
    if report.verdict != "healthy":
        return report.summary.removesuffix(".")
    if case.named("job.several"):
        return "these are the logs of several jobs"
    return None


def new_topology(
    paths: Paths,
    *,
    file: str = "topology.yaml",
    jobs: int | None = None,
    progress: Progress | None = None,
) -> str:
    """Return a draft of the topology file of the hosts that logs show.

    Args:
        paths: The logs.
        file: What the topology will be called.
        jobs: As for ``run``.
        progress: As for ``run``.

    Raises:
        NoInputError: Nothing could be read.
        UsageError: The logs name no hosts.
    """
    from diagnose.facts.topology.draft import draft
    from diagnose.render import topology_file

    knowledge = load_knowledge()
    reading, nothing_read = read_paths(
        [str(path) for path in paths],
        knowledge.reader,
        texts=lambda: knowledge.texts,
        engine=Local(jobs),
        progress=progress,
    )
    case = build(reading)
    if nothing_read:
        _concluded(reading, case, knowledge, "en", None, nothing_read=True)
    made = draft(case, file)
    if not made.hosts:
        raise UsageError(
            "these logs name no hosts; NCCL's lines (NCCL_DEBUG=INFO), ibstatus, iblinkinfo and "
            "nvidia-smi in files named after their hosts do"
        )
    source = ", ".join(shown(str(path)) for path in paths)
    return topology_file.render(made, source=source, version=VERSION)


def run_sources(
    sources: Sequence[Source],
    knowledge: Knowledge,
    *,
    limits: Limits = NO_LIMITS,
    baseline: "Baseline | None" = None,
    topology: "Topology | None" = None,
    lang: str = "en",
    partial: Extent | None = None,
) -> Report:
    """Diagnose sources held in memory.

    Args:
        sources: With their bytes as ``data``.
        knowledge: What to ask.
        limits: Which part of the logs counts.
        baseline: What is expected of the run.
        topology: The inventory.
        lang: Language of playbook texts.
        partial: How much came, if more would have come.

    Raises:
        NoInputError: All of them are empty; ``report`` holds the report that says so.
    """
    reading, nothing = read_texts(sources, knowledge.reader)
    reading.partial = partial
    expected = Expected(baseline=baseline, topology=topology)
    return _report(reading, knowledge, limits, lang, expected, nothing_read=nothing)


def _report(
    reading: Reading,
    knowledge: Knowledge,
    limits: Limits,
    lang: str,
    expected: Expected,
    *,
    nothing_read: bool,
) -> Report:
    limits.apply(reading)
    case = build(reading, expected.topology)
    compared = None
    if expected.topology is not None:
        from diagnose.facts.topology.judge import hold_against as hold_against_inventory

        hold_against_inventory(expected.topology, case)
    if expected.baseline is not None:
        from diagnose.facts.baseline.judge import hold_against

        compared = hold_against(expected.baseline, case)
    return _concluded(reading, case, knowledge, lang, compared, nothing_read=nothing_read)


def _concluded(
    reading: Reading,
    case: Case,
    knowledge: Knowledge,
    lang: str,
    compared: BaselineTable | None,
    *,
    nothing_read: bool,
) -> Report:
    report = _conclude(reading, case, knowledge, lang, compared)
    stated = compared is not None and any(row.measured is not None for row in compared.rows)
    if nothing_read and (reading.skipped or not stated):
        raise NoInputError(unread(reading.skipped, reading.truncated), report)
    return report


def unread(skipped: Sequence[Mapping[str, str]], cut: Sequence[Mapping[str, Any]] = ()) -> str:
    """Return that nothing could be read, with the first reasons."""
    reasons = [f"{one['file']}: {one['reason']}" for one in skipped]
    reasons += [f"{one['file']}: {one['what']}" for one in cut]
    return f"nothing could be read. {'; '.join(reasons[:3]) or 'The input is empty.'}"


def _conclude(
    reading: Reading, case: Case, knowledge: Knowledge, lang: str, compared: BaselineTable | None
) -> Report:
    rules = knowledge.rules
    outcomes = match_rules(rules, case)
    judged = judge(outcomes, rules.causes, case, suppression(rules, date.today()))
    data = assemble(
        reading,
        case,
        rules,
        outcomes,
        judged,
        knowledge.playbooks,
        version=VERSION,
        lang=lang,
        baseline=compared,
    )
    return Report(**{one.name: getattr(data, one.name) for one in fields(data)})
