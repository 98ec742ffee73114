"""Whether a text may begin with a table of metrics or sizes; see ``Gate``.

Not a parser: the readers of tables look closely at the names in the header.
"""

DELIMITERS = (",", "\t", ";", "|")

LINES = 10
"""First lines, one of which is the header."""

LONGEST, LONGEST_COUNT = 61, 24
"""Characters of a name, and of that of a column which counts steps, GPUs or nodes."""

COUNTS = ("step", "iter", "update", "batch", "gpu", "world", "rank", "node")
"""Parts of names of such columns; one may be just ``it``."""


def may_be_table(head: bytes) -> bool:
    """Return whether one of the first lines has short names, one of them of a count."""
    first = b"\n".join(head.split(b"\n", LINES)[:LINES])
    lines = first.decode("utf-8-sig", "replace").splitlines()[:LINES]
    return any(
        _may_be_header(line.strip().strip("|").split(mark), quoted='"' in line)
        for line in lines
        for mark in DELIMITERS
        if mark in line
    )


def _may_be_header(cells: list[str], quoted: bool) -> bool:
    # Behind a quote a delimiter may be part of a name.
    return all(map(_may_be_name, cells[:1] if quoted else cells)) and any(map(_may_count, cells))


def _may_be_name(cell: str) -> bool:
    return any(
        len(name) <= LONGEST
        and (name[:1].isalpha() or name[:1] == "_")
        and not any(mark in name for mark in "={}")
        for name in _names(cell)
    )


def _may_count(cell: str) -> bool:
    return any(
        name.lower() == "it"
        or (len(name) <= LONGEST_COUNT and any(part in name.lower() for part in COUNTS))
        for name in _names(cell)
    )


def _names(cell: str) -> tuple[str, str]:
    """Return what may be the name: the cell, or what stands behind the name of a run and a dash."""
    name = cell.strip().strip('"# |\ufeff').strip()
    return name, name.rpartition(" - ")[2]
