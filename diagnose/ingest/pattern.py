r"""What can be known of a regular expression before it runs: needed literals, and safety.

Patterns are read by the standard library's parser and run by the ``regex`` package (V0
behaviour). Where the two would understand a text differently it is refused.

>>> sorted(required_literals(r"Link is (?:Up|Down) on \S+"))
['Link is Down on ', 'Link is Up on ']
>>> required_literals(r"\d+ \w+")
frozenset()
>>> problems(r"(\w+\s?)+:")
['a repeat inside a repeat can match the same text in many ways']
"""

import re
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, reduce
from re import _constants as op  # type: ignore[attr-defined]  # the only private import,
from re import _parser  # type: ignore[attr-defined]  # the syntax tree has no public name
from typing import Any

MINIMUM = 4
"""Bytes of a literal at least: shorter ones are everywhere."""

COMMON = frozenset(
    {
        "address", "available", "cannot", "could", "debug", "device", "done", "error", "errors",
        "exception", "fail", "failed", "failure", "false", "file", "from", "have", "host", "info",
        "input", "line", "local", "log", "message", "name", "node", "none", "null", "output",
        "port", "process", "rank", "ranks", "size", "start", "status", "step", "that", "this",
        "time", "timeout", "train", "true", "value", "warn", "warning", "warnings", "was", "were",
        "with", "world",
    }
)  # fmt: skip
"""Words that healthy logs hold in plenty; a literal that is no more is the last choice."""

_COMMON = " ".join(sorted(COMMON))
"""A piece of a common word is no rarer than the word."""

_SET_LIMIT = 4
"""Characters of a set that are spelled out: ``[Ww]`` is two literals, ``[a-z]`` is none."""

_PRODUCT_LIMIT = 48
"""Literals of one candidate at most; four letters in either case are 16, with k and s 36."""

_COUNT_LIMIT = 1000
_LONG = 10
"""A repeat that may differ by more than this many counts as unbounded."""

_CHAIN_LIMIT = 10
"""Pairs of overlapping repeats with a literal between them: five ``.*`` in a row make ten."""

_OTHER_CASES = {"k": "\u212a", "s": "\u017f"}
"""Letters beyond ASCII that equal an ASCII letter when case is ignored (Unicode case folding)."""

_SPACE, _DIGIT, _WORD, _REST = range(128, 132)
_EVERYTHING = frozenset(range(132))
"""ASCII by code; behind it four numbers stand for other spaces, digits, letters, and the rest."""

Node = tuple[Any, Any]
Score = tuple[bool, float]
Scorer = Callable[[frozenset[str]], Score | None]


@lru_cache(maxsize=4096)
def required_literals(pattern: str) -> frozenset[str]:
    """Return texts of which every match of a pattern contains at least one.

    The rarest such set is chosen: long texts rather than short ones, few rather than many, and
    common words only where there is nothing else. Empty where the pattern needs no text of four
    bytes.

    Raises:
        ValueError: The pattern is not a regular expression; the text says what is wrong.
    """
    tree = _parse(pattern)
    best = _sequence(tree, tree.state.flags, _rarity).best
    return best.literals if best else frozenset()


def proves(pattern: str, literals: Iterable[str]) -> bool:
    """Return whether every match of a pattern is sure to contain one of the given texts.

    Raises:
        ValueError: The pattern is not a regular expression.
    """
    given = tuple(literals)

    def covered(candidate: frozenset[str]) -> Score | None:
        sure = all(any(text in literal for text in given) for literal in candidate)
        return (True, float(-len(candidate))) if sure else None

    derived = required_literals(pattern)
    if derived and covered(derived):
        return True
    tree = _parse(pattern)
    return _sequence(tree, tree.state.flags, covered).best is not None


def problems(pattern: str) -> list[str]:
    """Return why a pattern is not safe to run on hostile text; empty for a safe one.

    Two unbounded repeats in a row must have no character in common, or a literal text between
    them; a repeat that ends the pattern cannot fail and is free. Inside a repeat only a character
    that the inner repeat cannot match separates.

    Raises:
        ValueError: The pattern is not a regular expression.
    """
    tree = _parse(pattern)
    found: dict[str, None] = {}
    shape = _shape(_without_tail(list(tree)), tree.state.flags, found, inside=False)
    if shape.soft > _CHAIN_LIMIT:
        found["more than five unbounded repeats that can match the same text"] = None
    return list(found)


def _parse(pattern: str) -> Any:
    bare = re.sub(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", "", pattern, flags=re.DOTALL)
    if re.search(r"\{(?!\d*,?\d*\})", bare):
        raise ValueError("a brace that is no count must be written \\{")
    if re.search(r"\[:\^?\w+:\]", pattern):
        raise ValueError("classes such as [:alpha:] are not supported, write the characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)
            return _parser.parse(pattern)
    except FutureWarning as warning:
        raise ValueError(f"{warning}; put a backslash before it") from None
    except (re.error, OverflowError) as error:
        raise ValueError(str(error)) from None
    except RecursionError:
        raise ValueError("too many nested groups") from None


# Literals: each node is described by what its matches begin and end with.


@dataclass(frozen=True, slots=True)
class _Candidate:
    literals: frozenset[str]
    score: Score


@dataclass(frozen=True, slots=True)
class _Texts:
    """What is known of the texts a node matches.

    Args:
        exact: All texts it can match, where they are few; else None.
        prefixes: Each match begins with one of them.
        suffixes: Each match ends with one of them.
        best: The best set of texts of which each match contains one.
    """

    exact: frozenset[str] | None
    prefixes: frozenset[str]
    suffixes: frozenset[str]
    best: _Candidate | None


_EMPTY = frozenset({""})
_UNKNOWN = _Texts(None, _EMPTY, _EMPTY, None)


def _rarity(candidate: frozenset[str]) -> Score | None:
    shortest = min(len(text.encode("utf-8", "surrogatepass")) for text in candidate)
    if shortest < MINIMUM:
        return None
    telling = not any(_common(text) for text in candidate)
    return telling, min(shortest, 24) - 0.5 * (len(candidate) - 1)


def _common(text: str) -> bool:
    words = re.findall(r"[^\W_]+", text)
    return max(map(len, words), default=0) < 3 or all(word.lower() in _COMMON for word in words)


def _choose(score: Scorer, *options: "_Candidate | frozenset[str] | None") -> _Candidate | None:
    candidates = []
    for option in options:
        if isinstance(option, frozenset):
            shortest_first = sorted(option, key=lambda text: (len(text), text))
            kept: list[str] = []
            for text in shortest_first:
                if not any(other in text for other in kept):
                    kept.append(text)
            literals = frozenset(kept)
            value = score(literals) if literals else None
            option = _Candidate(literals, value) if value is not None else None
        if option is not None:
            candidates.append(option)
    return max(candidates, key=lambda each: (each.score, sorted(each.literals)), default=None)


def _exactly(texts: frozenset[str], score: Scorer) -> _Texts:
    return _Texts(texts, texts, texts, _choose(score, texts))


def _product(left: frozenset[str], right: frozenset[str]) -> frozenset[str] | None:
    if len(left) * len(right) > _PRODUCT_LIMIT:
        return None
    return frozenset(a + b for a in left for b in right)


def _join(left: _Texts, right: _Texts, score: Scorer) -> _Texts:
    middle = _product(left.suffixes, right.prefixes)
    best = _choose(score, left.best, right.best, middle)
    exact = middle if left.exact is not None and right.exact is not None else None
    if exact is not None:
        return _Texts(exact, exact, exact, best)
    prefixes = _product(left.prefixes, right.prefixes) if left.exact is not None else None
    suffixes = _product(left.suffixes, right.suffixes) if right.exact is not None else None
    return _Texts(None, prefixes or left.prefixes, suffixes or right.suffixes, best)


def _either(options: list[_Texts], score: Scorer) -> _Texts:
    def union(sets: list[frozenset[str] | None]) -> frozenset[str] | None:
        known = [each for each in sets if each is not None]
        together = frozenset[str]().union(*known)
        return together if len(known) == len(sets) and len(together) <= _PRODUCT_LIMIT else None

    exact = union([option.exact for option in options])
    bests = union([option.best.literals if option.best else None for option in options])
    return _Texts(
        exact,
        union([option.prefixes for option in options]) or _EMPTY,
        union([option.suffixes for option in options]) or _EMPTY,
        _choose(score, exact, bests),
    )


def _repeated(body: _Texts, low: int, high: int, score: Scorer) -> _Texts:
    if low == 0:
        if high == 1 and body.exact is not None:
            return _exactly(body.exact | {""}, score)
        return _UNKNOWN
    once = body
    for _ in range(min(low, 8) - 1):
        once = _join(once, body, score)
    if low == high and low <= 8:
        return once
    return _Texts(None, once.prefixes, once.suffixes, once.best)


def _sequence(nodes: Iterable[Node], flags: int, score: Scorer) -> _Texts:
    start = _exactly(_EMPTY, score)
    return reduce(lambda left, node: _join(left, _texts(node, flags, score), score), nodes, start)


def _texts(node: Node, flags: int, score: Scorer) -> _Texts:
    kind, value = node
    if kind is op.LITERAL:
        return _character([value], flags, score)
    if kind is op.IN and all(part[0] is op.LITERAL for part in value):
        return _character([part[1] for part in value], flags, score)
    if kind in (op.AT, op.ASSERT, op.ASSERT_NOT):
        return _exactly(_EMPTY, score)
    if kind is op.SUBPATTERN:
        _, added, removed, body = value
        return _sequence(body, (flags | added) & ~removed, score)
    if kind is op.ATOMIC_GROUP:
        return _sequence(value, flags, score)
    if kind is op.BRANCH:
        return _either([_sequence(option, flags, score) for option in value[1]], score)
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
        low, high, body = value
        return _repeated(_sequence(body, flags, score), int(low), int(high), score)
    return _UNKNOWN


def _character(codes: list[int], flags: int, score: Scorer) -> _Texts:
    if len(codes) > _SET_LIMIT:
        return _UNKNOWN
    texts = {chr(code) for code in codes}
    if flags & re.IGNORECASE:
        if any(code > 127 for code in codes):
            return _UNKNOWN
        for text in tuple(texts):
            texts |= {text.lower(), text.upper(), *_OTHER_CASES.get(text.lower(), "")}
    return _exactly(frozenset(texts), score)


# Safety: each node is described by the repeats at its two ends and what stands between.


@dataclass(frozen=True, slots=True)
class _Run:
    """A repeat that may take more or less of the text; ``soft`` with a literal beside it."""

    characters: frozenset[int]
    soft: bool = False


@dataclass(frozen=True, slots=True)
class _Shape:
    """How a node can share text with its neighbours.

    Args:
        characters: All it can match.
        starts: What it can begin with.
        nullable: Whether it can match nothing.
        needed: Sets of which one character each must occur.
        literal: Whether a certain text must occur.
        first: Repeats that can begin it.
        last: Repeats that can end it.
        soft: Pairs of overlapping repeats with a literal between them.
    """

    characters: frozenset[int] = frozenset()
    starts: frozenset[int] = frozenset()
    nullable: bool = True
    needed: tuple[frozenset[int], ...] = ()
    literal: bool = False
    first: tuple[_Run, ...] = ()
    last: tuple[_Run, ...] = ()
    soft: int = 0

    def passed(self, runs: tuple[_Run, ...]) -> tuple[_Run, ...]:
        """Return those of a neighbour's repeats that can still meet what is behind this node."""
        return tuple(
            _Run(run.characters, run.soft or self.literal)
            for run in runs
            if all(needed & run.characters for needed in self.needed)
        )


_OVERLAP = "two unbounded repeats in a row can match the same text"
_NESTED = "a repeat inside a repeat can match the same text in many ways"


def _shape(nodes: Iterable[Node], flags: int, found: dict[str, None], *, inside: bool) -> _Shape:
    whole = _Shape()
    for node in nodes:
        whole = _beside(whole, _node_shape(node, flags, found, inside=inside), found)
    return whole


def _without_tail(nodes: list[Node]) -> list[Node]:
    """Leave out a repeat at the end of a pattern: nothing behind it can send it back.

    ``$`` can, unless the repeat is of ``.``, which stops at the end of the line alone.
    """
    anchored = bool(nodes) and nodes[-1] == (op.AT, op.AT_END)
    *head, (kind, value) = nodes[:-1] if anchored else nodes or [(op.AT, op.AT_END)]
    if kind is op.SUBPATTERN:
        group, added, removed, body = value
        return [*head, (kind, (group, added, removed, _without_tail(list(body))))]
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT) and value[0] <= 1 and len(value[2]) == 1:
        repeated = value[2][0]
        if repeated[0] is op.ANY or (repeated[0] in _ONE_CHARACTER and not anchored):
            return head
    if kind is op.MAX_REPEAT and value[:2] == (0, 1):
        return [*head, (kind, (0, 1, _without_tail(list(value[2]))))]
    return nodes


def _beside(left: _Shape, right: _Shape, found: dict[str, None]) -> _Shape:
    soft = left.soft + right.soft
    for before in left.last:
        for after in right.first:
            if before.characters & after.characters:
                if before.soft or after.soft:
                    soft += 1
                else:
                    found[_OVERLAP] = None
    return _Shape(
        characters=left.characters | right.characters,
        starts=left.starts | right.starts if left.nullable else left.starts,
        nullable=left.nullable and right.nullable,
        needed=left.needed + right.needed,
        literal=left.literal or right.literal,
        first=left.first + left.passed(right.first),
        last=right.passed(left.last) + right.last,
        soft=soft,
    )


def _node_shape(node: Node, flags: int, found: dict[str, None], *, inside: bool) -> _Shape:
    kind, value = node
    if kind is op.AT:
        return _Shape()
    if kind in (op.ASSERT, op.ASSERT_NOT):
        found["look-around is not supported"] = None
        return _Shape()
    if kind in (op.GROUPREF, op.GROUPREF_EXISTS):
        found["a reference to an earlier group is not supported"] = None
        return _Shape()
    if kind is op.SUBPATTERN:
        _, added, removed, body = value
        return _shape(body, (flags | added) & ~removed, found, inside=inside)
    if kind is op.ATOMIC_GROUP:
        return _shape(value, flags, found, inside=inside)
    if kind is op.BRANCH:
        options = [_shape(option, flags, found, inside=inside) for option in value[1]]
        return _branch_shape(options, found, inside=inside)
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
        return _repeat_shape(value, flags, found, inside=inside)
    characters = _characters(node, flags)
    return _Shape(characters, characters, False, (characters,), kind is op.LITERAL)


def _branch_shape(options: list[_Shape], found: dict[str, None], *, inside: bool) -> _Shape:
    characters = frozenset[int]().union(*(option.characters for option in options))
    starts = frozenset[int]().union(*(option.starts for option in options))
    empty = sum(option.nullable for option in options)
    first = tuple(run for option in options for run in option.first)
    last = tuple(run for option in options for run in option.last)
    if inside:
        if empty > 1 or sum(len(option.starts) for option in options) > len(starts):
            found["alternatives inside a repeat must begin with different characters"] = None
        if empty:
            first = last = (_Run(characters),)
    return _Shape(
        characters=characters,
        starts=starts,
        nullable=bool(empty),
        needed=() if empty else (characters,),
        literal=all(option.literal for option in options),
        first=first,
        last=last,
        soft=sum(option.soft for option in options),
    )


def _repeat_shape(value: Any, flags: int, found: dict[str, None], *, inside: bool) -> _Shape:
    low, high, nodes = int(value[0]), int(value[1]), value[2]
    unbounded = value[1] is op.MAXREPEAT
    if low > _COUNT_LIMIT or (high > _COUNT_LIMIT and not unbounded):
        found[f"counts go up to {_COUNT_LIMIT}"] = None
    long = unbounded or high - low > _LONG
    body = _shape(nodes, flags, found, inside=inside or long)
    single = len(nodes) == 1 and nodes[0][0] in _ONE_CHARACTER
    if long and not single:
        _check_body(body, found)
    needed, literal = (body.needed, body.literal) if low else ((), False)
    if not long and not (inside and low != high):
        return _Shape(
            body.characters, body.starts, body.nullable or not low, needed, literal,
            body.first, body.last, body.soft,
        )  # fmt: skip
    run = (_Run(body.characters, soft=body.literal and not single),)
    return _Shape(
        body.characters, body.starts, body.nullable or not low, needed,
        literal and not single, run, run, body.soft,
    )  # fmt: skip


def _check_body(body: _Shape, found: dict[str, None]) -> None:
    """Look at a repeated group as if it stood twice in a row."""
    meet = any(before.characters & after.characters for before in body.last for after in body.first)
    if body.nullable or body.soft or meet:
        found[_NESTED] = None


_ONE_CHARACTER = (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN)


def _characters(node: Node, flags: int) -> frozenset[int]:
    kind, value = node
    if kind is op.LITERAL:
        return _codes(value, value, flags)
    if kind is op.RANGE:
        return _codes(value[0], value[1], flags)
    if kind is op.CATEGORY:
        return _CATEGORIES[value]
    if kind is op.NOT_LITERAL:
        return _EVERYTHING - (_codes(value, value, flags) & frozenset(range(128)))
    if kind is op.IN:
        parts = [part for part in value if part[0] is not op.NEGATE]
        union = frozenset[int]().union(*(_characters(part, flags) for part in parts))
        if len(parts) == len(value):
            return union
        whole_classes = frozenset[int]().union(
            *(_characters(part, flags) for part in parts if part[0] is op.CATEGORY)
        )
        return _EVERYTHING - (union & frozenset(range(128))) - whole_classes
    return _EVERYTHING


def _codes(low: int, high: int, flags: int) -> frozenset[int]:
    codes = set(range(low, min(high, 127) + 1))
    if flags & re.IGNORECASE:
        codes |= {ord(chr(code).swapcase()) for code in codes}
    if high == low > 127:
        codes.add(_class_of(chr(low)))
    elif high > 127:
        codes |= {_SPACE, _DIGIT, _WORD, _REST}
    return frozenset(codes)


def _class_of(character: str) -> int:
    if character.isspace():
        return _SPACE
    if character.isdigit():
        return _DIGIT
    return _WORD if character.isalnum() else _REST


def _ascii(pattern: str) -> frozenset[int]:
    return frozenset(code for code in range(128) if re.fullmatch(pattern, chr(code)))


_CATEGORIES = {
    op.CATEGORY_DIGIT: _ascii(r"\d") | {_DIGIT},
    op.CATEGORY_SPACE: _ascii(r"\s") | {_SPACE},
    op.CATEGORY_WORD: _ascii(r"\w") | {_DIGIT, _WORD},
}
_CATEGORIES |= {
    op.CATEGORY_NOT_DIGIT: _EVERYTHING - _CATEGORIES[op.CATEGORY_DIGIT],
    op.CATEGORY_NOT_SPACE: _EVERYTHING - _CATEGORIES[op.CATEGORY_SPACE],
    op.CATEGORY_NOT_WORD: _EVERYTHING - _CATEGORIES[op.CATEGORY_WORD],
}
