"""Checks of rules, overlays and playbooks beyond what loading them demands."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path

from diagnose.engine.load import RuleSet, collect_rules
from diagnose.errors import Problem
from diagnose.lint import graph, playbooks, rules
from diagnose.lint.vocabulary import Vocabulary, vocabulary
from diagnose.parsers import parsers
from diagnose.playbooks import playbook_texts, read_playbook

__all__ = ["lint"]


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
    problems = list(ruleset.problems)
    texts = playbook_texts(playbook_folders, problems)
    for text in texts:
        problems += read_playbook(text)[1]
    books = {Path(text.name).stem for text in texts}
    words = vocabulary(parsers())
    ours = bool(rule_folders or playbook_folders)
    problems += _rules(ruleset, books, words, only_packs=ours)
    problems += rules.expired(ruleset, today)
    own = [Path(folder) for folder in playbook_folders]
    for text in texts:
        if not ours or Path(text.name).parent in own:
            problems += playbooks.check(text, ruleset)
    unique = dict.fromkeys(problems)
    return sorted(unique, key=lambda problem: (problem.file, problem.line, problem.column))


def _rules(
    ruleset: RuleSet, books: set[str], words: Vocabulary, *, only_packs: bool
) -> list[Problem]:
    problems: list[Problem] = []
    for rule in ruleset.rules.values():
        if only_packs and rule.pack is None:
            continue
        text = ruleset.texts[rule.id]
        mistakes = [
            *rules.check(rule, text.load(), ruleset, words, books),
            *graph.check(rule, ruleset),
        ]
        problems += map(text.problem, mistakes)
    return problems
