"""Whose line it is: the process group and the ranks that ProcessGroupNCCL and gloo print.

``[Rank N]`` counts within the group; from 2.2 on it is a text made once a process, by whichever
group logged first, so that it need not even be the number in the group at hand.
"""

import regex

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Value

GROUP = LazyPattern(
    r"\[PG (?:ID )?(?P<id>\w+)(?: PG GUID (?P<guid>[^\s(\]]+))?(?: ?\((?P<desc>[^)\]]*)\))? Rank (?P<rank>\d+)\]"
)
"""``[PG 1 Rank 0]`` 2.3, ``[PG 0 (default_pg) Rank 3]`` 2.4, ``[PG ID 0 PG GUID 0(default_pg) Rank 7]`` 2.5."""

RANK = LazyPattern(r"\[Rank (\d+)\]")


def place_in_group(event: Event, text: str) -> None:
    """Set ``pg_rank``, the group and, where it is sure, the global rank."""
    group = GROUP.search(text)
    if group is not None:
        event.communicator = group["guid"] or group["id"]
        event.fields["group"] = group["desc"]
        event.fields["pg_rank"] = rank = int(group["rank"])
        if group["desc"] == "default_pg" or (group["id"] == "0" and not group["desc"]):
            event.rank = rank
        return
    if found := RANK.search(text):
        event.fields["pg_rank"] = int(found[1])
    in_group = event.fields.get("pg_rank")
    if event.rank is None and isinstance(in_group, int):
        event.rank = in_group


def integers(text: str) -> Value:
    """Return the numbers in ``0, 1, 2``."""
    return [int(number) for number in regex.findall(r"\d+", text)]
