"""``diagnose.yaml``: options of a run that a person or a team sets once.

It is read from the working folder, and from the user's configuration folder for what the first
leaves open; never from the folder of the logs, which may come from anybody.
"""

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from diagnose.errors import Problem, RuleErrors, UsageError

if TYPE_CHECKING:
    import yaml

NAME = "diagnose.yaml"


def load(command: click.Command) -> dict[str, Any]:
    """Return the values of both files by the name of the option's parameter.

    Args:
        command: Its options are the keys a file may have.

    Raises:
        RuleErrors: Keys or values are wrong; all of them are named.
        UsageError: A file cannot be read.
    """
    folders = (Path(click.get_app_dir("diagnose")), Path())
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    for path in (folder / NAME for folder in folders):
        if path.is_file():
            values |= _read(path, command, problems)
    if problems:
        raise RuleErrors(problems)
    return values


def _read(path: Path, command: click.Command, problems: list[Problem]) -> dict[str, Any]:
    import yaml

    try:
        node = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        problems.append(_problem(path, error.problem_mark, f"not valid YAML: {error.problem}"))
        return {}
    except yaml.reader.ReaderError as error:
        problems.append(_unprintable(path, error))
        return {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    if node is None:
        return {}
    if not isinstance(node, yaml.MappingNode):
        problems.append(_problem(path, node.start_mark, "expected options, as in `format: json`"))
        return {}
    options = {
        option.opts[0].removeprefix("--"): option
        for option in command.params
        if isinstance(option, click.Option) and option.envvar
    }
    values = {}
    seen: set[str] = set()
    for key, value in node.value:
        if str(key.value) in seen:
            message = f"the option {key.value!r} stands here a second time"
            problems.append(_problem(path, key.start_mark, message))
            continue
        seen.add(str(key.value))
        option = options.get(str(key.value))
        if option is None:
            near = difflib.get_close_matches(str(key.value), options, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(options)}"
            problems.append(_problem(path, key.start_mark, f"unknown option {key.value!r}; {hint}"))
            continue
        try:
            values[str(option.name)] = _value(path, option, value)
        except (click.BadParameter, yaml.YAMLError) as error:
            reason = error.message if isinstance(error, click.BadParameter) else str(error)
            problems.append(_problem(path, value.start_mark, f"{key.value}: {reason}"))
    return values


def _value(path: Path, option: click.Option, node: "yaml.Node") -> Any:
    """Return the value of an option; relative paths start at the folder of the file."""
    import yaml

    loader = yaml.SafeLoader("")
    try:
        value = loader.construct_object(node, deep=True)
    finally:
        loader.dispose()
    if option.is_flag and not isinstance(value, bool):
        raise click.BadParameter(f"{value!r} is not true or false")
    if option.multiple and not isinstance(value, list):
        value = [value]
    if isinstance(option.type, click.Path):
        value = (
            [str(path.parent / str(item)) for item in value]
            if option.multiple
            else str(path.parent / str(value))
        )
    elif not option.is_flag:
        value = str(value)
    return option.type_cast_value(click.Context(click.Command(NAME)), value)


def _unprintable(path: Path, error: "yaml.reader.ReaderError") -> Problem:
    from diagnose.engine.yaml_tree import unprintable_place

    line, column = unprintable_place(path.read_text(encoding="utf-8"))
    message = f"not valid YAML: the character {error.character:#04x} is not allowed"
    return Problem(str(path), line, column, message)


def _problem(path: Path, mark: "yaml.Mark | None", message: str) -> Problem:
    line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
    return Problem(str(path), line, column, message)
