"""The shipped rules as they were kept: a rule is read when it is asked for."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.resources.abc import Traversable
from itertools import chain
from typing import Any

from diagnose.engine.positions import YamlText, read_text
from diagnose.engine.premise import Premise, known_premise
from diagnose.engine.read_rule import read_rule
from diagnose.engine.schema import Rule
from diagnose.errors import MistakeFound, RuleErrors
from diagnose.kept import Kept, exact
from diagnose.model.taxonomy import Cause


class KeptRules(Mapping[str, Rule]):
    """The shipped rules by id, in the order of stages and names.

    Args:
        lines: As ``keep_rules`` kept them.
        root: Folder of the files.

    Attributes:
        causes: By id.
        aliases: Former id to id.
        premises: By id.
        texts: The files, by id.
    """

    def __init__(self, lines: list[bytes], root: Traversable) -> None:
        head = json.loads(lines[0])
        causes = (Cause(**{**one, "symptoms": tuple(one["symptoms"])}) for one in head["causes"])
        self.causes = {cause.id: cause for cause in causes}
        self.aliases: dict[str, str] = head["aliases"]
        self.premises: dict[str, Premise] = {one[0]: known_premise(one) for one in head["premises"]}
        self.texts = {one.id: _text(one, root) for one in self.premises.values()}
        self._lines = dict(zip(self.premises, lines[1:], strict=True))
        self._read: dict[str, Rule] = {}

    def __getitem__(self, identifier: str) -> Rule:
        if identifier not in self._read:
            text = self.texts[identifier]
            rule, mistakes = read_rule(
                self.data(identifier), self.causes, file=text.name, check_patterns=False
            )
            if rule is None:
                raise RuleErrors(list(map(text.problem, mistakes)))
            self._read[identifier] = rule
        return self._read[identifier]

    def __contains__(self, identifier: object) -> bool:
        return identifier in self._lines

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)

    def data(self, identifier: str) -> dict[str, Any]:
        """Return a rule as its file has it, without tests."""
        found: dict[str, Any] = json.loads(self._lines[identifier])
        return found


def _text(premise: Premise, root: Traversable) -> YamlText:
    """Return the file of a rule, of which mostly no more than the name is asked."""
    name = f"{premise.stage}/{premise.id}.yaml"

    def read() -> str:
        try:
            return read_text(root.joinpath(name), name).text
        except MistakeFound:  # the file is gone by now
            return ""

    return YamlText(f"rules/{name}", read)


def find_rules(kept: Kept, root: Traversable) -> KeptRules | None:
    """Return the rules that were kept, None where there are none or their files have changed."""
    lines = kept.find()
    return KeptRules(lines, root) if lines else None


def keep_rules(
    kept: Kept,
    data: Mapping[str, Any],
    causes: Mapping[str, Cause],
    aliases: Mapping[str, str],
    premises: Sequence[Premise],
) -> None:
    """Keep the shipped rules, in which no mistake was found.

    Args:
        kept: Made before the files were read.
        data: Each rule as its file has it, by id.
        causes: By id.
        aliases: Former id to id.
        premises: Of each, in the same order.
    """
    head = {
        "causes": list(map(asdict, causes.values())),
        "aliases": aliases,
        "premises": premises,
    }
    kept.keep(chain([json.dumps(head)], map(exact, data.values())))
