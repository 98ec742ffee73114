"""What is kept of the shipped rules between runs is taken only while it is true."""

import json
import os

import pytest

from diagnose import kept as keeping
from diagnose import shipped as files
from diagnose.engine import load as loading
from diagnose.engine.kept_rules import KeptRules
from diagnose.engine.load import collect_rules, load_rules, rule_parsers

from .rule_files import rule_text, write


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache" / "diagnose"
    monkeypatch.setenv("DIAGNOSE_CACHE", str(folder))
    return folder


def loaded(root):
    """The titles of the rules, and whether they come from what was kept."""
    found = collect_rules(root=root)
    titles = {name: rule.title for name, rule in found.rules.items()}
    return titles, isinstance(found.rules, KeptRules)


def keep(root, cache):
    """Have the rules kept and return the file."""
    assert loaded(root)[1] is False
    [path] = cache.iterdir()
    return path


def test_a_second_run_takes_what_the_first_one_kept(shipped, cache):
    first = collect_rules(root=shipped)
    second = collect_rules(root=shipped)
    assert not isinstance(first.rules, KeptRules)
    assert isinstance(second.rules, KeptRules)
    assert list(second.rules) == list(first.rules) == ["beta", "alpha"]
    assert second.causes == first.causes
    assert second.aliases == first.aliases
    assert second.find("old-alpha") is second.rules["alpha"]
    assert second.find("absent") is None


def test_shipped_rules_are_the_same_kept_and_read(cache):
    first, second = load_rules(), load_rules()
    assert isinstance(second.rules, KeptRules)
    assert list(second.rules) == list(first.rules)
    assert second.causes == first.causes
    assert [repr(rule) for rule in second.rules.values()] == [
        repr(rule) for rule in first.rules.values()
    ]
    assert [second.premise(name) for name in first.rules] == [
        first.premise(name) for name in first.rules
    ]
    assert [parser.name for parser in rule_parsers(second)] == [
        parser.name for parser in rule_parsers(first)
    ]


def test_an_edit_is_seen_though_size_and_date_stay(shipped, cache):
    keep(shipped, cache)
    path = shipped / "comms" / "alpha.yaml"
    before = path.stat()
    path.write_text(path.read_text().replace("title: T", "title: U"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    assert loaded(shipped) == ({"beta": "T", "alpha": "U"}, False)
    assert loaded(shipped) == ({"beta": "T", "alpha": "U"}, True)


def test_a_new_file_and_one_that_is_gone_are_seen(shipped, cache):
    keep(shipped, cache)
    (shipped / "comms" / "gamma.yaml").write_text(rule_text("gamma"))
    assert list(loaded(shipped)[0]) == ["beta", "alpha", "gamma"]
    (shipped / "comms" / "alpha.yaml").unlink()
    assert list(loaded(shipped)[0]) == ["beta", "gamma"]


def test_other_causes_are_seen(shipped, cache):
    keep(shipped, cache)
    path = shipped / "causes.yaml"
    path.write_text(path.read_text().replace("A test", "Another"))
    assert collect_rules(root=shipped).causes["comms.test"].title == "Another"


def test_other_code_reads_the_files_anew(shipped, cache, tmp_path, monkeypatch):
    keep(shipped, cache)
    assert loaded(shipped)[1]
    monkeypatch.setattr(keeping, "VERSION", "99")
    assert not loaded(shipped)[1]
    assert loaded(shipped)[1]
    monkeypatch.setattr(loading, "_CODE", tmp_path)
    assert not loaded(shipped)[1]


def test_two_installations_do_not_take_turns(shipped, cache, tmp_path):
    keep(shipped, cache)
    other = tmp_path / "other"
    (other / "comms").mkdir(parents=True)
    (other / "causes.yaml").write_text((shipped / "causes.yaml").read_text())
    assert loaded(other) == ({}, False)
    assert loaded(other) == ({}, True)
    assert loaded(shipped)[1]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:-1],
        lambda content: content + b"\n",
        lambda content: content.replace(b'"T"', b'"U"'),
        lambda content: content.partition(b"\n")[2],
        lambda content: b"\0" * len(content),
        lambda content: b"[]\n[]",
    ],
)
def test_a_damaged_file_counts_for_nothing_and_is_replaced(shipped, cache, damage):
    path = keep(shipped, cache)
    path.write_bytes(damage(path.read_bytes()))
    assert loaded(shipped) == ({"beta": "T", "alpha": "T"}, False)
    assert loaded(shipped)[1]


def test_only_this_user_can_read_and_write_what_is_kept(shipped, cache):
    path = keep(shipped, cache)
    assert path.stat().st_mode & 0o777 == 0o600
    assert cache.stat().st_mode & 0o777 == 0o700
    assert list(cache.iterdir()) == [path]


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_is_not_trusted(shipped, cache, mode):
    keep(shipped, cache).chmod(mode)
    assert not loaded(shipped)[1]


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_can_write_is_not_used(shipped, cache, mode):
    path = keep(shipped, cache)
    cache.chmod(mode)
    path.write_bytes(b"untouched")
    assert not loaded(shipped)[1]
    assert path.read_bytes() == b"untouched"


def test_what_belongs_to_somebody_else_is_neither_read_nor_written(shipped, cache, monkeypatch):
    path = keep(shipped, cache)
    kept = path.read_bytes()
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    assert not loaded(shipped)[1]
    assert path.read_bytes() == kept


def test_a_link_is_not_followed(shipped, cache, tmp_path):
    path = keep(shipped, cache)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert not loaded(shipped)[1]
    assert not path.is_symlink()


def test_a_pipe_in_its_place_does_not_hold_up_the_run(shipped, cache):
    path = keep(shipped, cache)
    path.unlink()
    os.mkfifo(path, 0o600)
    assert not loaded(shipped)[1]


def test_where_nothing_can_be_written_the_rules_are_read_all_the_same(shipped, cache):
    cache.parent.write_text("a file where the folder should be")
    assert loaded(shipped) == ({"beta": "T", "alpha": "T"}, False)
    assert loaded(shipped) == ({"beta": "T", "alpha": "T"}, False)


def test_a_write_that_fails_leaves_nothing_behind(shipped, cache, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(keeping.Path, "replace", full)
    assert not loaded(shipped)[1]
    assert list(cache.iterdir()) == []


def test_an_empty_variable_switches_it_off(shipped, tmp_path, monkeypatch):
    monkeypatch.setenv("DIAGNOSE_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "common"))
    assert [loaded(shipped)[1] for _ in range(2)] == [False, False]
    assert not (tmp_path / "common").exists()


@pytest.mark.parametrize(("common", "below"), [("common", ""), ("", "home/.cache")])
def test_without_the_variable_the_folder_is_that_of_the_user(
    shipped, tmp_path, monkeypatch, common, below
):
    monkeypatch.delenv("DIAGNOSE_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / common) if common else "")
    assert [loaded(shipped)[1] for _ in range(2)] == [False, True]
    assert len(list((tmp_path / (common or below) / "diagnose").iterdir())) == 1


def test_a_user_without_a_home_has_nothing_kept(shipped, monkeypatch):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("DIAGNOSE_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(keeping.Path, "home", homeless)
    assert [loaded(shipped)[1] for _ in range(2)] == [False, False]


def test_rules_with_a_mistake_are_not_kept(shipped, cache):
    (shipped / "comms" / "alpha.yaml").write_text(rule_text("alpha", level="hgih"))
    for _ in range(2):
        [problem] = collect_rules(root=shipped).problems
        assert str(problem).startswith("rules/comms/alpha.yaml:6:8: unknown value 'hgih'")
    assert not cache.exists()


@pytest.mark.parametrize("value", ["2027-03-01", "{1: 2}"])
def test_what_json_would_change_is_not_kept(shipped, cache, value):
    match = f"{{event: e.x, where: {{x: {{equals: {value}}}}}}}"
    if value.startswith("{"):
        match = "{event: e.x, where: {1: 2}}"
    (shipped / "comms" / "alpha.yaml").write_text(rule_text("alpha", match=match))
    assert [loaded(shipped)[1] for _ in range(2)] == [False, False]


def test_tests_of_rules_are_read_from_the_files(shipped, cache):
    (shipped / "comms" / "alpha.yaml").write_text(rule_text("alpha", tests="[{name: one}]"))
    keep(shipped, cache)
    assert collect_rules(root=shipped).rules["alpha"].tests == ()
    assert collect_rules(root=shipped, with_tests=True).rules["alpha"].tests == ({"name": "one"},)


def test_rules_and_overlays_of_a_team_lie_over_what_was_kept(shipped, team, cache):
    write(
        team,
        gamma=rule_text("gamma", match="{rule: old-alpha}"),
        overlay="rules: {alpha: {match: {gte: 3}}, beta: {disable: true}}",
    )
    first = collect_rules([team], root=shipped)
    second = collect_rules([team], root=shipped)
    assert first.problems == second.problems == ()
    assert list(second.rules) == list(first.rules) == ["alpha", "gamma"]
    assert [repr(one) for one in second.rules.values()] == [
        repr(one) for one in first.rules.values()
    ]


def test_mistakes_of_a_team_have_their_places_whether_kept_or_not(shipped, team, cache):
    write(
        team,
        alpha=rule_text("alpha"),
        gamma=rule_text("gamma", match="{rule: absent}"),
        overlay="rules:\n  beta: {level: hgih}\n",
    )

    def said():
        return [
            str(one).replace(f"{team}/", "") for one in collect_rules([team], root=shipped).problems
        ]

    first = said()
    assert said() == first
    assert [line.rpartition(": ")[0].split(": ")[0] for line in first] == [
        "alpha.yaml:1:5", "gamma.yaml:5:8", "overlay.yaml:2:17",
    ]  # fmt: skip


def test_the_text_of_a_kept_rule_is_read_when_it_is_asked_for(shipped, cache):
    keep(shipped, cache)
    found = collect_rules(root=shipped)
    path = shipped / "comms" / "alpha.yaml"
    assert found.texts["alpha"].text == path.read_text()
    assert found.texts["alpha"].place(("title",)) == (2, 8)
    (shipped / "dataflow" / "beta.yaml").unlink()
    assert found.texts["beta"].place(("title",)) == (0, 0)


def held(path):
    """What a file holds, and whether it was kept."""
    read = []

    def load():
        read.append(path)
        return json.loads(path.read_text())

    return files.held(path, load), not read


def test_a_table_is_kept_until_it_is_edited(cache, tmp_path):
    path = tmp_path / "table.yaml"
    path.write_text('{"a": [1, null]}')
    assert held(path) == ({"a": [1, None]}, False)
    assert held(path) == ({"a": [1, None]}, True)
    path.write_text('{"a": [2, null]}')
    assert held(path) == ({"a": [2, None]}, False)
    assert held(path) == ({"a": [2, None]}, True)


def test_a_table_that_json_would_change_is_not_kept(cache, tmp_path):
    path = tmp_path / "table.yaml"
    path.write_text("1: one")
    assert [files.held(path, lambda: {1: "one"}) for _ in range(2)] == [{1: "one"}] * 2
    assert list(cache.glob("table*")) == []


def test_two_files_of_one_name_do_not_take_turns(cache, tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "table.yaml").write_text(f'["{folder}"]')
    for kept in (False, True):
        for folder in ("a", "b"):
            assert held(tmp_path / folder / "table.yaml") == ([folder], kept)
