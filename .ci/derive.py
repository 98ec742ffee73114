"""Writes what is worked out once of all parsers and rules, and ships.

``diagnose/parsers/index.py`` says what each parser waits for, so that its module is imported when
that has been seen. ``diagnose/parsers/derived.py`` has the required literals of the patterns of
rules: deriving them from the syntax trees takes longer than reading a pasted snippet. Run ``python
.ci/derive.py`` after a change of patterns, gates or the list of parsers; a test asks for it.
"""

from collections.abc import Callable, Iterator
from dataclasses import fields
from importlib import import_module
from pathlib import Path

from diagnose.engine.load import load_rules, rule_parsers
from diagnose.ingest.pattern import required_literals
from diagnose.parsers import MODULES
from diagnose.parsers.base import FileParser, FolderParser
from diagnose.parsers.gate import Gate
from diagnose.parsers.routes import waits

PARSERS = Path(__file__).parent.parent / "diagnose" / "parsers"

FILES = {"literals": PARSERS / "derived.py", "index": PARSERS / "index.py"}
"""What is written, by the function that gives its text."""


def literals() -> str:
    """Return the text of ``derived.py``."""
    patterns = (
        pattern
        for parser in rule_parsers(load_rules())
        for pattern in parser.patterns
        if not pattern.literals
    )
    rows = {one.regex: tuple(sorted(required_literals(one.regex))) for one in patterns}
    return (
        '"""Required literals by pattern of rules; written by ``python .ci/derive.py``."""\n\n'
        "LITERALS: dict[str, tuple[str, ...]] = {\n"
        + "".join(f"    {regex!r}: {texts!r},\n" for regex, texts in rows.items())
        + "}\n"
    )


def index() -> str:
    """Return the text of ``index.py``."""
    tests: set[Callable[[bytes], bool]] = set()
    entries = list(_entries(tests))
    imports = sorted(f"from {one.__module__} import {one.__name__}\n" for one in tests)
    return (
        '"""What the parsers of each module wait for; written by ``python .ci/derive.py``."""\n\n'
        "from diagnose.parsers.gate import Gate\n"
        "from diagnose.parsers.late import Late, LateFileParser, LateFolderParser, LateTextParser\n"
        + "".join(imports)
        + "\nPARSERS: tuple[Late, ...] = (\n"
        + "".join(entries)
        + ")\n"
    )


def _entries(tests: set[Callable[[bytes], bool]]) -> Iterator[str]:
    """Yield a row for each parser, and collect the tests of gates."""
    for module in MODULES:
        for number, parser in enumerate(import_module(f"diagnose.parsers.{module}").PARSERS):
            place = f"{module!r}, {number}"
            if isinstance(parser, FileParser):
                gate = _gate(parser.gate, tests)
                yield f"    LateFileParser({place}, alone={parser.alone}, gate={gate}),\n"
            elif isinstance(parser, FolderParser):
                yield f"    LateFolderParser({place}, gate={_gate(parser.gate, tests)}),\n"
            else:
                yield f"    LateTextParser({place}, (\n"
                yield from (f"        {wait!r},\n" for wait in waits(parser))
                yield "    )),\n"


def _gate(gate: Gate, tests: set[Callable[[bytes], bool]]) -> str:
    stated = {one.name: getattr(gate, one.name) for one in fields(gate)}
    given = [f"{name}={value!r}" for name, value in stated.items() if value and name != "test"]
    if gate.test is not None:
        tests.add(gate.test)
        given.append(f"test={gate.test.__name__}")
    return f"Gate({', '.join(given)})"


if __name__ == "__main__":
    FILES["literals"].write_text(literals(), encoding="utf-8")
    FILES["index"].write_text(index(), encoding="utf-8")
