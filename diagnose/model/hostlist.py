"""Names in short, as Slurm writes lists of hosts: ``node-[01-16,20]``."""

import re
from collections.abc import Iterable, Sequence
from itertools import product

MOST = 200_000
"""Names that one pattern may stand for."""

_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_LAST_NUMBER = re.compile(r"(.*?)(\d+)(\D*)", re.DOTALL)


def expand(pattern: str) -> list[str]:
    """Return the names that a pattern stands for; of several ranges the last runs fastest.

    Raises:
        ValueError: Brackets do not match, a range is none, or there are too many names.
    """
    texts = _BRACKETS.split(pattern)
    if any("[" in text or "]" in text for text in texts[::2]):
        raise ValueError(f"the brackets of '{pattern}' do not match")
    numbers = [_numbers(text, pattern) for text in texts[1::2]]
    count = 1
    for members in numbers:
        count *= len(members)
        if count > MOST:
            raise ValueError(f"'{pattern}' stands for more than {MOST} names")
    if not numbers:
        return [pattern]
    form = "%s".join(text.replace("%", "%%") for text in texts[::2])
    return [form % members for members in product(*numbers)]


def fold(names: Sequence[str]) -> list[str]:
    """Return patterns that stand for names in their order; names that differ stay as they are."""
    groups: list[tuple[str, str, list[str]]] = []
    for name in names:
        found = _LAST_NUMBER.fullmatch(name)
        before, number, after = found.groups() if found else (name, "", "")
        if groups and number and groups[-1][:2] == (before, after) and groups[-1][2] != [""]:
            groups[-1][2].append(number)
        else:
            groups.append((before, after, [number]))
    return [
        f"{before}[{_ranges(numbers)}]{after}"
        if len(numbers) > 1
        else f"{before}{numbers[0]}{after}"
        for before, after, numbers in groups
    ]


def _numbers(text: str, pattern: str) -> list[str]:
    found: list[str] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise ValueError(f"'[{text}]' of '{pattern}' is no range; write [01-16] or [1,3-5]")
        low, high = match[1], match[2] or match[1]
        if int(high) < int(low):
            raise ValueError(f"the range {part.strip()} of '{pattern}' runs backwards")
        if int(high) - int(low) >= MOST:
            raise ValueError(f"'{pattern}' stands for more than {MOST} names")
        found += [f"{number:0{len(low)}d}" for number in range(int(low), int(high) + 1)]
    return found


def _ranges(numbers: Iterable[str]) -> str:
    """Return numbers of one width, or without leading zeros, as ``01-16,20``."""
    runs: list[tuple[str, str]] = []
    for number in numbers:
        if runs and _follows(number, *runs[-1]):
            runs[-1] = runs[-1][0], number
        else:
            runs.append((number, number))
    return ",".join(low if low == high else f"{low}-{high}" for low, high in runs)


def _follows(number: str, low: str, high: str) -> bool:
    """Return whether a range goes on with a number that ``expand`` would write the same way."""
    return int(number) == int(high) + 1 and number == f"{int(number):0{len(low)}d}"
