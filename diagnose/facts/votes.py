"""How far a vote of ranks can be trusted: over those that are known, and against all who vote.

A rank of which nothing is known may have voted either way. Fields of an event that rests on a
vote: ``minority`` (share of the votes that differ), ``alone`` (a single one differs), ``absent``
(ranks whose vote is not known), ``decided`` (no vote of theirs could make the others the majority)
and ``seen_share`` (of all votes, those that are known).
"""

from diagnose.model.event import Value

SEEN = "seen_share"
"""Field with the share of all votes that an event rests on."""


def standing(usual: int, odd: int, absent: int) -> dict[str, Value]:
    """Return the fields of a vote.

    Args:
        usual: Votes for the most frequent choice.
        odd: Votes for any other.
        absent: Ranks that may have voted and of which nothing is known.
    """
    return {
        "minority": odd / (usual + odd),
        "alone": odd == 1,
        "absent": absent,
        "decided": usual > odd + absent,
        SEEN: (usual + odd) / (usual + odd + absent),
    }
