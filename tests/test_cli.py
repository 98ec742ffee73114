import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

import diagnose
from diagnose.cli import main
from diagnose.errors import NoInputError, Problem, RuleErrors, UsageError
from diagnose.model.reading import Extent
from diagnose.model.report import LEVELS, Culprit, Finding, Inputs, Job, ReportData, Stage

ROOT = Path(__file__).resolve().parent.parent


def make_report(verdict="healthy", **finding):
    findings = []
    if finding:
        values = dict(
            key="disk-full@job", id="disk-full", cause="dataflow.disk-full", stage="dataflow",
            symptoms=[10], role="root", level="high", confidence=0.9, owner="storage",
            title="Disk is full", explanation="", culprit=Culprit(), first_seen=None, count=1,
            evidence=[],
        )  # fmt: skip
        findings = [Finding(**(values | finding))]
    return ReportData(
        schema="diagnose.report/1",
        tool={"name": "diagnose", "version": "0", "rules": {"shipped": "0", "packs": []}},
        verdict=verdict,
        summary="What there is to say.",
        job=Job(),
        findings=findings,
        stages={
            name: Stage(state="no-evidence", checked=0, why="")
            for name in ("dataflow", "comms", "resources", "parameters")
        },
        timeline=[],
        unknown_errors=[],
        inputs=Inputs(),
    )


class FakeApi(SimpleNamespace):
    """Answers with one report and keeps what it was asked."""

    def __init__(self, answer):
        super().__init__(answer=answer, calls=[])

    def _reply(self):
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    def run(self, paths, **options):
        self.calls.append((tuple(paths), options))
        return self._reply()

    def run_text(self, data, **options):
        self.calls.append((data, options))
        return self._reply()


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty working folder and an empty configuration folder, without settings around."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in [name for name in os.environ if name.startswith("DIAGNOSE_")]:
        monkeypatch.delenv(name)
    for name in ("NO_COLOR", "COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def api(home, monkeypatch):
    fake = FakeApi(make_report())
    monkeypatch.setitem(sys.modules, "diagnose.api", fake)
    monkeypatch.setattr(diagnose, "api", fake, raising=False)
    return fake


def call(*words, stdin=None, **env):
    return CliRunner(env=env).invoke(main, list(words), input=stdin)


# ------------------------------------------------------------------ which command


@pytest.mark.parametrize(
    "words",
    [
        ("logs", "--format", "json"),
        ("--format", "json", "logs"),
        ("--format=json", "logs"),
        ("run", "logs", "--format", "json"),
        ("--format", "json", "run", "logs"),
        ("--format", "json", "--", "logs"),
    ],
)
def test_run_is_the_default_and_options_stand_anywhere(api, words):
    result = call(*words)
    assert result.exit_code == 0
    assert json.loads(result.stdout)["verdict"] == "healthy"
    assert api.calls[0][0] == ("logs",)


def test_a_path_with_the_name_of_a_command(api):
    call("./rules", "more")
    assert api.calls[0][0] == ("./rules", "more")


@pytest.mark.parametrize("words", [("stdin",), ("-",), ("run", "-"), ("--lang", "zh", "stdin")])
def test_a_snippet_on_standard_input(api, words):
    assert call(*words, stdin="a line\n").exit_code == 0
    assert api.calls[0][0] == b"a line\n"


def test_bytes_of_standard_input_are_kept(api):
    call("-", stdin=b"\xff\x00 line\r\n")
    assert api.calls[0][0] == b"\xff\x00 line\r\n"


def test_a_terminal_on_standard_input_is_told_how_to_end(api, monkeypatch):
    monkeypatch.setattr("diagnose.cli.analysis.reads_terminal", lambda: True)
    result = call("stdin", stdin="x")
    assert result.stderr == "Paste the log, then press Ctrl-D\n"
    assert "Paste" not in result.stdout


def test_a_pipe_on_standard_input_is_not(api):
    assert call("stdin", stdin="x").stderr == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("rule", "list"), "Did you mean 'rules'?"),
        (("--format", "json", "parser"), "Did you mean 'parsers'?"),
        (("rules", "lst"), "lst"),
        (("logs", "--fromat", "json"), "--format"),
        (("logs", "--format", "yaml"), "json"),
        (("logs", "--fail-on", "bad"), "critical"),
        (("logs", "--jobs", "0"), "--jobs"),
        (("logs", "--jobs", "many"), "expected a whole number of at least 1, found 'many'"),
        (("logs", "--jobs", "1.5"), "expected a whole number of at least 1, found '1.5'"),
        (("logs", "--since", "yesterday"), "2026-01-02T12:06:41"),
        (("logs", "--since", "2026-01-03", "--until", "2026-01-02"), "before --until"),
        (("logs", "--since", "2026-01-01", "--until", "2026-01-02T00:00Z"), "zone"),
        (("logs", "--rules", "nowhere"), "nowhere"),
        (("logs", "--playbooks", "nowhere"), "nowhere"),
        (("logs", "--verbose", "--quiet"), "exclude"),
        (("logs", "--output", "no/such/report.json"), "does not exist"),
        (("logs", "--output", "."), "--output"),
        (("logs", "--lang", "fr"), "zh"),
        (("logs", "--topolgy", "t.yaml"), "--topology"),
        (("logs", "--format", "pdf"), "pdf"),
        (("-", "logs"), "standard input"),
        (("run",), "PATH"),
        (("schema", "topolgy"), "topology"),
        (("rules", "show", "no-such-rule"), "no-such-rule"),
        (("playbooks", "show", "no-such-playbook"), "no-such-playbook"),
        (("rules", "lint", "nowhere"), "nowhere"),
    ],
)
def test_wrong_words_end_with_status_2_and_say_why(api, words, said):
    result = call(*words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""
    assert not api.calls


def test_a_folder_that_looks_like_a_misspelled_command_is_a_folder(api, home):
    (home / "rule").mkdir()
    assert call("rule").exit_code == 0


# ------------------------------------------------------------------ exit status


@pytest.mark.parametrize(
    ("verdict", "finding", "words", "status"),
    [
        ("root-cause", {"level": "high"}, (), 1),
        ("root-cause", {"level": "critical"}, (), 1),
        ("root-cause", {"level": "medium"}, (), 0),
        ("root-cause", {"level": "medium"}, ("--fail-on", "medium"), 1),
        ("root-cause", {"level": "high"}, ("--fail-on", "critical"), 0),
        ("root-cause", {"level": "high"}, ("--exit-zero",), 0),
        ("root-cause", {"level": "critical", "role": "cascade"}, (), 0),
        ("symptoms-only", {"level": "high", "role": "contributing"}, (), 1),
        ("symptoms-only", {"level": "low", "role": "contributing"}, (), 0),
        ("healthy", {"level": "critical", "role": "context"}, (), 0),
        ("healthy", {"level": "high", "suppressed": {"reason": "r"}}, (), 0),
        ("no-evidence", {}, (), 0),
    ],
)
def test_exit_status_of_an_analysis(api, verdict, finding, words, status):
    api.answer = make_report(verdict, **finding)
    assert call("logs", *words).exit_code == status


def test_every_level_can_be_asked_for(api):
    api.answer = make_report("root-cause", level="info")
    assert [call("logs", "--fail-on", level).exit_code for level in LEVELS] == [1, 0, 0, 0, 0]


def test_without_input_the_report_is_still_printed(api):
    api.answer = NoInputError(
        "nothing could be read: nowhere: not found", make_report("no-evidence")
    )
    result = call("nowhere", "--format", "json", "--exit-zero")
    assert result.exit_code == 3
    assert json.loads(result.stdout)["verdict"] == "no-evidence"
    assert "nowhere: not found" in result.stderr


def test_mistakes_in_rules_are_all_shown(api):
    api.answer = RuleErrors([Problem("a.yaml", 3, 7, "bad"), Problem("b.yaml", 1, 1, "worse")])
    result = call("logs")
    assert result.exit_code == 2
    assert result.stderr == "a.yaml:3:7: bad\nb.yaml:1:1: worse\n"


def test_usage_mistakes_found_later(api):
    api.answer = UsageError("no")
    result = call("logs")
    assert (result.exit_code, result.stderr) == (2, "Error: no\n")


def test_an_interrupt_is_status_130(api):
    api.answer = KeyboardInterrupt()
    result = call("logs")
    assert (result.exit_code, result.stdout) == (130, "")


def test_a_partial_report_is_printed_and_is_status_130(api):
    api.answer = make_report("no-evidence")
    api.answer.inputs.partial = Extent(read=1 << 20, found=4 << 20)
    result = call("logs", "--exit-zero")
    assert result.exit_code == 130
    assert "1.0 MiB of 4.0 MiB were read" in result.stdout


def test_a_reader_that_goes_away_is_no_error():
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "diagnose", "schema", "report"]
    process = subprocess.Popen(command, stdout=writing, stderr=subprocess.PIPE, cwd=ROOT)
    os.close(writing)
    assert process.communicate()[1] == b""
    assert process.returncode == 0


def shell(words):
    command = f"{sys.executable} -m diagnose {words}"
    done = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize(
    "words", ["schema report > /dev/full", "--help > /dev/full", "--version > /dev/full"]
)
def test_output_that_is_full_is_said_in_one_line(words):
    status, said = shell(words)
    assert status == 2
    assert said.count("\n") == 1
    assert "No space left" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("schema report >&-", "Error: standard output is closed; direct it to a file or a pipe\n"),
        ("stdin <&-", "Error: standard input is closed; pipe a log into it or name a file\n"),
        ("- <&-", "Error: standard input is closed; pipe a log into it or name a file\n"),
    ],
)
def test_streams_that_are_closed(words, said):
    assert shell(words) == (2, said)


def test_messages_that_nobody_can_read_do_no_harm():
    assert shell("README.md 2>&- >/dev/null") == (0, "")


@pytest.mark.parametrize(
    ("option", "near"), [("--fromat", "--format"), ("--nope", None), ("--outptu", "--output")]
)
def test_only_likely_options_are_proposed(api, option, near):
    said = call("logs", option).stderr
    assert f"No such option '{option}'" in said
    assert re.findall(r"Did you mean '(.*?)'", said) == ([near] if near else [])


# ------------------------------------------------------------------ output


def test_output_goes_to_a_file(api, home):
    result = call("logs", "--output", "report.json", "--format", "json")
    assert result.stdout == ""
    assert json.loads((home / "report.json").read_text())["verdict"] == "healthy"


def test_quiet_prints_the_summary_only(api):
    assert call("logs", "--quiet").stdout == "What there is to say.\n"


@pytest.mark.parametrize(
    ("words", "env", "colored"),
    [
        ((), {}, False),
        (("--color", "always"), {}, True),
        (("--color", "always"), {"NO_COLOR": "1"}, True),
        (("--color", "never"), {}, False),
        ((), {"DIAGNOSE_COLOR": "always"}, True),
    ],
)
def test_color(api, words, env, colored):
    assert ("\x1b[" in call("logs", *words, **env).stdout) is colored


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {}])
def test_color_on_a_terminal(api, env, monkeypatch):
    monkeypatch.setattr("diagnose.cli.output.writes_terminal", lambda: True)
    plain = call("logs", **{"TERM": "xterm", **env})
    assert ("\x1b[" in plain.stdout) is (env == {})


def test_chinese_words(api):
    assert call("logs", "--lang", "zh").stdout.startswith("未发现需要处理的问题\n")
    assert api.calls[0][1]["lang"] == "zh"


def test_markdown(api):
    assert call("logs", "--format", "markdown").stdout.startswith(
        "## Nothing that needs action was found\n"
    )


def test_a_page_and_a_file_for_build_systems(api):
    assert call("logs", "--format", "html").stdout.startswith("<!DOCTYPE html>\n")
    assert json.loads(call("logs", "--format", "sarif").stdout)["version"] == "2.1.0"


def test_a_narrow_window_is_used(api):
    api.answer = make_report("root-cause", explanation="word " * 60)
    wide = call("logs", COLUMNS="60").stdout
    assert max(map(len, wide.splitlines())) <= 60


# ------------------------------------------------------------------ settings


def test_options_reach_the_library(api, home):
    (home / "ours").mkdir()
    call(
        "logs", "--rules", "ours", "--playbooks", "ours", "--rules", "ours", "--jobs", "2",
        "--since", "2026-01-02T00:00Z", "--until", "2026-01-02T12:06:41Z",
    )  # fmt: skip
    _, options = api.calls[0]
    assert options["rules"] == (Path("ours"), Path("ours"))
    assert options["playbooks"] == (Path("ours"),)
    assert (options["jobs"], options["since"]) == (2, "2026-01-02T00:00:00+00:00")
    assert options["until"] == "2026-01-02T12:06:41+00:00"


@pytest.mark.parametrize(
    ("name", "value", "option", "expected"),
    [
        ("RULES", "a:b", "rules", (Path("a"), Path("b"))),
        ("PLAYBOOKS", "a", "playbooks", (Path("a"),)),
        ("JOBS", "3", "jobs", 3),
        ("SINCE", "2026-01-02", "since", "2026-01-02T00:00:00"),
        ("UNTIL", "2026-01-02", "until", "2026-01-02T00:00:00"),
        ("LANG", "zh", "lang", "zh"),
        ("ENGINE", "dask", "engine", "dask"),
        ("SCHEDULER", "tcp://10.0.0.1:8786", "scheduler", "tcp://10.0.0.1:8786"),
    ],
)
def test_options_from_the_environment(api, home, name, value, option, expected):
    (home / "a").mkdir()
    (home / "b").mkdir()
    assert call("logs", **{f"DIAGNOSE_{name}": value}).exit_code == 0
    assert api.calls[0][1][option] == expected


def test_every_option_of_a_run_has_a_variable_and_a_key():
    options = [one for one in main.commands["run"].params if isinstance(one, click.Option)]
    assert len(options) == 17
    for option in options:
        name = option.opts[0].removeprefix("--")
        assert option.envvar == "DIAGNOSE_" + name.upper().replace("-", "_")
        assert option.help


@pytest.mark.parametrize(
    ("name", "value", "check"),
    [
        ("FORMAT", "json", lambda result: result.stdout.startswith("{")),
        ("EXIT_ZERO", "1", lambda result: result.exit_code == 0),
        ("FAIL_ON", "critical", lambda result: result.exit_code == 0),
        ("QUIET", "true", lambda result: result.stdout == "What there is to say.\n"),
        ("OUTPUT", "out.txt", lambda result: result.stdout == "" and Path("out.txt").exists()),
        ("FORMAT", "jsn", lambda result: result.exit_code == 2 and "jsn" in result.stderr),
    ],
)
def test_output_options_from_the_environment(api, name, value, check):
    api.answer = make_report("root-cause", level="high")
    assert check(call("logs", **{f"DIAGNOSE_{name}": value}))


def test_settings_of_the_working_folder(api, home):
    (home / "ours").mkdir()
    (home / "diagnose.yaml").write_text(
        "format: json\nrules: ours\nfail-on: critical\nexit-zero: true\n"
    )
    result = call("logs")
    assert result.stdout.startswith("{")
    assert api.calls[0][1]["rules"] == (Path("ours"),)
    assert call("logs", "--format", "markdown").stdout.startswith("##")
    assert call("logs", DIAGNOSE_FORMAT="markdown").stdout.startswith("##")


def test_settings_of_the_user_give_way_and_have_their_own_folder(api, home):
    folder = Path(click.get_app_dir("diagnose"))
    (folder / "mine").mkdir(parents=True)
    (folder / "diagnose.yaml").write_text("rules: [mine]\nlang: zh\n")
    (home / "diagnose.yaml").write_text("lang: en\n")
    call("logs")
    _, options = api.calls[0]
    assert options["rules"] == (folder / "mine",)
    assert options["lang"] == "en"


def test_settings_beside_the_logs_are_never_read(api, home):
    (home / "logs").mkdir()
    (home / "logs" / "diagnose.yaml").write_text("format: json\nnonsense: 1\n")
    result = call("logs")
    assert result.exit_code == 0
    assert not result.stdout.startswith("{")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fromat: json\n", "diagnose.yaml:1:1: unknown option 'fromat'; did you mean 'format'?"),
        ("lang: en\nformat: yaml\n", "diagnose.yaml:2:9: format: 'yaml' is not one of"),
        ("jobs: 0\n", "diagnose.yaml:1:7: jobs: expected a whole number of at least 1, found '0'"),
        ("lang: en\nlang: zh\n", "diagnose.yaml:2:1: the option 'lang' stands here a second time"),
        ("lang: en\nformat: js\0on\n", "diagnose.yaml:2:11: not valid YAML: the character 0x00"),
        ("quiet: loud\n", "diagnose.yaml:1:8: quiet: 'loud' is not true or false"),
        ("since: soon\n", "diagnose.yaml:1:8: since: 'soon' is not a time"),
        ("rules: [a, nowhere]\n", "diagnose.yaml:1:8: rules: Directory"),
        ("- format\n", "diagnose.yaml:1:1: expected options"),
        ("format: [\n", "diagnose.yaml:2:1: not valid YAML"),
        ("format: !!python/object:os.system x\n", "diagnose.yaml:1:9: format: "),
    ],
)
def test_wrong_settings_have_a_place(api, home, text, said):
    (home / "diagnose.yaml").write_text(text)
    result = call("logs")
    assert result.exit_code == 2
    assert said in result.stderr
    assert not api.calls


def test_all_wrong_settings_are_shown(api, home):
    (home / "diagnose.yaml").write_text("a: 1\nb: 2\n")
    assert len(call("logs").stderr.splitlines()) == 2


@pytest.mark.parametrize("text", ["", "# nothing\n"])
def test_empty_settings(api, home, text):
    (home / "diagnose.yaml").write_text(text)
    assert call("logs").exit_code == 0


def test_one_of_verbose_and_quiet_on_the_command_line_overrules_settings(api, home):
    (home / "diagnose.yaml").write_text("quiet: true\n")
    assert "Checked" in call("logs", "--verbose").stdout


# ------------------------------------------------------------------ other commands


@pytest.mark.parametrize(
    "words", [(), ("run",), ("stdin",), ("rules",), ("rules", "lint"), ("schema",)]
)
def test_help(home, words):
    result = call(*words, "--help")
    assert result.exit_code == 0
    assert "Usage:" in result.stdout


def test_help_tells_how_to_complete_words(home):
    assert "_DIAGNOSE_COMPLETE=fish_source" in call("--help").stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["ru"], {"rules", "run"}),
        (["rules", "l"], {"list", "lint"}),
        (["logs", "--form"], {"--format"}),
        (["--format", "json", "logs", "--l"], {"--lang"}),
        (["run", "--lang", ""], {"en", "zh"}),
        (["rule", "--verb"], {"--verbose"}),
        (["--fo"], {"--format"}),
        (["--he"], {"--help"}),
    ],
)
def test_words_are_completed(home, words, expected):
    assert {item.value for item in completed(words) if item.type == "plain"} == expected


def completed(words):
    completer = ShellComplete(main, {}, "diagnose", "_DIAGNOSE_COMPLETE")
    return completer.get_completions(words[:-1], words[-1])


@pytest.mark.parametrize("words", [["mi"], ["logs", "mi"], ["run", "mi"], ["ru"]])
def test_paths_are_completed(home, words):
    assert [item.value for item in completed(words) if item.type == "file"] == words[-1:]


def test_ids_are_completed(home):
    rules = [item.value for item in completed(["rules", "show", "ib-p"])]
    assert "ib-port-error" in rules
    assert all(name.startswith("ib-p") for name in rules)
    assert "ib-link-down" in [item.value for item in completed(["playbooks", "show", "ib"])]


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from diagnose.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'polars', 'hyperscan', 'jinja2', 'rich', 'regex', 'yaml'} & set(sys.modules)\n"
        "sys.exit(', '.join(heavy) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_version(home):
    assert call("--version").stdout == f"diagnose {diagnose.VERSION}\n"


@pytest.mark.parametrize("name", ["report", "rule", "playbook"])
def test_schema_is_json(home, name):
    shape = json.loads(call("schema", name).stdout)
    assert shape["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize("words", [("rules", "list"), ("playbooks", "list")])
def test_lists_are_also_json(home, words):
    rows = json.loads(call(*words, "--format", "json").stdout)
    names = [row["id"] for row in rows]
    assert len(set(names)) == len(names)
    assert len(call(*words).stdout.splitlines()) == len(rows)


# ------------------------------------------------------------------ with the real library


@pytest.fixture
def real(home):
    pytest.importorskip("diagnose.api", exc_type=ImportError)
    return home


def test_empty_standard_input(real):
    result = call("stdin", "--format", "json", stdin="")
    assert result.exit_code == 3
    assert json.loads(result.stdout)["verdict"] == "no-evidence"
    assert "Error: " in result.stderr


def test_a_missing_path_alone(real):
    result = call("nowhere", "--format", "json")
    assert result.exit_code == 3
    assert json.loads(result.stdout)["verdict"] == "no-evidence"
    assert "nowhere" in result.stderr


def test_an_empty_folder(real):
    (real / "logs").mkdir()
    assert call("logs").exit_code == 3


def test_a_missing_path_among_good_ones(real):
    (real / "a.log").write_text("nothing of interest\n")
    result = call("a.log", "nowhere", "--format", "json")
    report = json.loads(result.stdout)
    assert result.exit_code == 0
    assert [one["file"] for one in report["inputs"]["skipped"]] == ["nowhere"]


def test_a_snippet_of_nothing_known(real):
    result = call("-", "--format", "json", stdin="hello\n")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["verdict"] == "no-evidence"


def test_wrong_rules_stop_the_run(real):
    (real / "ours").mkdir()
    (real / "ours" / "bad-rule.yaml").write_text("id: bad-rule\ntitel: x\n")
    result = call("-", "--rules", "ours", stdin="hello\n")
    assert result.exit_code == 2
    assert "ours/bad-rule.yaml:2:1: unknown key 'titel'; did you mean 'title'?" in result.stderr
    assert result.stdout == ""


def test_parsers_are_listed_with_a_sample(real):
    rows = json.loads(call("parsers", "list", "--format", "json").stdout)
    assert all(row["title"] for row in rows)
    assert "\x1b" not in call("parsers", "list").stdout


@pytest.mark.parametrize("words", [("rules", "list"), ("playbooks", "list"), ("parsers", "list")])
def test_lists_fit_the_page_and_show_no_templates(home, words):
    lines = call(*words).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if words[0] != "parsers" and "{{" in line]
    wide = call(*words, COLUMNS="120").stdout.splitlines()
    assert max(map(len, wide)) <= 120
    assert len(max(wide, key=len)) >= len(max(lines, key=len))


def test_titles_of_lists_have_placeholders(home):
    rows = json.loads(call("rules", "list", "--format", "json").stdout)
    assert not [row["title"] for row in rows if "{{" in row["title"] or "{%" in row["title"]]
    assert "on <host>" in call("playbooks", "list").stdout
