"""``diagnose rules``: what rules there are, whether they are sound and whether they hold."""

from datetime import date
from pathlib import Path

import click

from diagnose.cli.catalogs import listing, unknown
from diagnose.cli.options import list_format_option, playbooks_option, rules_option
from diagnose.cli.output import columns, echo
from diagnose.errors import UsageError

_FOLDER = click.argument(
    "folder",
    required=False,
    metavar="[DIR]",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)


@click.group()
def rules() -> None:
    """List, show, explain, check, test and begin rules."""


@rules.command("list")
@rules_option
@list_format_option
def list_rules(rules: tuple[Path, ...], style: str) -> None:
    """List all rules with their cause and level."""
    from diagnose.engine.load import load_rules
    from diagnose.playbooks import shown

    found = load_rules(rules)
    rows = [
        {
            "id": rule.id,
            "stage": found.causes[rule.cause].stage,
            "cause": rule.cause,
            "level": rule.level,
            "role": rule.role,
            "title": shown(rule.title),
            "playbook": rule.playbook,
            "pack": rule.pack,
            "file": rule.file,
        }
        for rule in found.rules.values()
    ]
    listing(rows, style, ("id", "level", "cause"))


def _rule_ids(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
    from diagnose.engine.load import collect_rules

    found = collect_rules(context.params.get("rules") or ())
    return [name for name in found.texts if name.startswith(begun)]


@rules.command("show")
@click.argument("identifier", metavar="ID", shell_complete=_rule_ids)
@rules_option
def show_rule(identifier: str, rules: tuple[Path, ...]) -> None:
    """Print one rule as it stands in its file."""
    from diagnose.engine.load import collect_rules

    found = collect_rules(rules)
    name = found.aliases.get(identifier, identifier)
    if name not in found.texts:
        raise unknown("rule", identifier, list(found.texts))
    echo(found.texts[name].text)


@rules.command("explain")
@click.argument("identifier", metavar="ID", shell_complete=_rule_ids)
@rules_option
@playbooks_option
def explain_rule(identifier: str, rules: tuple[Path, ...], playbooks: tuple[Path, ...]) -> None:
    """Say in words what a rule looks for and what follows from it."""
    from diagnose import inquiry
    from diagnose.api import load_knowledge
    from diagnose.render.rulebook import explained

    knowledge = load_knowledge(rules, playbooks)
    rule = inquiry.rule_named(knowledge, identifier)
    cause = knowledge.rules.cause_of(rule)
    emitters = inquiry.emitters(rule)
    echo(explained(rule, cause, emitters, knowledge.playbooks, width=columns()))


@rules.command("why-not")
@click.argument("identifier", metavar="ID", shell_complete=_rule_ids)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path())
@rules_option
def why_not(identifier: str, paths: tuple[str, ...], rules: tuple[Path, ...]) -> None:
    """Say why a rule speaks, or does not, on some logs."""
    from diagnose import inquiry
    from diagnose.render.rulebook import answered

    answer = inquiry.why_not(paths, identifier, rules=rules)
    echo(answered(answer.account, answer.findings, width=columns()))


@rules.command("new")
@click.option(
    "--from",
    "place",
    required=True,
    metavar="FILE:LINE",
    help="The line of a log that the rule is for.",
)
@click.option(
    "--id", "identifier", metavar="ID", help="Id of the rule; made from the line by default."
)
def begin_rule(place: str, identifier: str | None) -> None:
    """Print the beginning of a rule for a line of a log.

    What only a person can know is marked TODO; `diagnose rules lint` names what is left.
    """
    from diagnose import inquiry

    file, _, line = place.rpartition(":")
    if not file or not line.isdecimal() or int(line) < 1:
        raise UsageError(f"--from {place!r} is not FILE:LINE, such as rank0.log:120")
    echo(inquiry.new_rule(Path(file), int(line), identifier=identifier))


@rules.command("lint")
@_FOLDER
@rules_option
@playbooks_option
@click.pass_context
def lint_rules(
    context: click.Context,
    folder: Path | None,
    rules: tuple[Path, ...],
    playbooks: tuple[Path, ...],
) -> None:
    """Check the rules of DIR, or the shipped ones, and the playbooks.

    Ends with status 2 if anything is wrong; warnings alone do not count.
    """
    from diagnose.lint import lint

    problems = lint(_with(folder, rules), playbooks, today=date.today())
    echo("".join(f"{problem}\n" for problem in problems))
    errors = sum(problem.fatal for problem in problems)
    click.echo(f"errors: {errors}, warnings: {len(problems) - errors}", err=True)
    context.exit(2 if errors else 0)


@rules.command("test")
@_FOLDER
@rules_option
@playbooks_option
@click.pass_context
def run_rule_tests(
    context: click.Context,
    folder: Path | None,
    rules: tuple[Path, ...],
    playbooks: tuple[Path, ...],
) -> None:
    """Run the tests in the rules of DIR, or in the shipped ones.

    Ends with status 1 if a test fails.
    """
    from diagnose.ruletest import chosen, load_knowledge, run_tests

    folders = _with(folder, rules)
    knowledge = load_knowledge(folders, playbooks)
    tested = chosen(knowledge.rules, only_packs=bool(folders))
    ran = failed = 0
    for outcome in run_tests(knowledge, tested):
        ran += 1
        failed += bool(outcome.failures)
        for failure in outcome.failures:
            echo(f"{outcome.file}: {outcome.rule}/{outcome.test}: {failure}\n")
    click.echo(f"tests: {ran}, failed: {failed}, rules: {len(tested)}", err=True)
    context.exit(1 if failed else 0)


def _with(folder: Path | None, rules: tuple[Path, ...]) -> tuple[Path, ...]:
    return rules if folder is None or folder in rules else (*rules, folder)
