"""Values of many things in one pattern: ``node-[01-16]``, or one for so many in a row."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from diagnose.engine.reader import Path, Reader, suggestion
from diagnose.model.hostlist import expand

_BREAKS = re.compile(r"[\s,;\x00-\x1f\x7f]")
"""What ends a name: lists written in one text have them."""


@dataclass(frozen=True, slots=True)
class Patterns:
    """Reads patterns.

    Args:
        reader: Collects the mistakes.
    """

    reader: Reader

    def names(self, data: object, path: Path) -> list[str]:
        """Return the names of a pattern, a number, or a list of them; nothing has none."""
        found: list[str] = []
        for place, item in enumerate(data if isinstance(data, list) else [data]):
            where = (*path, place) if isinstance(data, list) else path
            if item is None and not isinstance(data, list):
                continue
            whole = isinstance(item, int) and not isinstance(item, bool)
            text = str(item) if whole else self.reader.text(item, where)
            try:
                found += expand(text) if text is not None else ()
            except ValueError as error:
                self.reader.wrong(where, str(error))
        return found

    def words(self, data: object, path: Path) -> list[str]:
        """Return names as ``names`` does, of which none may hold a blank, a comma or the like."""
        found = self.names(data, path)
        broken = next((name for name in found if _BREAKS.search(name)), None)
        if broken is not None:
            message = f"{broken!r} is no name; several are a list, [a, b], or a pattern, 'a[1-2]'"
            self.reader.wrong(path, message)
            return []
        return found

    def spread(self, data: object, count: int, path: Path) -> Sequence[str | None]:
        """Return one value for each of several things, None where nothing is given."""
        names = self.names(data, path)
        if data is None or not names or not count:
            return [None] * count
        if count % len(names):
            many = f"{len(names)} values for {count}; expected one, {count}, or a number between"
            self.reader.wrong(path, f"{many} that divides {count}")
            return [None] * count
        return [names[place * len(names) // count] for place in range(count)]

    def one_each(self, names: Sequence[str], count: int, path: Path) -> Sequence[str]:
        """Return names if there is one for each of several hosts, else nothing."""
        if len(names) != count and names:
            hosts = f"{count} hosts" if count != 1 else "1 host"
            self.reader.wrong(path, f"expected one value for each of {hosts}, found {len(names)}")
            return []
        return names

    def known(
        self, names: Iterable[str | None], words: Collection[str], path: Path, what: str
    ) -> None:
        """Note the first of several names that is not among the known ones.

        Args:
            names: To be checked; None is left out.
            words: The known ones.
            path: Where they stand.
            what: They are, such as ``rail``.
        """
        for name in names:
            if name is not None and name not in words:
                valid = suggestion(name, words) if words else f"; the file lists no {what}s"
                self.reader.wrong(path, f"unknown {what} '{name}'{valid}")
                return
