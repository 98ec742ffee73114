"""Which names in a pickle can run code of the file's choice; ``rules/pickle_globals.yaml`` lists them."""

from functools import cache

from diagnose import shipped

DEEPEST = 5
"""Parts of the longest name in the list."""


@cache
def _dangers() -> tuple[dict[str, str], frozenset[str]]:
    rows = shipped.table("pickle_globals")
    anywhere = frozenset(row["name"] for row in rows if row.get("anywhere"))
    return {row["name"]: row["does"] for row in rows}, anywhere


def danger(name: str) -> str | None:
    """Return what a class or function could do to the one who loads it, None for an ordinary one.

    Args:
        name: With its module, as the pickle has it; it may lead through other modules.
    """
    dangers, anywhere = _dangers()
    parts = name.split(".")
    for count in range(1, DEEPEST + 1):
        if does := dangers.get(".".join(parts[:count])):
            return does
    return next((dangers[part] for part in parts[1:] if part in anywhere), None)
