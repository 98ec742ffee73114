"""YAML as data and as a tree of nodes; imported only where there is a file to read."""

import re
from typing import Any

import yaml

from diagnose.errors import MistakeFound, Problem
from diagnose.plain_yaml import Loader
from diagnose.plain_yaml import load as load_plain

DEPTH_LIMIT = 50
"""Collections inside collections."""

ALIAS_LIMIT = 100
"""Uses of anchors in one file, none of them inside another anchor: their expansion stays small."""

_SUSPECT = re.compile(r"(?:^|[\s\[{,:-])[&*]\w|(?:- ){4}", re.MULTILINE)
_SUSPECT_MARKS = ("&", "*", "- - - - ")
"""One of them is in all that ``_SUSPECT`` finds; looking for them costs a tenth."""

_MANY_BRACKETS = 400


def load(text: str, name: str) -> Any:
    """Return the data of a text.

    Args:
        text: YAML.
        name: The file as messages show it.

    Raises:
        MistakeFound: The text is not YAML or exceeds a limit.
    """
    try:
        suspect = any(mark in text for mark in _SUSPECT_MARKS) and _SUSPECT.search(text)
        if suspect or text.count("[") + text.count("{") > _MANY_BRACKETS:
            _check_structure(text, name)
        return load_plain(text)
    except yaml.YAMLError as error:
        raise _explained(error, text, name) from None
    except ValueError as error:  # a date such as 2027-02-31
        raise _found(name, 0, 0, f"not valid YAML: {error}") from None
    except RecursionError:
        raise _found(name, 0, 0, "the file is nested too deeply") from None


def tree(text: str) -> Any:
    """Return the uppermost node of a text, None where it is no YAML."""
    try:
        return yaml.compose(text, Loader=Loader)
    except (yaml.YAMLError, RecursionError):
        return None


def child(node: Any, part: str | int) -> tuple[Any, Any] | None:
    """Return the nodes of a key and its value, or an entry of a list twice."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(part):
                return key, value
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part], node.value[part]
    return None


def duplicate_keys(root: Any, name: str) -> list[Problem]:
    """Return keys that a map has twice, in a tree of nodes of the file of some name."""
    found: list[Problem] = []
    todo = [root]
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
                    found.append(Problem(name, mark.line + 1, mark.column + 1, message))
                if isinstance(key, yaml.ScalarNode):
                    seen.add(key.value)
                todo.append(value)
    return sorted(found, key=lambda problem: (problem.line, problem.column))


def unprintable_place(text: str) -> tuple[int, int]:
    """Return line and column, 1-based, of the first character that YAML forbids, else (0, 0)."""
    found = yaml.reader.Reader.NON_PRINTABLE.search(text)
    if found is None:
        return 0, 0
    before = text[: found.start()]
    return before.count("\n") + 1, found.start() - before.rfind("\n")


def _check_structure(text: str, name: str) -> None:
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
                raise _found(name, line, column, f"nested more than {DEPTH_LIMIT} deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            anchored -= marks.pop()
            depth -= 1
        elif isinstance(event, yaml.AliasEvent):
            aliases += 1
            if anchored or aliases > ALIAS_LIMIT:
                message = "aliases inside anchors, or too many of them; write the value out"
                raise _found(name, line, column, message)


def _explained(error: yaml.YAMLError, text: str, name: str) -> MistakeFound:
    mark = getattr(error, "problem_mark", None)
    said = getattr(error, "problem", None) or str(error).splitlines()[0]
    if mark:
        line, column = mark.line + 1, mark.column + 1
    else:
        line, column = unprintable_place(text)
    rows = text.split("\n")
    row = rows[line - 1] if 0 < line <= len(rows) else ""
    unquoted = "{{" in row or "mapping values" in said
    hint = "; put quotes around a text that has {{ }} or ': ' in it" if unquoted else ""
    return _found(name, line, column, f"not valid YAML: {said}{hint}")


def _found(name: str, line: int, column: int, message: str) -> MistakeFound:
    return MistakeFound(Problem(name, line, column, message))
