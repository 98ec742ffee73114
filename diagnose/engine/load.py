"""Finds and reads rules, causes and overlays: the shipped ones and those of teams."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from itertools import islice
from pathlib import Path
from typing import Any

from diagnose import shipped
from diagnose.engine.kept_rules import KeptRules, find_rules, keep_rules
from diagnose.engine.overlay import Overlay, merge, read_overlay
from diagnose.engine.patterns import rule_patterns, text_digests, weak_texts
from diagnose.engine.positions import YamlText, read_text
from diagnose.engine.read_cause import read_cause
from diagnose.engine.read_rule import read_rule
from diagnose.engine.reader import Mistake, Reader, suggestion
from diagnose.engine.rule_set import RuleSet
from diagnose.engine.schema import Rule, rule_names
from diagnose.errors import MistakeFound, Problem, RuleErrors
from diagnose.kept import Kept
from diagnose.model.report import STAGES
from diagnose.model.taxonomy import Cause
from diagnose.parsers.base import LineParser

CAUSES = "causes.yaml"
OVERLAY = "overlay.yaml"
FILE_LIMIT = 5_000
"""Files in one folder of rules, so that a wrong path does not read a whole disk."""

ENTRY_LIMIT = 200_000
"""Entries looked at below one folder, likewise."""

_CODE = Path(__file__).parent
"""What reads the rules."""


def load_rules(folders: Sequence[Path] = (), *, with_tests: bool = False) -> RuleSet:
    """Return the shipped rules with those of folders laid over them.

    Args:
        folders: Folders, or single rule files, later ones over earlier ones.
        with_tests: Also read the rules' tests.

    Raises:
        RuleErrors: Something is wrong in them; it lists all that is.
    """
    found = collect_rules(folders, with_tests=with_tests)
    fatal = [problem for problem in found.problems if problem.fatal]
    if fatal:
        raise RuleErrors(fatal)
    return found


def collect_rules(
    folders: Sequence[Path] = (), *, with_tests: bool = False, root: Traversable | None = None
) -> RuleSet:
    """Return all rules that can be read, and in ``problems`` what is wrong with the others.

    Args:
        folders: As in ``load_rules``.
        with_tests: Also read the rules' tests.
        root: Folder of the shipped rules, the installed one by default.
    """
    root = shipped.root("rules") if root is None else root
    loader = _Loader(with_tests)
    kept = None if with_tests else Kept(root, _CODE)
    rules = None if kept is None else find_rules(kept, root)
    if rules is not None:
        if not folders:
            return RuleSet(
                rules, rules.causes, rules.aliases, texts=rules.texts, premises=rules.premises
            )
        loader.add_kept(rules)
    else:
        loader.add_shipped(root)
        if kept is not None:
            found = loader.result()
            loader.keep(found, kept)
            if not folders:
                return found
    for folder in folders:
        loader.add_folder(folder)
    return loader.result()


def rule_parsers(rules: RuleSet) -> list[LineParser]:
    """Return the parsers that find the lines which rules select by text."""
    return rule_patterns(_selecting(rules))


def rule_texts(rules: RuleSet) -> dict[str, str]:
    """Return what rules select by text, by event: equal digests select the same lines."""
    return text_digests(_selecting(rules))


def _selecting(rules: RuleSet) -> Iterator[Rule]:
    return (rules.rules[name] for name in rules.rules if rules.premise(name).selects)


@dataclass(slots=True)
class _Source:
    """A rule as it was read, before overlays."""

    text: YamlText
    data: dict[str, Any]
    stage: str | None
    pack: str | None


@dataclass(slots=True)
class _Loader:
    with_tests: bool
    sources: dict[str, _Source] = field(default_factory=dict)
    causes: dict[str, Cause] = field(default_factory=dict)
    overlays: list[tuple[YamlText, Overlay]] = field(default_factory=list)
    packs: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def add_shipped(self, root: Traversable) -> None:
        self._add_causes(root / CAUSES, f"rules/{CAUSES}", of_team=False)
        for stage in STAGES:
            folder = root / stage
            if folder.is_dir():
                for path in _by_name(folder.iterdir()):
                    if path.name.endswith(".yaml"):
                        self._add_rule(path, f"rules/{stage}/{path.name}", stage, None)

    def add_kept(self, rules: KeptRules) -> None:
        self.causes.update(rules.causes)
        for name, premise in rules.premises.items():
            data = rules.data(name)
            self.sources[name] = _Source(rules.texts[name], data, premise.stage, None)

    def keep(self, found: RuleSet, kept: Kept) -> None:
        """Keep the shipped rules, unless something is wrong with them."""
        if not found.problems:
            data = {name: source.data for name, source in self.sources.items()}
            premises = [found.premise(name) for name in data]
            keep_rules(kept, data, found.causes, found.aliases, premises)

    def add_folder(self, folder: Path) -> None:
        if not folder.exists():
            self._wrong(str(folder), "no such folder of rules")
            return
        pack = folder.resolve().name
        self.packs.append(pack)
        files = list(_files(folder))
        if len(files) > FILE_LIMIT:
            message = f"more than {FILE_LIMIT} YAML files; name the folder of rules itself"
            self._wrong(str(folder), message)
            return
        overlays = [path for path in files if path.name == OVERLAY]
        for path in overlays[1:]:
            self._wrong(str(path), f"a folder has one {OVERLAY}; the other is {overlays[0]}")
        for path in files:
            if path.name == CAUSES:
                self._add_causes(path, str(path), of_team=True)
        for path in files:
            if path.name not in (CAUSES, OVERLAY):
                self._add_rule(path, str(path), None, pack)
        for path in overlays[:1]:
            self._add_overlay(path)

    def result(self) -> RuleSet:
        aliases = self._aliases()
        disabled, changes = self._overlay(aliases)
        rules: dict[str, Rule] = {}
        for name, source in self.sources.items():
            rule = self._read(name, source, changes.get(name, []))
            if rule is not None and name not in disabled:
                rules[name] = rule
        self._check_references(rules, aliases, disabled)
        problems = dict.fromkeys(self.problems)
        return RuleSet(
            rules=rules,
            causes=self.causes,
            aliases=aliases,
            disabled=disabled,
            suppressions=tuple(s for _, overlay in self.overlays for s in overlay.suppressions),
            packs=tuple(self.packs),
            problems=tuple(sorted(problems, key=lambda p: (p.file, p.line, p.column))),
            texts={name: source.text for name, source in self.sources.items()},
            overlays=tuple(self.overlays),
        )

    def _wrong(self, file: str, message: str, *, fatal: bool = True) -> None:
        self.problems.append(Problem(file, 0, 0, message, fatal))

    def _open(
        self, path: Traversable, name: str, *, with_tests: bool, of_team: bool
    ) -> tuple[YamlText, Any]:
        text = read_text(path, name)
        data = text.load(with_tests=with_tests)
        if self.with_tests or of_team:
            self.problems.extend(text.duplicate_keys())
        return text, data

    def _add_causes(self, path: Traversable, name: str, *, of_team: bool) -> None:
        try:
            text, data = self._open(path, name, with_tests=True, of_team=of_team)
        except MistakeFound as found:
            self.problems.append(found.problem)
            return
        reader = Reader()
        for place, entry in enumerate(reader.sequence(data, ())):
            cause = read_cause(entry, place, reader)
            if cause is None:
                continue
            if cause.id in self.causes:
                reader.wrong((place, "id"), f"there is a cause '{cause.id}' already")
            else:
                self.causes[cause.id] = cause
        self.problems.extend(map(text.problem, reader.mistakes))

    def _add_rule(self, path: Traversable, name: str, stage: str | None, pack: str | None) -> None:
        try:
            text, data = self._open(
                path, name, with_tests=self.with_tests, of_team=pack is not None
            )
        except MistakeFound as found:
            self.problems.append(found.problem)
            return
        identifier = path.name.rpartition(".")[0]
        if not isinstance(data, dict):
            self._wrong(name, "expected a rule: a map with id, title, cause, match and more")
            return
        if data.get("id") is not None and data["id"] != identifier:
            message = f"the id '{data['id']}' differs from the file name '{identifier}'"
            self.problems.append(text.problem(Mistake(("id",), message)))
            return
        other = self.sources.get(identifier)
        if other is not None:
            advice = "choose another id" if other.pack else "change it in overlay.yaml instead"
            message = f"a rule '{identifier}' is there already ({other.text.name}); {advice}"
            self.problems.append(text.problem(Mistake(("id",), message)))
            return
        if not text.has_tests:
            message = "'tests' is missing: samples that fire and near misses that do not"
            self.problems.append(text.problem(Mistake((), message, fatal=pack is None)))
        self.sources[identifier] = _Source(text, data, stage, pack)

    def _add_overlay(self, path: Path) -> None:
        try:
            text, data = self._open(path, str(path), with_tests=True, of_team=True)
        except MistakeFound as found:
            self.problems.append(found.problem)
            return
        reader = Reader()
        self.overlays.append((text, read_overlay(data, reader)))
        self.problems.extend(map(text.problem, reader.mistakes))

    def _aliases(self) -> dict[str, str]:
        aliases: dict[str, str] = {}
        for name, source in self.sources.items():
            former = source.data.get("aliases")
            for alias in map(str, former if isinstance(former, list) else ()):
                taken = alias if alias in self.sources else aliases.get(alias)
                if taken is not None:
                    message = f"the alias '{alias}' belongs to the rule '{taken}'"
                    self.problems.append(source.text.problem(Mistake(("aliases",), message)))
                else:
                    aliases[alias] = name
        return aliases

    def _overlay(
        self, aliases: Mapping[str, str]
    ) -> tuple[frozenset[str], dict[str, list[tuple[YamlText, str, Mapping[str, Any]]]]]:
        """Return the rules switched off, and by rule the changes with where they stand."""
        disabled: set[str] = set()
        changes: dict[str, list[tuple[YamlText, str, Mapping[str, Any]]]] = {}
        known = {*self.sources, *aliases}
        for text, overlay in self.overlays:
            for name in (*overlay.changes, *overlay.disabled):
                if name not in known:
                    message = f"unknown rule '{name}'{suggestion(name, known)}"
                    self.problems.append(text.problem(Mistake(("rules", name), message, True)))
            for entry in overlay.suppressions:
                if entry.rule not in known:
                    message = f"unknown rule '{entry.rule}'{suggestion(entry.rule, known)}"
                    path = ("suppress", entry.place, "rule")
                    self.problems.append(text.problem(Mistake(path, message)))
            disabled.update(aliases.get(name, name) for name in overlay.disabled)
            for name, change in overlay.changes.items():
                entry_list = changes.setdefault(aliases.get(name, name), [])
                entry_list.append((text, name, change))
        return frozenset(disabled), changes

    def _read(
        self, name: str, source: _Source, changes: list[tuple[YamlText, str, Mapping[str, Any]]]
    ) -> Rule | None:
        rule, mistakes = read_rule(
            source.data,
            self.causes,
            file=source.text.name,
            pack=source.pack,
            check_patterns=self._is_judged(source),
        )
        self.problems.extend(map(source.text.problem, mistakes))
        if rule is None:
            return None
        data: Mapping[str, Any] = source.data
        for text, key, change in changes:
            data = merge(data, change)
            changed, mistakes = read_rule(
                data, self.causes, file=source.text.name, pack=source.pack
            )
            self.problems.extend(
                text.problem(Mistake(("rules", key, *m.path), m.message, m.at_key, m.fatal))
                for m in mistakes
            )
            rule = changed or rule
        self._check_rule(rule, source)
        return rule

    def _is_judged(self, source: _Source) -> bool:
        """Return whether patterns are judged; those of shipped rules are when their tests are."""
        return self.with_tests or source.pack is not None

    def _check_rule(self, rule: Rule, source: _Source) -> None:
        stage = self.causes[rule.cause].stage
        if source.stage is not None and stage != source.stage:
            message = (
                f"the cause '{rule.cause}' is of stage {stage}; the file is in {source.stage}/"
            )
            self.problems.append(source.text.problem(Mistake(("cause",), message)))
        for weakness in weak_texts(rule) if self._is_judged(source) else ():
            mistake = Mistake(("match",), weakness, fatal=source.pack is None)
            self.problems.append(source.text.problem(mistake))

    def _check_references(
        self, rules: Mapping[str, Rule], aliases: Mapping[str, str], disabled: Collection[str]
    ) -> None:
        """Find ``rule:`` conditions that name nothing or lead back to their own rule."""
        known = {*self.sources, *aliases}
        for name, rule in rules.items():
            text = self.sources[name].text
            for other in sorted(rule_names(rule)):
                if other not in known:
                    message = f"unknown rule '{other}'{suggestion(other, known)}"
                    self.problems.append(text.problem(Mistake(("match",), message)))
                elif aliases.get(other, other) in disabled:
                    message = f"the rule '{other}' that it asks for is disabled"
                    self.problems.append(text.problem(Mistake(("match",), message, fatal=False)))
            if name in _reachable(name, rules, aliases):
                message = "its 'rule:' conditions lead back to this rule"
                self.problems.append(text.problem(Mistake(("match",), message)))


def _reachable(start: str, rules: Mapping[str, Rule], aliases: Mapping[str, str]) -> set[str]:
    seen: set[str] = set()
    todo = [start]
    while todo:
        rule = rules.get(todo.pop())
        if rule is None:
            continue
        for other in (aliases.get(name, name) for name in rule_names(rule)):
            if other not in seen:
                seen.add(other)
                todo.append(other)
    return seen


def _by_name(entries: Iterable[Traversable]) -> list[Traversable]:
    return sorted(entries, key=lambda entry: entry.name)


def _files(folder: Path) -> Iterator[Path]:
    if folder.is_file():
        yield folder
        return
    entries = islice(folder.rglob("*"), ENTRY_LIMIT)
    for path in sorted(path for path in entries if path.suffix in (".yaml", ".yml")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.is_file() and not hidden:
            yield path
