"""A baseline as the YAML file that ``--baseline`` reads."""

import json
import re
from collections.abc import Iterator, Mapping

from diagnose.model.baseline import Baseline, Expectation

HEAD = """\
# What a healthy run gave: {source}
# Written by diagnose {version}. Compare another run with it: diagnose LOGS --baseline {file}
# Change names and numbers as you like; docs/baselines.md describes the keys.
"""


def render(baseline: Baseline, *, source: str, version: str) -> str:
    """Return the text of a baseline file; the same baseline gives the same text.

    Args:
        baseline: What to write.
        source: The run it is from, in words.
        version: Of the program.
    """
    lines = [
        HEAD.format(source=_printable(source), version=version, file=_printable(baseline.file))
    ]
    parts = {
        "versions": baseline.versions,
        "parallel": baseline.parallel,
        "marks": baseline.marks,
    }
    if any(parts.values()):
        lines.append("run:\n")
        lines += [f"  {name}: {_map(values)}\n" for name, values in parts.items() if values]
    lines.append("tests:\n")
    for test in baseline.tests:
        head, *rest = _test(test)
        lines += [f"  - {head}\n", *(f"    {line}\n" for line in rest)]
    return "".join(lines)


def _test(test: Expectation) -> Iterator[str]:
    yield f"name: {_text(test.name)}"
    for way in ("metric", "bench", "test"):
        if (value := getattr(test, way)) is not None:
            yield f"{way}: {_text(value)}"
    for key in ("gpus", "nodes", "size"):
        if (count := getattr(test, key)) is not None:
            yield f"{key}: {count}"
    if test.gpu is not None:
        yield f"gpu: {_text(test.gpu)}"
    if test.unit:
        yield f"unit: {_text(test.unit)}"
    yield f"expected: {_number(test.expected)}"


def _map(values: Mapping[str, object]) -> str:
    pairs = (f"{_text(name)}: {_text(value)}" for name, value in values.items())
    return f"{{{', '.join(pairs)}}}"


def _text(value: object) -> str:
    """Return a value that YAML reads back as it is: a bare word, else in double quotes."""
    text = str(value)
    if isinstance(value, int) or (_WORD.fullmatch(text) and text.lower() not in _RESERVED):
        return text
    return json.dumps(_printable(text), ensure_ascii=False)


_WORD = re.compile(r"[A-Za-z_]+")
_RESERVED = ("true", "false", "yes", "no", "on", "off", "null", "y", "n")
"""Words that YAML takes for something else."""


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)


def _printable(text: str) -> str:
    """Return a text without what YAML forbids and what would end a comment."""
    return "".join(one if one.isprintable() else "?" for one in text)
