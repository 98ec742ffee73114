"""YAML files of teams: loaded with limits, and where in the text a value stands.

Loading takes the fast path; only when something is wrong is the text read again to find lines and
columns.
"""

from collections.abc import Callable
from functools import cached_property
from importlib.resources.abc import Traversable
from pathlib import Path as FilePath
from typing import Any

from diagnose.engine.reader import Mistake, Path
from diagnose.errors import MistakeFound, Problem, RuleErrors
from diagnose.ingest.lazy import LazyPattern

SIZE_LIMIT = 1 << 20
"""Bytes of one file."""

_NEXT_KEY = LazyPattern(r"\n(?=[A-Za-z\"'])")


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
            message = f"the file is larger than {self.limit >> 20} MiB"
            raise MistakeFound(Problem(self.name, 0, 0, message))
        from diagnose.engine import yaml_tree

        return yaml_tree.load(text, self.name)

    def place(self, path: Path, *, at_key: bool = False) -> tuple[int, int]:
        """Return the line and column, 1-based, of what a path leads to.

        Where the path leads to nothing, its nearest ancestor counts; (0, 0) without any.

        Args:
            path: Keys and indexes from the top.
            at_key: Of the key rather than its value.
        """
        from diagnose.engine import yaml_tree

        node, key = self._root, None
        for part in path:
            step = yaml_tree.child(node, part)
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
        from diagnose.engine import yaml_tree

        return yaml_tree.duplicate_keys(self._root, self.name)

    @cached_property
    def _root(self) -> Any:
        from diagnose.engine import yaml_tree

        return yaml_tree.tree(self.text)

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
