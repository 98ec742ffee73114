"""Regular expressions that are compiled when they are first used.

Each run reads a few dialects of many; compiling the patterns of all of them at import would take
longer than reading a pasted snippet.
"""

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, AnyStr, Generic


class LazyPattern(Generic[AnyStr]):
    """Stands for a compiled pattern of the standard library.

    A method that was used is kept, so that from then on it takes no longer than the pattern's own.

    Args:
        pattern: The regular expression.
        flags: As for ``re.compile``.
    """

    def __init__(self, pattern: AnyStr, flags: int = 0) -> None:
        self.pattern: AnyStr = pattern
        self.flags = flags

    @cached_property
    def compiled(self) -> re.Pattern[AnyStr]:
        """The compiled pattern."""
        return re.compile(self.pattern, self.flags)

    @cached_property
    def search(self) -> Callable[..., re.Match[AnyStr] | None]:
        """``re.Pattern.search``."""
        return self.compiled.search

    @cached_property
    def match(self) -> Callable[..., re.Match[AnyStr] | None]:
        """``re.Pattern.match``."""
        return self.compiled.match

    @cached_property
    def fullmatch(self) -> Callable[..., re.Match[AnyStr] | None]:
        """``re.Pattern.fullmatch``."""
        return self.compiled.fullmatch

    @cached_property
    def finditer(self) -> Callable[..., Iterator[re.Match[AnyStr]]]:
        """``re.Pattern.finditer``."""
        return self.compiled.finditer

    @cached_property
    def findall(self) -> Callable[..., list[Any]]:
        """``re.Pattern.findall``."""
        return self.compiled.findall

    @cached_property
    def split(self) -> Callable[..., list[Any]]:
        """``re.Pattern.split``."""
        return self.compiled.split

    @cached_property
    def sub(self) -> Callable[..., AnyStr]:
        """``re.Pattern.sub``."""
        return self.compiled.sub
