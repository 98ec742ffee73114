"""Reads values out of YAML data and collects every mistake with the path to it."""

import difflib
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from diagnose import templates
from diagnose.engine.compare import quantity
from diagnose.engine.schema import Key
from diagnose.ingest.lazy import LazyPattern
from diagnose.parsers.convert import seconds

Path = tuple[str | int, ...]
Word = TypeVar("Word", bound=str)

KEBAB = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
NAME = re.compile(r"[A-Za-z_]\w*")
_NUMBER = LazyPattern(r"\s*[-+]?(?:\d+(?:\.\d+)?|0x[0-9a-fA-F]+)\s*")
_EXPONENT = LazyPattern(r"[-+]?\d+(?:\.\d*)?[eE][-+]?\d+")
"""``1e9`` and ``1.2e3``, which YAML reads as texts for want of a point or a sign."""


class Mistake(NamedTuple):
    """One mistake in a file.

    Args:
        path: Keys and indexes from the top of the file.
        message: What was found, what was expected and what to do.
        at_key: The key itself is wrong, not its value.
        fatal: False for a warning.
    """

    path: Path
    message: str
    at_key: bool = False
    fatal: bool = True


def is_number(text: str) -> bool:
    """Return whether a text is a number that YAML takes for one only with a point and a sign."""
    return _EXPONENT.fullmatch(text) is not None


def suggestion(word: object, words: Iterable[str]) -> str:
    """Return a phrase with the valid word nearest to a wrong one, else with all of them."""
    valid = sorted(words)
    near = difflib.get_close_matches(str(word), valid, n=1, cutoff=0.6)
    if near:
        return f"; did you mean '{near[0]}'?"
    return f"; known: {', '.join(valid)}" if 0 < len(valid) <= 30 else ""


def kind(value: object) -> str:
    """Return what a value is, in the words of YAML."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"'{str(value).lower()}'"
    if isinstance(value, Mapping):
        return "a map"
    if isinstance(value, list):
        return "a list"
    return f"'{value}'"


@dataclass(slots=True)
class Reader:
    """Checks values one by one; what is wrong goes to ``mistakes`` and reads as None."""

    mistakes: list[Mistake] = field(default_factory=list)

    def wrong(self, path: Path, message: str, *, at_key: bool = False, fatal: bool = True) -> None:
        """Note a mistake."""
        self.mistakes.append(Mistake(path, message, at_key, fatal))

    def mapping(self, data: object, path: Path, keys: Mapping[str, Key]) -> dict[str, Any] | None:
        """Return a map whose keys are all known and whose required ones are there."""
        if not isinstance(data, dict):
            return self.any_mapping(data, path, f"a map with {', '.join(list(keys)[:6])}")
        found = {str(key): value for key, value in data.items()}
        for key in [key for key in found if key not in keys]:
            message = f"unknown key '{key}'{suggestion(key, keys)}"
            self.wrong((*path, key), message, at_key=True)
            del found[key]
        for key, about in keys.items():
            if about.default == "required" and found.get(key) is None and key != "tests":
                self.wrong(path, f"'{key}' is missing ({about.type}): {about.meaning}")
        return found

    def any_mapping(self, data: object, path: Path, wanted: str = "a map") -> dict[str, Any] | None:
        """Return a map with text keys."""
        if not isinstance(data, dict):
            self.wrong(path, f"expected {wanted}, found {kind(data)}")
            return None
        return {str(key): value for key, value in data.items()}

    def sequence(self, data: object, path: Path) -> list[Any]:
        """Return a list; nothing is an empty one."""
        if data is None:
            return []
        if not isinstance(data, list):
            self.wrong(path, f"expected a list, found {kind(data)}; put it in [ ]")
            return []
        return data

    def text(self, data: object, path: Path) -> str | None:
        """Return a text that is not empty."""
        if isinstance(data, str) and data.strip():
            return data
        if isinstance(data, int | float) and not isinstance(data, bool):
            self.wrong(path, f"expected text, found the number {data}; quote it")
        else:
            self.wrong(path, f"expected text, found {kind(data)}")
        return None

    def texts(self, data: object, path: Path) -> tuple[str, ...]:
        """Return a list of texts."""
        found = [
            self.text(item, (*path, index)) for index, item in enumerate(self.sequence(data, path))
        ]
        return tuple(item for item in found if item is not None)

    def identifier(self, data: object, path: Path) -> str | None:
        """Return a kebab-case id."""
        found = self.text(data, path)
        if found is not None and not KEBAB.fullmatch(found):
            self.wrong(path, f"'{found}' is not an id; use small letters, digits and hyphens")
            return None
        return found

    def name(self, data: object, path: Path) -> str | None:
        """Return a name that templates can use."""
        found = self.text(data, path)
        if found is not None and not NAME.fullmatch(found):
            self.wrong(path, f"'{found}' is not a name; use letters, digits and underscores")
            return None
        return found

    def choice(self, data: object, path: Path, words: Iterable[Word]) -> Word | None:
        """Return one of a few words."""
        valid = tuple(words)
        for word in valid:
            if data == word:
                return word
        self.wrong(path, f"unknown value {kind(data)}{suggestion(data, valid)}")
        return None

    def flag(self, data: object, path: Path) -> bool | None:
        """Return true or false."""
        if isinstance(data, bool):
            return data
        self.wrong(path, f"expected true or false, found {kind(data)}")
        return None

    def number(self, data: object, path: Path, example: str | None = None) -> float | None:
        """Return a number; a size or a time with its unit is one.

        Args:
            data: The value.
            path: Where it stands.
            example: How a number that takes no unit is written.
        """
        if isinstance(data, int | float) and not isinstance(data, bool):
            return data
        if isinstance(data, str):
            if _NUMBER.fullmatch(data):
                self.wrong(path, f"the number {data.strip()} is given as text; take off the quotes")
                return None
            if is_number(data):
                return float(data)
            amount = quantity(data) if example is None else None
            if amount is not None:
                return amount
        wanted = f"such as {example}" if example else "or one with a unit (1GiB, 30s)"
        self.wrong(path, f"expected a number, {wanted}, found {kind(data)}")
        return None

    def share(self, data: object, path: Path) -> float | None:
        """Return a number from 0 to 1."""
        found = self.number(data, path)
        if found is not None and not 0 <= found <= 1:
            self.wrong(path, f"expected a number from 0 to 1, found {found:g}")
            return None
        return found

    def whole(
        self, data: object, path: Path, least: int = 0, example: str | None = None
    ) -> int | None:
        """Return a whole number; ``example`` as in ``number``."""
        found = self.number(data, path, example)
        if found is None:
            return None
        if not math.isfinite(found) or found != int(found) or found < least:
            self.wrong(path, f"expected a whole number of at least {least}, found {found:g}")
            return None
        return int(found)

    def duration(self, data: object, path: Path) -> float | None:
        """Return seconds from ``90s``, ``5m`` or a plain number."""
        if isinstance(data, int | float) and not isinstance(data, bool):
            return float(data)
        if isinstance(data, str) and not _NUMBER.fullmatch(data):
            try:
                return seconds(data)
            except ValueError:
                pass
        self.wrong(path, f"expected a duration such as 90s, 5m or 2h, found {kind(data)}")
        return None

    def template(self, data: object, path: Path) -> str | None:
        """Return a Jinja text that compiles; compiled only when something else is wrong or asked.

        Templates are compiled on first use, so only their braces are looked at here.
        """
        found = self.text(data, path)
        if found is not None and found.count("{{") != found.count("}}"):
            self.compiles(found, path, templates.check)
        return found

    def expression(self, data: object, path: Path) -> str | None:
        """Return one ``{{ expression }}``."""
        found = self.text(data, path)
        if found is None:
            return None
        if not (found.strip().startswith("{{") and found.strip().endswith("}}")):
            self.wrong(path, f'expected one expression; write "{{{{ {found.strip()} }}}}"')
            return None
        return found

    def compiles(self, text: str, path: Path, check: Callable[[str], None]) -> None:
        """Note what is wrong with a template or an expression, if anything is."""
        try:
            check(text)
        except ValueError as error:
            self.wrong(path, f"not a valid template: {error}")
