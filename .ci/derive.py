"""Writes ``diagnose/parsers/derived.py``: the required literals of all patterns, worked out once.

Deriving them from the syntax trees takes longer than reading a pasted snippet, so the result ships.
A pattern that is not in it is derived when it is needed, so that a stale file costs time and never
a match. Run ``python .ci/derive.py`` after a change of patterns; a test asks for it.
"""

from pathlib import Path

from diagnose.engine.load import load_rules, rule_parsers
from diagnose.ingest.pattern import required_literals
from diagnose.parsers import parsers
from diagnose.parsers.base import LineParser

HEAD = '''"""Required literals by pattern; written by ``python .ci/derive.py``."""

LITERALS: dict[str, tuple[str, ...]] = {
'''


def table() -> str:
    """Return the text of ``derived.py``."""
    patterns = (
        pattern
        for parser in (*parsers(), *rule_parsers(load_rules()))
        if isinstance(parser, LineParser)
        for pattern in parser.patterns
        if not pattern.literals
    )
    rows = {one.regex: tuple(sorted(required_literals(one.regex))) for one in patterns}
    return HEAD + "".join(f"    {regex!r}: {texts!r},\n" for regex, texts in rows.items()) + "}\n"


if __name__ == "__main__":
    target = Path(__file__).parent.parent / "diagnose" / "parsers" / "derived.py"
    target.write_text(table(), encoding="utf-8")
