"""Playbooks: what to do about a cause, in files that teams write and with the incident's values.

A playbook of a team with the id of a shipped one takes its place.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from os import PathLike
from pathlib import Path as FilePath
from typing import Any

from diagnose import shipped, templates
from diagnose.engine.positions import YamlText, read_text
from diagnose.engine.reader import Path, Reader
from diagnose.engine.schema import Key
from diagnose.errors import MistakeFound, Problem, RuleErrors
from diagnose.ingest.lazy import LazyPattern
from diagnose.model.report import Culprit, FilledPlaybook, Step

LANGUAGES = ("en", "zh")
KINDS = ("observe", "safe-change", "disruptive", "destructive")
GROUPS = ("confirm", "fix", "prevent", "not_if")
LOOKING = ("confirm", "not_if")
"""Groups whose steps change nothing."""

STANDARD = ("host", "rank", "nic", "gpu", "culprit")
"""What every text of a playbook may name."""

PLAYBOOK_KEYS: Mapping[str, Key] = {
    "id": Key("kebab-case", "required", "permanent; equals the file name"),
    "title": Key("{en, zh}", "required", "what it achieves, in one line"),
    "when": Key("{en, zh}", "required", "when it is the right one"),
    "confirm": Key("list of steps", "[]", "how to make sure; these only look"),
    "fix": Key("list of steps", "[]", "how to mend it"),
    "prevent": Key("list of steps", "[]", "how to keep it from coming back"),
    "not_if": Key("list of steps", "[]", "when it is the wrong one; these only look"),
}
STEP_KEYS: Mapping[str, Key] = {
    "text": Key("{en, zh}", "required", "what to do, a template"),
    "command": Key("template", "none", "what to type; values go through the filter q"),
    "kind": Key(" | ".join(KINDS), "observe; fix requires it", "how much it disturbs"),
    "expect": Key("{en, zh}", "none", "what is seen where all is well"),
    "otherwise": Key("{en, zh}", "none", "what it means if that is not seen"),
}
_LANGUAGE_KEYS: Mapping[str, Key] = {
    "en": Key("template", "required", "in English"),
    "zh": Key("template", "none", "in Chinese"),
}

Bilingual = Mapping[str, str]
"""A template by language; ``en`` is always there."""

_VALUE = LazyPattern(r"\{\{(.*?)\}\}", re.DOTALL)
_STATEMENT = LazyPattern(r"\{%.*?%\}", re.DOTALL)
_OTHER_BRANCHES = LazyPattern(r"\{%-?\s*el(?:se|if)\b.*?\{%-?\s*endif\s*-?%\}", re.DOTALL)
_GPU_INDEX = LazyPattern(r"gpu(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaybookStep:
    """One step as it stands in the file; the attributes are the keys of ``STEP_KEYS``."""

    group: str
    text: Bilingual
    command: str | None
    kind: str
    expect: Bilingual | None
    otherwise: Bilingual | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Playbook:
    """One playbook as it stands in the file; the attributes are the keys of ``PLAYBOOK_KEYS``.

    Args:
        steps: Of all groups, in the order of ``GROUPS``.
        file: Where it was read.
    """

    id: str
    title: Bilingual
    when: Bilingual
    steps: tuple[PlaybookStep, ...]
    file: str


class Playbooks(Mapping[str, Playbook]):
    """All playbooks by id.

    The shipped ones are read when they are asked for, since a report needs few of them; those of
    teams are read at once, so that a mistake in them stops the run before it begins.

    Args:
        shipped_files: By id.
        of_teams: By id.
    """

    def __init__(
        self, shipped_files: Mapping[str, Traversable], of_teams: Mapping[str, Playbook]
    ) -> None:
        self._files = shipped_files
        self._read = dict(of_teams)

    def __getitem__(self, identifier: str) -> Playbook:
        if identifier not in self._read:
            playbook, problems = _read_shipped(self._files[identifier])
            if playbook is None:
                raise RuleErrors(problems)
            self._read[identifier] = playbook
        return self._read[identifier]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self._files, *self._read}))

    def __len__(self) -> int:
        return len({*self._files, *self._read})


def load_playbooks(folders: Sequence[str | PathLike[str]] = ()) -> Playbooks:
    """Return the shipped playbooks, with those of some folders in place of or beside them.

    Raises:
        RuleErrors: Files are wrong; all mistakes of all files are listed.
    """
    problems: list[Problem] = []
    of_teams: dict[str, Playbook] = {}
    for folder, shown in _folders(folders, problems):
        for path in _files_in(folder):
            playbook, wrong = _read_file(path, shown)
            problems += wrong
            if playbook is not None:
                of_teams[playbook.id] = playbook
    if any(problem.fatal for problem in problems):
        raise RuleErrors(problems)
    files = _files_in(shipped.root("playbooks"))
    return Playbooks({path.name.removesuffix(".yaml"): path for path in files}, of_teams)


def playbook_texts(
    folders: Sequence[str | PathLike[str]], problems: list[Problem]
) -> list[YamlText]:
    """Return the files of all playbooks: the shipped ones, then those of each folder, by name.

    Args:
        folders: Of teams.
        problems: Gets what cannot be read.
    """
    places = [(shipped.root("playbooks"), "playbooks"), *_folders(folders, problems)]
    texts = []
    for folder, shown in places:
        for path in _files_in(folder):
            try:
                texts.append(read_text(path, f"{shown}/{path.name}"))
            except MistakeFound as found:
                problems.append(found.problem)
    return texts


def _folders(
    folders: Sequence[str | PathLike[str]], problems: list[Problem]
) -> list[tuple[Traversable, str]]:
    found: list[tuple[Traversable, str]] = []
    for folder in map(FilePath, folders):
        if folder.is_dir():
            found.append((folder, str(folder)))
        else:
            problems.append(Problem(str(folder), 0, 0, "no such folder of playbooks"))
    return found


def _files_in(folder: Traversable) -> list[Traversable]:
    files = (path for path in folder.iterdir() if path.name.endswith(".yaml"))
    return sorted((one for one in files if not one.name.startswith(".")), key=lambda one: one.name)


def _read_file(path: Traversable, shown: str) -> tuple[Playbook | None, list[Problem]]:
    try:
        return read_playbook(read_text(path, f"{shown}/{path.name}"))
    except MistakeFound as found:
        return None, [found.problem]


def _read_shipped(path: Traversable) -> tuple[Playbook | None, list[Problem]]:
    """Return a shipped playbook; that its file has no key twice lint has seen."""
    name = f"playbooks/{path.name}"
    text = YamlText(name, lambda: read_text(path, name).text)
    try:
        return _understood(text, shipped.held(path, text.load))
    except MistakeFound as found:
        return None, [found.problem]


def read_playbook(text: YamlText) -> tuple[Playbook | None, list[Problem]]:
    """Return the playbook in a file, None where it is wrong, and the mistakes."""
    try:
        playbook, problems = _understood(text, text.load())
    except MistakeFound as found:
        return None, [found.problem]
    problems += text.duplicate_keys()
    return (None if any(problem.fatal for problem in problems) else playbook), problems


def _understood(text: YamlText, data: object) -> tuple[Playbook | None, list[Problem]]:
    reader = Reader()
    playbook = _read(data, text.name, reader)
    problems = list(map(text.problem, reader.mistakes))
    return (None if any(problem.fatal for problem in problems) else playbook), problems


def fill(playbook: Playbook, values: Mapping[str, Any], lang: str = "en") -> FilledPlaybook:
    """Return a playbook with the values of an incident in it.

    Args:
        playbook: What to fill.
        values: ``culprit`` and what the rule gives under ``with``.
        lang: Language; a text that lacks it stands in English.

    Raises:
        RuleErrors: A text names what nobody gives, or fails on what it gets.
    """
    known = known_values(values)

    def render(text: str, place: str) -> str:
        try:
            return templates.render(text, **known).strip()
        except ValueError as error:
            problem = Problem(playbook.file, 0, 0, f"{place}: {error}")
            raise RuleErrors([problem]) from error

    def words(text: Bilingual, place: str) -> str:
        return render(text.get(lang) or text["en"], place)

    steps = []
    for number, step in enumerate(playbook.steps, start=1):
        place = f"step {number} ({step.group})"
        steps.append(
            Step(
                group=step.group,
                text=words(step.text, place),
                command=None if step.command is None else render(step.command, place),
                kind=step.kind,
                expect=None if step.expect is None else words(step.expect, place),
                otherwise=None if step.otherwise is None else words(step.otherwise, place),
            )
        )
    return FilledPlaybook(id=playbook.id, title=words(playbook.title, "title"), steps=steps)


def known_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the texts of a playbook may name; what is not known is a placeholder.

    ``host``, ``rank``, ``nic`` and ``gpu`` are the first culprits, an adapter or GPU without its
    host and a GPU that is known by its index as that index, as commands on the host want them.
    An empty list is ``["<its name>"]``.
    """
    culprit = values.get("culprit") or Culprit()
    lists = {
        name: list(getattr(culprit, name)) for name in ("ranks", "hosts", "gpus", "nics", "files")
    }
    nic = lists["nics"][0].rpartition("/")[2] if lists["nics"] else "<nic>"
    gpu = lists["gpus"][0].rpartition("/")[2] if lists["gpus"] else "<gpu>"
    index = _GPU_INDEX.fullmatch(gpu)
    standard = {
        "culprit": {name: items or [f"<{name}>"] for name, items in lists.items()},
        "host": lists["hosts"][0] if lists["hosts"] else "<host>",
        "rank": lists["ranks"][0] if lists["ranks"] else "<rank>",
        "nic": nic,
        "gpu": index[1] if index else gpu,
    }
    extra = {name: _or_placeholder(name, value) for name, value in values.items()}
    return extra | standard


def shown(text: str) -> str:
    """Return a text as lists show it: with placeholders for all it names.

    >>> shown("Look at {{ host }}: {{ event.path }}, {{ events | map(attribute='rank') | ranges }}")
    'Look at <host>: <path>, <rank>'

    Args:
        text: A title of a playbook or rule.
    """
    try:
        names = templates.unknown_names(text)
        return templates.render(text, **{name: _Placeholder(f"<{name}>") for name in names})
    except ValueError:  # a text that computes with what it names
        first_branch = _OTHER_BRANCHES.sub("", text)
        return _VALUE.sub(_named, _STATEMENT.sub("", first_branch))


def _named(value: re.Match[str]) -> str:
    named = re.search(r"[a-z_]+(?:\.[a-z_]+)*", value[1])
    return f"<{named[0].rpartition('.')[2]}>" if named else "<value>"


class _Placeholder(str):
    """Stands for anything: its fields and members are placeholders as well."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        # Fields come before the methods of texts: event.count is no method here.
        if name.startswith("_"):
            return super().__getattribute__(name)
        raise AttributeError(name)

    def __getitem__(self, part: Any) -> "_Placeholder":
        return _Placeholder(f"<{part}>") if isinstance(part, str) else self

    def __iter__(self) -> Iterator["_Placeholder"]:
        yield self


def _or_placeholder(name: str, value: Any) -> Any:
    if value is None:
        return f"<{name}>"
    return [f"<{name}>"] if value == [] else value


def _read(data: object, file: str, reader: Reader) -> Playbook | None:
    values = reader.mapping(data, (), PLAYBOOK_KEYS)
    if values is None:
        return None
    identifier = reader.identifier(values["id"], ("id",)) if values.get("id") else None
    if identifier is not None and FilePath(file).stem != identifier:
        reader.wrong(("id",), f"the file of '{identifier}' must be named {identifier}.yaml")
    title = _words(values.get("title"), ("title",), reader)
    when = _words(values.get("when"), ("when",), reader)
    steps = [
        _step(entry, (group, index), group, reader)
        for group in GROUPS
        for index, entry in enumerate(reader.sequence(values.get(group), (group,)))
    ]
    if identifier is None or title is None or when is None or None in steps:
        return None
    return Playbook(
        id=identifier,
        title=title,
        when=when,
        steps=tuple(step for step in steps if step is not None),
        file=file,
    )


def _step(data: object, path: Path, group: str, reader: Reader) -> PlaybookStep | None:
    values = reader.mapping(data, path, STEP_KEYS)
    if values is None:
        return None
    text = _words(values.get("text"), (*path, "text"), reader)
    command = values.get("command")
    if command is not None:
        command = reader.template(command, (*path, "command"))
    kind: str | None = "observe"
    if "kind" in values:
        kind = reader.choice(values["kind"], (*path, "kind"), KINDS)
    elif group == "fix":
        reader.wrong(
            path, f"'kind' is missing: say how much the step disturbs ({', '.join(KINDS)})"
        )
    if kind not in (None, "observe") and group in LOOKING:
        reader.wrong((*path, "kind"), f"a step of '{group}' only looks; its kind is 'observe'")
    if text is None or kind is None:
        return None
    return PlaybookStep(
        group=group,
        text=text,
        command=command,
        kind=kind,
        expect=_words(values.get("expect"), (*path, "expect"), reader),
        otherwise=_words(values.get("otherwise"), (*path, "otherwise"), reader),
    )


def _words(data: object, path: Path, reader: Reader) -> Bilingual | None:
    """Return a text in its languages; that it is missing is for the map around it to note."""
    if data is None:
        return None
    if isinstance(data, dict) and any(text is None for text in data.values()):
        # YAML ends a text inside braces at a comma and takes the rest for another key.
        reader.wrong(path, "a text with a comma, or without any words, needs quotes inside { }")
        return None
    values = reader.mapping(data, path, _LANGUAGE_KEYS)
    if values is None:
        return None
    texts = {
        language: reader.template(text, (*path, language))
        for language, text in values.items()
        if text is not None
    }
    if texts.get("en") is None:
        return None
    return {language: text for language, text in texts.items() if text is not None}
