"""Rows of a baseline held against what the logs show."""

import pytest

from diagnose.engine.positions import YamlText
from diagnose.engine.read_baseline import parse_baseline
from diagnose.facts.baseline.judge import hold_against
from diagnose.facts.case import build
from diagnose.facts.series import evaluate
from diagnose.model.event import Nature
from diagnose.render.sentences import translated

from .build import event, fact, points, reading

GIB = 1 << 30


def compared(tests, *records):
    case = build(reading(*records))
    text = tests if "tests:" in tests else f"tests:\n  - {tests}\n"
    return hold_against(parse_baseline(YamlText("b.yaml", text)), case), case


def row(tests, *records):
    table, _ = compared(tests, *records)
    return table.rows[-1]


def world(size):
    return fact("job.world_size", size, fields={"name": "world_size"})


def bandwidth(plateau, host="node-01", ranks=8, nodes=1, plateau_size=GIB, line=9, **fields):
    return event(
        "nccl_tests.result", Nature.MEASUREMENT, file=f"{host}.txt", line=line, host=host,
        fields={
            "collective": "all_reduce", "ranks": ranks, "nodes": nodes, "rows": 4,
            "gpu_model": "NVIDIA H100 80GB HBM3", "plateau_busbw": plateau, "hosts": [host],
            "plateau_size": plateau_size, "sizes": [1 << 26, GIB], "busbws": [300.0, plateau],
            **fields,
        },
    )  # fmt: skip


STEP = "{name: steps, metric: step_time, gpus: 8, expected: 2.0}"


def test_a_metric_is_judged_by_its_median_after_warm_up_at_the_line_that_shows_it():
    found = row(STEP, world(8), points("step_time", [60.0] * 20 + [2.1] * 100))
    assert (found.measured, found.verdict, found.ratio) == (2.1, "ok", 0.952381)
    assert (found.file, found.line) == ("a.log", 120)


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [(2.0, "ok"), (2.2, "ok"), (2.3, "warning"), (2.5, "warning"), (2.6, "failure"), (1.0, "ok")],
)
def test_the_bounds_of_a_metric_where_less_is_better(measured, verdict):
    assert row(STEP, world(8), points("step_time", [measured] * 100)).verdict == verdict


@pytest.mark.parametrize(
    ("share", "verdict"),
    [(0.0, "ok"), (0.05, "ok"), (0.1, "ok"), (0.18, "warning"), (0.3, "failure")],
)
def test_of_waiting_for_data_the_part_that_is_left_counts(share, verdict):
    test = "{name: data, metric: data_share, gpus: 8, expected: 0.05}"
    records = [points("step_time", [1.0] * 100), points("data_time", [share] * 100)]
    assert row(test, world(8), *records).verdict == verdict


def test_a_row_has_bounds_of_its_own():
    test = "{name: s, metric: step_time, gpus: 8, expected: 2, ok: 0.99, warning: 0.97}"
    assert row(test, world(8), points("step_time", [2.1] * 50)).verdict == "failure"


@pytest.mark.parametrize(
    ("test", "records", "verdict", "reason"),
    [
        (STEP, [], "not-measured", "the logs hold no step_time"),
        (STEP, [points("step_time", [9.0] * 50)], "not-comparable", "do not say how many ran"),
        (STEP, [world(64), points("step_time", [9.0] * 50)], "not-comparable", "this run has 64"),
        (
            "{name: s, metric: step_time, gpus: 8, gpu: H100, expected: 2}",
            [
                world(8),
                points("step_time", [9.0] * 50),
                event(
                    "nvidia_smi.gpu", Nature.MEASUREMENT, fields={"name": "NVIDIA A100-SXM4-80GB"}
                ),
            ],
            "not-comparable",
            "it is for H100; this run has NVIDIA A100-SXM4-80GB",
        ),
        ("{name: t, test: fio, expected: 20}", [], "not-measured", "under 'measured'"),
    ],
)
def test_what_cannot_be_judged_is_no_failure(test, records, verdict, reason):
    found = row(test, *records)
    assert (found.verdict, found.measured, found.ratio) == (verdict, None, None)
    assert reason in found.reason
    assert translated("zh", found.reason) != found.reason
    assert found.command


def test_other_work_is_not_compared():
    text = f"run: {{marks: {{global_batch_size: 512}}}}\ntests:\n  - {STEP}\n"
    batch = fact("arg.global_batch_size", 1024, fields={"name": "global_batch_size"})
    found = row(text, world(8), batch, points("step_time", [4.0] * 50))
    assert found.verdict == "not-comparable"
    assert found.reason == "the baseline was made with global_batch_size 512; this run has 1024"


NODE = "{name: node, bench: all_reduce, gpus: 8, nodes: 1, gpu: H100, expected: 470}"


def test_of_tests_on_several_hosts_the_worst_counts_and_is_named():
    tests = [bandwidth(472.0), bandwidth(188.0, "node-04", line=12), bandwidth(470.0, "node-05")]
    table, case = compared(NODE, *tests)
    [found] = table.rows
    assert (found.measured, found.verdict) == (188.0, "failure")
    assert (found.file, found.line) == ("node-04.txt", 12)
    [judged] = case.named("baseline.row")
    assert (judged.host, judged["hosts"], judged["tests"]) == ("node-04", ["node-04"], 3)


def test_where_all_hosts_are_low_none_is_named():
    _, case = compared(NODE, bandwidth(188.0), bandwidth(190.0, "node-02"))
    [judged] = case.named("baseline.row")
    assert (judged.host, judged["hosts"]) == (None, [])


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        ([bandwidth(40.0, ranks=16, nodes=2)], "the logs hold 16 NVIDIA H100 80GB HBM3 on 2 nodes"),
        ([bandwidth(230.0, gpu_model="NVIDIA A100-SXM4-80GB")], "it is for 8 H100"),
        ([bandwidth(300.0, plateau_size=256 << 20)], "no messages of 1 GiB and more"),
    ],
)
def test_a_bandwidth_of_another_kind_is_not_compared(records, reason):
    found = row(NODE, *records)
    assert found.verdict == "not-comparable"
    assert reason in found.reason
    assert translated("zh", found.reason) != found.reason


def test_equal_sizes_are_compared():
    small = NODE.replace("expected: 470", "size: 64MiB, expected: 310")
    assert row(small, bandwidth(90.0)).measured == 300.0
    other = NODE.replace("expected: 470", "size: 2MiB, expected: 310")
    assert row(other, bandwidth(90.0)).verdict == "not-comparable"


def test_an_efficiency_is_worked_out_from_the_rate_of_one_gpu():
    text = (
        "tests:\n"
        "  - {name: one, metric: tokens_per_s_gpu, gpus: 1, expected: 1200}\n"
        "  - {name: many, metric: scaling_efficiency, gpus: 128, unit: '%', expected: 80}\n"
    )
    found = row(text, world(128), points("tokens_per_s_gpu", [624.0] * 50))
    assert (found.measured, found.verdict) == (52.0, "failure")


def sizes(**fields):
    return event(
        "train.scaling_efficiency", Nature.MEASUREMENT, file="big.log", line=70,
        fields={
            "sizes": [1, 8, 128], "per_gpu": [1200.0, 1100.0, 624.0], "metric": "tokens_per_s_gpu",
            "unit": "gpus", **fields,
        },
    )  # fmt: skip


def test_runs_at_several_sizes_are_judged_each_by_the_row_of_its_size():
    text = (
        "tests:\n"
        "  - {name: one, metric: tokens_per_s_gpu, gpus: 1, expected: 1200}\n"
        "  - {name: some, metric: tokens_per_s_gpu, gpus: 4, expected: 1200}\n"
        "  - {name: many, metric: scaling_efficiency, gpus: 128, expected: 0.8}\n"
    )
    steps = points("tokens_per_s_gpu", [800.0] * 50)
    one, some, many = compared(text, world(128), steps, sizes())[0].rows
    assert (one.measured, one.verdict, one.line) == (1200.0, "ok", 70)
    assert some.verdict == "not-comparable"
    assert (many.measured, many.verdict, many.file) == (0.52, "failure", "big.log")
    nodes = compared(text, world(128), steps, sizes(unit="nodes"))[0].rows
    assert nodes[0].verdict == "not-comparable"


MISSION = """\
tests:
  - {name: one GPU, metric: tokens_per_s_gpu, gpus: 1, expected: 1200, measured: 980}
  - {name: node, bench: all_reduce, gpus: 8, nodes: 1, expected: 600, measured: 380}
  - {name: network, bench: all_reduce, gpus: 32, nodes: 4, expected: 25, measured: 11}
  - {name: scaling, metric: scaling_efficiency, gpus: 128, expected: 0.8, measured: 0.52}
"""


def test_the_table_of_the_field():
    table, case = compared(MISSION)
    verdicts = [(one.verdict, round(one.ratio, 2)) for one in table.rows]
    assert verdicts == [("warning", 0.82), ("failure", 0.63), ("failure", 0.44), ("failure", 0.65)]
    scaling = table.rows[-1]
    assert [round(factor, 2) for factor in scaling.factors] == [0.82, 0.64]
    assert (round(scaling.predicted, 2), scaling.because) == (0.52, ["one GPU", "network"])
    assert scaling.covered > 0.99
    assert [(one.file, one.line) for one in table.rows] == [("b.yaml", n) for n in (2, 3, 4, 5)]
    assert len(case.named("baseline.row")) == 4


def test_a_slow_gpu_has_no_part_in_an_efficiency_against_itself():
    text = MISSION.replace("0.8, measured: 0.52", "0.8")
    scaling = compared(text, sizes())[0].rows[-1]
    assert (scaling.because, [round(one, 2) for one in scaling.factors]) == (["network"], [0.64])


def test_an_expectation_that_no_machine_meets_is_questioned():
    table, case = compared(MISSION)
    assert [one.name for one in table.rows if one.question] == ["node"]
    assert "B200" in table.rows[1].question and "380 GB/s is what" in table.rows[1].question
    assert [one["healthy"] for one in case.named("baseline.row")] == [False, True, False, False]


@pytest.mark.parametrize(
    ("gpu", "expected", "doubtful"),
    [("H100", 480, False), ("H100", 600, True), ("B200", 840, False), ("A100", 300, True),
     ("Gaudi3", 900, False), (None, 480, False), (None, 2000, True)],
)  # fmt: skip
def test_what_is_doubtful_depends_on_the_gpu(gpu, expected, doubtful):
    named = f", gpu: {gpu}" if gpu else ""
    test = f"{{name: n, bench: all_reduce, gpus: 8, nodes: 1, expected: {expected}, measured: 9{named}}}"
    assert (row(test).question is not None) is doubtful


EACH_DOUBT = [
    "{name: a, bench: all_reduce, gpus: 8, nodes: 1, expected: 600, measured: 380}",
    "{name: a, bench: all_reduce, gpus: 8, nodes: 1, expected: 600}",
    "{name: a, bench: all_reduce, gpus: 8, nodes: 1, gpu: H100, expected: 600, measured: 380}",
    "{name: a, bench: all_reduce, gpus: 8, nodes: 1, gpu: H100, expected: 600}",
    "{name: a, bench: all_reduce, gpus: 8, nodes: 1, expected: 2000}",
    "{name: a, metric: mfu, gpus: 8, expected: 0.9}",
]


@pytest.mark.parametrize("test", EACH_DOUBT)
def test_a_doubt_and_a_reason_can_be_read_in_both_languages(test):
    found = row(test)
    assert found.question
    assert translated("zh", found.question) != found.question
    assert found.reason is None or translated("zh", found.reason) != found.reason


def test_links_inside_a_node_bound_the_bandwidth_across_nodes():
    text = MISSION.replace("600, measured: 380", "230, measured: 12")
    network = compared(text)[0].rows[2]
    assert (network.because, network.predicted) == (["node"], 12.0)
    in_bits = MISSION.replace("600, measured: 380", "1840, measured: 96, unit: Gb/s")
    assert compared(in_bits)[0].rows[2].predicted == 12.0
    wide = compared(MISSION.replace("600, measured: 380", "480, measured: 300"))[0].rows[2]
    assert wide.because == []


def test_nothing_at_all_is_a_failure_too():
    share = row("{name: use, metric: mfu, gpus: 8, expected: 0.4, measured: 0}")
    assert (share.verdict, share.ratio) == ("failure", 0.0)
    rate = row("{name: read rate, test: fio, unit: GB/s, expected: 20, measured: 0}")
    assert (rate.verdict, rate.ratio) == ("failure", 0.0)
    free = row("{name: errors, test: count them, better: smaller, expected: 2, measured: 0}")
    assert (free.verdict, free.ratio) == ("ok", None)


def test_rows_that_were_not_measured_are_no_evidence():
    table, case = compared(STEP)
    assert table.rows[0].verdict == "not-measured"
    assert case.named("baseline.row") == []


def ratio(tests, *records, metric="step_time", **question):
    _, case = compared(tests, *records)
    return evaluate(case, metric, stat="ratio_to_baseline", **question)


def test_ratio_to_baseline_is_the_median_over_the_expectation():
    found = ratio(STEP, world(8), points("step_time", [2.5] * 60), skip=5)
    [spot] = found.by_key["job"].spots
    assert (spot.value, spot.before, spot.after, spot.line) == (1.25, 2.0, 2.5, 60)
    assert found.outliers(lambda value: value > 1.2, lambda share: share >= 0.8) == ["job"]


def test_ratio_to_baseline_by_rank():
    slow = [
        points("step_time", [2.0 + rank] * 30, file=f"{rank}.log", rank=rank) for rank in (0, 1)
    ]
    assert ratio(STEP, world(8), *slow, by="rank").groups == {0: 1.0, 1: 1.5}


def test_ratio_to_baseline_needs_a_row_that_speaks_of_this_run():
    steps = points("step_time", [2.5] * 60)
    assert ratio(STEP, world(16), steps) is None
    assert ratio(STEP, world(8), points("loss", [2.5] * 60), metric="loss") is None
    assert evaluate(build(reading(steps)), "step_time", stat="ratio_to_baseline") is None


@pytest.mark.parametrize("gpu", ["A10", "H10", "GH100", "H100 PCIe"])
def test_a_row_for_a_gpu_with_a_name_alike_is_not_compared(gpu):
    test = f"{{name: n, bench: all_reduce, gpus: 8, nodes: 1, gpu: {gpu}, expected: 24}}"
    assert row(test, bandwidth(480.0, gpu_model="NVIDIA H100 NVL")).verdict == "not-comparable"
