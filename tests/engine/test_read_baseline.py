from textwrap import dedent

import pytest

from diagnose.engine.positions import YamlText
from diagnose.engine.read_baseline import TESTS_LIMIT, parse_baseline, read_baseline
from diagnose.errors import RuleErrors

ROW = "{name: one GPU, metric: tokens_per_s_gpu, gpus: 1, expected: 1200}"


def read(text):
    return parse_baseline(YamlText("b.yaml", dedent(text)))


def mistakes(text):
    with pytest.raises(RuleErrors) as caught:
        read(text)
    assert caught.value.exit_code == 2
    return str(caught.value)


def test_a_row_has_the_unit_and_the_bounds_that_go_with_it():
    baseline = read(f"tests:\n  - {ROW}\n")
    [test] = baseline.tests
    assert (test.name, test.metric, test.gpus, test.line) == ("one GPU", "tokens_per_s_gpu", 1, 2)
    assert (test.unit, test.scale, test.better) == ("tokens/s", 1.0, "larger")
    assert (test.ok, test.warning, test.measured) == (0.9, 0.8, None)


def test_what_the_file_says_holds_for_rows_that_say_nothing():
    first, second = read(
        """\
        gpu: H100
        ok: 0.95
        tests:
          - {name: a, bench: all_reduce, gpus: 8, expected: 470}
          - {name: b, bench: all_reduce, gpus: 8, gpu: A100, ok: 0.85, expected: 230}
        """
    ).tests
    assert (first.gpu, first.ok, first.unit) == ("H100", 0.95, "GB/s")
    assert (second.gpu, second.ok) == ("A100", 0.85)


@pytest.mark.parametrize(
    ("way", "unit", "scale"),
    [
        ("metric: step_time", "ms", 0.001),
        ("metric: mfu", '"%"', 0.01),
        ("metric: memory_peak", "GiB", 1 << 30),
        ("bench: all_reduce", "Gb/s", 0.125),
    ],
)
def test_a_unit_has_its_factor_to_the_canonical_one(way, unit, scale):
    [test] = read(f"tests:\n  - {{name: a, {way}, unit: {unit}, expected: 1}}\n").tests
    assert test.scale == scale


def test_a_size_is_given_as_people_write_it():
    [test] = read("tests:\n  - {name: a, bench: all_reduce, size: 256MiB, expected: 400}\n").tests
    assert test.size == 256 << 20


@pytest.mark.parametrize(
    ("row", "place", "said"),
    [
        ("{name: a, metirc: mfu, expected: 0.4}", "2:5", "did you mean 'metric'?"),
        ("{metric: mfu, expected: 0.4}", "2:5", "'name' is missing"),
        ("{name: a, metric: mfu}", "2:5", "'expected' is missing"),
        ("{name: a, metric: mfuu, expected: 0.4}", "2:23", "did you mean 'mfu'?"),
        ("{name: a, bench: allreduce, expected: 4}", "2:22", "did you mean 'all_reduce'?"),
        ('{name: a, metric: mfu, expected: "0.4"}', "2:38", "found the text '0.4'"),
        ("{name: a, metric: mfu, expected: 40%}", "2:38", "unit: '%'"),
        ("{name: a, bench: all_reduce, expected: 600 GB/s}", "2:44", "put its unit under 'unit'"),
        ("{name: a, metric: mfu, expected: -1}", "2:38", "a number above 0, found -1"),
        ("{name: a, metric: mfu, expected: 0}", "2:38", "a number above 0, found 0"),
        ("{name: a, metric: mfu, expected: .nan}", "2:38", "found nan"),
        ("{name: a, metric: mfu, expected: .inf}", "2:38", "found inf"),
        ("{name: a, metric: mfu, expected: true}", "2:38", "found 'true'"),
        (f"{{name: a, metric: mfu, expected: 1{'0' * 400}}}", "2:38", "a number above 0"),
        ("{name: a, metric: mfu, expected: 1, measured: -2}", "2:51", "of at least 0, found -2"),
        ("{name: a, metric: step_time, expected: 1, measured: 0}", "2:57", "above 0, found 0; leave"),
        ("{name: a, metric: memory_peak, expected: 1, measured: 0.0}", "2:59", "above 0, found 0"),
        ("{name: a, metric: tflops, expected: 1, measured: 0}", "2:54", "above 0, found 0"),
        ("{name: a, bench: all_reduce, expected: 1, measured: 0}", "2:57", "above 0, found 0"),
        ("{name: a, metric: mfu, expected: 1e999}", "2:38", "above 0, found 1e999"),
        ("{name: a, metric: mfu, expected: 1, gpus: 2, nodes: 4}", "2:47", "'gpus' (2) is less"),
        ("{name: a, metric: mfu, expected: 1, gpus: 0}", "2:47", "at least 1"),
        ("{name: a, metric: mfu, expected: 1, gpus: .inf}", "2:47", "at least 1"),
        ("{name: a, metric: mfu, expected: 1, gpus: 1.5}", "2:47", "whole number"),
        ("{name: a, metric: mfu, expected: 1, unit: ms}", "2:47", "known: %, share"),
        ("{name: a, metric: mfu, expected: 1, unit: [ms]}", "2:47", "unknown value a list"),
        ("{name: a, metric: mfu, expected: 1, size: 1GiB}", "2:41", "only a 'bench'"),
        ("{name: a, metric: mfu, expected: 1, better: smaller}", "2:49", "larger is better"),
        ("{name: a, metric: mfu, expected: 1, ok: 1.5}", "2:45", "from 0 to 1"),
        ("{name: a, metric: mfu, expected: 1, ok: 0.5}", "2:45", "'warning' (0.8) is above"),
        ("{name: a, metric: mfu, bench: all_reduce, expected: 1}", "2:5", "'metric' and 'bench'"),
        ("{name: a, expected: 1}", "2:5", "found none of them"),
        ("{name: 7, metric: mfu, expected: 1}", "2:12", "quote it"),
        ("a", "2:5", "expected a map"),
    ],
)  # fmt: skip
def test_a_wrong_row_is_shown_with_its_place(row, place, said):
    text = mistakes(f"tests:\n  - {row}\n")
    assert text.startswith(f"b.yaml:{place}: ")
    assert said in text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "b.yaml: is empty"),
        ("# a comment\n", "b.yaml: is empty"),
        ("[1, 2]\n", "b.yaml:1:1: expected a map with gpu"),
        ("tests: []\n", "b.yaml:1:8: 'tests' is missing or empty"),
        ("tets: []\n", "did you mean 'tests'?"),
        ("gpu: H100\n", "'tests' is missing"),
        (f"tests: {ROW}\n", "expected a list"),
        (f"tests:\n  - {ROW}\n  - {ROW}\n", "b.yaml:3:12: a test before is named 'one GPU'"),
        (f"tests:\n  - {ROW}\ntests: []\n", "b.yaml:3:1: the key 'tests' stands here a second"),
        (f"tests:\n  - {ROW}\nrun: 5\n", "b.yaml:3:6: expected a map with versions"),
        (f"tests:\n  - {ROW}\nrun: {{parallel: {{tp: x}}}}\n", "expected a number"),
        ("tests: [\n", "not valid YAML"),
        ("tests: \x00\n", "not valid YAML"),
        ("tests: !!python/object/apply:os.system [id]\n", "not valid YAML"),
        ("a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\ntests: *c\n", "aliases inside anchors"),
        ("tests: " + "[" * 500 + "]" * 500, "nested more than 50 deep"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(text, said):
    assert said in mistakes(text)


def test_all_mistakes_are_shown_in_the_order_of_the_file():
    text = mistakes(
        """\
        tests:
          - {name: a, metric: mfu, expected: -1}
          - {name: a, metric: mfu, expcted: 1}
        """
    )
    places = [line.split(" ")[0] for line in text.splitlines()]
    assert places == ["b.yaml:2:38:", "b.yaml:3:5:", "b.yaml:3:12:", "b.yaml:3:28:"]


def test_a_file_of_endless_rows_is_refused():
    rows = "".join(
        f"  - {{name: t{n}, metric: mfu, expected: 1}}\n" for n in range(TESTS_LIMIT + 1)
    )
    assert "at most 1000" in mistakes(f"tests:\n{rows}")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\x80\x81", "is not UTF-8 text"),
        (b"\x7fELF\x00\x01", "not valid YAML"),
        (None, "cannot be"),
    ],
)
def test_a_file_that_is_no_text(tmp_path, data, said):
    path = tmp_path / "b.yaml"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(RuleErrors, match=said):
        read_baseline(path)


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(RuleErrors, match="cannot be read"):
        read_baseline(tmp_path)


@pytest.mark.parametrize(
    ("written", "number"), [("1e9", 1e9), ("1.2e3", 1200.0), ("2E-3", 0.002), ("1.e+3", 1000.0)]
)
def test_a_number_with_an_exponent_needs_no_point_and_no_sign(written, number):
    row = f"{{name: a, test: t, expected: {written}, measured: {written}, gpus: 1e1}}"
    [test] = read(f"tests:\n  - {row}\n").tests
    assert (test.expected, test.measured, test.gpus) == (number, number, 10)


@pytest.mark.parametrize("way", ["metric: mfu", "metric: data_share", "test: any"])
def test_a_share_and_a_test_of_a_team_may_measure_nothing(way):
    [test] = read(f"tests:\n  - {{name: a, {way}, expected: 0.4, measured: 0}}\n").tests
    assert test.measured == 0
