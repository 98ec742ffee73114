"""Rules in words: what one looks for, and why it spoke or not on some logs."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from diagnose.engine.describe import clauses, edge
from diagnose.engine.schema import Condition, Rule
from diagnose.engine.verdict import Judged
from diagnose.engine.why_not import Account, Held
from diagnose.model.taxonomy import Cause
from diagnose.playbooks import Playbook, shown
from diagnose.render.visible import one_line, visible

INDENT = 2


def explained(
    rule: Rule,
    cause: Cause,
    emitters: Mapping[str, Sequence[str]],
    playbooks: Mapping[str, Playbook],
    *,
    width: int = 80,
) -> str:
    """Return what a rule looks for and what follows from it.

    Args:
        rule: The rule.
        cause: Its cause.
        emitters: Which parsers give its events, by event.
        playbooks: All playbooks, by id.
        width: Columns.
    """
    lines = [
        *_wrapped(one_line(f"{rule.id}: {shown(rule.title)}"), 0, width),
        *_wrapped(f"{rule.cause}: {cause.title}", 1, width),
        *_wrapped(_kind(rule, cause), 1, width),
        *_section("Looks for", _conditions(rule.match, width)),
    ]
    for condition in rule.unless:
        lines += _section("Says nothing where", _conditions(condition, width))
    if rule.by != "job":
        lines += _wrapped(f"One finding for each {rule.by}.", 1, width)
    if rule.cleared_by == "progress":
        lines += _wrapped("It is history once steps go on after it.", 1, width)
    elif rule.cleared_by is not None:
        lines += _section("Is history after", _conditions(rule.cleared_by, width))
    for sign, entries in (("+", rule.raises), ("-", rule.lowers)):
        for entry in entries:
            lines += _section(
                f"Confidence {sign}{entry.by:g} where", _conditions(entry.when, width)
            )
    for head, items in (
        ("Explains", [edge(one) for one in rule.explains]),
        ("Is explained by these alone", [edge(one) for one in rule.explained_by]),
        ("Would be decided by", [shown(text) for text in rule.missing]),
        ("Reads", [f"{name}: {', '.join(found)}" for name, found in emitters.items()]),
        ("References", list(rule.references)),
    ):
        lines += _section(head, _items(items, width))
    if rule.playbook is not None:
        title = shown(playbooks[rule.playbook].title["en"])
        lines += _section("What to do", _wrapped(f"{rule.playbook}: {title}", 1, width))
    return "\n".join(lines) + "\n"


def answered(account: Account, findings: Sequence[Judged], *, width: int = 80) -> str:
    """Return why a rule spoke or did not.

    Args:
        account: Its conditions, held against the logs.
        findings: What it found.
        width: Columns.
    """
    rule = account.rule
    lines = list(_wrapped(f"{rule.id} {_outcome(account)}", 0, width))
    for one in findings:
        lines += _wrapped(_role(one), 1, width)
    lines += _section("Looked for", _answers(account.conditions, width))
    for silencing in account.silencing:
        lines += _section("Silenced where", _answers(silencing, width))
    return "\n".join(lines) + "\n"


def _kind(rule: Rule, cause: Cause) -> str:
    parts = [
        f"level {rule.level}",
        f"role {rule.role}",
        f"stage {cause.stage}",
        f"owner {cause.owner}",
        f"confidence {rule.confidence:g}",
        *(f"only for {name} {wanted}" for name, wanted in rule.applies.items()),
    ]
    return ", ".join(parts)


def _outcome(account: Account) -> str:
    if account.matches:
        return "spoke: " + ("1 finding" if account.matches == 1 else f"{account.matches} findings")
    if account.excluded is not None:
        return f"did not speak: it is for {account.excluded}"
    if account.conditions[0].holds and account.silencing:
        return "did not speak: what it looks for is there, and so is what silences it"
    if account.conditions[0].holds:
        return f"did not speak: what it looks for is there, but not of one {account.rule.by}"
    return "did not speak: what it looks for is not there"


def _role(one: Judged) -> str:
    node = one.node
    said = f"{node.key}: {one.role}, confidence {node.confidence:.2f}: {one_line(node.match.title)}"
    if node.explained_by:
        said += f"; explained by {', '.join(sorted(other.key for other in node.explained_by))}"
    if node.suppressed is not None:
        said += f"; suppressed: {node.suppressed.get('reason', '')}"
    return said


def _conditions(condition: Condition, width: int) -> Iterator[str]:
    for clause in clauses(condition):
        yield from _wrapped(clause.text, clause.depth + 1, width)


def _answers(held: Sequence[Held], width: int) -> Iterator[str]:
    for one in held:
        yield from _wrapped(f"{'yes' if one.holds else 'no '}  {one.text}", one.depth + 1, width)
        found = f"{one.found}, first at {one.place}" if one.place and one.found else one.found
        if found:
            yield from _wrapped(found, one.depth + 4, width)


def _items(items: Sequence[str], width: int) -> Iterator[str]:
    for item in items:
        yield from _wrapped(one_line(item), 1, width)


def _section(head: str, body: Iterator[str]) -> Iterator[str]:
    """Yield a heading and what stands under it, nothing where nothing does."""
    found = list(body)
    if found:
        yield ""
        yield head
        yield from found


def _wrapped(text: str, depth: int, width: int) -> Iterator[str]:
    indent = " " * (INDENT * depth)
    yield from textwrap.wrap(
        visible(text),
        max(width, 40),
        initial_indent=indent,
        subsequent_indent=indent + " " * INDENT,
        break_on_hyphens=False,
    )
