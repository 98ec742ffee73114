"""Questions about rules, as a person asks them on the command line."""

import shutil
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from diagnose import inquiry
from diagnose.api import load_knowledge
from diagnose.cli import main
from diagnose.errors import NoInputError, UsageError
from diagnose.render.rulebook import explained

ROOT = Path(__file__).resolve().parent.parent
PORT_DOWN = ROOT / "samples/comms/ib-port-down/logs"
SLOW_PORT = ROOT / "samples/comms/ib-port-at-lower-rate/logs"


@pytest.fixture(scope="module")
def knowledge():
    return load_knowledge()


def call(*arguments):
    return CliRunner().invoke(main, [str(one) for one in arguments], catch_exceptions=False)


def test_every_rule_can_be_explained(knowledge):
    for rule in knowledge.rules.rules.values():
        cause = knowledge.rules.cause_of(rule)
        text = explained(rule, cause, inquiry.emitters(rule), knowledge.playbooks, width=80)
        assert text.startswith(f"{rule.id}: ")
        assert cause.title.split()[0] in text
        assert "Looks for" in text


def test_an_explanation_names_conditions_edges_and_sources():
    said = " ".join(call("rules", "explain", "ib-port-error").stdout.split())
    assert "event nccl.ib.async_event" in said
    assert "cause:comms.rdma-retry-exceeded" in said or "rdma-retry-exceeded" in said
    assert "nccl.ib.async_event: nccl-ib" in said
    assert "ib-link-down: " in said


def test_a_rule_that_spoke_says_its_role_and_what_explains_it():
    said = call("rules", "why-not", "remote-peer-closed", PORT_DOWN).stdout
    assert said.startswith("remote-peer-closed spoke: 1 finding")
    assert "cascade" in said
    assert "ib-port-error@node-03" in said


def test_a_condition_that_fails_says_what_was_found_instead():
    said = " ".join(call("rules", "why-not", "remote-peer-closed", PORT_DOWN).stdout.split())
    assert "none with status one of 5, 10: 12 (4x), first at rank10.log:41" in said


def test_a_rule_without_anything_to_look_at():
    said = call("rules", "why-not", "gpu-fell-off-bus", PORT_DOWN).stdout
    assert "did not speak: what it looks for is not there" in said
    assert "the logs hold none" in said


def test_what_silences_a_rule_is_told(tmp_path):
    rules = tmp_path / "rules"
    rules.mkdir()
    (rules / "ours.yaml").write_text(
        "id: ours\ntitle: Ours\ncause: comms.link-down\nmatch: {event: nccl.ib.async_event}\n"
        "unless: {event: nccl.remote_error}\nexplanation: Ours.\nplaybook: ib-link-down\n"
        "tests: [{name: fires, logs: {a.log: x}, expect: {fires: false}}]\n",
        encoding="utf-8",
    )
    said = call("rules", "why-not", "ours", PORT_DOWN, "--rules", rules).stdout
    assert "so is what silences it" in said
    assert "Silenced where" in said
    assert "event nccl.remote_error" in said


def test_a_rule_for_another_version(tmp_path):
    shutil.copytree(PORT_DOWN, tmp_path / "logs")
    rules = tmp_path / "rules"
    rules.mkdir()
    (rules / "ours.yaml").write_text(
        'id: ours\ntitle: Ours\ncause: comms.link-down\napplies: {nccl: "<2.0"}\n'
        "match: {event: nccl.ib.async_event}\nexplanation: Ours.\nplaybook: ib-link-down\n"
        "tests: [{name: fires, logs: {a.log: x}, expect: {fires: false}}]\n",
        encoding="utf-8",
    )
    said = call("rules", "why-not", "ours", tmp_path / "logs", "--rules", rules).stdout
    assert said.startswith("ours did not speak: it is for nccl <2.0 (found ")


@pytest.mark.parametrize("command", [("explain",), ("why-not",)])
def test_an_unknown_rule(command):
    more = (PORT_DOWN,) if command == ("why-not",) else ()
    done = CliRunner().invoke(main, ["rules", *command, "ib-port-eror", *map(str, more)])
    assert done.exit_code == 2
    assert "there is no rule 'ib-port-eror'; did you mean 'ib-port-error'?" in done.stderr


def test_no_logs_to_ask():
    with pytest.raises(NoInputError, match="no such file or folder"):
        inquiry.why_not(["/nowhere"], "ib-port-error")


def test_a_new_rule_for_a_line_that_a_parser_knows():
    made = call("rules", "new", "--from", f"{PORT_DOWN / 'rank0.log'}:41").stdout
    rule = yaml.safe_load(made)
    assert rule["match"] == {"event": "nccl.ib.async_event"}
    assert rule["cause"] == "TODO"
    assert "event: port error" in made
    assert "Got async error event: port error" in rule["tests"][0]["logs"]["rank0.log"]


def test_a_new_rule_for_a_line_that_nobody_knows(tmp_path):
    log = tmp_path / "job.log"
    log.write_text(
        'ok\nrank 3: frobnicator "alpha" lost its grip after 17 tries at /data/x/y.bin\n'
    )
    made = inquiry.new_rule(log, 2, identifier="frobnicator-grip")
    rule = yaml.safe_load(made)
    assert rule["id"] == "frobnicator-grip"
    assert all(text in log.read_text() for text in rule["match"]["text"])
    assert any("frobnicator" in text for text in rule["match"]["text"])
    assert [test["expect"] for test in rule["tests"]] == [
        {"root": True}, {"fires": False}, {"fires": False},
    ]  # fmt: skip


def test_a_begun_rule_is_finished_by_filling_in_what_is_open(tmp_path):
    log = tmp_path / "job.log"
    log.write_text("frobnicator lost its grip after 17 tries\n")
    rules = tmp_path / "rules"
    rules.mkdir()
    made = inquiry.new_rule(log, 1, identifier="frobnicator-grip")
    (rules / "frobnicator-grip.yaml").write_text(made, encoding="utf-8")
    assert call("rules", "lint", rules).exit_code == 2
    filled = made.replace("cause: TODO", "cause: comms.nccl-bug")
    filled = filled.replace("playbook: TODO", "playbook: nccl-bug").replace("TODO", "All is well")
    (rules / "frobnicator-grip.yaml").write_text(filled, encoding="utf-8")
    done = call("rules", "lint", rules)
    assert done.exit_code == 0, done.stdout
    assert call("rules", "test", rules).exit_code == 0


@pytest.mark.parametrize(
    ("line", "message"), [(9, "has no line 9"), (1, "is empty")], ids=["beyond", "empty"]
)
def test_a_line_that_is_not_there(tmp_path, line, message):
    log = tmp_path / "a.log"
    log.write_text("\nx\n")
    with pytest.raises(UsageError, match=message):
        inquiry.new_rule(log, line)


@pytest.mark.parametrize("place", ["a.log", "a.log:x", ":3", "a.log:0"])
def test_a_place_that_is_none(place):
    done = CliRunner().invoke(main, ["rules", "new", "--from", place])
    assert done.exit_code == 2
    assert "is not FILE:LINE, such as rank0.log:120" in done.stderr


def test_a_file_that_is_not_there():
    done = CliRunner().invoke(main, ["rules", "new", "--from", "/nowhere.log:3"])
    assert done.exit_code == 2
    assert "cannot be read as a log" in done.stderr
