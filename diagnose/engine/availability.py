"""Whether the logs hold what a condition looks at, fault or no fault.

An error that is not there proves something only where its writer was heard: a rule on NCCL errors
had input if any record of NCCL was found. Text that a rule selects itself is input only when found:
that some text was read does not mean that the right program wrote it.
"""

from collections.abc import Callable, Collection

from diagnose.engine.premise import Inputs
from diagnose.facts.case import Case
from diagnose.parsers import FAMILIES

MATCHING_TEXT = "matching text"
"""What a rule lacks whose own text selection found nothing."""


def possible(inputs: Inputs, case: Case) -> bool:
    """Return whether a condition could hold, by the names of what was found alone."""
    if inputs.kind == "any":
        return any(possible(member, case) for member in inputs.members)
    if inputs.kind == "all":
        return all(possible(member, case) for member in inputs.members)
    if inputs.kind in ("event", "text"):
        return bool(case.named(inputs.name))
    if inputs.kind == "fact":
        return case.states(inputs.name)
    return inputs.kind == "rule" or bool(case.series(inputs.name))


def lacking(
    inputs: Inputs,
    case: Case,
    families: Collection[str],
    of_rule: Callable[[str], tuple[str, ...]],
) -> tuple[str, ...]:
    """Return what the logs do not hold of what a condition looks at; empty if it had input.

    Args:
        inputs: What the condition looks at.
        case: The evidence.
        families: First parts of the names of all events, such as ``nccl``.
        of_rule: Gives what another rule lacks.
    """
    name = inputs.name
    if inputs.kind in ("any", "all"):
        every = [lacking(member, case, families, of_rule) for member in inputs.members]
        if inputs.kind == "any" and not all(every):
            return ()
        return tuple(dict.fromkeys(name for one in every for name in one))
    if inputs.kind == "event":
        family = name.partition(".")[0]
        return () if family in families else (FAMILIES.get(family, f"{family} records"),)
    if inputs.kind == "text":
        return () if case.named(name) else (MATCHING_TEXT,)
    if inputs.kind == "fact":
        return () if case.states(name) else ("printed settings",)
    if inputs.kind == "rule":
        return of_rule(name)
    return () if case.series(name) else (f"{name} of steps",)
