from datetime import date
from pathlib import Path

import pytest

from diagnose.engine.load import collect_rules
from diagnose.lint import errors_of, lint, without_playbook
from diagnose.lint.templating import unquoted
from diagnose.model.event import Nature
from diagnose.parsers.base import BlockParser, LineParser, Pattern

TODAY = date(2026, 6, 1)

PARSERS = (
    LineParser(
        name="fabric",
        title="Fabric messages",
        patterns=(
            Pattern(
                event="ib.port",
                regex=r"port (?P<state>\w+) on (?P<host>\S+) stateful(?P<num> \d+)?",
                nature=Nature.ERROR,
                source="invented",
                sample="port down on node-1 stateful",
                constants={"kind": "port"},
                types={"num": int},
                fact="ib.state",
            ),
            Pattern(
                event="job.framework",
                regex=r"we run torch",
                nature=Nature.SETTING,
                source="invented",
                sample="we run torch",
                constants={"value": "torch"},
                fact="job.framework",
            ),
            Pattern(
                event="ib.retry",
                regex=r"retrying (?P<peer>\S+)",
                nature=Nature.EFFECT,
                source="invented",
                sample="retrying node-2",
            ),
            Pattern(
                event="ib.guess",
                regex=r"this usually means (?P<what>\w+)",
                nature=Nature.ADVICE,
                source="invented",
                sample="this usually means trouble",
            ),
        ),
    ),
    LineParser(
        name="fixing",
        title="Completed messages",
        patterns=(
            Pattern(
                event="ib.fixed",
                regex=r"fixed (?P<what>\w+)",
                nature=Nature.ERROR,
                source="invented",
                sample="fixed it",
            ),
        ),
        refine=lambda event, line: event.fields.update(added_here=1) or event,
    ),
    BlockParser(
        name="dump",
        title="Dumps",
        opens=("BEGIN DUMP",),
        starts=lambda line: True,
        ends=lambda lines, line: True,
        read=lambda lines: (),
        emits=("dump.record",),
        sample="BEGIN DUMP",
    ),
)

CAUSES = """\
- {id: comms.link-down, stage: comms, owner: network, symptoms: [7], title: Link down}
- {id: comms.timeout, stage: comms, owner: unknown, symptoms: [1], title: Timeout, open: true}
"""

RULE = """\
id: port-down
title: Port of {{ culprit.hosts | hosts }} is down
cause: comms.link-down
level: high
match: {event: ib.port, where: {state: down}}
by: host
culprit: {hosts: "{{ event.host }}"}
explains: ["cause:comms.timeout"]
explanation: "{{ event.host }} lost {{ events | length }} ports."
playbook: port-back
with: {peer: "{{ event.kind }}"}
tests:
  - name: a port goes down
    logs: {a.log: "port down on node-1 stateful"}
    expect: {root: true, culprit: {hosts: [node-1]}}
  - name: a port goes up
    logs: {a.log: "port up on node-1 stateful"}
    expect: {fires: false}
  - name: talk of ports
    logs: {a.log: "what if a port is down on node-1?"}
    expect: {fires: false}
"""


def ours():
    return RULE.replace("id: port-down", "id: our-rule").replace("Port of", "Our port of")


PLAYBOOK = """\
id: port-back
title: {en: Bring the port back, zh: 恢复端口}
when: {en: A port is down, zh: 端口断开}
confirm:
  - text: {en: "Look at {{ host }}", zh: "查看 {{ host }}"}
    command: "ssh {{ host | q }} ibstatus"
    expect: {en: Active, zh: Active}
fix:
  - text: {en: "Leave {{ peer | join(', ') }} out", zh: "排除 {{ peer | join(', ') }}"}
    command: "sbatch --exclude={{ culprit.hosts | join(',') | q }} job.sh"
    kind: safe-change
"""


class Tree:
    """A shipped set of one rule and one playbook, and a folder of a team."""

    def __init__(self, root):
        self.root = root
        self.team = root / "team"
        for folder in ("rules/comms", "playbooks", "team"):
            (root / folder).mkdir(parents=True)
        self.write("rules/causes.yaml", CAUSES)
        self.write("rules/comms/port-down.yaml", RULE)
        self.write("playbooks/port-back.yaml", PLAYBOOK)

    def write(self, name, text):
        (self.root / name).write_text(text, encoding="utf-8")

    def found(self, *folders, books=()):
        problems = lint(folders, books, today=TODAY)
        return [str(problem).replace(f"{self.root}/", "") for problem in problems]


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.setattr("diagnose.shipped.root", lambda kind: tmp_path / kind)
    monkeypatch.setattr("diagnose.lint.parsers", lambda: PARSERS)
    return Tree(tmp_path)


def test_a_sound_set_is_silent(tree):
    assert tree.found() == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("event: ib.port,", "event: ib.prot,", "5:16: no parser emits the event 'ib.prot'; did you mean 'ib.port' (fabric)?"),
        ("where: {state:", "where: {stat:", "5:33: the event 'ib.port' (fabric) has no 'stat'; did you mean 'state'?"),
        ("where: {state: down}}", "distinct: {field: knid, gte: 2}}", "has no 'knid'; did you mean 'kind'?"),
        ("{event: ib.port, where: {state: down}}", "{series: step_tme, stat: cv, gte: 1}", "5:17: no parser reads the metric 'step_tme'; did you mean 'step_time'?"),
        ("{event: ib.port, where: {state: down}}", "{fact: ib.sate}", "5:15: no parser states the fact 'ib.sate'; did you mean 'ib.state'?"),
        ("{event: ib.port, where: {state: down}}", "{sequence: [{event: ib.port}, {event: ib.retry}]}", "a sequence needs 'within'"),
        ("{event: ib.port, where: {state: down}}", "{event: ib.guess}", "a guess that a program prints is no root"),
        ("{event: ib.port, where: {state: down}}", '{text: "this might be caused by the port"}', "a guess that a program prints is no root"),
        ("{event: ib.port, where: {state: down}}", "{event: ib.retry}", "warning: effects are often overcome"),
        ("lost {{ events", "lost {{ evnts", "9:14: nobody gives the value 'evnts'"),
        ("| length }}", "| lenght }}", "9:14: not a valid template"),
        ('hosts: "{{ event.host }}"', 'hosts: "{{ culprit.nics }}"', "nobody gives the value 'culprit'"),
        ('["cause:comms.timeout"]', '["cause:coms.*"]', "no cause matches 'cause:coms.*'"),
        ('["cause:comms.timeout"]', "[port-donw]", "8:12: there is no rule 'port-donw'"),
        ('["cause:comms.timeout"]', "[port-down]", "8:12: the rule explains itself"),
        ('explains: ["cause:comms.timeout"]', 'explained_by: ["cause:coms.*"]', "8:16: no cause matches 'cause:coms.*'"),
        ('explains: ["cause:comms.timeout"]', "explained_by: [port-donw]", "8:16: there is no rule 'port-donw'"),
        ('explains: ["cause:comms.timeout"]', "explained_by: [port-down]", "8:16: the rule explains itself"),
        ("logs: {a.log: \"port down on", "baseline: 'tests: ['\n    logs: {a.log: \"port down on", "14:15: baseline.yaml:2:1: not valid YAML"),
        ("where: {state: down}", "where: {num: '12'}", "5:38: warning: 'num' is a number; take the quotes off '12'"),
        ("where: {state: down}", "where: {num: [1, '12']}", "5:38: warning: 'num' is a number"),
        ("{event: ib.port, where: {state: down}}", "{regex: error}", "5:16: warning: 'error' stands in healthy logs as well"),
        ("{event: ib.port, where: {state: down}}", "{text: [failed, error]}", "5:15: warning: 'error' stands in healthy logs as well"),
        ("{event: ib.port, where: {state: down}}", "{event: ib.fixed, where: {s" "at: down}}", "the event 'ib.fixed' (fixing) has no 's" "at'"),
        ("{{ event.host }} lost", "{{ event.hst }} lost", "9:14: the event 'ib.port' (fabric) has no 'hst'; did you mean 'host'?"),
        ("{{ event.host }} lost", "{{ events[0]['stat'] }} lost", "9:14: the event 'ib.port' (fabric) has no 'stat'; did you mean 'state'?"),
        ("{{ event.host }} lost", "{{ events | map(attribute='stat') | list }} lost", "has no 'stat'; did you mean 'state'?"),
        ("{{ event.host }} lost", "{{ events | selectattr('stat') | first }} lost", "has no 'stat'; did you mean 'state'?"),
        ("{{ event.host }} lost", "{% include 'x' %} lost", "9:14: not a valid template: 'include' cannot be used here"),
        ("{{ event.host }} lost", "{{ ''.__class__ }} lost", "9:14: not a valid template: '__class__' cannot be reached"),
        ("{{ event.host }} lost", "{% for i in range(99999999) %}{% endfor %} lost", "9:14: not a valid template: 'range' cannot be called"),
        ("{{ event.host }} lost", "{{ 'x' * 9999999999 }} lost", "9:14: not a valid template: '*' works on numbers only"),
        ("{{ event.host }} lost", "{{ 9 ** 9999999999 }} lost", "9:14: not a valid template: '**' works on numbers of moderate size only"),
        ("by: host", "by: host\napplies: {ncc: '>=2'}", "7:11: unknown key 'ncc'; did you mean 'nccl'?"),
        ("by: host", "by: host\napplies: {framework: tocrh}", "7:22: no parser states job.framework 'tocrh'; did you mean 'torch'?"),
        ("playbook: port-back", "playbook: port-bakc", "10:11: there is no playbook 'port-bakc'; did you mean 'port-back'?"),
        ("by: host", 'by: host\napplies: {nccl: ">=2.28,<2.20"}', "no version satisfies '>=2.28,<2.20'"),
        ("level: high", "level: info", "4:8: a root of level 'info' is none"),
        ("level: high", "level: high\nrole: context", "4:8: 'role: context' is never the answer"),
        ("expect: {root: true, culprit: {hosts: [node-1]}}", "expect: {fires: false}", "12:1: no test in which the rule fires"),
        ("expect: {fires: false}\n  - name: talk", "expect: {fires: true}\n  - name: talk", "12:1: 1 tests in which the rule stays silent; a root needs 2"),
        ("expect: {root: true,", "expect: {rot: true,", "15:14: unknown key 'rot'; did you mean 'root'?"),
        ("name: talk of ports", "name: a port goes up", "a test before is named 'a port goes up' as well"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_rule(tree, old, new, expected):
    assert old in RULE
    tree.write("rules/comms/port-down.yaml", RULE.replace(old, new))
    found = tree.found()
    assert any(
        line.startswith("rules/comms/port-down.yaml") and expected in line for line in found
    ), found


@pytest.mark.parametrize(
    "wanted", [">=2.4", "<2.28", ">=2,<3", "==2.6", ">1.9,<2", "!=2.4", ">=2.4,<=2.4"]
)
def test_versions_that_can_be(tree, wanted):
    tree.write(
        "rules/comms/port-down.yaml",
        RULE.replace("by: host", f'by: host\napplies: {{nccl: "{wanted}"}}'),
    )
    assert tree.found() == []


def test_fields_that_a_parser_does_not_declare_are_not_judged(tree):
    tree.write(
        "rules/comms/port-down.yaml",
        RULE.replace(
            "{event: ib.port, where: {state: down}}", "{event: dump.record, where: {anything: 1}}"
        ),
    )
    assert tree.found() == []


@pytest.mark.parametrize("name", ["what", "added_here", "host"])
def test_fields_that_a_parser_adds_later_are_known(tree, name):
    tree.write(
        "rules/comms/port-down.yaml",
        RULE.replace(
            "{event: ib.port, where: {state: down}}", f"{{event: ib.fixed, where: {{{name}: 1}}}}"
        ).replace("event.kind", f"event.{name}"),
    )
    assert tree.found() == []


@pytest.mark.parametrize(
    "match",
    [
        "{any: [{event: ib.port}, {event: ib.fixed}]}",
        "{regex: 'kernel says (?P<kind>\\w+)'}",
        "{rule: port-down}",
        "{event: dump.record}",
    ],
)
def test_fields_in_texts_that_may_be_there_are_let_pass(tree, match):
    tree.write(
        "team/our-rule.yaml", ours().replace("{event: ib.port, where: {state: down}}", match)
    )
    assert [line for line in tree.found(tree.team) if "has no" in line] == []


@pytest.mark.parametrize("attribute", ["rank", "host", "count", "onset", "lasted"])
def test_every_event_has_the_common_attributes(tree, attribute):
    tree.write(
        "rules/comms/port-down.yaml",
        RULE.replace("{state: down}", f"{{{attribute}: {{exists: true}}}}"),
    )
    assert tree.found() == []


def test_names_are_checked_wherever_a_condition_stands(tree):
    more = """\
unless: [{event: a.one}]
cleared_by: {event: a.two}
raise: [{when: {all: [{event: a.three}, {any: [{event: a.four}]}]}, by: 0.1}]
lower: [{when: {event: a.five, where: {host: x}}, by: 0.1}]
"""
    tree.write("rules/comms/port-down.yaml", RULE.replace("tests:", f"{more}tests:"))
    found = tree.found()
    assert [line.split("'")[1] for line in found] == [
        "a.one",
        "a.two",
        "a.three",
        "a.four",
        "a.five",
    ]


def test_a_rule_that_explains_what_it_names_as_its_cause(tree):
    tree.write(
        "rules/comms/port-down.yaml", RULE.replace('["cause:comms.timeout"]', "[other-rule]")
    )
    other = RULE.replace("id: port-down", "id: other-rule").replace("Port of", "Another port of")
    named = other.replace('explains: ["cause:comms.timeout"]', "explained_by: [port-down]")
    tree.write("rules/comms/other-rule.yaml", named)
    assert tree.found() == []
    tree.write(
        "rules/comms/port-down.yaml",
        RULE.replace("explains:", "explained_by: [other-rule]\nexplains:"),
    )
    tree.write(
        "rules/comms/other-rule.yaml",
        other.replace("explains:", "explained_by: [port-down]\nexplains:"),
    )
    assert len(tree.found()) == 2


def test_a_circle_over_several_rules(tree):
    tree.write(
        "rules/comms/port-down.yaml", RULE.replace('["cause:comms.timeout"]', "[other-rule]")
    )
    other = RULE.replace("id: port-down", "id: other-rule").replace("Port of", "Another port of")
    tree.write(
        "rules/comms/other-rule.yaml", other.replace('["cause:comms.timeout"]', "[port-down]")
    )
    assert [line.partition(": ")[2] for line in tree.found()] == [
        "the rules explain one another in a circle: other-rule -> port-down -> other-rule",
        "the rules explain one another in a circle: port-down -> other-rule -> port-down",
    ]


def test_two_rules_with_one_title(tree):
    tree.write("rules/comms/zeta.yaml", RULE.replace("id: port-down", "id: zeta"))
    assert tree.found() == ["rules/comms/zeta.yaml:2:8: the rule 'port-down' has the same title"]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (", zh: 恢复端口}", "}", "2:8: the Chinese text 'zh' is missing"),
        ("expect: {en: Active, zh: Active}", "expect: {en: Active}", "7:13: the Chinese text 'zh' is missing"),
        ("Look at {{ host }}", "Look at {{ hots }}", "5:16: nobody gives the value 'hots'"),
        ("查看 {{ host }}", "查看 {{ hots }}", "nobody gives the value 'hots'"),
        ("{{ host | q }} ibstatus", "{{ host }} ibstatus", "6:14: the value 'host' is not quoted"),
        ("ibstatus", "'rm -rf /tmp/x'", "6:14: the command loses data; its kind is not 'observe'"),
        ("sbatch --exclude", "scancel 1; sbatch --exclude", "10:14: the command stops work; its kind is not 'safe-change'"),
        ("join(', ') }} out", "length + 'x' }} out", "cannot be filled where nothing is known"),
        ("id: port-back", "id: port-back\nid: port-back", "2:1: the key 'id' stands here a second time"),
        ("id: port-back", "id: port-back\nwhne: x", "2:1: unknown key 'whne'; did you mean 'when'?"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_playbook(tree, old, new, expected):
    assert old in PLAYBOOK
    tree.write("playbooks/port-back.yaml", PLAYBOOK.replace(old, new))
    found = tree.found()
    assert any(
        line.startswith("playbooks/port-back.yaml") and expected in line for line in found
    ), found


def test_a_value_must_come_from_every_rule_that_names_the_playbook(tree):
    other = RULE.replace("id: port-down", "id: other-rule").replace("Port of", "Another port of")
    tree.write(
        "rules/comms/other-rule.yaml", other.replace('with: {peer: "{{ event.kind }}"}\n', "")
    )
    assert any("nobody gives the value 'peer'" in line for line in tree.found())


def test_a_playbook_that_no_rule_names(tree):
    tree.write(
        "playbooks/spare.yaml",
        PLAYBOOK.replace("port-back", "spare").replace("{{ peer | join(', ') }}", "it"),
    )
    assert tree.found() == ["playbooks/spare.yaml:1:5: warning: no rule names this playbook"]


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("ls {{ a | q }} {{ b | join(',') | q }}", []),
        ("ls {{ a }} {{ b | upper }}", ["a", "b"]),
        ("ls {{ a.b }}", ["a"]),
        ("ls {{ a | q | upper }}", ["a"]),
        ("ls {{ (a | q) if b else (c | q) }}", []),
        ("ls {{ (a | q) if b else c }}", ["c"]),
        ("{% for x in a %}{{ x }}{% endfor %}", ["x"]),
        ("ls {{ 'x' }}", []),
        ("ls", []),
        ("ls {{", []),
    ],
)
def test_values_that_are_not_quoted(command, names):
    assert [name for name in names if name not in list(unquoted(command))] == []
    assert len(list(unquoted(command))) == len(names)


def test_only_the_folder_that_is_named_is_judged(tree):
    tree.write(
        "rules/comms/port-down.yaml", RULE.replace("playbook: port-back", "playbook: nowhere")
    )
    ours = RULE.replace("id: port-down", "id: our-rule").replace("Port of", "Our port of")
    tree.write("team/our-rule.yaml", ours.replace("ib.port,", "ib.prot,"))
    found = tree.found(tree.team)
    assert len(found) == 1
    assert found[0].startswith("team/our-rule.yaml:5:16: no parser emits")


def test_tests_of_a_team_are_asked_for_but_not_demanded(tree):
    ours = RULE.replace("id: port-down", "id: our-rule").replace("Port of", "Our port of")
    tree.write("team/our-rule.yaml", ours[: ours.index("tests:")])
    found = tree.found(tree.team)
    assert found
    assert all(": warning: " in line for line in found)


def test_a_suppression_that_has_expired(tree):
    tree.write(
        "team/overlay.yaml",
        "suppress:\n  - {rule: port-down, reason: tests, until: 2026-05-31, owner: sre}\n",
    )
    assert tree.found(tree.team) == [
        "team/overlay.yaml:2:45: the suppression of 'port-down' expired on 2026-05-31"
    ]
    tree.write(
        "team/overlay.yaml",
        "suppress:\n  - {rule: port-down, reason: tests, until: 2026-06-01, owner: sre}\n",
    )
    assert tree.found(tree.team) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rules: {port-down: {disable: yess}}\n", "1:30: expected true or false, found 'yess'"),
        ("suppress: [{rule: port-down, reason: x, where: {hst: a}}]\n", "1:49: the event 'ib.port' (fabric) has no 'hst'; did you mean 'host'?"),
        ("rules: {port-down: {title: '{{ nope }}'}}\n", "1:28: nobody gives the value 'nope'"),
        ("rules: {port-down: {playbook: nope}}\n", "1:31: there is no playbook 'nope'"),
        ("rules: {port-down: {match: {event: ib.prot}}}\n", "1:36: no parser emits the event 'ib.prot'"),
        ("rules: {port-down: {explains: [nope]}}\n", "1:32: there is no rule 'nope'"),
        ("suppress: []\nsuppress: []\n", "2:1: the key 'suppress' stands here a second time"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_overlay(tree, text, expected):
    tree.write("team/overlay.yaml", text)
    assert tree.found(tree.team)[0].startswith(f"team/overlay.yaml:{expected}")
    assert str(errors_of([tree.team])[0]).startswith(f"{tree.team}/overlay.yaml:{expected}")


def test_what_a_suppression_may_compare(tree):
    where = "{host: a, rank: 1, nic: b, file: c, state: d, kind: e}"
    tree.write("team/overlay.yaml", f"suppress: [{{rule: port-down, reason: x, where: {where}}}]\n")
    assert tree.found(tree.team) == []


def test_a_run_is_stopped_by_the_errors_of_the_folders_that_are_given(tree):
    tree.write("rules/comms/port-down.yaml", RULE.replace("ib.port,", "ib.prot,"))
    assert errors_of() == []
    assert errors_of([], [], collect_rules()) == []
    tree.write("team/our-rule.yaml", ours())
    assert errors_of([tree.team]) == []
    tree.write("team/our-rule.yaml", ours().replace("level: high", "level: high\nlevel: low"))
    [problem] = errors_of([tree.team])
    assert (problem.line, problem.column) == (5, 1)
    tree.write("team/our-rule.yaml", ours().replace("{root: true,", "{rot: true,"))
    [problem] = errors_of([tree.team])
    assert "unknown key 'rot'" in problem.message


def test_a_run_is_not_stopped_by_warnings_the_calendar_or_a_missing_translation(tree):
    tree.write("team/our-rule.yaml", ours()[: ours().index("tests:")])
    tree.write("team/overlay.yaml", "suppress: [{rule: port-down, reason: x, until: 2001-01-01}]\n")
    (tree.root / "books").mkdir()
    tree.write("books/port-back.yaml", PLAYBOOK.replace(", zh: 恢复端口}", "}"))
    assert len(tree.found(tree.team, books=[tree.root / "books"])) >= 3
    assert errors_of([tree.team], [tree.root / "books"]) == []


def test_all_rules_without_a_playbook_are_found(tree):
    [problem] = without_playbook(collect_rules(), {"other"})
    assert str(problem) == (
        "rules/comms/port-down.yaml:10:11: there is no playbook 'port-back'; known: other"
    )


def test_a_suppression_without_a_reason(tree):
    tree.write("team/overlay.yaml", "suppress:\n  - {rule: port-down}\n")
    assert "'reason' is missing" in tree.found(tree.team)[0]


def test_mistakes_of_all_files_are_shown_in_order(tree):
    tree.write("rules/comms/port-down.yaml", RULE.replace("ib.port,", "x.y,"))
    tree.write("rules/comms/broken.yaml", "id: [\n")
    tree.write("playbooks/port-back.yaml", PLAYBOOK.replace(", zh: 恢复端口}", "}"))
    files = [line.partition(":")[0] for line in tree.found()]
    assert files == [
        "playbooks/port-back.yaml",
        "rules/comms/broken.yaml",
        "rules/comms/port-down.yaml",
    ]


def test_a_broken_playbook_is_not_missing_as_well(tree):
    tree.write("playbooks/port-back.yaml", "id: [\n")
    assert [line.partition(":")[0] for line in tree.found()] == ["playbooks/port-back.yaml"]


def test_the_playbooks_of_a_team(tree):
    (tree.root / "books").mkdir()
    tree.write("books/port-back.yaml", PLAYBOOK.replace("{{ host | q }}", "{{ host }}"))
    assert tree.found(books=[Path(tree.root / "books")]) == [
        "books/port-back.yaml:6:14: the value 'host' is not quoted; end it with the filter: {{ ... | q }}"
    ]
