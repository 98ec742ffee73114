"""Which installation this is: two machines read alike where theirs agree."""

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from diagnose import shipped
from diagnose.version import VERSION


@dataclass(frozen=True, slots=True)
class Release:
    """An installation of this program.

    Args:
        version: Of the program.
        files: Digest of its code and of the tables that parsers read.
    """

    version: str
    files: str

    def __str__(self) -> str:
        return f"diagnose {self.version} (files {self.files[:8]})"


@cache
def release() -> Release:
    """Return which installation this process runs."""
    digest = sha256()
    package = Path(__file__).resolve().parents[2]
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(path.read_bytes())
    for table in sorted(shipped.root("rules").iterdir(), key=lambda path: path.name):
        if table.name.endswith(".yaml"):
            digest.update(table.read_bytes())
    return Release(VERSION, digest.hexdigest())
