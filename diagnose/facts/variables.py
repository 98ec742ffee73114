"""What is known of environment variables, and names that no program reads.

=================== ===============================================================================
``env.misspelled``   A variable under a name that nothing reads, near a known one (``meant``);
                     ``both`` where that one is set as well
``env.obsolete``     A name that the NCCL of the job no longer reads
=================== ===============================================================================

The table is ``rules/variables.yaml``: names, ranges and defaults are knowledge and stand beside the
causes, in the folder of the rules; here is only how a name is compared with them. Facts read it and
not the loader of rules: what it gives are events, and those exist before any rule is asked.

A name the table has, even without details, is never a misspelling of another one. An unknown name
that is not near any is left alone: plugins read their own.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from diagnose import shipped
from diagnose.model.event import Event, Nature, Scalar, Value

EVENTS = ("env.misspelled", "env.obsolete")

TABLE = "variables"

FURTHEST = 2
"""Letters added, left out, changed or swapped with a neighbour in what is still the same name."""

LETTERS_EACH = 4
"""Letters behind the last common part that a name needs for each difference: in a short one, two
different letters are another word."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable, see ``rules/variables.yaml`` for the meaning of each.

    Args:
        name: As programs read it.
        does: What it changes.
        kind: How its value is checked.
        range: Least and largest legal number, None for no bound.
        usual: Least and largest number that is seldom a mistake.
        words: Legal words in lower case.
        exact: The value is a whole name, without prefixes.
        unit: Of a number that people give in another unit.
        defaults: Release to value from then on, in rising order.
        steers: What goes wrong where it has no effect.
        differs: What it means where members of the job disagree.
    """

    name: str
    does: str = ""
    kind: str = "text"
    range: tuple[float | None, float | None] = (None, None)
    usual: tuple[float | None, float | None] = (None, None)
    words: tuple[str, ...] = ()
    exact: bool = False
    unit: str | None = None
    defaults: Mapping[str, Scalar] = field(default_factory=dict)
    steers: str = "other"
    differs: str = "noted"

    def default(self, version: str | None) -> Scalar:
        """Return the value that a release takes where the variable is unset, None if unknown."""
        if version is None:
            return None
        since = [value for key, value in self.defaults.items() if release(key) <= release(version)]
        return since[-1] if since else None


@dataclass(frozen=True, slots=True)
class Table:
    """All of ``rules/variables.yaml``.

    Args:
        variables: Those with details, by name.
        known: All names that some release reads.
        others: Beginnings of names that are left alone.
        misspelled: Name as written to the one that was meant.
        obsolete: Name to the one that took its place (or None) and the release without it.
        oldest: Release taken where none is known.
        compared: Facts in which members are compared, with what a difference means.
    """

    variables: Mapping[str, Variable]
    known: frozenset[str]
    others: tuple[str, ...]
    misspelled: Mapping[str, str]
    obsolete: Mapping[str, tuple[str | None, str]]
    oldest: str
    compared: Mapping[str, str]

    def steers(self, name: str | None) -> str:
        """Return what goes wrong where a variable has no effect."""
        variable = self.variables.get((name or "").partition(" ")[0])
        return variable.steers if variable else "other"

    def meant(self, name: str) -> str | None:
        """Return the name that was meant, None where the one written may be right."""
        if name in self.known or name in self.obsolete:
            return None
        if name in self.misspelled:
            return self.misspelled[name]
        if name.startswith(self.others):
            return None
        found = sorted((distance(name, one), one) for one in self.known if near(name, one))
        if not found or (len(found) > 1 and found[0][0] == found[1][0]):
            return None
        return found[0][1]


@cache
def table() -> Table:
    """Return the shipped table, read once."""
    data: dict[str, Any] = shipped.table(TABLE)
    variables = {name: _variable(name, keys) for name, keys in data["variables"].items()}
    return Table(
        variables=variables,
        known=frozenset(data["known"].split()) | frozenset(variables),
        others=tuple(data["others"]),
        misspelled=data["misspelled"],
        obsolete={name: (one["meant"], one["since"]) for name, one in data["obsolete"].items()},
        oldest=data["oldest"],
        compared=data["compared"],
    )


def _variable(name: str, keys: Mapping[str, Any]) -> Variable:
    bounds = {key: tuple(keys[key]) for key in ("range", "usual") if key in keys}
    words = tuple(str(word).lower() for word in keys.get("words", ()))
    return Variable(name=name, **{**keys, **bounds, "words": words})


def release(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, for comparing."""
    parts = version.partition("+")[0].split(".")
    return tuple(int(digits) for part in parts if (digits := part[: _digits(part)]))


def _digits(part: str) -> int:
    return next((place for place, letter in enumerate(part) if not letter.isdigit()), len(part))


def names(events: Iterable[Event], version: str | None) -> Iterator[Event]:
    """Yield the variables that are set under a name nothing reads, each host and value once.

    Args:
        events: All of the input, with hosts completed.
        version: Of NCCL, as the logs state it.
    """
    settings = list(distinct(events))
    present = {event.fields["name"] for event in settings}
    for event in settings:
        name = str(event.fields["name"])
        fields: dict[str, Value] = {"written": name, "value": event.fields["value"]}
        if name in table().obsolete:
            meant, since = table().obsolete[name]
            if release(version or table().oldest) < release(since):
                continue
            fields |= {"meant": meant, "since": since, "steers": table().steers(meant)}
            yield derived(event, "env.obsolete", fields)
        elif (meant := table().meant(name)) is not None:
            fields |= {"meant": meant, "steers": table().steers(meant), "both": meant in present}
            yield derived(event, "env.misspelled", fields)


def distinct(events: Iterable[Event]) -> Iterator[Event]:
    """Yield the settings of variables, of each name, value, host and attempt the first."""
    seen: set[tuple[Value | int, ...]] = set()
    for event in events:
        if event.name != "nccl.env":
            continue
        key = (event.fields["name"], event.fields["value"], event.host, event.attempt)
        if key not in seen:
            seen.add(key)
            yield event


def derived(event: Event, name: str, fields: dict[str, Value]) -> Event:
    """Return an event that follows from the setting of a variable."""
    return replace(event, name=name, nature=Nature.MEASUREMENT, fields=fields, fact=None)


def near(written: str, known: str) -> bool:
    """Tell whether one name may be the other one mistyped.

    Names that differ in digits only are two variables, as ``LL`` and ``LL128`` are.
    """
    if abs(len(written) - len(known)) > FURTHEST:
        return False
    shorter = min(len(_own(written)), len(_own(known)))
    allowed = min(FURTHEST, shorter // LETTERS_EACH)
    if distance(written, known) > allowed or not _parts_near(written, known):
        return False
    letters = ["".join(one for one in name if not one.isdigit()) for name in (written, known)]
    return letters[0] != letters[1]


def _parts_near(written: str, known: str) -> bool:
    """Tell whether no part between underscores is another word: half of its letters are right."""
    parts = written.split("_"), known.split("_")
    if len(parts[0]) != len(parts[1]):
        return True
    pairs = zip(*parts, strict=True)
    return all(distance(*pair) <= max(map(len, pair)) // 2 for pair in pairs)


def _own(name: str) -> str:
    """Return the part of a name behind the one that all variables of a program share."""
    return name.rpartition("CCL_")[2]


@cache
def distance(first: str, second: str) -> int:
    """Return how many letters to change, add, leave out or swap with a neighbour."""
    rows: list[Sequence[int]] = [range(len(second) + 1)]
    for i, letter in enumerate(first, 1):
        row = [i]
        for j, other in enumerate(second, 1):
            cost = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == second[j - 2] and first[i - 2] == other:
                cost = min(cost, rows[-2][j - 2] + 1)
            row.append(cost)
        rows.append(row)
    return rows[-1][-1]
