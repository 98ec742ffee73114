"""What the documentation promises, held against the program."""

import dataclasses
import re
import runpy
import typing
from datetime import date
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import diagnose
from diagnose.cli import main
from diagnose.engine.compare import OPERATORS
from diagnose.engine.overlay import OVERLAY_KEYS, SUPPRESS_KEYS
from diagnose.engine.schema import CONDITION_KEYS, EXPLAIN_KEYS, RULE_KEYS
from diagnose.lint import lint
from diagnose.lint.cases import CASE_KEYS, EXPECT_KEYS
from diagnose.model.report import ReportData
from diagnose.parsers import parsers
from diagnose.playbooks import PLAYBOOK_KEYS, STEP_KEYS

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
RULES = sorted((ROOT / "rules").glob("*/*.yaml"))
PLAYBOOKS = sorted((ROOT / "playbooks").glob("*.yaml"))
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)")


def page(name):
    return (DOCS / name).read_text(encoding="utf-8")


def commands(command, words=("diagnose",)):
    """Yield every command with the words that call it."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in {*command.commands, *getattr(command, "elsewhere", ())}:
            yield from commands(command.get_command(context, name), (*words, name))
    yield " ".join(words), command


def keys(shape):
    """Yield the names of all fields of a report object and of the objects in it."""
    for field, kind in typing.get_type_hints(shape).items():
        yield field
        for part in (kind, *typing.get_args(kind)):
            if dataclasses.is_dataclass(part):
                yield from keys(part)


def test_every_command_and_option_is_in_the_manual():
    manual = page("usage.md")
    missing = set()
    for words, command in commands(main):
        if words.removeprefix("diagnose ") not in manual:
            missing.add(words)
        for option in command.params:
            missing.update(
                name for name in option.opts if name.startswith("--") and name not in manual
            )

    assert missing == set()


def test_every_key_of_the_report_is_described():
    text = page("report.md")

    assert {key for key in keys(ReportData) if f"`{key}`" not in text} == set()


@pytest.mark.parametrize(
    "table",
    [
        RULE_KEYS,
        *CONDITION_KEYS.values(),
        EXPLAIN_KEYS,
        OPERATORS,
        OVERLAY_KEYS,
        SUPPRESS_KEYS,
        CASE_KEYS,
        EXPECT_KEYS,
        PLAYBOOK_KEYS,
        STEP_KEYS,
    ],
    ids=lambda table: next(iter(table)),
)
def test_every_key_of_a_file_that_teams_write_is_described(table):
    text = page("rules.md")

    assert {key for key in table if f"`{key}`" not in text} == set()


def test_every_rule_and_playbook_is_in_the_reference():
    text = page("rules-reference.md")
    ids = {path.stem for path in (*RULES, *PLAYBOOKS)}

    assert {name for name in ids if f"`{name}`" not in text} == set()


def test_every_parser_is_in_the_reference():
    text = page("parsers.md")

    assert {parser.name for parser in parsers() if f"`{parser.name}`" not in text} == set()


def test_the_reference_is_fresh():
    pages = runpy.run_path(str(DOCS / "generate.py"))["pages"]()

    stale = [name for name, text in pages.items() if (ROOT / name).read_text("utf-8") != text]
    assert stale == [], "run: python docs/generate.py"


@pytest.mark.parametrize(
    "path", [*ROOT.glob("*.md"), *DOCS.glob("*.md")], ids=lambda path: path.name
)
def test_links_between_pages_lead_somewhere(path):
    targets = LINK.findall(path.read_text(encoding="utf-8"))

    assert [target for target in targets if not (path.parent / target).exists()] == []


def examples(text, language="yaml"):
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_the_tutorial_works_as_it_stands(tmp_path, monkeypatch):
    tutorial = page("rules.md").partition("## A rule in ten minutes")[2].partition("\n## ")[0]
    rule, playbook, settings = examples(tutorial)
    folders, commands = examples(tutorial, "sh")
    monkeypatch.chdir(tmp_path)
    for folder in folders.split()[1:]:
        (tmp_path / folder).mkdir()
    (tmp_path / "our-rules" / "cache-lease-revoked.yaml").write_text(rule, encoding="utf-8")
    (tmp_path / "our-playbooks" / "cache-lease-revoked.yaml").write_text(playbook, "utf-8")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "rank3.log").write_text(examples(tutorial, "")[0], encoding="utf-8")

    results = [
        CliRunner().invoke(main, line.partition("#")[0].split()[1:])
        for line in commands.splitlines()
    ]
    (tmp_path / "diagnose.yaml").write_text(settings, encoding="utf-8")
    results.append(CliRunner().invoke(main, ["./logs"]))

    assert [result.exit_code for result in results] == [0, 0, 1, 1], [r.output for r in results]
    assert results[0].stderr == "errors: 0, warnings: 0\n"
    assert results[1].stderr.startswith("tests: 3, failed: 0")
    assert results[2].stdout == results[3].stdout
    assert "node-09 took away a cache lease in use" in results[2].stdout
    assert "Restart from the last checkpoint" in results[2].stdout


def test_the_examples_of_whole_files_are_sound(tmp_path):
    text = page("rules.md")
    rules, playbooks = tmp_path / "rules", tmp_path / "playbooks"
    rules.mkdir()
    playbooks.mkdir()
    for example in examples(text):
        if example.startswith("requires:"):
            (rules / "overlay.yaml").write_text(example, encoding="utf-8")
        if example.startswith("- {id: dataflow."):
            (rules / "causes.yaml").write_text(example, encoding="utf-8")
        if example.startswith("id:") and "title: {en:" in example:
            (playbooks / "cache-lease-revoked.yaml").write_text(example, encoding="utf-8")
        elif example.startswith("id:"):
            (rules / "cache-lease-revoked.yaml").write_text(example, encoding="utf-8")

    assert len([*rules.iterdir(), *playbooks.iterdir()]) == 4
    assert [str(one) for one in lint([rules], [playbooks], today=date(2026, 1, 1))] == []


def test_what_the_library_gives_is_described():
    text = page("usage.md")
    assert [name for name in diagnose.__all__ if name not in text and name != "VERSION"] == []
    assert all(hasattr(diagnose, name) for name in diagnose.__all__)


def test_each_command_line_of_the_readme_is_one_line_and_starts_from_nothing():
    lines = [
        line
        for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("python3 -m venv")
    ]

    assert len(lines) == 2
    run, test = lines
    samples = re.findall(r"samples/\S+", run)
    assert samples
    assert all((ROOT / name).exists() for name in samples)
    assert test.endswith("-m pytest")
