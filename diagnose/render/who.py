"""Names of the guilty, in words."""

import re

from diagnose.model.report import Culprit
from diagnose.render.words import Language, phrase
from diagnose.templates import ranges

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
            rest = f" +{len(new) - NAMES}" if len(new) > NAMES else ""
            parts.append(phrase(lang, kind, names=", ".join(new[:NAMES]) + rest))
    return ", ".join(parts)


def _names(title: str, name: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", title) is not None
