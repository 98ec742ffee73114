"""The vocabulary of root causes: what a finding's ``cause`` may be."""

from dataclasses import dataclass

from diagnose.model.report import STAGES

UNKNOWN_OWNER = "unknown"
"""Owner of causes that only say what happened, not why."""


@dataclass(slots=True, frozen=True, kw_only=True)
class Cause:
    """One cause.

    Args:
        id: ``stage.name``.
        stage: One of the four stages of diagnosis.
        owner: Who has to act.
        symptoms: Numbers of the founding symptoms.
        title: What it is, in one line.
        open: The cause behind the cause is not known (a timeout nobody explains).
    """

    id: str
    stage: str
    owner: str
    symptoms: tuple[int, ...]
    title: str
    open: bool = False


def stage_order(stage: str) -> int:
    """Return the place of a stage in the order of diagnosis, unknown stages last."""
    return STAGES.index(stage) if stage in STAGES else len(STAGES)
