"""What shows of a file from outside that it may be of a dialect, so that few parsers are asked.

A gate is declared beside its parser, and the index of parsers has a copy: of most files all gates
are shut, and the modules behind them are not even imported.
"""

from collections.abc import Callable
from dataclasses import dataclass

BLANKS = b"\xef\xbb\xbf \t\r\n\f\v\x1c\x1d\x1e\x1f"
"""What may stand before the first character: a byte-order mark and white space."""


@dataclass(frozen=True, kw_only=True)
class Gate:
    """Conditions that are cheap to check and never narrower than the parser; without any, all pass.

    Args:
        names: Parts of names. A name with one of them passes whatever is in the file, and where
            there are no other conditions, no other name does.
        starts: Beginnings of the file behind its blanks, one of which it has.
        holds: Texts of which the first 64 KiB hold at least one.
        least: Bytes that the file has at least, 64 KiB at most.
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

    def admits(self, name: str, head: bytes) -> bool:
        """Return whether the parser is to be asked about a file.

        Args:
            name: Of the source.
            head: Its first 64 KiB.
        """
        if self.admits_name(name):
            return True
        if self.names and not (self.starts or self.holds or self.least or self.test):
            return False
        return (
            len(head) >= self.least
            and (not self.starts or head.lstrip(BLANKS).startswith(self.starts))
            and (not self.holds or any(text in head for text in self.holds))
            and (self.test is None or self.test(head))
        )
