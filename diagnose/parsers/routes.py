"""Where each literal leads: to the parsers, and to patterns of parsers of lines, that wait for it."""

from collections.abc import Iterable
from dataclasses import dataclass

from diagnose.ingest.literals import Literal
from diagnose.parsers.base import BlockParser, BulkParser, LineParser, Pattern
from diagnose.parsers.late import LateTextParser, Wait

TextParser = LineParser | BlockParser | BulkParser


@dataclass(frozen=True, slots=True)
class Route:
    """Where a literal leads: a parser, with the pattern if it is a line parser's."""

    parser: TextParser
    pattern: Pattern | None = None


def waits(parser: TextParser) -> tuple[Wait, ...]:
    """Return what each pattern of a parser waits for; a parser without patterns waits once."""
    if isinstance(parser, LineParser):
        return tuple((one.once_per_block, one.required) for one in parser.patterns)
    return ((isinstance(parser, BulkParser), parser.opens),)


class Routes(dict[int, list[Route]]):
    """The routes of each literal by its number; looked up when the literal has been seen.

    Args:
        parsers: In the order in which they see a line.

    Attributes:
        literals: All that parsers wait for; the position of one is its number.
    """

    def __init__(self, parsers: Iterable[TextParser | LateTextParser]) -> None:
        super().__init__()
        self._ways: list[list[_Way]] = []
        numbers: dict[tuple[str, bool], int] = {}
        for parser in parsers:
            waited = parser.waits if isinstance(parser, LateTextParser) else waits(parser)
            for place, (once, texts) in enumerate(waited):
                way = _Way(parser, place)
                for text in texts:
                    number = numbers.setdefault((text, once), len(numbers))
                    if number == len(self._ways):
                        self._ways.append([])
                    self._ways[number].append(way)
        self.literals = tuple(Literal(text.encode(), once) for text, once in numbers)

    def __missing__(self, number: int) -> list[Route]:
        routes = self[number] = [way.route() for way in self._ways[number]]
        return routes


class _Way:
    """To one pattern of a parser, or to a parser without patterns; all its literals share it."""

    __slots__ = ("_found", "parser", "place")

    def __init__(self, parser: TextParser | LateTextParser, place: int) -> None:
        self.parser = parser
        self.place = place
        self._found: Route | None = None

    def route(self) -> Route:
        if self._found is None:
            late = self.parser
            parser: TextParser = late.parser if isinstance(late, LateTextParser) else late
            pattern = parser.patterns[self.place] if isinstance(parser, LineParser) else None
            self._found = Route(parser, pattern)
        return self._found
