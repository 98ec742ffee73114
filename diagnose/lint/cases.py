"""Reads the tests of a rule file: logs and what the rule must say of them."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from diagnose.engine.positions import YamlText
from diagnose.engine.read_baseline import parse_baseline
from diagnose.engine.read_topology import parse_topology
from diagnose.engine.reader import Path, Reader, kind, suggestion
from diagnose.engine.schema import CULPRITS, Key
from diagnose.errors import RuleErrors
from diagnose.model.baseline import Baseline
from diagnose.model.topology import Topology

Parsed = TypeVar("Parsed")

CASE_KEYS: Mapping[str, Key] = {
    "name": Key("text", "required", "what the test shows; unique in the file"),
    "logs": Key("map of file to text, or {from: test name}", "required", "what is read"),
    "copies": Key("{of, ranks}, or a list of them", "none", "the same file of further ranks"),
    "baseline": Key("text of a baseline file", "none", "what the run is held against"),
    "topology": Key("text of a topology file", "none", "inventory of hosts and switches"),
    "expect": Key("map", "required", "what the rule must say"),
}
EXPECT_KEYS: Mapping[str, Key] = {
    "fires": Key("true | false", "true", "whether there is a finding of the rule"),
    "root": Key("true | false", "not asked", "whether the finding is a root"),
    "culprit": Key("map of lists", "not asked", "exactly who is guilty, for the kinds named"),
    "confidence": Key("{gte, lte}", "not asked", "bounds of the confidence"),
    "explains": Key("list of rule ids", "not asked", "findings it explains"),
    "evidence": Key("list of file:line", "not asked", "places it cites"),
}
_COPY_KEYS: Mapping[str, Key] = {
    "of": Key("file of this test", "required", "what is copied; its name holds the rank"),
    "ranks": Key("ranges, as in 1-7,9", "required", "ranks of the copies"),
}
_FROM_KEYS: Mapping[str, Key] = {"from": Key("test name", "required", "test with that file")}
_BOUND_KEYS: Mapping[str, Key] = {
    "gte": Key("0-1", "none", "at least"),
    "lte": Key("0-1", "none", "at most"),
}

BASELINE, TOPOLOGY = "baseline.yaml", "topology.yaml"
"""The files that the baseline and the topology of a test count as."""

COPIES = 4096
"""Copies that one test may make."""

_NUMBER = re.compile(r"\d+")
_RANGES = re.compile(r"\d+(?:-\d+)?(?:\s*,\s*\d+(?:-\d+)?)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What a rule must say of the logs of a test; None where it is not asked.

    Args:
        fires: Whether there is a finding of the rule.
        root: Whether it is a root.
        culprit: Names by kind; kinds that are not named are not asked.
        least: Confidence at least.
        most: Confidence at most.
        explains: Rule ids.
        evidence: ``file:line``.
    """

    fires: bool = True
    root: bool | None = None
    culprit: Mapping[str, tuple[str, ...]] | None = None
    least: float = 0.0
    most: float = 1.0
    explains: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One test.

    Args:
        name: What it shows.
        logs: Text by file name, copies included.
        expect: What the rule must say of them.
        baseline: What the run is held against, if it is.
        topology: The inventory, if there is one.
    """

    name: str
    logs: Mapping[str, str]
    expect: Expectation
    baseline: Baseline | None = None
    topology: Topology | None = None


def read_cases(data: object, reader: Reader) -> list[Case]:
    """Return the tests of a rule; those that are wrong are left out and noted.

    Args:
        data: What stands under ``tests``.
        reader: Gets the mistakes.
    """
    entries = [
        (("tests", place), values)
        for place, entry in enumerate(reader.sequence(data, ("tests",)))
        if (values := reader.mapping(entry, ("tests", place), CASE_KEYS)) is not None
    ]
    raw: dict[str, dict[str, Any]] = {}
    for path, values in entries:
        name = str(values.get("name"))
        if name in raw:
            reader.wrong((*path, "name"), f"a test before is named {name!r} as well")
        logs = values.get("logs")
        raw[name] = logs if isinstance(logs, dict) else {}
    cases = [(path, _case(values, path, raw, reader)) for path, values in entries]
    wrong = {mistake.path[:2] for mistake in reader.mistakes}
    return [case for path, case in cases if case is not None and path not in wrong]


def _case(
    values: dict[str, Any], path: Path, raw: Mapping[str, Mapping[str, Any]], reader: Reader
) -> Case | None:
    name = reader.text(values["name"], (*path, "name")) if values.get("name") else None
    logs = dict(_logs(values.get("logs"), (*path, "logs"), raw, reader))
    copies = values.get("copies")
    for place, entry in enumerate(copies if isinstance(copies, list) else [copies]):
        if entry is not None:
            where = (*path, "copies", place) if isinstance(copies, list) else (*path, "copies")
            logs |= dict(_copies(entry, where, logs, reader))
    expect = _expectation(values.get("expect"), (*path, "expect"), reader)
    if name is None or expect is None:
        return None
    where = (*path, "baseline")
    baseline = _file(values.get("baseline"), BASELINE, parse_baseline, where, reader)
    where = (*path, "topology")
    topology = _file(values.get("topology"), TOPOLOGY, parse_topology, where, reader)
    return Case(name=name, logs=logs, expect=expect, baseline=baseline, topology=topology)


def _file(
    data: object, name: str, parse: Callable[[YamlText], Parsed], path: Path, reader: Reader
) -> Parsed | None:
    """Return what the text of a file says that a test is run with."""
    text = None if data is None else reader.text(data, path)
    if text is None:
        return None
    try:
        return parse(YamlText(name, text))
    except RuleErrors as errors:
        for problem in errors.problems:
            reader.wrong(path, str(problem))
        return None


def _logs(
    data: object, path: Path, raw: Mapping[str, Mapping[str, Any]], reader: Reader
) -> Iterator[tuple[str, str]]:
    if data is None:
        return
    for file, text in (reader.any_mapping(data, path, "a map of file to text") or {}).items():
        where = (*path, file)
        if isinstance(text, dict):
            source = (reader.mapping(text, where, _FROM_KEYS) or {}).get("from")
            if source is None:
                continue
            if source not in raw:
                hint = suggestion(source, raw)
                reader.wrong((*where, "from"), f"there is no test {source!r}{hint}")
                continue
            text = raw[source].get(file)
            if not isinstance(text, str):
                message = f"the test {source!r} has no file {file!r} with a text of its own"
                reader.wrong((*where, "from"), message)
                continue
        if isinstance(text, str):
            yield file, text
        else:
            reader.wrong(where, f"expected the text of the file, found {kind(text)}")


def _copies(
    data: object, path: Path, logs: Mapping[str, str], reader: Reader
) -> Iterator[tuple[str, str]]:
    values = reader.mapping(data, path, _COPY_KEYS)
    if not values or "of" not in values or "ranks" not in values:
        return
    file, ranges = str(values["of"]), str(values["ranks"])
    numbers = _NUMBER.findall(file)
    if file not in logs or not numbers:
        hint = suggestion(file, logs)
        reader.wrong((*path, "of"), f"expected a file of this test with its rank in the name{hint}")
        return
    if not _RANGES.fullmatch(ranges):
        reader.wrong((*path, "ranks"), f"expected ranges such as '1-7,9', found '{ranges}'")
        return
    ranks = [rank for part in ranges.split(",") for rank in _span(part)]
    if len(ranks) > COPIES:
        reader.wrong((*path, "ranks"), f"{len(ranks)} copies; at most {COPIES} are made")
        return
    for rank in ranks:
        yield copied(file, logs[file], int(numbers[0]), rank)


def _span(part: str) -> range:
    low, _, high = part.strip().partition("-")
    # One more than the limit is enough to see that there are too many.
    return range(int(low), min(int(high or low), int(low) + COPIES) + 1)


def copied(file: str, text: str, rank: int, other: int) -> tuple[str, str]:
    """Return name and text of a file as another rank would have written it.

    Only the number in the name and ``[rank0]``, ``[Rank 0]`` and ``Rank 0]`` change.
    """
    name = _NUMBER.sub(str(other), file, count=1)
    marks = re.compile(rf"(\[rank|\[Rank |\bRank ){rank}(?=\])")
    return name, marks.sub(rf"\g<1>{other}", text)


def _expectation(data: object, path: Path, reader: Reader) -> Expectation | None:
    if data is None:
        return None
    values = reader.mapping(data, path, EXPECT_KEYS)
    if values is None:
        return None
    for key in ("fires", "root"):
        if key in values and not isinstance(values[key], bool):
            found = kind(values[key])
            reader.wrong((*path, key), f"expected true or false, found {found}")
    culprit = values.get("culprit")
    if culprit is not None:
        culprit = {
            name: tuple(str(item) for item in reader.sequence(items, (*path, "culprit", name)))
            for name, items in (reader.any_mapping(culprit, (*path, "culprit")) or {}).items()
        }
        for name in culprit:
            if name not in CULPRITS:
                hint = suggestion(name, CULPRITS)
                reader.wrong((*path, "culprit", name), f"unknown key '{name}'{hint}", at_key=True)
    bounds = reader.mapping(values.get("confidence", {}), (*path, "confidence"), _BOUND_KEYS) or {}
    limits = {key: reader.share(value, (*path, "confidence", key)) for key, value in bounds.items()}
    least, most = limits.get("gte"), limits.get("lte")
    if not values.get("fires", True) and len(values) > 1:
        reader.wrong(path, "'fires: false' leaves nothing else to expect")
    return Expectation(
        fires=values.get("fires", True) is True,
        root=values.get("root"),
        culprit=culprit,
        least=0.0 if least is None else least,
        most=1.0 if most is None else most,
        explains=reader.texts(values.get("explains"), (*path, "explains")),
        evidence=reader.texts(values.get("evidence"), (*path, "evidence")),
    )
