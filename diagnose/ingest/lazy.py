"""Regular expressions that are compiled when they are first used.

Each run reads a few dialects of many; compiling the patterns of all of them at import would take
longer than reading a pasted snippet.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, AnyStr, Generic


class LazyPattern(Generic[AnyStr]):
    """Stands for a compiled pattern of the standard library.

    Args:
        pattern: The regular expression.
        flags: As for ``re.compile``.
    """

    __slots__ = ("_compiled", "flags", "pattern")

    def __init__(self, pattern: AnyStr, flags: int = 0) -> None:
        self.pattern: AnyStr = pattern
        self.flags = flags
        self._compiled: re.Pattern[AnyStr] | None = None

    @property
    def compiled(self) -> re.Pattern[AnyStr]:
        """The compiled pattern."""
        if self._compiled is None:
            self._compiled = re.compile(self.pattern, self.flags)
        return self._compiled

    @property
    def search(self) -> Callable[..., re.Match[AnyStr] | None]:
        """``re.Pattern.search``."""
        return self.compiled.search

    @property
    def match(self) -> Callable[..., re.Match[AnyStr] | None]:
        """``re.Pattern.match``."""
        return self.compiled.match

    @property
    def fullmatch(self) -> Callable[..., re.Match[AnyStr] | None]:
        """``re.Pattern.fullmatch``."""
        return self.compiled.fullmatch

    @property
    def finditer(self) -> Callable[..., Iterator[re.Match[AnyStr]]]:
        """``re.Pattern.finditer``."""
        return self.compiled.finditer

    @property
    def findall(self) -> Callable[..., list[Any]]:
        """``re.Pattern.findall``."""
        return self.compiled.findall

    @property
    def split(self) -> Callable[..., list[Any]]:
        """``re.Pattern.split``."""
        return self.compiled.split

    @property
    def sub(self) -> Callable[..., AnyStr]:
        """``re.Pattern.sub``."""
        return self.compiled.sub
