import pytest

from diagnose.engine.positions import YamlText, read_text
from diagnose.engine.reader import Mistake
from diagnose.errors import MistakeFound

TEXT = """\
id: some-rule
match:
  all:
    - {event: a.b, where: {x: 1}}
    - event: c.d
      cuont: {gte: 3}
tests:
  - name: one
    logs: {a.log: "tests: not a key"}
references: []
"""


@pytest.mark.parametrize(
    ("path", "at_key", "place"),
    [
        (("id",), False, (1, 5)),
        (("id",), True, (1, 1)),
        (("match", "all", 0, "where", "x"), False, (4, 31)),
        (("match", "all", 1, "cuont"), True, (6, 7)),
        (("match", "all", 1, "cuont", "lte"), False, (6, 7)),
        (("nowhere", 3), False, (1, 1)),
        ((), False, (1, 1)),
    ],
)
def test_a_path_leads_to_a_line_and_a_column(path, at_key, place):
    assert YamlText("r.yaml", TEXT).place(path, at_key=at_key) == place


def test_a_problem_reads_as_file_line_column():
    problem = YamlText("r.yaml", TEXT).problem(
        Mistake(("match", "all", 1, "cuont"), "unknown", True)
    )
    assert str(problem) == "r.yaml:6:7: unknown"


def test_tests_are_left_out_unless_asked_for_and_keys_behind_them_stay():
    text = YamlText("r.yaml", TEXT)
    assert text.has_tests
    assert list(text.load(with_tests=False)) == ["id", "match", "references"]
    assert text.load()["tests"][0]["name"] == "one"


def test_tests_as_a_list_without_indent_are_left_out():
    text = YamlText("r.yaml", "id: a\ntests:\n- name: one\n  logs: {}\n- name: two\nlevel: high\n")
    assert text.load(with_tests=False) == {"id": "a", "level": "high"}


@pytest.mark.parametrize(
    ("text", "place"), [("a: 1\nb: x\x00y\n", "2:5"), ("\x00", "1:1"), ("é: \x07", "1:4")]
)
def test_a_character_that_yaml_forbids_has_a_place(text, place):
    with pytest.raises(MistakeFound, match=rf"r\.yaml:{place}: not valid YAML"):
        YamlText("r.yaml", text).load()


def test_a_second_key_of_one_name_is_found():
    problems = YamlText("r.yaml", "a: 1\nb:\n  c: 1\n  c: 2\na: 3\n").duplicate_keys()
    assert [str(problem) for problem in problems] == [
        "r.yaml:4:3: the key 'c' stands here a second time",
        "r.yaml:5:1: the key 'a' stands here a second time",
    ]


BOMB = "a0: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10)
)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (BOMB, "aliases inside anchors"),
        ("a: &a [*a]", "aliases inside anchors"),
        ("b: &b {x: 1}\na: [" + "*b, " * 200 + "]", "aliases"),
        ("[" * 100_000, "nest"),
        ("- " * 100_000 + "x", "nested more than 50 deep"),
        ("a: " + "[" * 60 + "]" * 60 + "\nb: " + "[]," * 400, "nested more than 50 deep"),
        ("title: {{ x }}", "put quotes"),
        ("title: a: b", "put quotes"),
        ("a: [1, 2", "not valid YAML"),
        ("a: !!python/object/apply:os.system [ls]", "not valid YAML"),
        ("a: 2027-02-31", "not valid YAML"),
        ("\ta: 1", "not valid YAML"),
    ],
)
def test_hostile_and_broken_yaml_is_refused_with_a_reason(text, part):
    with pytest.raises(MistakeFound) as caught:
        YamlText("r.yaml", text).load()
    assert part in str(caught.value)


def test_a_syntax_error_has_its_place():
    with pytest.raises(MistakeFound) as caught:
        YamlText("r.yaml", "id: a\ntitle: b: c\n").load()
    assert (caught.value.problem.line, caught.value.problem.column) == (2, 9)


def test_a_few_aliases_are_fine():
    text = YamlText("r.yaml", "base: &base {a: 1}\none: {<<: *base, b: 2}\ntwo: *base\n")
    assert text.load()["one"] == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("data", "part"), [(b"\xff\xfe\x00", "not UTF-8"), (b"x" * (1 << 21), "larger than 1 MiB")]
)
def test_files_that_are_no_text_are_refused(tmp_path, data, part):
    path = tmp_path / "r.yaml"
    path.write_bytes(data)
    with pytest.raises(MistakeFound, match=part):
        read_text(path, "r.yaml")
    with pytest.raises(MistakeFound, match="cannot be read"):
        read_text(tmp_path / "absent.yaml", "absent.yaml")


def test_windows_line_ends_are_fine(tmp_path):
    path = tmp_path / "r.yaml"
    path.write_bytes(b"\xef\xbb\xbfid: a\r\nlevel: high\r\n")
    assert read_text(path, "r.yaml").load() == {"id": "a", "level": "high"}
