"""Names of GPUs as people shorten them: ``A100`` is no ``A10``, and may be any A100."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from diagnose.facts.baseline.known import table

_WORD = re.compile(r"[a-z0-9]+")
_MEMORY = re.compile(r"\b(\d+) ?gi?b?\b")


@dataclass(frozen=True, slots=True)
class _Name:
    """A name taken apart.

    Args:
        model: Words that tell one model from another.
        form: Form factor, None where the name does not say.
        memory: Its size in GB, likewise.
    """

    model: tuple[str, ...]
    form: str | None
    memory: str | None


def same_model(wanted: str | None, found: str | None) -> bool:
    """Return whether ``H100`` may be ``NVIDIA H100 80GB HBM3``; what is unknown may.

    The words of the model must be whole words of the name. Form factor and memory matter where
    both names state them.
    """
    if wanted is None or found is None:
        return True
    one, other = _read(wanted), _read(found)
    return (
        "".join(one.model) in set(_runs(other.model))
        and _agree(one.form, other.form)
        and _agree(one.memory, other.memory)
    )


def _read(name: str) -> _Name:
    lower = name.lower()
    memory = _MEMORY.search(lower)
    words = _WORD.findall(_MEMORY.sub(" ", lower))
    forms: list[str] = table()["gpu_names"]["forms"]
    silent: list[str] = table()["gpu_names"]["silent"]
    known = [word.rstrip("0123456789") for word in words]
    form = next((word for word in known if word in forms), None)
    model = tuple(
        word
        for word, stem in zip(words, known, strict=True)
        if stem not in forms and stem not in silent
    )
    return _Name(model, form, memory[1] if memory else None)


def _runs(words: tuple[str, ...]) -> Iterator[str]:
    """Yield all words that follow each other, written as one: ``RTX 4090`` is ``RTX4090``."""
    for start in range(len(words) + 1):
        for end in range(start, len(words) + 1):
            yield "".join(words[start:end])


def _agree(one: str | None, other: str | None) -> bool:
    return one is None or other is None or one == other
