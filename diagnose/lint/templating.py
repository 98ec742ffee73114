"""What a Jinja text names, and which of its values are not quoted for a shell."""

from collections.abc import Callable, Iterator, Mapping

from jinja2 import nodes

from diagnose import templates

Asked = Callable[[str], str | None]
"""Says what is wrong with a field of a record, None if nothing is."""

_BY_ATTRIBUTE = ("map", "groupby", "join", "max", "min", "sort", "sum", "unique")
"""Filters that take the name of a field as ``attribute``."""

_BY_FIRST = ("groupby", "rejectattr", "selectattr")
"""Filters whose first argument is the name of a field."""


def mistakes(text: str, names: set[str]) -> Iterator[str]:
    """Yield why a text is no valid template, or which names in it nobody gives.

    Args:
        text: Jinja.
        names: What it may name.
    """
    try:
        templates.check(text)
        unknown = templates.unknown_names(text) - names
    except ValueError as error:
        yield f"not a valid template: {error}"
        return
    for name in sorted(unknown):
        yield f"nobody gives the value '{name}'; known here: {', '.join(sorted(names))}"


def unknown_fields(text: str, records: Mapping[str, Asked]) -> Iterator[str]:
    """Yield what is wrong with the fields that a text reads of records or of lists of them.

    Args:
        text: Jinja.
        records: By name, what tells whether a record has a field.
    """
    try:
        tree = templates.parse(text)
    except ValueError:
        return
    seen = dict.fromkeys(_fields(tree))
    for name, field in seen:
        if name in records and (message := records[name](field)):
            yield message


def _fields(tree: nodes.Node) -> Iterator[tuple[str, str]]:
    """Yield (name, field) for ``event.x``, ``seen[0].x`` and ``seen | map(attribute='x')``."""
    for node in tree.find_all((nodes.Getattr, nodes.Getitem, nodes.Filter)):
        if isinstance(node, nodes.Getattr) and (name := _record(node.node)) is not None:
            yield name, node.attr
        if isinstance(node, nodes.Getitem) and (name := _record(node.node)) is not None:
            key = node.arg.value if isinstance(node.arg, nodes.Const) else None
            if isinstance(key, str):
                yield name, key
        if isinstance(node, nodes.Filter) and node.node is not None:
            name = _record(node.node)
            for field in _asked_by(node) if name is not None else ():
                yield str(name), field.partition(".")[0]


def _record(node: nodes.Node) -> str | None:
    """Return the name that an expression takes its records from, if it keeps them records."""
    keeping = ("first", "last", "list", "reject", "rejectattr", "reverse", "select", "selectattr",
               "sort", "unique")  # fmt: skip
    if isinstance(node, nodes.Name):
        return node.name
    if isinstance(node, nodes.Getitem):
        is_key = isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str)
        return None if is_key else _record(node.node)
    if isinstance(node, nodes.Filter) and node.name in keeping and node.node is not None:
        return _record(node.node)
    return None


def _asked_by(node: nodes.Filter) -> Iterator[str]:
    given = [one.value for one in node.kwargs if one.key == "attribute"]
    if node.name in _BY_FIRST:
        given += node.args[:1]
    if node.name not in (*_BY_ATTRIBUTE, *_BY_FIRST):
        return
    for one in given:
        if isinstance(one, nodes.Const) and isinstance(one.value, str):
            yield one.value


def unquoted(command: str) -> Iterator[str]:
    """Yield the source-like name of each value in a command that does not end in the filter q."""
    try:
        tree = templates.parse(command)
    except ValueError:
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
