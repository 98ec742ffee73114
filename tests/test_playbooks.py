import pytest

from diagnose.errors import RuleErrors
from diagnose.model.report import Culprit
from diagnose.playbooks import fill, load_playbooks, shown

GOOD = """\
id: port-down
title: {en: "Bring the port of {{ host }} back", zh: "恢复 {{ host }} 的端口"}
when: {en: A port is down, zh: 端口断开}
confirm:
  - text: {en: "Look at {{ nic }} of {{ culprit.hosts | hosts }}", zh: "查看 {{ nic }}"}
    command: "ssh {{ host | q }} ibstat {{ nic | q }}"
    expect: {en: Active, zh: Active}
fix:
  - text: {en: Leave out the node}
    command: "sbatch --exclude={{ culprit.hosts | join(',') | q }} job.sh"
    kind: safe-change
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    monkeypatch.setattr("diagnose.shipped.root", lambda kind: shipped)
    team = tmp_path / "team"
    team.mkdir()
    return team


def load(folder, text, name="port-down.yaml"):
    (folder / name).write_text(text, encoding="utf-8")
    return load_playbooks([folder])


def mistakes(folder, text, name="port-down.yaml"):
    with pytest.raises(RuleErrors) as caught:
        load(folder, text, name)
    return [str(problem).rpartition("/")[2] for problem in caught.value.problems]


def test_values_of_the_incident_are_filled_in(folder):
    playbook = load(folder, GOOD)["port-down"]
    culprit = Culprit(hosts=["node-03", "node-07"], nics=["node-03/mlx5_2"])
    filled = fill(playbook, {"culprit": culprit})
    assert filled.title == "Bring the port of node-03 back"
    assert [step.command for step in filled.steps] == [
        "ssh node-03 ibstat mlx5_2",
        "sbatch --exclude=node-03,node-07 job.sh",
    ]
    assert filled.steps[0].text == "Look at mlx5_2 of node-03, node-07"
    assert [(step.group, step.kind) for step in filled.steps] == [
        ("confirm", "observe"),
        ("fix", "safe-change"),
    ]


def test_what_is_not_known_is_a_placeholder_that_no_quotes_hide(folder):
    filled = fill(load(folder, GOOD)["port-down"], {"culprit": Culprit()})
    assert filled.steps[0].command == "ssh <host> ibstat <nic>"
    assert filled.steps[1].command == "sbatch --exclude=<hosts> job.sh"
    assert filled.steps[0].text == "Look at <nic> of <hosts>"


def test_hostile_names_are_quoted(folder):
    filled = fill(load(folder, GOOD)["port-down"], {"culprit": Culprit(hosts=["a; rm -rf /"])})
    assert filled.steps[0].command == "ssh 'a; rm -rf /' ibstat <nic>"


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [
        (["node-03/0000:5d:00.0"], "0000:5d:00.0"),
        (["node-03/gpu3"], "3"),
        (["gpu0"], "0"),
        ([], "<gpu>"),
    ],
)
def test_a_gpu_is_named_as_commands_on_its_host_want_it(folder, gpus, expected):
    playbook = load(folder, GOOD.replace("Look at {{ nic }}", "GPU {{ gpu }}"))["port-down"]
    text = fill(playbook, {"culprit": Culprit(gpus=gpus)}).steps[0].text
    assert text.startswith(f"GPU {expected} of")


def test_chinese_is_used_where_it_is_there(folder):
    filled = fill(load(folder, GOOD)["port-down"], {"culprit": Culprit(nics=["n/mlx5_0"])}, "zh")
    assert filled.steps[0].text == "查看 mlx5_0"
    assert filled.steps[1].text == "Leave out the node"


def test_values_of_the_rule_can_be_named(folder):
    playbook = load(folder, GOOD.replace("Leave out the node", "'{{ path | first }} the node'"))
    filled = fill(playbook["port-down"], {"culprit": Culprit(), "path": ["/ckpt"]})
    assert filled.steps[1].text == "/ckpt the node"
    empty = fill(playbook["port-down"], {"culprit": Culprit(), "path": []})
    assert empty.steps[1].text == "<path> the node"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Look at {{ host }}", "Look at <host>"),
        ("{{ culprit.hosts | hosts }} and {{ event.count }}", "<hosts> and <count>"),
        ("{{ events | map(attribute='rank') | ranges }}", "<rank>"),
        ("{{ work[-1].what }}", "<what>"),
        ("{{ event.share * 100 }} %{% if event.host %} on {{ event.host }}{% else %}x{% endif %}", "<share> % on <host>"),
        ("{{ event.seconds | duration }}", "<seconds>"),
        ("{{ 3 * none }}", "<none>"),
        ("plain", "plain"),
    ],
)  # fmt: skip
def test_lists_show_placeholders(text, expected):
    assert shown(text) == expected


def test_a_key_that_stands_twice(folder):
    assert mistakes(folder, GOOD.replace("confirm:", "when: {en: x}\nconfirm:")) == [
        "port-down.yaml:4:1: the key 'when' stands here a second time"
    ]


def test_an_unknown_name_is_an_error_with_file_and_step(folder):
    playbook = load(folder, GOOD.replace("{{ nic }} of", "{{ nics }} of"))["port-down"]
    with pytest.raises(RuleErrors, match=r"port-down\.yaml: step 1 \(confirm\): .*nics"):
        fill(playbook, {"culprit": Culprit()})


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("confirm:", "confrim:", "port-down.yaml:4:1: unknown key 'confrim'; did you mean 'confirm'?"),
        ("kind: safe-change", "kind: save-change", "port-down.yaml:11:11: unknown value 'save-change'; did you mean 'safe-change'?"),
        ("{en: A port is down, zh: 端口断开}", "down", "port-down.yaml:3:7: expected a map with en, zh, found 'down'"),
        ("{en: A port is down,", "{en: A port is down, polling or flapping,", "port-down.yaml:3:7: a text with a comma, or without any words, needs quotes inside { }"),
        ("    expect:", "    kind: disruptive\n    expect:", "port-down.yaml:7:11: a step of 'confirm' only looks; its kind is 'observe'"),
    ],
)  # fmt: skip
def test_mistakes_have_a_place_and_the_nearest_word(folder, old, new, expected):
    assert expected in mistakes(folder, GOOD.replace(old, new))


def test_a_fix_must_say_how_much_it_disturbs(folder):
    [found] = mistakes(folder, GOOD.replace("    kind: safe-change\n", ""))
    assert found.startswith("port-down.yaml:9:5: 'kind' is missing")


def test_the_file_is_named_after_the_playbook(folder):
    [found] = mistakes(folder, GOOD, "other.yaml")
    assert found == "other.yaml:1:5: the file of 'port-down' must be named port-down.yaml"


@pytest.mark.parametrize("text", ["", "- a\n", "id: [\n", "a: &a [*a]\n", "\x00"])
def test_hostile_or_empty_files_are_mistakes_not_crashes(folder, text):
    assert mistakes(folder, text)


def test_all_files_are_reported_in_one_run(folder):
    (folder / "a.yaml").write_text("id: a\n", encoding="utf-8")
    assert {line.partition(":")[0] for line in mistakes(folder, "id: b\n", "b.yaml")} == {
        "a.yaml",
        "b.yaml",
    }


def test_a_team_playbook_takes_the_place_of_the_shipped_one(folder):
    (folder.parent / "shipped" / "port-down.yaml").write_text(GOOD, encoding="utf-8")
    ours = load(folder, GOOD.replace("Bring the port of", "Ours for"))
    assert ours["port-down"].title["en"].startswith("Ours for")
    assert list(ours) == ["port-down"]
