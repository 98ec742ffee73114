"""Which part of a serving engine a process is, by the tag in front of its lines.

vLLM tags ``APIServer``, ``EngineCore_DP0``, ``Worker_DP0_TP1_EP1``, ``VllmWorker rank=1``; SGLang
``DP1 TP0``, ``PP0 TP3``.
"""

import re
from dataclasses import dataclass

from diagnose.model.event import Event

_PART = re.compile(r"(?:^|[_ ])(DP|PP|TP|EP)(\d+)(?=$|[_ ])")
_ROLES = (
    ("APIServer", "frontend"),
    ("EngineCore", "core"),
    ("Worker", "worker"),
    ("worker", "worker"),
)


@dataclass(frozen=True, slots=True)
class Process:
    """A process of an engine.

    Args:
        tag: As printed, None where its lines have none.
        role: ``frontend``, ``core`` or ``worker``; None if the tag does not tell.
        dp: Its data-parallel replica, 0 if it names none.
        tp: Its tensor-parallel rank, likewise.
        pp: Its pipeline stage, likewise.
    """

    tag: str | None
    role: str | None
    dp: int = 0
    tp: int | None = None
    pp: int | None = None


def process_of(event: Event) -> Process:
    """Return which process of an engine printed an event."""
    tag = event.stream
    if tag is None or tag in ("stdout", "stderr", "stddiag"):
        return Process(None, None)
    parts = {name: int(number) for name, number in _PART.findall(tag)}
    role = next((role for word, role in _ROLES if word in tag), "worker" if parts else None)
    return Process(tag, role, parts.get("DP", 0), parts.get("TP"), parts.get("PP"))
