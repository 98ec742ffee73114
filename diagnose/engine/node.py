"""One finding, on its way from what a rule proposed to what the report says."""

from dataclasses import dataclass, field

from diagnose.engine.records import Match
from diagnose.engine.schema import Rule
from diagnose.model.event import Event
from diagnose.model.report import Culprit
from diagnose.model.taxonomy import Cause


@dataclass(slots=True, eq=False)
class Node:
    """One finding in the graph.

    Args:
        key: Unique in the report.
        rule: The rule that fired.
        cause: Its cause.
        match: What it matched; of merged findings the first.
        events: All evidence, merged.
        culprit: Who, completed from the job model.
        confidence: Of the rule, later of the finding.
        count: Records behind it.
        cleared: Later progress made it history.
        suppressed: The suppression that applies.
        explains: Findings it explains directly.
        explained_by: Findings that explain it directly.
    """

    key: str
    rule: Rule
    cause: Cause
    match: Match
    events: list[Event]
    culprit: Culprit
    confidence: float
    count: int
    cleared: bool = False
    suppressed: dict[str, str] | None = None
    explains: list["Node"] = field(default_factory=list)
    explained_by: list["Node"] = field(default_factory=list)

    @property
    def is_context(self) -> bool:
        """Whether it is shown and never weighed."""
        return self.cleared or self.rule.role == "context"

    @property
    def first(self) -> Event | None:
        """The earliest evidence in the order of the sources."""
        return self.events[0] if self.events else None

    def reach(self) -> set["Node"]:
        """Return the findings it explains, directly or through others, and itself."""
        seen, todo = {self}, [self]
        while todo:
            for node in todo.pop().explains:
                if node not in seen:
                    seen.add(node)
                    todo.append(node)
        return seen
