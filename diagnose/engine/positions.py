"""YAML files of teams: loaded with limits, and where in the text a value stands.

Loading takes the fast path; only when something is wrong is the text read again to find lines and
columns.
"""

import re
from collections.abc import Callable
from functools import cached_property
from importlib.resources.abc import Traversable
from pathlib import Path as FilePath
from typing import Any

import yaml

from diagnose.engine.reader import Mistake, Path
from diagnose.errors import Problem, RuleErrors
from diagnose.shipped import Loader

SIZE_LIMIT = 1 << 20
"""Bytes of one file."""

DEPTH_LIMIT = 50
"""Collections inside collections."""

ALIAS_LIMIT = 100
"""Uses of anchors in one file, none of them inside another anchor: their expansion stays small."""

_NEXT_KEY = re.compile(r"\n(?=[A-Za-z\"'])")
_SUSPECT = re.compile(r"(?:^|[\s\[{,:-])[&*]\w|(?:- ){4}", re.MULTILINE)
_SUSPECT_MARKS = ("&", "*", "- - - - ")
"""One of them is in all that ``_SUSPECT`` finds; looking for them costs a tenth."""

_MANY_BRACKETS = 400


class YamlText:
    """One YAML file.

    Args:
        name: The file as messages show it.
        text: Its content, or what reads it once somebody asks for it.
        limit: Most bytes it may have.
    """

    def __init__(self, name: str, text: str | Callable[[], str], limit: int = SIZE_LIMIT) -> None:
        self.name = name
        self.limit = limit
        self._text = text

    @cached_property
    def text(self) -> str:
        """The content."""
        return self._text if isinstance(self._text, str) else self._text()

    @property
    def has_tests(self) -> bool:
        """Whether the file has a key ``tests`` at the top level."""
        return self._tests is not None

    def load(self, *, with_tests: bool = True) -> Any:
        """Return the data.

        Args:
            with_tests: Also read the top-level key ``tests``, which is most of a rule file.

        Raises:
            MistakeFound: The text is not YAML or exceeds a limit.
        """
        text = self.text if with_tests else self._without_tests()
        if len(text) > self.limit:
            raise self._found(0, 0, f"the file is larger than {self.limit >> 20} MiB")
        try:
            suspect = any(mark in text for mark in _SUSPECT_MARKS) and _SUSPECT.search(text)
            if suspect or text.count("[") + text.count("{") > _MANY_BRACKETS:
                self._check_structure(text)
            return yaml.load(text, Loader=Loader)  # noqa: S506, a safe loader
        except yaml.YAMLError as error:
            raise self._explained(error) from None
        except ValueError as error:  # a date such as 2027-02-31
            raise self._found(0, 0, f"not valid YAML: {error}") from None
        except RecursionError:
            raise self._found(0, 0, "the file is nested too deeply") from None

    def place(self, path: Path, *, at_key: bool = False) -> tuple[int, int]:
        """Return the line and column, 1-based, of what a path leads to.

        Where the path leads to nothing, its nearest ancestor counts; (0, 0) without any.

        Args:
            path: Keys and indexes from the top.
            at_key: Of the key rather than its value.
        """
        node, key = self._root, None
        for part in path:
            step = _child(node, part)
            if step is None:
                at_key = True
                break
            key, node = step
        chosen = key if at_key and key is not None else node
        if chosen is None:
            return 0, 0
        return chosen.start_mark.line + 1, chosen.start_mark.column + 1

    def problem(self, mistake: Mistake) -> Problem:
        """Return a mistake with its place."""
        line, column = self.place(mistake.path, at_key=mistake.at_key)
        return Problem(self.name, line, column, mistake.message, mistake.fatal)

    def duplicate_keys(self) -> list[Problem]:
        """Return keys that a map has twice; YAML takes the last one without a word."""
        found: list[Problem] = []
        todo = [self._root]
        while todo:
            node = todo.pop()
            if isinstance(node, yaml.SequenceNode):
                todo.extend(node.value)
            if isinstance(node, yaml.MappingNode):
                seen: set[str] = set()
                for key, value in node.value:
                    if key.value in seen and isinstance(key, yaml.ScalarNode):
                        mark = key.start_mark
                        message = f"the key '{key.value}' stands here a second time"
                        found.append(Problem(self.name, mark.line + 1, mark.column + 1, message))
                    if isinstance(key, yaml.ScalarNode):
                        seen.add(key.value)
                    todo.append(value)
        return sorted(found, key=lambda problem: (problem.line, problem.column))

    @cached_property
    def _root(self) -> Any:
        try:
            return yaml.compose(self.text, Loader=Loader)
        except (yaml.YAMLError, RecursionError):
            return None

    def _without_tests(self) -> str:
        """Return the text with the tests blanked out, so that lines keep their numbers."""
        start = self._tests
        if start is None:
            return self.text
        following = _NEXT_KEY.search(self.text, start)
        end = following.end() if following else len(self.text)
        blank = "\n" * self.text.count("\n", start, end)
        return self.text[:start] + blank + self.text[end:]

    @cached_property
    def _tests(self) -> int | None:
        """Where the top-level key ``tests`` stands, looked for once: tests are most of a file."""
        if self.text.startswith("tests:"):
            return 0
        found = self.text.find("\ntests:")
        return found + 1 if found >= 0 else None

    def _check_structure(self, text: str) -> None:
        depth = anchored = aliases = 0
        marks: list[bool] = []
        for event in yaml.parse(text, Loader=Loader):
            mark: Any = event.start_mark
            line, column = mark.line + 1, mark.column + 1
            if isinstance(event, yaml.CollectionStartEvent):
                marks.append(event.anchor is not None)
                anchored += marks[-1]
                depth += 1
                if depth > DEPTH_LIMIT:
                    raise self._found(line, column, f"nested more than {DEPTH_LIMIT} deep")
            elif isinstance(event, yaml.CollectionEndEvent):
                anchored -= marks.pop()
                depth -= 1
            elif isinstance(event, yaml.AliasEvent):
                aliases += 1
                if anchored or aliases > ALIAS_LIMIT:
                    message = "aliases inside anchors, or too many of them; write the value out"
                    raise self._found(line, column, message)

    def _explained(self, error: yaml.YAMLError) -> "MistakeFound":
        mark = getattr(error, "problem_mark", None)
        said = getattr(error, "problem", None) or str(error).splitlines()[0]
        if mark:
            line, column = mark.line + 1, mark.column + 1
        else:
            line, column = unprintable_place(self.text)
        rows = self.text.split("\n")
        row = rows[line - 1] if 0 < line <= len(rows) else ""
        unquoted = "{{" in row or "mapping values" in said
        hint = "; put quotes around a text that has {{ }} or ': ' in it" if unquoted else ""
        return self._found(line, column, f"not valid YAML: {said}{hint}")

    def _found(self, line: int, column: int, message: str) -> "MistakeFound":
        return MistakeFound(Problem(self.name, line, column, message))


def unprintable_place(text: str) -> tuple[int, int]:
    """Return line and column, 1-based, of the first character that YAML forbids, else (0, 0)."""
    found = yaml.reader.Reader.NON_PRINTABLE.search(text)
    if found is None:
        return 0, 0
    before = text[: found.start()]
    return before.count("\n") + 1, found.start() - before.rfind("\n")


class MistakeFound(Exception):
    """A file cannot be read at all.

    Args:
        problem: Why, and where.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def read_text(path: Traversable, name: str, limit: int = SIZE_LIMIT) -> YamlText:
    """Return a file as text, before it is understood.

    Args:
        path: Where it is.
        name: The file as messages show it.
        limit: Most bytes it may have.

    Raises:
        MistakeFound: It cannot be opened, is too large or is not UTF-8.
    """
    data = b""
    try:
        with path.open("rb") as stream:
            data = stream.read(limit + 1)
        if len(data) > limit:
            raise MistakeFound(Problem(name, 0, 0, f"larger than {limit >> 20} MiB"))
        return YamlText(name, data.decode("utf-8-sig").replace("\r\n", "\n"), limit)
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        raise MistakeFound(Problem(name, 0, 0, message)) from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = "is not UTF-8 text; save it with that encoding"
        raise MistakeFound(Problem(name, line, 0, message)) from None


def _child(node: Any, part: str | int) -> tuple[Any, Any] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(part):
                return key, value
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part], node.value[part]
    return None


def opened(path: FilePath, limit: int = SIZE_LIMIT) -> YamlText:
    """Return a file that a team gives for one run, named as the team named it.

    Args:
        path: Where it is.
        limit: Most bytes it may have.

    Raises:
        RuleErrors: It cannot be opened, is too large or is not UTF-8.
    """
    try:
        return read_text(path, str(path), limit)
    except MistakeFound as found:
        raise RuleErrors([found.problem]) from None


def loaded(text: YamlText) -> Any:
    """Return what such a file holds.

    Raises:
        RuleErrors: It is no YAML.
    """
    try:
        return text.load()
    except MistakeFound as found:
        raise RuleErrors([found.problem]) from None
