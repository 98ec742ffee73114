"""Checks of playbooks."""

import re
from collections.abc import Iterator
from typing import Any

from diagnose.engine.positions import YamlText
from diagnose.engine.reader import Mistake, Path
from diagnose.engine.rule_set import RuleSet
from diagnose.errors import Problem, RuleErrors
from diagnose.lint import templating
from diagnose.model.report import Culprit
from diagnose.playbooks import GROUPS, STANDARD, Playbook, fill, read_playbook

_DESTROYS = re.compile(
    r"(?<![\w-])(?:rm|mkfs(?:\.\w+)?|wipefs|shred|truncate|dd)\s"
    r"|git clean|kubectl delete p(?:vc?|ersist)"
)
"""Commands that lose data."""

_DISTURBS = re.compile(
    r"(?<![\w-])(?:reboot|shutdown|poweroff|kill|pkill|killall|scancel|rmmod)(?![\w-])"
    r"|systemctl\s+(?:stop|restart)|--gpu-reset|kubectl\s+(?:delete|drain|cordon)"
    r"|docker\s+(?:stop|restart|rm)|ip\s+link\s+set\s+\S+\s+down|modprobe\s+-r|[sS]tate=(?i:drain|down)"
)
"""Commands that stop work."""


def check(text: YamlText, ruleset: RuleSet, *, complete: bool = True) -> list[Problem]:
    """Return what is wrong with a playbook that can be loaded.

    Args:
        text: Its file.
        ruleset: All rules.
        complete: Demand its texts in all languages.
    """
    playbook, _ = read_playbook(text)
    if playbook is None:
        return []
    data = text.load()
    mistakes = [
        *(_untranslated(data) if complete else ()),
        *_texts(data, _given(playbook.id, ruleset)),
        *_commands(data),
        *_with_nothing_known(playbook, ruleset),
    ]
    named = any(rule.playbook == playbook.id for rule in ruleset.rules.values())
    if not named:
        mistakes.append(Mistake(("id",), "no rule names this playbook", fatal=False))
    return [text.problem(mistake) for mistake in mistakes]


def _given(identifier: str, ruleset: RuleSet) -> set[str]:
    """Return the names that every rule with this playbook gives beyond the standard ones."""
    given = [set(rule.values) for rule in ruleset.rules.values() if rule.playbook == identifier]
    return set(STANDARD).union(set.intersection(*given) if given else set())


def _untranslated(data: dict[str, Any]) -> Iterator[Mistake]:
    for path, words in _bilingual(data):
        if not str(words.get("zh") or "").strip():
            yield Mistake(path, "the Chinese text 'zh' is missing")


def _texts(data: dict[str, Any], names: set[str]) -> Iterator[Mistake]:
    for path, words in _bilingual(data):
        for language, text in words.items():
            for message in templating.mistakes(str(text), names):
                yield Mistake((*path, language), message)
    for path, step in _steps(data):
        if step.get("command") is not None:
            for message in templating.mistakes(step["command"], names):
                yield Mistake((*path, "command"), message)


def _commands(data: dict[str, Any]) -> Iterator[Mistake]:
    for path, step in _steps(data):
        command = step.get("command") or ""
        for name in templating.unquoted(command):
            message = f"the value '{name}' is not quoted; end it with the filter: {{{{ ... | q }}}}"
            yield Mistake((*path, "command"), message)
        kind = step.get("kind", "observe")
        if _DESTROYS.search(command) and kind != "destructive":
            yield Mistake((*path, "command"), f"the command loses data; its kind is not '{kind}'")
        elif _DISTURBS.search(command) and kind not in ("disruptive", "destructive"):
            yield Mistake((*path, "command"), f"the command stops work; its kind is not '{kind}'")


def _with_nothing_known(playbook: Playbook, ruleset: RuleSet) -> Iterator[Mistake]:
    values: dict[str, Any] = dict.fromkeys(_given(playbook.id, ruleset) - set(STANDARD), [])
    for lang in ("en", "zh"):
        try:
            fill(playbook, values | {"culprit": Culprit()}, lang)
        except RuleErrors as error:
            reason = error.problems[0].message
            yield Mistake((), f"cannot be filled where nothing is known: {reason}")
            return


def _steps(data: dict[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    for group in GROUPS:
        for place, step in enumerate(data.get(group) or []):
            yield (group, place), step


def _bilingual(data: dict[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    for key in ("title", "when"):
        yield (key,), data[key]
    for path, step in _steps(data):
        for key in ("text", "expect", "otherwise"):
            if step.get(key) is not None:
                yield (*path, key), step[key]
