"""What shows of a file from outside that it may be of a dialect, so that few parsers are asked.

A gate is declared beside its parser, and the index of parsers has a copy: of most files all gates
are shut, and the modules behind them are not even imported.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from diagnose.ingest.literals import Literal, Matcher

BLANKS = b"\xef\xbb\xbf \t\r\n\f\v\x1c\x1d\x1e\x1f"
"""What may stand before the first character: a byte-order mark and white space."""


@dataclass(frozen=True, kw_only=True)
class Gate:
    """Ways in that are cheap to check and together never narrower than the parser.

    A file passes by its name, by its bytes or by the test; without any condition all pass.

    Args:
        names: Parts of names, of which one is enough.
        starts: Beginnings of the file behind its blanks, one of which it has.
        holds: Texts of which its first 64 KiB hold at least one.
        least: Bytes that it has at least, 64 KiB at most.
        test: Whether the first 64 KiB may be of the dialect; of a module that imports little.
    """

    names: tuple[str, ...] = ()
    starts: tuple[bytes, ...] = ()
    holds: tuple[bytes, ...] = ()
    least: int = 0
    test: Callable[[bytes], bool] | None = None

    def admits_name(self, name: str) -> bool:
        """Return whether a name is enough."""
        return any(part in name for part in self.names)

    def admits(self, look: "Look") -> bool:
        """Return whether the parser is to be asked about a file."""
        if self.admits_name(look.name) or (self.test is not None and self.test(look.head)):
            return True
        if not (self.starts or self.holds or self.least):
            return not self.names and self.test is None
        return (
            len(look.head) >= self.least
            and (not self.starts or look.beginning.startswith(self.starts))
            and (not self.holds or not look.held.isdisjoint(self.holds))
        )


class Marks:
    """What gates want to see in files, looked for together.

    Args:
        gates: Of all parsers.
    """

    def __init__(self, gates: Iterable[Gate]) -> None:
        texts = dict.fromkeys(text for gate in gates for text in gate.holds)
        self._matcher = Matcher(tuple(Literal(text, once=True) for text in texts))

    def held(self, head: bytes) -> set[bytes]:
        """Return the marks in the first bytes of a file."""
        literals = self._matcher.literals
        return {literals[number].text for _, number in self._matcher.places(head)}


class Look:
    """A file from outside.

    Args:
        name: Of the source.
        head: Its first 64 KiB.
        marks: What to look for in them, if a gate wants to know.
    """

    def __init__(self, name: str, head: bytes, marks: Marks) -> None:
        self.name = name
        self.head = head
        self._marks = marks

    @cached_property
    def beginning(self) -> bytes:
        """The first bytes behind blanks."""
        return self.head.lstrip(BLANKS)

    @cached_property
    def held(self) -> set[bytes]:
        """The marks in the first bytes."""
        return self._marks.held(self.head)
