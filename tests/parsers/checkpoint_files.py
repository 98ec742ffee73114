"""Files of checkpoints written by real libraries, and ways to damage them."""

from pathlib import Path

from diagnose.ingest.discover import discover
from diagnose.parsers.checkpoint import files
from diagnose.parsers.checkpoint import folder as dialect

MADE = Path(__file__).resolve().parent.parent / "fixtures" / "checkpoints"


def made(name):
    return (MADE / name).read_bytes()


def entries(folder):
    """Return what a look at a folder gives the parser."""
    [found] = discover([str(folder)], dialect.wants).folders
    return found.entries


class Desk:
    """A folder to lay damaged files on."""

    def __init__(self, path):
        self.path = path

    def entry(self, name, data, head=64):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return files.Entry(name, len(data), data[:head], path=str(path))

    def copy(self, folder, to="."):
        for path in sorted((MADE / folder).rglob("*")):
            if path.is_file():
                target = self.path / to / path.relative_to(MADE / folder)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(path.read_bytes())

    def entries(self):
        return entries(self.path)

    def read(self):
        return list(dialect.read("in", self.entries()))


def wrong(entry):
    """Return what the checks of a file and a look inside find, None for nothing."""
    found = files.damage(entry)
    inside = files.contents(entry) if found is None else None
    return found or (inside.problem if inside else None)


def named(events, name):
    return [event for event in events if event.name == name]
