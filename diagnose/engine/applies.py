"""Version constraints: ``torch: ">=2.4"``, ``requires: {diagnose: ">=0.3,<1"}``."""

import operator
from collections.abc import Callable, Mapping
from itertools import zip_longest

from diagnose.ingest.lazy import LazyPattern

_CONSTRAINT = LazyPattern(r"\s*(>=|<=|==|!=|>|<)\s*v?(\d+(?:\.\d+)*)\s*")
_RELEASE = LazyPattern(r"\D*(\d+(?:\.\d+)*)")

_OPERATORS: Mapping[str, Callable[[int, int], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}

Constraint = tuple[str, tuple[int, ...]]


def constraints(text: str) -> tuple[Constraint, ...]:
    """Return the parts of ``>=2.4,<3``.

    Raises:
        ValueError: A part is not an operator and a version.
    """
    found: list[Constraint] = []
    for part in text.split(","):
        matched = _CONSTRAINT.fullmatch(part)
        if matched is None:
            raise ValueError(f"{part.strip()!r} is not a constraint; write it as '>=2.4'")
        found.append((matched[1], _numbers(matched[2])))
    return tuple(found)


def allows(text: str, version: str | None) -> bool:
    """Return whether a version satisfies all constraints; an unknown one does.

    Only the release counts: ``2.6.0a0+git`` is 2.6.0, and ``==2.6`` holds for 2.6.0.

    >>> allows(">=2.4", "2.10.1"), allows("<2.28", "2.28.3+cuda12.9"), allows("<1", None)
    (True, False, True)

    Raises:
        ValueError: The constraint is malformed.
    """
    wanted = constraints(text)
    release = _RELEASE.match(version or "")
    if release is None:
        return True
    have = _numbers(release[1])
    return all(_OPERATORS[sign](_order(have, bound), 0) for sign, bound in wanted)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def _order(left: tuple[int, ...], right: tuple[int, ...]) -> int:
    for one, other in zip_longest(left, right, fillvalue=0):
        if one != other:
            return 1 if one > other else -1
    return 0
