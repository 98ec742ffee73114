"""All rules of a run, with the causes they name and what teams laid over them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from diagnose.engine.overlay import Overlay, Suppression
from diagnose.engine.positions import YamlText
from diagnose.engine.premise import Premise, premise_of
from diagnose.engine.schema import Rule
from diagnose.errors import Problem
from diagnose.model.taxonomy import Cause


@dataclass(frozen=True, slots=True)
class RuleSet:
    """All rules of a run.

    Args:
        rules: By id; shipped ones by stage and name, then each folder's by name.
        causes: By id.
        aliases: Former id to id.
        disabled: Ids that an overlay switched off.
        suppressions: In the order of the folders.
        packs: Names of the folders laid over the shipped rules.
        problems: Everything found wrong, in order of file and line; fatal ones only from
            ``collect_rules``.
        texts: The files behind the rules, by id, for positions.
        overlays: Each with its file, in the order of the folders.
        premises: By id, of rules that are read only when they are asked for.
    """

    rules: Mapping[str, Rule]
    causes: Mapping[str, Cause]
    aliases: Mapping[str, str] = field(default_factory=dict)
    disabled: frozenset[str] = frozenset()
    suppressions: tuple[Suppression, ...] = ()
    packs: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    texts: Mapping[str, YamlText] = field(default_factory=dict)
    overlays: tuple[tuple[YamlText, Overlay], ...] = ()
    premises: Mapping[str, Premise] = field(default_factory=dict)

    def id_of(self, name: str) -> str | None:
        """Return the id of a rule that is named by its id or a former one."""
        identifier = self.aliases.get(name, name)
        return identifier if identifier in self.rules else None

    def find(self, name: str) -> Rule | None:
        """Return a rule by its id or a former one."""
        return self.rules.get(self.aliases.get(name, name))

    def premise(self, identifier: str) -> Premise:
        """Return what is asked of a case before a rule itself is asked."""
        known = self.premises.get(identifier)
        return premise_of(self.rules[identifier]) if known is None else known

    def cause_of(self, rule: Rule) -> Cause:
        """Return the cause of a rule."""
        return self.causes[rule.cause]
