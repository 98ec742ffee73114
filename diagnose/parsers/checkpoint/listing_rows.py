"""One line of a listing of files: name, size, time.

Not a parser: that of listings asks it. Forms: ``ls -l`` with all its dates and units, ``find -ls``,
``find -printf`` with size, path and a time in any order, ``du -a``, ``tree -s``, ``aws s3 ls``,
``gsutil ls -l``, ``stat``, ``sha256sum`` and its kin. Lost tabs and extra blanks do no harm.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from diagnose.ingest.lazy import LazyPattern
from diagnose.ingest.stamp import MONTHS
from diagnose.parsers.checkpoint.pointers import NAMES as POINTERS
from diagnose.parsers.checkpoint.tree import wants
from diagnose.parsers.convert import size as bytes_of

Kind = Literal[
    "cat", "ls", "find", "du", "tree", "store", "stat", "hash", "heading", "command", "total"
]

UNKNOWN = -1
"""Size of a file of which a listing gives none."""

LONGEST = 1_500
"""Characters of a row; paths end at 1,024 in object stores."""

MODE = r"[-dlbcps][-rwxsStT]{9}[.+@]?"
SIZE = r"\d[\d.,]*(?: ?(?:[KMGTP]i?B?|Bytes|B))?"
DATE = (
    r"(?:\d{4}-\d\d-\d\d[ T+]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z| ?[+-]\d\d:?\d\d| UTC)?"
    r"|[A-Z][a-z]{2} +\d{1,2} +(?:\d\d:\d\d|\d{4})"
    r"|\d{1,2} +[A-Z][a-z]{2} +(?:\d\d:\d\d|\d{4})|\d\d-\d\d +\d\d:\d\d|\d{10}(?:\.\d+)?)"
)
LS = LazyPattern(
    rf"^ *(?:\d+ +){{0,2}}(?P<mode>{MODE}) +\d+ +(?:\S+ +){{0,4}}?"
    rf"(?P<size>{SIZE}) +(?P<date>{DATE}) +(?P<name>\S.*)$"
)
STORE = LazyPattern(
    rf"^ *(?:(?P<date>{DATE}) +(?P<size>{SIZE})|(?P<size2>\d+) +(?P<date2>{DATE})) +(?P<name>\S.*)$"
)
SIZE_NAME = LazyPattern(r"^ *(?P<size>\d[\d.]*[KMGTP]?)(?P<gap>\t| +)(?P<name>[^\s\[].*)$")
NAME_SIZE = LazyPattern(rf"^(?P<name>\S*/\S+)[ \t]+(?P<size>\d+)(?: +(?P<date>{DATE}))?$")
TREE = LazyPattern(
    rf"^[│| \xa0]*[├└|`][-─]{{2}} ?"
    rf"\[(?P<mode>[^\]\d]*)(?P<size>{SIZE})(?: +(?P<date>{DATE}))?\] *(?P<name>\S.*)$"
)
HASH = LazyPattern(
    r"^ *\\?(?P<digest>[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128}) [ *]?(?P<name>\S.*)$"
)
STAT_FILE = LazyPattern(r"^ *File: ['\"‘“]?(?P<name>[^'\"’”]+?)['\"’”]?$")
STAT_SIZE = LazyPattern(r"^ *Size: (?P<size>\d+)\s+Blocks: ")
STAT_TIME = LazyPattern(rf"^ *Modify: (?P<date>{DATE})")
HEADING = LazyPattern(r"^(?:'(?P<quoted>[^']+)'|(?P<name>[^\s:'\"(\[{]+)):$")
COMMAND = LazyPattern(
    r"^(?:\S*[$#>%+] +|\[[^\]]*\][$#] +)?(?:sudo )?"
    r"(?P<program>cat|ls|tree|du|find|stat|aws s3 ls|gsutil ls|gcloud storage ls)(?P<rest>(?: +[^\s|;&>]+)+)"
)
TOTAL = LazyPattern(
    r"^total [\d.,]+[KMGTP]?$|^\d+ director(?:y|ies)(?:, \d+ files?)?$|^ *TOTAL: \d+ objects|^ *Total Objects: "
)

YEARLESS = 1972
"""Year of dates that state none; only differences count, and it has a 29 February."""


@dataclass(frozen=True, slots=True)
class Row:
    """What one line of a listing says.

    Args:
        kind: Form of the line.
        name: As printed: a path, or a name in the folder that a heading or the depth says.
        size: Bytes, ``UNKNOWN`` where there are none.
        exact: The size is in bytes and not rounded.
        modified: Seconds since 1970, of the year 1972 where the date has none; None if unknown.
        yearless: Whether it has none.
        folder: It is a folder and no file.
        digest: Of the contents.
    """

    kind: Kind
    name: str = ""
    size: int = UNKNOWN
    exact: bool = True
    modified: float | None = None
    yearless: bool = False
    folder: bool = False
    digest: str | None = None


def row_of(text: str) -> Row | None:
    """Return what a line says, None where it is none of a listing."""
    text = text.rstrip()
    if len(text) > LONGEST:
        return None
    return next((row for read in READERS if (row := read(text)) is not None), None)


def _ls(text: str) -> Row | None:
    found = LS.match(text)
    if found is None:
        return None
    mode, name = found["mode"][0], found["name"].strip("'\"")
    if mode == "l":
        name = name.partition(" -> ")[0]
    kind: Kind = "find" if "/" in name else "ls"
    return _sized(kind, name, found["size"], found["date"], folder=mode != "-")


def _tree(text: str) -> Row | None:
    found = TREE.match(text)
    if found is None:
        return None
    name = found["name"].partition(" -> ")[0]
    return _sized("tree", name.rstrip("/"), found["size"], found["date"], folder=name.endswith("/"))


def _store(text: str) -> Row | None:
    found = STORE.match(text)
    if found is None:
        return None
    name, size, date = (
        found["name"],
        found["size"] or found["size2"],
        found["date"] or found["date2"],
    )
    if "://" in name:
        name = name.partition("#")[0]
    return _sized("store", name, size, date) if wants(name) or name.endswith("/") else None


def _name_and_size(text: str) -> Row | None:
    found = SIZE_NAME.match(text) or NAME_SIZE.match(text)
    if found is None:
        return None
    parts, name = found.groupdict(), found["name"]
    blocks = parts.get("gap") == "\t" or not found["size"].isdecimal()
    if not wants(name) and not (blocks and "/" in name and " " not in name):
        return None
    return _sized("du" if blocks else "find", name, found["size"], parts.get("date"))


def _hash(text: str) -> Row | None:
    found = HASH.match(text)
    if found is None or not wants(found["name"]):
        return None
    return Row("hash", found["name"], digest=found["digest"])


def _stat(text: str) -> Row | None:
    if found := STAT_FILE.match(text):
        return Row("stat", found["name"])
    if found := STAT_SIZE.match(text):
        return Row("stat", size=int(found["size"]))
    found = STAT_TIME.match(text)
    return Row("stat", modified=_time(found["date"])[0]) if found else None


def _around(text: str) -> Row | None:
    """Read what stands around rows: headings, commands and sums."""
    text = text.lstrip()
    if TOTAL.match(text):
        return Row("total")
    if found := HEADING.match(text):
        return Row("heading", found["quoted"] or found["name"])
    found = COMMAND.match(text)
    if found is None:
        return None
    places = [word.strip("'\"") for word in found["rest"].split() if not word.startswith("-")]
    if found["program"] == "cat":
        pointer = len(places) == 1 and places[0].rpartition("/")[2] in POINTERS
        return Row("cat", places[0]) if pointer else None
    based = found["program"] in ("ls", "tree") and len(places) == 1 and "*" not in places[0]
    return Row("command", places[0] if based else "")


READERS: tuple[Callable[[str], Row | None], ...] = (
    _ls, _tree, _stat, _hash, _store, _name_and_size, _around,
)  # fmt: skip


def _sized(
    kind: Kind, name: str, size: str, date: str | None, *, folder: bool = False
) -> Row | None:
    """Return a row of a file, with the number of ``du`` as it stands."""
    plain = (
        size.replace(" Bytes", "").replace(",", ".") if "," in size else size.replace(" Bytes", "")
    )
    exact = plain.isdecimal()
    if plain.isdecimal():
        number = int(plain)
    else:
        try:
            number = bytes_of(plain.replace("P", "T"))
        except ValueError:
            return None
    time, yearless = _time(date) if date else (None, False)
    return Row(kind, name, number, exact, time, yearless, folder or name.endswith("/"))


def _time(date: str) -> tuple[float | None, bool]:
    """Return the seconds of a date, and whether it states no year."""
    if re.match(r"\d{10}(?:\.\d+)?$", date):
        return float(date), False
    try:
        if re.match(r"\d{4}-", date):
            text = date.replace("+", "T", 1) if date[10] == "+" else date
            text = re.sub(r"(\.\d{1,6})\d*", r"\1", text.replace(" UTC", "Z"))
            stamp = datetime.fromisoformat(re.sub(r" ([+-]\d\d):?(\d\d)$", r"\1:\2", text))
            return (stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)).timestamp(), False
        month, day, rest = _words(date)
        year = YEARLESS
        if rest[-1].isdecimal():
            year = int(rest.pop())
        hour, minute, second = ([*map(int, rest[0].split(":")), 0] if rest else [0, 0, 0])[:3]
        return datetime(
            year, month, day, hour, minute, second, tzinfo=UTC
        ).timestamp(), year == YEARLESS
    except (ValueError, KeyError, IndexError):
        return None, False


def _words(date: str) -> tuple[int, int, list[str]]:
    words = date.split()
    if "-" in words[0]:
        month, day = words[0].split("-")
        return int(month), int(day), words[1:]
    if words[0].isdecimal():
        words[:2] = words[1], words[0]
    return MONTHS[words[0]], int(words[1]), words[2:]
