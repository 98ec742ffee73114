"""Names of the guilty, in words."""

import re
from collections.abc import Sequence

from diagnose.filters import ranges
from diagnose.model.report import Culprit
from diagnose.render.words import Language, phrase

NAMES = 4
"""Names shown of one list before the rest is counted."""


def culprits(culprit: Culprit, lang: Language, *, named_in: str = "") -> str:
    """Return the guilty in one line, without those that a title names already.

    Args:
        culprit: The guilty.
        lang: Language of the words around the names.
        named_in: The title.
    """
    names = {
        "ranks": [ranges(culprit.ranks)] if culprit.ranks else [],
        "hosts": culprit.hosts,
        "gpus": culprit.gpus,
        "nics": culprit.nics,
        "files": culprit.files,
    }
    parts = []
    for kind, listed in names.items():
        new = [name for name in listed if not _names(named_in, name)]
        if new:
            parts.append(phrase(lang, kind, names=first_names(new)))
    return ", ".join(parts)


def first_names(names: Sequence[str]) -> str:
    """Return the first names of a list and how many follow, as in ``a, b, c, d +3``."""
    rest = f" +{len(names) - NAMES}" if len(names) > NAMES else ""
    return ", ".join(names[:NAMES]) + rest


def _names(title: str, name: str) -> bool:
    """Return whether a title names somebody; ``host/nic`` in whatever order, ``gpu3`` as GPU 3."""
    spelt = (re.sub(r"^gpu(?=\d+$)", "(?:gpu|GPU )", re.escape(part)) for part in name.split("/"))
    return all(re.search(rf"(?<![\w-]){part}(?![\w-])", title) for part in spelt)
