"""Checks of rules, overlays and playbooks beyond what loading them demands."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from diagnose.engine.load import collect_rules
from diagnose.engine.overlay import merge
from diagnose.engine.reader import Mistake
from diagnose.engine.rule_set import RuleSet
from diagnose.engine.schema import Rule
from diagnose.errors import Problem
from diagnose.lint import graph, playbooks, rules
from diagnose.lint.vocabulary import Vocabulary, vocabulary
from diagnose.parsers import parsers
from diagnose.playbooks import playbook_texts, read_playbook

__all__ = ["errors_of", "lint", "without_playbook"]


def lint(
    rule_folders: Sequence[Path] = (), playbook_folders: Sequence[Path] = (), *, today: date
) -> list[Problem]:
    """Return everything wrong with rules and playbooks, in order of file and line.

    The shipped ones are checked where no folder of rules or of playbooks is given, else only what
    the folders hold.

    Args:
        rule_folders: Rules and overlays of teams.
        playbook_folders: Playbooks of teams.
        today: The date that decides whether a suppression has expired.
    """
    ruleset = collect_rules(rule_folders, with_tests=True)
    only_ours = bool(rule_folders or playbook_folders)
    problems = _checked(ruleset, playbook_folders, only_ours=only_ours, complete=True)
    return _in_order([*problems, *rules.expired(ruleset, today)])


def errors_of(
    rule_folders: Sequence[Path] = (),
    playbook_folders: Sequence[Path] = (),
    ruleset: RuleSet | None = None,
) -> list[Problem]:
    """Return the mistakes in the rules and playbooks of teams with which nothing may run.

    These are the errors of ``lint``, but for suppressions that have expired and texts without a
    translation. Costs nothing where no folder is given.

    Args:
        rule_folders: Rules and overlays of teams.
        playbook_folders: Playbooks of teams.
        ruleset: What ``collect_rules`` gives for the folders, where that is at hand.
    """
    if not (rule_folders or playbook_folders):
        return []
    collected = collect_rules(rule_folders) if ruleset is None else ruleset
    problems = _checked(collected, playbook_folders, only_ours=True, complete=False)
    return [problem for problem in _in_order(problems) if problem.fatal]


def without_playbook(ruleset: RuleSet, books: Collection[str]) -> list[Problem]:
    """Return the rules that name a playbook which is not there.

    Args:
        ruleset: All rules.
        books: Ids of all playbooks.
    """
    return [
        ruleset.texts[rule.id].problem(mistake)
        for rule in ruleset.rules.values()
        for mistake in rules.unknown_playbook(rule, books)
    ]


def _checked(
    ruleset: RuleSet, playbook_folders: Sequence[Path], *, only_ours: bool, complete: bool
) -> list[Problem]:
    problems = list(ruleset.problems)
    texts = playbook_texts(playbook_folders, problems)
    own = [Path(folder) for folder in playbook_folders]
    books = {Path(text.name).stem for text in texts}
    words = vocabulary(parsers())
    problems += _rules(ruleset, books, words, only_packs=only_ours)
    problems += _overlays(ruleset, books, words)
    problems += rules.suppressed_fields(ruleset, words)
    for text in texts:
        if not only_ours or Path(text.name).parent in own:
            problems += read_playbook(text)[1]
            problems += playbooks.check(text, ruleset, complete=complete)
    return problems


def _rules(
    ruleset: RuleSet, books: Collection[str], words: Vocabulary, *, only_packs: bool
) -> list[Problem]:
    problems: list[Problem] = []
    for rule in ruleset.rules.values():
        if only_packs and rule.pack is None:
            continue
        text = ruleset.texts[rule.id]
        mistakes = _mistakes(rule, text.load(), ruleset, words, books)
        problems += map(text.problem, mistakes)
    return problems


def _overlays(ruleset: RuleSet, books: Collection[str], words: Vocabulary) -> Iterator[Problem]:
    """Yield what changes to shipped rules make wrong, at the place of the change."""
    for text, overlay in ruleset.overlays:
        for name, change in overlay.changes.items():
            rule = ruleset.find(name)
            if rule is None or rule.pack is not None:
                continue
            data = merge(ruleset.texts[rule.id].load(), change)
            for mistake in _mistakes(rule, data, ruleset, words, books):
                if mistake.path and _is_in(change, mistake):
                    path = ("rules", name, *mistake.path)
                    yield text.problem(
                        Mistake(path, mistake.message, mistake.at_key, mistake.fatal)
                    )


def _mistakes(
    rule: Rule,
    data: Mapping[str, Any],
    ruleset: RuleSet,
    words: Vocabulary,
    books: Collection[str],
) -> list[Mistake]:
    return [*rules.check(rule, data, ruleset, words, books), *graph.check(rule, ruleset)]


def _is_in(change: Any, mistake: Mistake) -> bool:
    """Return whether a change holds what a mistake is about."""
    for part in mistake.path:
        if not isinstance(change, Mapping):
            return True
        if part not in change:
            return False
        change = change[part]
    return True


def _in_order(problems: Sequence[Problem]) -> list[Problem]:
    unique = dict.fromkeys(problems)
    return sorted(unique, key=lambda problem: (problem.file, problem.line, problem.column))
