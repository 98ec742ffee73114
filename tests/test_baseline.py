"""``--baseline`` and ``diagnose baseline new``, from the file to the report."""

import json
import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from diagnose import api
from diagnose.cli import main
from diagnose.engine.read_baseline import BASELINE_KEYS, TEST_KEYS
from diagnose.errors import NoInputError, RuleErrors, UsageError
from diagnose.render.text import render

ROOT = Path(__file__).resolve().parent.parent
DOCS, SAMPLES = ROOT / "docs", ROOT / "samples"
EXAMPLE = DOCS / "baseline.yaml"
STEADY = SAMPLES / "healthy" / "layout-that-fits" / "logs"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def call(*words, text=None, **variables):
    return CliRunner().invoke(main, words, input=text, env=variables)


def roles(report):
    return {finding.id: finding.role for finding in report.findings}


def rows(report):
    return {row.name: row for row in report.baseline.rows}


def test_the_example_is_judged_without_logs():
    report = api.run_text("", baseline=EXAMPLE)
    assert [row.verdict for row in report.baseline.rows] == [
        "warning", "failure", "failure", "failure", "not-measured", "not-measured",
    ]  # fmt: skip
    assert roles(report) == {
        "baseline-gpu-below": "root",
        "baseline-network-bandwidth-low": "root",
        "baseline-scaling-low": "cascade",
        "baseline-questioned": "context",
    }
    [scaling] = [one for one in report.findings if one.id == "baseline-scaling-low"]
    assert "one GPU and all-reduce across nodes follows 0.82 x 0.64" in scaling.explanation
    place = scaling.evidence[0]
    assert (place.file, place.line) == (str(EXAMPLE), 21)


def test_the_smallest_scope_comes_first():
    report = api.run_text("", baseline=EXAMPLE)
    assert report.findings[0].id == "baseline-gpu-below"


def test_the_report_shows_the_comparison_and_what_was_not_measured():
    report = api.run_text("", baseline=EXAMPLE)
    text = render(report, verbose=True)
    assert re.search(r"one GPU +1,200 tokens/s +980 tokens/s +0\.82 +warning", text)
    assert re.search(r"waiting for data +5 % +- +- +not measured", text)
    assert "waiting for data: the logs hold no data_share; to measure it: log" in text
    assert "fio --name=read" in text
    assert "| one GPU | 1,200 tokens/s | 980 tokens/s | 0.82 | warning |" in report.to_markdown()
    assert (
        "| one GPU | 1,200 tokens/s | 980 tokens/s | 0.82 | 警告 |"
        in call(
            "stdin", "--baseline", str(EXAMPLE), "--format", "markdown", "--lang", "zh", text=""
        ).stdout
    )
    shown = json.loads(report.to_json())["baseline"]
    assert shown["file"] == str(EXAMPLE)
    assert shown["rows"][0]["verdict"] == "warning"


def test_without_a_baseline_there_is_no_comparison():
    report = api.run([STEADY])
    assert report.baseline is None
    assert json.loads(report.to_json())["baseline"] is None


def test_a_path_that_is_not_there_is_an_error_whatever_the_baseline():
    with pytest.raises(NoInputError):
        api.run(["nowhere"], baseline=EXAMPLE)


def written(text, name="b.yaml"):
    Path(name).write_text(text, encoding="utf-8")
    return name


NODE = """\
tests:
  - {name: node, bench: all_reduce, gpus: 8, nodes: 1, gpu: H100, expected: 475}
"""


def test_what_the_logs_show_is_judged_at_its_line():
    logs = SAMPLES / "comms" / "nccl-tests-low-busbw-one-node" / "logs"
    report = api.run([logs], baseline=written(NODE))
    row = rows(report)["node"]
    assert (row.measured, row.verdict) == (188.14, "failure")
    assert (row.file, row.line) == ("all-reduce-node-04.txt", 28)
    roots = [one for one in report.findings if one.role == "root"]
    assert [one.cause for one in roots] == ["comms.bandwidth-low"]
    assert roots[0].culprit.hosts == ["node-04"]


NETWORK = """\
tests:
  - {name: node, bench: all_reduce, gpus: 8, nodes: 1, gpu: H100, expected: 475, measured: NODE}
  - {name: network, bench: all_reduce, gpus: 16, nodes: 2, expected: 380, measured: 4}
  - {name: steps, metric: step_time, gpus: 16, expected: 2, measured: 6}
"""
SOCKETS = SAMPLES / "comms" / "one-host-on-sockets" / "logs"


def test_sockets_explain_the_network_and_the_steps_and_stay_the_one_root():
    report = api.run([SOCKETS], baseline=written(NETWORK.replace("NODE", "470")))
    found = roles(report)
    assert [name for name, role in found.items() if role == "root"] == ["host-on-sockets"]
    assert found["baseline-network-bandwidth-low"] == "cascade"
    assert found["baseline-pace-low"] == "cascade"


def test_sockets_do_not_explain_the_links_inside_a_node():
    report = api.run([SOCKETS], baseline=written(NETWORK.replace("NODE", "90")))
    found = roles(report)
    assert found["host-on-sockets"] == "root"
    assert found["baseline-node-bandwidth-low"] == "root"


def test_an_inactive_link_explains_the_node_it_is_in():
    smi = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-4a0e7c4e-0000-0000-0000-000000000000)\n" + (
        "".join(f"\t Link {n}: {'<inactive>' if n < 3 else '26.562 GB/s'}\n" for n in range(18))
    )
    report = api.run_text(smi, baseline=written(NETWORK.replace("NODE", "90")))
    found = roles(report)
    assert found["nvlink-fault"] == "root"
    assert found["baseline-node-bandwidth-low"] == "cascade"


def test_a_run_as_expected_is_healthy():
    report = api.run([STEADY], baseline=written(api.new_baseline([STEADY])))
    assert report.verdict == "healthy"
    assert {row.verdict for row in report.baseline.rows} == {"ok"}


def test_a_slower_run_is_a_failure_and_one_of_another_size_is_not():
    made = yaml.safe_load(api.new_baseline([STEADY]))
    for test in made["tests"]:
        test["expected"] *= 0.5 if test["metric"] == "step_time" else 2
    slow = api.run([STEADY], baseline=written(yaml.safe_dump(made)))
    assert {row.verdict for row in slow.baseline.rows} == {"failure"}
    assert roles(slow)["baseline-pace-low"] == "root"
    assert slow.verdict == "symptoms-only"
    for test in made["tests"]:
        test["gpus"] = 512
    other = api.run([STEADY], baseline=written(yaml.safe_dump(made)))
    assert {row.verdict for row in other.baseline.rows} == {"not-comparable"}
    assert other.verdict == "healthy"


HEALTHY = [
    "layout-that-fits",
    "megatron-steady-with-loss-scale-search",
    "nccl-tests-small-sizes-low",
    "hf-trainer-first-step-slow-and-checkpoint-save",
    "steps-with-first-step-compile",
]


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_run_held_against_its_own_baseline_is_ok_in_every_row(name):
    logs = SAMPLES / "healthy" / name / "logs"
    text = api.new_baseline([logs])
    assert text == api.new_baseline([logs])
    report = api.run([logs], baseline=written(text))
    assert report.baseline.rows
    assert {row.verdict for row in report.baseline.rows} == {"ok"}


def test_a_baseline_says_what_the_run_was():
    made = yaml.safe_load(api.new_baseline([STEADY]))
    assert made["run"]["parallel"] == {"tp": 8, "pp": 4, "dp": 2, "cp": 1, "micro_batches": 64}
    assert made["run"]["marks"]["global_batch_size"] == "1024"
    assert {test["gpus"] for test in made["tests"]} == {64}


SICK = SAMPLES / "resources" / "straggler-one-rank-compute" / "logs"


def test_a_run_with_a_root_cause_is_no_baseline_unless_forced():
    with pytest.raises(UsageError, match="Rank 5 on node-02 computes .* --force"):
        api.new_baseline([SICK])
    assert yaml.safe_load(api.new_baseline([SICK], force=True))["tests"]


def test_logs_without_anything_to_compare_make_no_baseline():
    with pytest.raises(UsageError, match="nothing to compare"):
        api.new_baseline([SAMPLES / "healthy" / "ibstatus-unused-port" / "logs"])


def test_the_command_writes_a_file_that_the_option_reads():
    done = call("baseline", "new", "--from", str(STEADY), "--output", "b.yaml")
    assert (done.exit_code, done.stdout) == (0, "")
    assert call("baseline", "new", "--from", str(STEADY)).stdout.endswith(
        Path("b.yaml").read_text().partition("run:")[2]
    )
    judged = call(str(STEADY), "--baseline", "b.yaml")
    assert judged.exit_code == 0
    assert judged.stdout.count("  ok\n") == 2


def test_the_command_refuses_a_sick_run_with_status_2():
    done = call("baseline", "new", "--from", str(SICK), "--output", "b.yaml")
    assert done.exit_code == 2
    assert "this run is no measure for others" in done.stderr
    assert not Path("b.yaml").exists()
    assert call("baseline", "new", "--from", str(SICK), "--force").exit_code == 0


def test_a_baseline_that_cannot_be_written_says_so():
    done = call("baseline", "new", "--from", str(STEADY), "--output", "no/such/b.yaml")
    assert done.exit_code == 2
    assert "no/such/b.yaml cannot be written" in done.stderr
    assert call("baseline", "new", "--from", "nowhere").exit_code == 3


def test_a_failure_gives_status_1_and_a_warning_does_not():
    assert call("stdin", "--baseline", str(EXAMPLE), text="").exit_code == 1
    only = "tests: [{name: a, metric: tokens_per_s_gpu, gpus: 1, expected: 12, measured: 10}]\n"
    assert call("stdin", "--baseline", written(only), text="").exit_code == 0


def test_a_baseline_of_the_environment_and_of_the_settings():
    by_variable = call(str(STEADY), "--format", "json", DIAGNOSE_BASELINE=str(EXAMPLE))
    assert json.loads(by_variable.stdout)["baseline"]["file"] == str(EXAMPLE)
    Path("diagnose.yaml").write_text("baseline: b.yaml\n", encoding="utf-8")
    written(NODE)
    by_settings = call(str(STEADY), "--format", "json")
    assert json.loads(by_settings.stdout)["baseline"]["file"] == "b.yaml"


@pytest.mark.parametrize("words", [(str(STEADY),), ("run", str(STEADY)), ("stdin",)])
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"tests: [{name: a, metric: mfu, expceted: 1}]\n", "b.yaml:1:32: unknown key 'expceted'"),
        (b"", "b.yaml: is empty"),
        (b"\xff\xfe\x00", "b.yaml:1: is not UTF-8 text; save it"),
        (None, "b.yaml: cannot be read: No such file"),
    ],
)
def test_a_wrong_baseline_ends_with_status_2_before_anything_is_read(words, data, said):
    if data is not None:
        Path("b.yaml").write_bytes(data)
    done = call(*words, "--baseline", "b.yaml", text="")
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr


def test_the_library_raises_what_is_wrong():
    with pytest.raises(RuleErrors, match="b.yaml: cannot be read"):
        api.run([STEADY], baseline="b.yaml")


TEAM_RULE = """\
id: steps-over-baseline
title: "Steps take {{ series.ratio }} times as long as the baseline's {{ series.before }} s"
cause: resources.slow-node
level: medium
match: {series: step_time, stat: ratio_to_baseline, over: {skip: 5}, gte: 1.2}
explanation: "{{ series.after }} s is the median."
playbook: baseline-missed
tests:
  - name: half as long again
    logs: {job.csv: &log "LOG"}
    baseline: "tests: [{name: steps, metric: step_time, expected: 2}]"
    expect: {fires: true}
  - name: as long as expected
    logs: {job.csv: *log}
    baseline: "tests: [{name: steps, metric: step_time, expected: 3}]"
    expect: {fires: false}
  - name: nothing is expected
    logs: {job.csv: *log}
    expect: {fires: false}
"""


def test_a_rule_of_a_team_compares_a_series_with_the_baseline(tmp_path):
    log = "".join(f"{step},3.0,2.5\\n" for step in range(60))
    (tmp_path / "ours").mkdir()
    rule = tmp_path / "ours" / "steps-over-baseline.yaml"
    rule.write_text(TEAM_RULE.replace("LOG", f"step,step_time,loss\\n{log}"), encoding="utf-8")
    done = call("rules", "test", "ours")
    assert (done.exit_code, done.stdout) == (0, ""), done.output
    (tmp_path / "job.csv").write_text(f"step,step_time,loss\n{log}".replace("\\n", "\n"))
    expected = written("tests: [{name: steps, metric: step_time, expected: 2}]\n")
    report = api.run(["job.csv"], rules=["ours"], baseline=expected)
    titles = [one.title for one in report.findings if one.id == "steps-over-baseline"]
    assert titles == ["Steps take 1.5 times as long as the baseline's 2.0 s"]


def test_every_key_is_described():
    page = (DOCS / "baselines.md").read_text(encoding="utf-8")
    assert {key for key in (*BASELINE_KEYS, *TEST_KEYS) if f"`{key}`" not in page} == set()


def test_every_metric_and_benchmark_is_described():
    page = (DOCS / "baselines.md").read_text(encoding="utf-8")
    known = yaml.safe_load((ROOT / "rules" / "baseline.yaml").read_text(encoding="utf-8"))
    words = [*known["metrics"], *known["benchmarks"]]
    assert [word for word in words if f"`{word}`" not in page] == []


def test_the_schema_knows_the_keys_and_the_words():
    shape = json.loads(call("schema", "baseline").stdout)
    assert set(shape["properties"]) == set(BASELINE_KEYS)
    test = shape["$defs"]["test"]
    assert set(test["properties"]) == set(TEST_KEYS)
    assert "step_time" in test["properties"]["metric"]["enum"]


def log_of_steps(seconds=2.0, count=60):
    return "step,step_time,loss\n" + "".join(f"{n},{seconds},2.5\n" for n in range(count))


def init(rank, host, pid, job):
    return (
        f"{host}:{pid}:{pid} [{rank}] NCCL INFO ncclCommInitRank comm 0x5{pid} rank {rank} nranks 2 "
        f"cudaDev {rank} nvmlDev {rank} busId {rank + 1}b000 commId 0x{job} - Init COMPLETE\n"
    )


def test_several_jobs_in_one_input_are_no_baseline_unless_forced():
    Path("logs").mkdir()
    Path("logs/steps.csv").write_text(log_of_steps())
    for job, host in (("aa", "node-01"), ("bb", "node-05")):
        Path("logs", job).mkdir()
        for rank in (0, 1):
            line = init(rank, host, 700 + rank, job)
            Path("logs", job, f"rank{rank}.log").write_text(line)
    assert api.run(["logs"]).verdict == "healthy"
    with pytest.raises(UsageError, match="the logs of several jobs. Name .* --force"):
        api.new_baseline(["logs"])
    assert yaml.safe_load(api.new_baseline(["logs"], force=True))["tests"]


def test_a_run_that_only_shows_symptoms_is_no_baseline_unless_forced():
    Path("job.csv").write_text(log_of_steps())
    Path("job.log").write_text("[ERROR] the frobnicator is out of order\n")
    assert api.run(["job.csv", "job.log"]).verdict == "symptoms-only"
    with pytest.raises(UsageError, match="no measure for others: .* --force"):
        api.new_baseline(["job.csv", "job.log"])
    assert yaml.safe_load(api.new_baseline(["job.csv", "job.log"], force=True))["tests"]


TITLED = """\
tests:
  - {name: scaling, metric: scaling_efficiency, gpus: 64, unit: "%", expected: 90,
     measured: 62.40323}
  - {name: rate, metric: tokens_per_s, gpus: 64, expected: 98765.4321, measured: 12345.678}
  - {name: data, metric: data_share, gpus: 64, expected: 0.05, measured: 0.4203456}
  - {name: node, bench: all_reduce, gpus: 8, nodes: 1, gpu: H100, expected: 475, measured: 94.87654}
"""


def test_titles_give_both_numbers_rounded_and_with_their_unit():
    findings = api.run_text("", baseline=written(TITLED)).findings
    found = {one.id: one.title for one in findings}
    [scaling] = [one for one in findings if one.id == "baseline-scaling-low"]
    assert scaling.evidence[0].text == "scaling: 62.4 % measured, 90 % expected"
    assert found["baseline-scaling-low"].endswith("is 62.4 % where 90 % is expected")
    assert "12,346 tokens/s where 98,765 tokens/s is" in found["baseline-pace-low"]
    assert (
        "wait 42 % of their time for data; the baseline expects 5 %"
        in (found["baseline-data-starved"])
    )
    assert "is 94.88 GB/s where 475 GB/s is expected" in found["baseline-node-bandwidth-low"]
