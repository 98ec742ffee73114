"""``--topology`` and ``diagnose topology new``, from the file to the report."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from diagnose import api
from diagnose.cli import main
from diagnose.engine.positions import YamlText
from diagnose.engine.read_topology import (
    CLASS_KEYS,
    NIC_KEYS,
    PARTITION_KEYS,
    ROUTING_KEYS,
    TOPOLOGY_KEYS,
    parse_topology,
    read_topology,
)
from diagnose.engine.read_topology_hosts import HOST_KEYS
from diagnose.errors import NoInputError, RuleErrors, UsageError

ROOT = Path(__file__).resolve().parent.parent
DOCS, SAMPLES = ROOT / "docs", ROOT / "samples"
EXAMPLE = DOCS / "topology.yaml"
LEAF = SAMPLES / "comms" / "leaf-down-behind-inventory"
KEYS = (TOPOLOGY_KEYS, HOST_KEYS, CLASS_KEYS, NIC_KEYS, PARTITION_KEYS, ROUTING_KEYS)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def call(*words, text=None, **variables):
    return CliRunner().invoke(main, words, input=text, env=variables)


def roots(report):
    return [one.id for one in report.findings if one.role == "root"]


def written(text, name="t.yaml"):
    Path(name).write_text(text, encoding="utf-8")
    return name


def test_the_example_is_sound():
    topology = read_topology(EXAMPLE)
    assert len(topology.hosts) == 64
    assert topology.hosts["node-64"].leaves["7"] == "su2-leaf-8"


def test_a_leaf_is_named_with_how_the_evidence_splits():
    report = api.run([LEAF / "logs"], topology=LEAF / "topology.yaml")
    [root] = [one for one in report.findings if one.role == "root"]
    assert root.id == "topology-leaf-failed"
    assert "8 of 8 failing ports and connections are on su2-leaf-3" in root.explanation
    assert "0 of 122 healthy ports" in root.explanation
    assert report.summary.startswith("Leaf switch su2-leaf-3 (rail 2) fails")


def test_without_an_inventory_the_answer_is_the_ports_that_went_down():
    report = api.run([LEAF / "logs"])
    assert roots(report) == ["nic-link-lost"]
    assert "leaf" not in report.findings[0].title.lower()


def test_an_inventory_of_other_hosts_changes_no_answer():
    other = written('hosts: [{name: "other-[1-9]", leaf: l1}]\nrails: 0\n')
    report = api.run([LEAF / "logs"], topology=other)
    assert roots(report) == ["nic-link-lost"]
    assert "topology-host-unlisted" in {one.id for one in report.findings}


MANY_LEAVES = [(3, 0), (7, 4), (11, 2), (16, 7)]


def test_failures_on_many_leaf_switches_name_none():
    lines = []
    for number in range(1, 17):
        cards = " ".join(f"[{n}]mlx5_{n}:1/IB" for n in range(8))
        lines.append(
            f"node-{number:02d}:41:42 [0] NCCL INFO NET/IB : Using {cards} [RO]; OOB eth0:10.14.0.{number}<0>"
        )
    for number, device in MANY_LEAVES:
        lines.append(
            f"node-{number:02d}:41:42 [{device}] transport/net_ib.cc:93 NCCL WARN NET/IB : mlx5_{device}:1 Got async event : port error"
        )
    report = api.run_text("\n".join(lines), topology=LEAF / "topology.yaml")
    assert roots(report) == ["ib-port-error"]
    assert report.findings[0].culprit.hosts == ["node-03", "node-07", "node-11", "node-16"]


def test_addresses_become_hosts_in_the_report():
    line = (
        "node-05:41:42 [2] transport/net_ib.cc:2281 NCCL WARN NET/IB: Got completion from peer "
        "10.14.0.9<44001> with status=12 opcode=0 len=0 vendor err 129 (Send) hca mlx5_2\n"
    )
    named = api.run_text(line, topology=LEAF / "topology.yaml")
    assert named.findings[0].culprit.hosts == ["node-05", "node-09"]
    assert api.run_text(line).findings[0].culprit.hosts == ["10.14.0.9", "node-05"]


# ------------------------------------------------------------------ drafts

DRAFTED = [
    "comms/ib-port-down", "comms/link-down-peers-retry", "comms/leaf-down-behind-inventory",
    "comms/nccl-tests-low-busbw-one-node", "healthy/inventory-agrees",
    "healthy/connect-retries-then-runs", "healthy/ibstatus-unused-port",
]  # fmt: skip


@pytest.mark.parametrize("name", DRAFTED)
def test_logs_held_against_their_own_draft_show_no_difference(name):
    logs = SAMPLES / name / "logs"
    text = api.new_topology([logs])
    assert text == api.new_topology([logs])
    plain, held = api.run([logs]), api.run([logs], topology=written(text))
    assert roots(held) == roots(plain)
    assert {one.id for one in held.findings} == {one.id for one in plain.findings}


def test_a_draft_is_short():
    text = api.new_topology([LEAF / "logs"])
    assert '  - name: "node-[01-16]"\n' in text
    assert '      eth0: "10.14.0.[1-16]"\n' in text
    assert '{device: "mlx5_[0-7]", rail: "[0-7]", link_layer: InfiniBand}' in text
    assert 'rails: "[0-7]"  # guessed' in text


def test_the_command_writes_a_file_and_does_not_write_over_one():
    words = ("topology", "new", "--from", str(LEAF / "logs"), "--output", "t.yaml")
    done = call(*words)
    assert (done.exit_code, done.stdout) == (0, "")
    assert read_topology(Path("t.yaml")).hosts["node-16"].addresses == {"eth0": "10.14.0.16"}
    again = call(*words)
    assert again.exit_code == 2
    assert "t.yaml is there already" in again.stderr
    assert call(*words, "--force").exit_code == 0
    assert "node-[01-16]" in call("topology", "new", "--from", str(LEAF / "logs")).stdout


def test_logs_without_hosts_make_no_inventory():
    Path("a.log").write_text("nothing of note\n")
    with pytest.raises(UsageError, match="name no hosts"):
        api.new_topology(["a.log"])
    with pytest.raises(NoInputError):
        api.new_topology(["nowhere"])
    assert call("topology", "new", "--from", "nowhere").exit_code == 3


def test_odd_names_in_logs_do_no_harm():
    text = (
        "[node]:1:2 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.1<0>\n"
        "yes:1:2 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.2<0>\n"
        "007:1:2 [0] NCCL INFO Bootstrap: Using lo:127.0.0.1<0>\n"
    )
    Path("a.log").write_text(text)
    made = parse_topology(YamlText("t.yaml", api.new_topology(["a.log"])))
    assert "yes" in made.hosts


# ------------------------------------------------------------------ the option


def test_an_inventory_of_the_environment_and_of_the_settings():
    words = (str(LEAF / "logs"), "--format", "json", "--exit-zero")
    by_variable = call(*words, DIAGNOSE_TOPOLOGY=str(LEAF / "topology.yaml"))
    assert json.loads(by_variable.stdout)["findings"][0]["id"] == "topology-leaf-failed"
    written((LEAF / "topology.yaml").read_text(encoding="utf-8"))
    Path("diagnose.yaml").write_text("topology: t.yaml\n", encoding="utf-8")
    by_settings = call(*words)
    assert json.loads(by_settings.stdout)["findings"][0]["id"] == "topology-leaf-failed"


@pytest.mark.parametrize("words", [(str(LEAF / "logs"),), ("run", str(LEAF / "logs")), ("stdin",)])
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"hosts: [{name: n1, rak: r1}]\n", "t.yaml:1:20: unknown key 'rak'"),
        (b"", "t.yaml:1:1: is empty"),
        (b"hosts:\n\xff\xfe\x00", "t.yaml:2: is not UTF-8 text; save it"),
        (None, "t.yaml: cannot be read: No such file"),
    ],
)
def test_a_wrong_inventory_ends_with_status_2_before_anything_is_read(words, data, said):
    if data is not None:
        Path("t.yaml").write_bytes(data)
    done = call(*words, "--topology", "t.yaml", text="")
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr


def test_the_library_raises_what_is_wrong():
    with pytest.raises(RuleErrors, match="t.yaml: cannot be read"):
        api.run([LEAF / "logs"], topology="t.yaml")


def test_every_key_is_described():
    page = (DOCS / "topology.md").read_text(encoding="utf-8")
    assert {key for keys in KEYS for key in keys if f"`{key}`" not in page} == set()


def test_the_schema_knows_the_keys_and_the_words():
    shape = json.loads(call("schema", "topology").stdout)
    parts = shape["$defs"]
    names = ("host", "class", "nic", "partition", "routing")
    found = [shape, *(parts[name] for name in names)]
    assert [set(one["properties"]) for one in found] == [set(keys) for keys in KEYS]
    assert parts["nic"]["properties"]["role"]["enum"] == ["compute", "storage", "management"]


def test_a_wrong_inventory_in_a_test_of_a_rule_is_shown_with_its_place(tmp_path):
    rule = (ROOT / "rules" / "comms" / "topology-host-unlisted.yaml").read_text(encoding="utf-8")
    (tmp_path / "ours").mkdir()
    ours = rule.replace("id: topology-host-unlisted", "id: ours").replace("rack:", "rak:")
    (tmp_path / "ours" / "ours.yaml").write_text(ours.replace("The inventory lacks", "No"))
    done = call("rules", "lint", "ours")
    assert done.exit_code == 2
    assert "topology.yaml:3:32: unknown key 'rak'; did you mean 'rack'?" in done.output
