"""The one Jinja environment: sandboxed, strict, with the filters that rules and playbooks use.

Texts come from files that teams edit, so a template may neither reach into the program nor fill
the memory nor run for ever: only listed filters, methods and statements exist, operators that make
large values from small ones are bounded, and so is the output.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError, Undefined, meta, nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.environment import TemplateExpression
from jinja2.sandbox import ImmutableSandboxedEnvironment

from diagnose.filters import (
    UNKNOWN,
    amount,
    duration,
    hosts,
    is_many,
    percent,
    quote,
    ranges,
    ranks,
    size,
)  # fmt: skip

OUTPUT_LIMIT = 200_000
"""Characters that one text may grow to; the names of ten thousand hosts fit."""

DIGITS_LIMIT = 4096
"""Bits of a number that a template computes."""

MEMBERS_LIMIT = 100_000
"""Members of a list that a template puts together."""

FORMULAS = "calc"
"""Name of the formulas in a text; they are imported where a text has it."""

BUILT_IN = (
    "abs", "capitalize", "count", "default", "dictsort", "first", "float", "groupby", "int",
    "items", "join", "last", "length", "list", "lower", "map", "max", "min", "reject",
    "rejectattr", "replace", "reverse", "round", "select", "selectattr", "sort", "string", "sum",
    "trim", "truncate", "unique", "upper",
)  # fmt: skip
"""Jinja's own filters that stay; the rest pads, formats, escapes for HTML or draws lots."""

METHODS = frozenset({
    "count", "endswith", "find", "get", "index", "isdigit", "items", "keys", "lower", "lstrip",
    "partition", "removeprefix", "removesuffix", "rpartition", "rsplit", "rstrip", "split",
    "splitlines", "startswith", "strip", "title", "upper", "values",
})  # fmt: skip
"""Methods of texts, lists and maps that stay; the rest pads, formats, repeats or changes."""

STATEMENTS = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.For, nodes.Assign,
)  # fmt: skip
"""What may stand outside an expression: text, ``{{ }}``, ``if``, ``for`` and ``set``."""

_TEMPLATE = re.compile(r"[{\r]")
"""What a text has in which Jinja may change something: it makes one kind of line ends."""

_EXPRESSION = re.compile(r"\s*\{\{(.*)\}\}\s*", re.DOTALL)


def render(text: str, /, **values: object) -> str:
    """Return a text with its values filled in.

    Args:
        text: Jinja.
        values: What the text may name.

    Raises:
        ValueError: The template is wrong or names something unknown, or its output is too long.
    """
    if not _TEMPLATE.search(text) and len(text) <= OUTPUT_LIMIT:
        return text.removesuffix("\n")  # as Jinja does; most texts of playbooks are as they are
    parts: list[str] = []
    size = 0
    try:
        for part in _template(text).generate(values):
            size += len(part)
            if size > OUTPUT_LIMIT:
                raise ValueError(f"the text grows over {OUTPUT_LIMIT} characters")
            parts.append(part)
    except _FAILURES as error:
        raise ValueError(_reason(error)) from error
    return "".join(parts)


def evaluate(text: str, /, **values: object) -> list[Any]:
    """Return the value of one ``{{ expression }}`` as a list.

    A single value becomes a list of one; null, an unknown field and members that are null are
    left out.

    Args:
        text: ``{{ expression }}`` and nothing else.
        values: What the expression may name.

    Raises:
        ValueError: The text is no expression or fails.
    """
    try:
        value: Any = _expression(text)(**values)
        members = list(value) if is_many(value) else [value]
        return [item for item in members if item is not None and not isinstance(item, Undefined)]
    except _FAILURES as error:
        raise ValueError(_reason(error)) from error


def check(text: str) -> None:
    """Compile a text.

    Raises:
        ValueError: It is not valid Jinja; the message says why.
    """
    try:
        _template(text)
    except _FAILURES as error:
        raise ValueError(_reason(error)) from error


def check_expression(text: str) -> None:
    """Compile one ``{{ expression }}``.

    Raises:
        ValueError: It is not one expression.
    """
    try:
        _expression(text)
    except _FAILURES as error:
        raise ValueError(_reason(error)) from error


def unknown_names(text: str) -> set[str]:
    """Return the names that a text takes from outside.

    Raises:
        ValueError: It is not valid Jinja.
    """
    return set(meta.find_undeclared_variables(parse(text)))


def parse(text: str) -> nodes.Template:
    """Return the syntax tree of a text that says nothing but what a text may say.

    Nothing is computed while it is read: operators are bounded in the tree's environment.

    Raises:
        ValueError: It is not valid Jinja, or uses what texts may not use; the message says which.
    """
    try:
        tree = _ENVIRONMENT.parse(text)
    except (TemplateError, RecursionError) as error:
        raise ValueError(_reason(error)) from error
    for refused in _refused(tree):
        raise ValueError(refused)
    return tree


def _refused(tree: nodes.Template) -> Iterator[str]:
    for node in tree.find_all(nodes.Node):
        if isinstance(node, nodes.Stmt | nodes.Template) and not isinstance(node, STATEMENTS):
            yield f"'{type(node).__name__.lower()}' cannot be used here; only if, for and set can"
        if isinstance(node, nodes.For) and (node.recursive or any(node.find_all(nodes.For))):
            yield "a 'for' cannot stand inside another 'for'"
        if isinstance(node, nodes.Call) and (why := _never_called(node)) is not None:
            yield why
        if isinstance(node, nodes.Name) and node.name == FORMULAS and node.ctx != "load":
            yield f"'{FORMULAS}' holds the formulas; take another name"
        if isinstance(node, nodes.Const) and node.value in (math.inf, -math.inf):
            yield "a number is too large"
        if isinstance(node, nodes.BinExpr) and (why := _never_computed(node)) is not None:
            yield why
        if (name := _attribute(node)) is not None and name.startswith("_"):
            yield f"'{name}' cannot be reached; names of fields do not begin with '_'"


def _never_called(node: nodes.Call) -> str | None:
    """Return why a call is refused: it is neither of a listed method nor of a formula."""
    called = node.node.attr if isinstance(node.node, nodes.Getattr) else None
    owner = node.node.node if isinstance(node.node, nodes.Getattr) else None
    if isinstance(owner, nodes.Name) and owner.name == FORMULAS:
        from diagnose.calc.formulas import FORMULAS as known

        formula = known.get(str(called))
        if formula is None:
            return f"there is no formula '{called}'; formulas: {', '.join(known)}"
        if node.dyn_args is not None or node.dyn_kwargs is not None:
            return f"the values of {formula} are written one by one"
        named = [(one.key, one.value) for one in node.kwargs]
        values: list[tuple[int | str, nodes.Expr]] = [*enumerate(node.args), *named]
        written = {key: one.value for key, one in values if isinstance(one, nodes.Const)}
        return formula.problem(len(node.args), [key for key, _ in named]) or formula.misfit(written)
    if called in METHODS:
        return None
    shown = called or getattr(node.node, "name", "this")
    return f"'{shown}' cannot be called; methods that can: {', '.join(sorted(METHODS))}"


def _never_computed(node: nodes.BinExpr) -> str | None:
    """Return why an operation can never be carried out, where the text itself shows it."""
    if node.operator not in _Environment.intercepted_binops:
        return None
    sides = [side.value if isinstance(side, nodes.Const) else 1 for side in (node.left, node.right)]
    try:
        _ENVIRONMENT.call_binop(None, node.operator, *sides)
    except ValueError as error:
        return _reason(error)
    except (TypeError, ArithmeticError):
        return None if node.operator == "+" else f"'{node.operator}' cannot work on this"
    return None


def _attribute(node: nodes.Node) -> str | None:
    if isinstance(node, nodes.Getattr):
        return node.attr
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
        return str(node.arg.value)
    return None


class _Generator(CodeGenerator):
    """Jinja's compiler with ``~`` as an operator like the others, so that it can be bounded."""

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802, Jinja's name
        self.write("environment.concatenate((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")


class _Environment(ImmutableSandboxedEnvironment):
    """Jinja's sandbox with bounds on what makes large values from small texts."""

    code_generator_class = _Generator
    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if not (isinstance(left, int | float) and isinstance(right, int | float)):
            if operator != "+":
                raise ValueError(f"'{operator}' works on numbers only")
            added = left + right
            _bounded(len(added), MEMBERS_LIMIT if is_many(left) else OUTPUT_LIMIT)
            return added
        if operator == "+":
            return left + right
        if operator == "%":
            return left % right
        if operator == "*" and _bits(left) + _bits(right) <= DIGITS_LIMIT:
            return left * right
        if operator == "**" and _bits(left) * max(abs(right), 1) <= DIGITS_LIMIT:
            return left**right
        raise ValueError(f"'{operator}' works on numbers of moderate size only")

    def concatenate(self, parts: Sequence[object]) -> str:
        """Return what ``~`` gives."""
        texts = [str(_finalize(part)) for part in parts]
        _bounded(sum(map(len, texts)), OUTPUT_LIMIT)
        return "".join(texts)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Tell whether a template may reach an attribute; of plain values, listed methods only."""
        if isinstance(obj, str | bytes | int | float | Mapping | Sequence | set | frozenset):
            return attr in METHODS
        return super().is_safe_attribute(obj, attr, value)


class _Formulas:
    """The formulas by name, as ``calc`` in every text."""

    __slots__ = ()

    def __getitem__(self, name: str) -> object:
        from diagnose.calc.formulas import FORMULAS as known

        return known[name]

    def __str__(self) -> str:
        return FORMULAS


def _bits(number: float) -> int:
    return number.bit_length() if isinstance(number, int) else 1


def _bounded(length: int, limit: int) -> None:
    if length > limit:
        raise ValueError(f"a value grows over {limit} characters or members")


def _finalize(value: object) -> object:
    if value is None:
        return UNKNOWN
    if isinstance(value, list | tuple | set | frozenset):
        return ", ".join(str(member) for member in value) if value else UNKNOWN
    return value


def _make_environment() -> _Environment:
    environment = _Environment(undefined=StrictUndefined, finalize=_finalize, optimized=False)
    environment.globals.clear()
    environment.globals[FORMULAS] = _Formulas()
    environment.filters = {name: environment.filters[name] for name in BUILT_IN}
    environment.filters.update(
        ranges=ranges, ranks=ranks, bytes=size, duration=duration, percent=percent, hosts=hosts,
        amount=amount, q=quote, join=_join, replace=_replace,
    )  # fmt: skip
    return environment


def _join(values: Iterable[object], separator: str = "", attribute: str | None = None) -> str:
    """Join as Jinja does; its own filter needs the evaluation context for HTML only."""
    members = list(values)
    if attribute is not None:
        members = [_ENVIRONMENT.getitem(member, attribute) for member in members]
    texts = [str(_finalize(member)) for member in members]
    _bounded(sum(map(len, texts)) + len(separator) * len(texts), MEMBERS_LIMIT)
    return separator.join(texts)


def _replace(text: object, old: str, new: str, count: int = -1) -> str:
    """Replace as Jinja does, within bounds."""
    whole = str(text)
    _bounded(len(whole) + whole.count(old) * len(new), MEMBERS_LIMIT)
    return whole.replace(old, new, count)


@lru_cache(maxsize=2048)
def _template(text: str) -> Template:
    code = _ENVIRONMENT.compile(parse(text))
    return Template.from_code(_ENVIRONMENT, code, _ENVIRONMENT.globals)


@lru_cache(maxsize=2048)
def _expression(text: str) -> TemplateExpression:
    found = _EXPRESSION.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not an expression; write {{{{ ... }}}} around it")
    parse(text)
    return _ENVIRONMENT.compile_expression(found[1], undefined_to_none=False)


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__


_FAILURES = (TemplateError, ValueError, TypeError, ArithmeticError, LookupError, AttributeError,
             RecursionError, MemoryError)  # fmt: skip
_ENVIRONMENT = _make_environment()
