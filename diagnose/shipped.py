"""Where the shipped rules and playbooks are, in a checkout or in a wheel, and how they are read."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

import yaml

from diagnose.errors import InstallationError

try:
    from yaml import CSafeLoader as SafeLoader
except ImportError:  # a PyYAML built without libyaml
    from yaml import SafeLoader  # type: ignore[assignment]

Kind = Literal["rules", "playbooks"]

_TEXT, _LIST, _MAP, _MERGE = (
    f"tag:yaml.org,2002:{kind}" for kind in ("str", "seq", "map", "merge")
)


class Loader(SafeLoader):
    """PyYAML's safe loader with a short way for plain texts, lists and maps (half the time)."""

    def construct_document(self, node: yaml.Node) -> Any:
        """Return the data of a tree of nodes."""
        return self._plain(node)

    def _plain(self, node: yaml.Node) -> Any:
        if node.tag == _TEXT and isinstance(node, yaml.ScalarNode):
            return node.value
        if node.tag == _LIST and isinstance(node, yaml.SequenceNode):
            return [self._plain(member) for member in node.value]
        if node.tag == _MAP and isinstance(node, yaml.MappingNode):
            keys = [key for key, _ in node.value]
            if all(isinstance(key, yaml.ScalarNode) and key.tag != _MERGE for key in keys):
                return {self._plain(key): self._plain(value) for key, value in node.value}
        return self.construct_object(node, deep=True)


def root(kind: Kind) -> Traversable:
    """Return the folder of shipped files.

    The checkout is asked first: an editable install leaves a copy in the environment that goes
    stale at the first edit.

    Raises:
        InstallationError: Neither a checkout nor an installed copy has the folder.
    """
    checkout = Path(__file__).resolve().parent.parent / kind
    if checkout.is_dir() and (checkout.parent / "pyproject.toml").is_file():
        return checkout
    packaged = files("diagnose") / "_data" / kind
    if packaged.is_dir():
        return packaged
    raise InstallationError(f"the shipped {kind} are missing; install diagnose again")


def table(name: str) -> Any:
    """Return what a shipped table beside the rules holds, like ``xid`` of ``rules/xid.yaml``.

    Raises:
        InstallationError: The shipped rules are missing.
    """
    text = (root("rules") / f"{name}.yaml").read_text(encoding="utf-8")
    return yaml.load(text, Loader=Loader)  # noqa: S506, a safe loader
