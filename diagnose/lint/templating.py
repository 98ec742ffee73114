"""What a Jinja text names, and which of its values are not quoted for a shell."""

from collections.abc import Iterator

from jinja2 import Environment, TemplateError, meta, nodes

from diagnose import templates

_SYNTAX = Environment()
"""Only parses; nothing is rendered with it."""

# Looking for names goes through Jinja's compiler, which wants to know every filter.
_SYNTAX.filters.update(
    ranges=templates.ranges,
    bytes=templates.size,
    duration=templates.duration,
    hosts=templates.hosts,
    q=templates.quote,
)


def mistakes(text: str, names: set[str]) -> Iterator[str]:
    """Yield why a text is no valid template, or which names in it nobody gives.

    Args:
        text: Jinja.
        names: What it may name.
    """
    try:
        templates.check(text)
        tree = _SYNTAX.parse(text)
    except (ValueError, TemplateError) as error:
        yield f"not a valid template: {error}"
        return
    for name in sorted(meta.find_undeclared_variables(tree) - names):
        yield f"nobody gives the value '{name}'; known here: {', '.join(sorted(names))}"


def unquoted(command: str) -> Iterator[str]:
    """Yield the source-like name of each value in a command that does not end in the filter q."""
    try:
        tree = _SYNTAX.parse(command)
    except TemplateError:
        return
    for output in tree.find_all(nodes.Output):
        for node in output.nodes:
            if not isinstance(node, nodes.TemplateData) and not _is_quoted(node):
                yield _named(node)


def _is_quoted(node: nodes.Node) -> bool:
    if isinstance(node, nodes.CondExpr):
        return _is_quoted(node.expr1) and (node.expr2 is None or _is_quoted(node.expr2))
    if isinstance(node, nodes.Const):
        return True
    return isinstance(node, nodes.Filter) and node.name == "q"


def _named(node: nodes.Node) -> str:
    names = [found.name for found in (node, *node.find_all(nodes.Name)) if hasattr(found, "name")]
    return names[-1] if names else "value"
