"""Whether a text may begin with a table of metrics or sizes; see ``Gate``.

Not a parser: the readers of tables look closely at the names in the header.
"""

DELIMITERS = (",", "\t", ";", "|")

LINES = 10
"""First lines, one of which is the header."""

LONGEST = 61
"""Characters of a name."""

COUNTED = ("step", "iter", "update", "batch", "gpu", "world", "rank", "node")
"""Of which the name of the column that counts the rows has one; or it is ``it``."""


def may_be_table(head: bytes) -> bool:
    """Return whether one of the first lines has short names, one of them for a count."""
    lines = head.decode("utf-8-sig", "replace").splitlines()[:LINES]
    return any(_may_be_header(line) for line in lines)


def _may_be_header(line: str) -> bool:
    lower = line.lower()
    if not any(word in lower for word in COUNTED) and "it" not in lower:
        return False
    for delimiter in DELIMITERS:
        if delimiter in line:
            cells = line.strip().strip("|").split(delimiter)
            # Behind a quote a delimiter may be part of a name.
            if all(map(_may_be_name, cells[:1] if '"' in line else cells)):
                return True
    return False


def _may_be_name(cell: str) -> bool:
    """Return whether a cell is a name, or one behind the name of a run and a dash."""
    name = cell.strip().strip('"# |\ufeff').strip()
    return any(
        text[:1].isascii()
        and (text[:1].isalpha() or text[:1] == "_")
        and len(text) <= LONGEST
        and not any(mark in text for mark in "={}")
        for text in (name, name.rpartition(" - ")[2])
    )
