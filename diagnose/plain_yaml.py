"""How YAML is loaded; only imported where there is some to read: it takes as long as a snippet."""

from typing import Any

import yaml

try:
    from yaml import CSafeLoader as SafeLoader
except ImportError:  # a PyYAML built without libyaml
    from yaml import SafeLoader  # type: ignore[assignment]

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


def load(text: str) -> Any:
    """Return the data of a text.

    Raises:
        yaml.YAMLError: It is no YAML.
    """
    return yaml.load(text, Loader=Loader)  # noqa: S506, a safe loader
