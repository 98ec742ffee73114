"""Reads a baseline file: what a team expects of its machines, checked as rule files are."""

import sys
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any

from diagnose import shipped
from diagnose.engine.positions import YamlText, loaded, opened
from diagnose.engine.reader import Path, Reader, is_number
from diagnose.engine.schema import Key
from diagnose.errors import Problem, RuleErrors
from diagnose.model.baseline import Baseline, Expectation

BASELINE_KEYS: Mapping[str, Key] = {
    "gpu": Key("text", "not stated", "model of the GPUs of all rows, such as H100"),
    "ok": Key("0-1", "0.9", "least ratio of measured and expected that is ok, for all rows"),
    "warning": Key("0-1", "0.8", "least ratio that is not a failure, for all rows"),
    "run": Key("map", "{}", "the run the file was taken from: versions, parallel, marks"),
    "tests": Key("list", "required", "rows: what is expected of what"),
}
TEST_KEYS: Mapping[str, Key] = {
    "name": Key("text", "required", "how the row is called; unique in the file"),
    "metric": Key("metric", "one of three", "a number that training logs hold over time"),
    "bench": Key("collective", "one of three", "bus bandwidth of nccl-tests"),
    "test": Key("text", "one of three", "any other test, in words or as its command"),
    "gpus": Key("whole number", "not stated", "how many GPUs take part"),
    "nodes": Key("whole number", "not stated", "on how many nodes they are"),
    "size": Key("size", "1GiB and larger", "message size of a bandwidth test"),
    "gpu": Key("text", "of the file", "model of the GPUs, such as H100"),
    "unit": Key("unit", "of the metric; GB/s", "unit of expected and measured"),
    "expected": Key("number", "required", "what a healthy machine gives"),
    "measured": Key("number", "from the logs", "what was measured; judged in place of the logs"),
    "better": Key("larger | smaller", "of the metric; larger", "which side is good"),
    "ok": Key("0-1", "of the file", "least ratio that is ok"),
    "warning": Key("0-1", "of the file", "least ratio that is not a failure"),
}
RUN_KEYS: Mapping[str, Key] = {
    "versions": Key("map of texts", "{}", "versions by name"),
    "parallel": Key("map of whole numbers", "{}", "parallel sizes by name"),
    "marks": Key("map", "{}", "settings that tell the run from others"),
}
WAYS = ("metric", "bench", "test")
"""What a row measures: one of them."""

MAY_BE_ZERO = ("share", None)
"""Units of which a run may measure nothing: shares, and those of a team's own tests."""

NOT_MEASURED = "; leave 'measured' out where nothing was measured"

TESTS_LIMIT = 1000
"""Rows of one file."""


def read_baseline(path: FilePath) -> Baseline:
    """Return a baseline file.

    Raises:
        RuleErrors: It cannot be opened or is wrong; all its mistakes are named with their place.
    """
    return parse_baseline(opened(path))


def parse_baseline(text: YamlText) -> Baseline:
    """Return the baseline that a text holds.

    Raises:
        RuleErrors: It is wrong; all its mistakes are named with their place.
    """
    data = loaded(text)
    if data is None:
        raise RuleErrors([Problem(text.name, 0, 0, "is empty; a baseline lists 'tests'")])
    reader = Reader()
    baseline = _Reading(reader, text, shipped.table("baseline")).baseline(data)
    problems = [*text.duplicate_keys(), *map(text.problem, reader.mistakes)]
    if problems or baseline is None:
        raise RuleErrors(sorted(problems, key=lambda one: (one.line, one.column)))
    return baseline


class _Reading:
    """One reading of a file.

    Args:
        reader: Collects the mistakes.
        text: The file, for the lines of rows.
        known: The shipped table of metrics, units and bounds.
    """

    def __init__(self, reader: Reader, text: YamlText, known: Mapping[str, Any]) -> None:
        self.reader = reader
        self.text = text
        self.known = known
        self.gpu: str | None = None
        self.bounds = (float(known["ok"]), float(known["warning"]))

    def baseline(self, data: object) -> Baseline | None:
        reader = self.reader
        values = reader.mapping(data, (), BASELINE_KEYS)
        if values is None:
            return None
        self.gpu = reader.text(values["gpu"], ("gpu",)) if "gpu" in values else None
        self.bounds = self._bounds(values, ())
        entries = reader.sequence(values.get("tests"), ("tests",))
        if not entries and values.get("tests") in (None, []):
            message = "'tests' is missing or empty: expected a list of what is expected of what"
            reader.wrong(("tests",), message)
        if len(entries) > TESTS_LIMIT:
            reader.wrong(("tests",), f"{len(entries)} tests; at most {TESTS_LIMIT} are judged")
            return None
        tests = [self._test(entry, ("tests", place)) for place, entry in enumerate(entries)]
        self._names(entries)
        run = reader.mapping(values.get("run", {}), ("run",), RUN_KEYS) or {}
        return Baseline(
            file=self.text.name,
            tests=tuple(test for test in tests if test is not None),
            versions={name: str(value) for name, value in self._run(run, "versions").items()},
            parallel=self._sizes(run),
            marks={name: str(value) for name, value in self._run(run, "marks").items()},
        )

    def _test(self, data: object, path: Path) -> Expectation | None:
        reader = self.reader
        before = len(reader.mistakes)
        values = reader.mapping(data, path, TEST_KEYS)
        if values is None:
            return None
        way = self._way(values, path)
        meaning = self._meaning(way, values, path)
        unit = values.get("unit", meaning.get("unit", ""))
        scale = self._scale(unit, meaning.get("unit"), path)
        ok, warning = self._bounds(values, path)
        may_be_zero = meaning.get("unit") in MAY_BE_ZERO
        better = values.get("better", meaning.get("better", "larger"))
        amounts = {
            key: self._amount(values[key], (*path, key), zero=zero)
            for key, zero in (("expected", False), ("measured", may_be_zero))
            if values.get(key) is not None
        }
        fields: dict[str, Any] = {
            "name": reader.text(values["name"], (*path, "name")) if values.get("name") else None,
            "gpus": self._count(values, "gpus", path),
            "nodes": self._count(values, "nodes", path),
            "size": self._size(way, values, path),
            "gpu": reader.text(values["gpu"], (*path, "gpu")) if "gpu" in values else self.gpu,
            "better": reader.choice(better, (*path, "better"), ("larger", "smaller")),
        }
        gpus, nodes = fields["gpus"], fields["nodes"]
        if gpus is not None and nodes is not None and gpus < nodes:
            message = f"'gpus' ({gpus}) is less than 'nodes' ({nodes}); each node has one or more"
            reader.wrong((*path, "gpus"), message)
        if len(reader.mistakes) > before or way is None:
            return None
        line, _ = self.text.place(path)
        return Expectation(
            line=line,
            unit=unit,
            scale=scale,
            ok=ok,
            warning=warning,
            expected=float(amounts["expected"] or 0.0),
            measured=amounts.get("measured"),
            **{way: values[way]},
            **fields,
        )

    def _way(self, values: Mapping[str, Any], path: Path) -> str | None:
        """Return which of the three ways a row measures, its value checked."""
        ways = [way for way in WAYS if values.get(way) is not None]
        if len(ways) != 1:
            found = " and ".join(f"'{way}'" for way in ways) or "none of them"
            self.reader.wrong(path, f"a test needs one of {', '.join(WAYS)}; found {found}")
            return None
        way = ways[0]
        words = {"metric": self.known["metrics"], "bench": self.known["benchmarks"]}
        if way == "test":
            return way if self.reader.text(values[way], (*path, way)) else None
        return way if self.reader.choice(values[way], (*path, way), words[way]) else None

    def _meaning(self, way: str | None, values: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
        """Return unit and good side of what a row measures, empty for a test of its own."""
        if way == "metric":
            meaning: Mapping[str, Any] = self.known["metrics"][values[way]]
            if "better" in values and values["better"] != meaning["better"]:
                message = f"of {values[way]}, {meaning['better']} is better; take this out"
                self.reader.wrong((*path, "better"), message)
            return meaning
        return {"unit": "GB/s"} if way == "bench" else {}

    def _scale(self, unit: object, canonical: str | None, path: Path) -> float:
        if canonical is None:
            if unit != "":
                self.reader.text(unit, (*path, "unit"))
            return 1.0
        factors: Mapping[str, float] = self.known["units"][canonical]
        chosen = self.reader.choice(unit, (*path, "unit"), factors)
        return float(factors[chosen]) if chosen is not None else 1.0

    def _bounds(self, values: Mapping[str, Any], path: Path) -> tuple[float, float]:
        found = [
            self.reader.share(values[key], (*path, key)) if key in values else default
            for key, default in zip(("ok", "warning"), self.bounds, strict=True)
        ]
        ok, warning = (
            default if one is None else one for one, default in zip(found, self.bounds, strict=True)
        )
        if warning > ok:
            key = "warning" if "warning" in values else "ok"
            message = f"'warning' ({warning:g}) is above 'ok' ({ok:g}); it must be at most that"
            self.reader.wrong((*path, key), message)
        return ok, warning

    def _amount(self, data: object, path: Path, *, zero: bool) -> float | None:
        if isinstance(data, str) and data.strip().endswith("%"):
            self.reader.wrong(path, f"'{data}' is text; write the share as a number with unit: '%'")
            return None
        if isinstance(data, str) and not is_number(data):
            self.reader.wrong(
                path, f"expected a number, found the text '{data}'; put its unit under 'unit'"
            )
            return None
        found = self.reader.number(data, path)
        if found is None:
            return None
        if not 0 <= found <= sys.float_info.max or (found == 0 and not zero):
            least = "of at least 0" if zero else "above 0"
            advice = NOT_MEASURED if found == 0 and path[-1] == "measured" else ""
            self.reader.wrong(path, f"expected a number {least}, found {data}{advice}")
            return None
        return float(found)

    def _count(self, values: Mapping[str, Any], key: str, path: Path) -> int | None:
        return self.reader.whole(values[key], (*path, key), 1) if key in values else None

    def _size(self, way: str | None, values: Mapping[str, Any], path: Path) -> int | None:
        if "size" not in values:
            return None
        if way is not None and way != "bench":
            self.reader.wrong((*path, "size"), "only a 'bench' has a message size", at_key=True)
            return None
        return self.reader.whole(values["size"], (*path, "size"), 1)

    def _names(self, entries: list[Any]) -> None:
        """Find two rows of one name: the report tells rows apart by it."""
        seen: set[object] = set()
        for place, entry in enumerate(entries):
            name = entry.get("name") if isinstance(entry, dict) else None
            if isinstance(name, str) and name in seen:
                self.reader.wrong(("tests", place, "name"), f"a test before is named '{name}'")
            seen.add(name if isinstance(name, str) else None)

    def _run(self, run: Mapping[str, Any], key: str) -> dict[str, Any]:
        path: Path = ("run", key)
        found = self.reader.any_mapping(run.get(key, {}), path) or {}
        for name, value in found.items():
            if not isinstance(value, str | int | float):
                self.reader.wrong((*path, name), "expected a text or a number")
        return found

    def _sizes(self, run: Mapping[str, Any]) -> dict[str, int]:
        found = self._run(run, "parallel")
        sizes = {
            name: self.reader.whole(value, ("run", "parallel", name), 1)
            for name, value in found.items()
        }
        return {name: size for name, size in sizes.items() if size is not None}
