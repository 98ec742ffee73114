"""Events about files of a listing, put at the lines that list them.

Not a parser: those of listings and foreign manifests ask it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from diagnose.model.event import Event, Line
from diagnose.parsers.base import TEXT_LIMIT


def placed(events: Iterable[Event], lines: Mapping[str, Line]) -> Iterator[Event]:
    """Yield events at the line of their file, or of the first file in their folder.

    Args:
        events: Of the judge; their file is a path of the listing.
        lines: Line by path, not empty.
    """
    places = dict(lines)
    for path, line in lines.items():
        while "/" in path:
            path = path.rpartition("/")[0]
            places.setdefault(path, line)
    first = next(iter(lines.values()))
    for event in events:
        line = places.get(event.file, first)
        yield replace(
            event,
            file=line.file,
            line=line.number,
            end_line=line.number,
            text=line.raw[:TEXT_LIMIT],
            host=line.host,
        )
