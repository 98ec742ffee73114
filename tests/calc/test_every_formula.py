"""The figures that the project's sources give beside their formulas, row by row."""

import json

import pytest
from click.testing import CliRunner

from diagnose.calc.catalogue import CALCULATORS
from diagnose.cli import main

GB, HOUR = 1e9, 3600.0


def results(line):
    ran = CliRunner().invoke(main, ["calc", *line.split(), "--format", "json"])
    assert ran.exit_code == 0, ran.output
    return {one["name"]: one["value"] for one in json.loads(ran.output)["results"]}


FIGURES = [
    # formulas and thresholds of operating experience, in the order of their table
    ("comm-ratio --parameters 17B --bandwidth 50GB/s", "gradients of one step", 34 * GB, 0),
    ("comm-ratio --parameters 17B --bandwidth 50GB/s", "moved by each rank", 68 * GB, 0),
    ("comm-ratio --parameters 17B --bandwidth 50GB/s", "communication time", 1.36, 1e-9),
    ("comm-ratio --comm-time 1.2s --compute-time 4s", "communication over compute", 0.3, 1e-9),
    ("bubble --stages 8 --micro-batches 16", "idle share of a step", 7 / 23, 1e-9),
    ("bubble --stages 8 --micro-batches 16", "idle share of a step", 0.30, 0.005),
    ("bubble --stages 8 --micro-batches 64", "idle share of a step", 7 / 71, 1e-9),
    ("bubble --stages 8 --micro-batches 64", "idle share of a step", 0.10, 0.005),
    ("failure --rate 0.1% --nodes 1024", "chance that at least one fails", 0.64, 0.005),
    ("scaling --ranks 8", "speed-up", 8, 1e-9),
    ("scaling --ranks 64 --serial 1% --overhead 0.01", "speed-up", 1 / (0.99 / 64 + 0.02), 1e-9),
    ("memory --parameters 175B", "weights on each GPU", 350 * GB, 0),
    ("memory --parameters 1B --gradient-bytes 4", "gradients on each GPU", 4 * GB, 0),
    ("memory --parameters 1B", "optimizer on each GPU", 12 * GB, 0),
    ("memory --parameters 1B --replicas 4 --zero 1", "optimizer on each GPU", 3 * GB, 0),
    ("memory --parameters 1B --replicas 4 --zero 2", "gradients on each GPU", 0.5 * GB, 0),
    ("memory --parameters 1B --replicas 4 --zero 3", "weights on each GPU", 0.5 * GB, 0),
    ("checkpoint --save 2min --mtbf 8h --interval 2h --restart 12min",
     "time lost to saves and failures", 2 / 120 + (60 + 12) / 480, 1e-9),
    ("recompute --step-time 10s", "step time with it, least", 12, 1e-9),
    ("recompute --step-time 10s", "step time with it, most", 13, 1e-9),
    ("ib-timeout --timeout 22 --retries 7", "until the connection gives up", 120, 0.5),
    ("tensor-traffic --layers 80 --sequence 4096 --hidden 8192 --ranks 8 --micro-batches 16",
     "moved by each rank", 4 * 80 * 16 * 2 * 7 / 8 * 4096 * 8192 * 2, 1),
    ("kv-cache --layers 80 --heads 8 --length 8192 --concurrent 16 --memory 640GB --weights 140GB",
     "cache of all requests", 2 * 80 * 8 * 128 * 2 * 8192 * 16, 0),
    ("latency --ttft 400ms --tpot 25ms --tokens 201", "time of one request", 5.4, 1e-9),
    ("token-cost --price 2.5 --gpus 8 --tokens-per-second 20000 --used 50%",
     "cost of a million tokens", 20 / 36, 1e-9),
    # scaling, communication, pipeline and utilisation
    ("efficiency --small 8 --small-rate 9600 --large 128 --large-rate 79872", "efficiency", 0.52,
     1e-9),
    ("bubble --stages 8 --micro-batches 8", "idle share of a step", 0.47, 0.005),
    ("bubble --stages 8 --micro-batches 8 --chunks 2", "idle share of a step", 7 / 23, 1e-9),
    ("comm-ratio --parameters 1B --bandwidth 50GB/s --ranks 8", "moved by each rank", 3.5 * GB, 1),
    ("comm-ratio --parameters 1B --bandwidth 50GB/s --ranks 8 --zero 3", "moved by each rank",
     1.5 * 3.5 * GB, 1),
    ("tensor-traffic --layers 2 --sequence 10 --hidden 10 --ranks 2", "all-reduces of one step", 8,
     0),
    ("mfu --tokens-per-second 400 --parameters 175B --peak 989T", "model FLOPs utilisation",
     400 * 6 * 175e9 / 989e12, 1e-9),
    ("mfu --tokens-per-second 400 --parameters 175B --peak 989T --recompute 100%",
     "hardware FLOPs utilisation", 400 * 8 * 175e9 / 989e12, 1e-9),
    ("mfu --tokens-per-second 1 --parameters 1B --peak 1T --layers 2 --hidden 3 --sequence 5 "
     "--attended 100%", "operations for one token", 6e9 + 12 * 2 * 3 * 5, 1e-3),
    ("flops --batch 2 --sequence 64 --layers 4 --hidden 32 --vocabulary 100",
     "operations of the model in one step",
     72 * 2 * 64 * 4 * 32**2 * (1 + 64 / (6 * 32) + 100 / (12 * 32 * 4)), 1e-3),
    ("flops --batch 2 --sequence 64 --layers 4 --hidden 32 --vocabulary 100 --recompute 100%",
     "operations of the hardware",
     96 * 2 * 64 * 4 * 32**2 * (1 + 64 / (6 * 32) + 100 / (16 * 32 * 4)), 1e-3),
    ("straggler --step-time 11s --ideal-time 10s", "slow-down", 1.1, 1e-9),
    ("straggler --step-time 11s --ideal-time 10s", "time wasted", 1 - 1 / 1.1, 1e-9),
    # cost of checkpoints and goodput
    ("checkpoint --parameters 70B --bandwidth 20GB/s --mtbf 4h", "size of the checkpoint",
     1000 * GB, 30 * GB),
    ("checkpoint --parameters 70B --bandwidth 20GB/s --mtbf 4h", "time to write it", 50, 1),
    ("checkpoint --parameters 1B --each 16 --save 1s --mtbf 4h", "size of the checkpoint", 16 * GB,
     1),
    ("checkpoint --save 60s --mtbf 4h", "best interval, first order (Young)", 1315, 1),
    ("checkpoint --save 60s --mtbf 4h", "best interval, higher order (Daly)",
     1314.534 * (1 + (60 / 28800) ** 0.5 / 3 + 60 / (18 * 14400)) - 60, 0.1),
    ("checkpoint --save 60s --mtbf 4h --steps 100 --step-time 6s", "saves over training", 0.1,
     1e-9),
    ("mtbf --nodes 1024", "mean time between failures of the job", 3.6 * HOUR, 0.02 * HOUR),
    ("mtbf --nodes 1024 --rate 2.3", "failures a day", 1.024 * 2.3, 1e-9),
    ("mtbf --failures 419 --span 54d", "mean time between failures of the job", 3 * HOUR,
     0.15 * HOUR),
    ("goodput --mtbf 8h --save 60s --interval 30min --restart 10min",
     "expected share of the time that trains", 1 - (10 + 15) / 480 - 1 / 30, 1e-9),
    ("goodput --productive 90h --wall 100h", "measured share of the time that trains", 0.9, 1e-9),
    ("lost-work --last-step 1580 --resumed-step 1500 --step-time 30s --detection 10min "
     "--restart 10min --gpus 64", "time to do them again", 2400, 0),
    ("lost-work --last-step 1580 --resumed-step 1500 --step-time 30s --detection 10min "
     "--restart 10min --gpus 64", "GPU hours lost", 64, 1e-9),
    # bandwidth of collectives
    ("bandwidth --size 1GB --time 10ms --ranks 8", "bus bandwidth of all-reduce", 175 * GB, 1),
    ("bandwidth --size 1GB --time 10ms --ranks 8", "bus bandwidth of all-gather", 87.5 * GB, 1),
    ("bandwidth --size 1GB --time 10ms --ranks 8", "bus bandwidth of broadcast", 100 * GB, 1),
    ("bandwidth --size 1GB --time 10ms --ranks 8 --nics 8 --nic-rate 400Gb/s",
     "adapters of a node together", 400 * GB, 1),
    ("bandwidth --size 1GB --time 10ms --ranks 8 --nics 1 --nic-rate 100Gb/s",
     "adapters of a node together", 12.5 * GB, 1),
    ("bandwidth --size 1GB --time 10ms --ranks 8 --nics 8 --nic-rate 200Gb/s",
     "expected of an all-reduce, least", 160 * GB, 1),
]  # fmt: skip


@pytest.mark.parametrize(("line", "name", "value", "within"), FIGURES)
def test_a_figure_of_the_sources(line, name, value, within):
    assert results(line)[name] == pytest.approx(value, abs=within or None)


def test_no_calculator_is_without_a_figure():
    assert {line.split()[0] for line, *_ in FIGURES} == set(CALCULATORS)


def test_a_third_size_is_expected_from_the_fit_of_two():
    found = results("efficiency --small 8 --small-rate 800 --large 64 --large-rate 5120 --at 512")
    # 1 / rate of a rank goes from 1/100 to 1/80 in three doublings, so to 1/66.7 in three more.
    assert found["efficiency expected there, as a tree"] == pytest.approx(2 / 3)
    assert 0.7 < found["efficiency expected there, as a ring"] < 0.8


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("comm-ratio", "--comm-time is missing; --parameters and --bandwidth give it too"),
        ("comm-ratio --comm-time 1s", "--compute-time is missing"),
        ("comm-ratio --parameters 7B", "--bandwidth is missing"),
        ("goodput", "--mtbf is missing, or --productive and --wall"),
        ("goodput --productive 2h --wall 1h", "--productive is longer than --wall"),
        ("lost-work --last-step 5 --resumed-step 9 --step-time 1s", "--resumed-step is behind"),
        ("mtbf", "--nodes is missing"),
        ("mtbf --failures 3", "--span is missing"),
        ("efficiency --small 8 --small-rate 1 --large 8 --large-rate 1", "(8) must be larger than"),
        ("checkpoint --save 1s --mtbf 4h --steps 100", "--step-time is missing"),
        ("tensor-traffic --layers 2 --sequence 8 --hidden 8 --ranks 0", "--ranks must be above"),
        ("straggler --step-time 1s --ideal-time 0", "--ideal-time must be above zero"),
        ("latency --ttft 0 --tpot 1s --tokens 1", "--ttft must be above zero"),
        ("bandwidth --size 1 --time 1s --ranks 2 --nic-rate 0", "--nic-rate must be above zero"),
        ("checkpoint --save 0 --mtbf 4h --interval 1h", "--save must be above zero"),
        ("memory --parameters 1e300 --gradient-bytes 1e300", "these values have no result"),
        ("flops --batch 1e300 --sequence 2 --layers 1 --hidden 1e300", "have no result"),
    ],
)
def test_what_is_missing_is_named(line, said):
    ran = CliRunner().invoke(main, ["calc", *line.split()])
    assert ran.exit_code == 2
    assert said in ran.output


@pytest.mark.parametrize(
    "line",
    [
        "bandwidth --size 1e400 --time 10ms --ranks 8",
        "failure --rate 1e-3 --nodes 1e400",
        "mfu --tokens-per-second 1e400 --parameters 7B --peak 989T",
        "memory --parameters 1e308T",
        "recompute --step-time 1e308d",
        "bubble --stages 1e308 --micro-batches 1 --at-most 1e-300",
        "token-cost --price 1e308 --gpus 8 --tokens-per-second 1",
    ],
)
@pytest.mark.parametrize("style", ["text", "json"])
def test_what_is_not_finite_is_said_and_never_shown(line, style):
    ran = CliRunner().invoke(main, ["calc", *line.split(), "--format", style])
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert "too large" in ran.stderr


AHEAD = "never gets ahead"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        # values that cannot be meant
        ("mfu --tokens-per-second 9 --parameters 7B --peak 989", "write 989TFLOP/s"),
        ("flops --batch 1 --sequence 8 --layers 1 --hidden 8 --step-time 1s --peak 312", "312TF"),
        ("efficiency --small 8 --small-rate 9 --large 4 --large-rate 9", "(4) must be larger"),
        # a run that never gets ahead
        ("checkpoint --save 10min --mtbf 4h --interval 10min", AHEAD),
        ("checkpoint --save 1min --mtbf 4h --interval 10h", "the best one is 21.2 min"),
        ("checkpoint --save 10h --mtbf 4h", AHEAD),
        ("checkpoint --save 1s --mtbf 4h --restart 5h", AHEAD),
        ("checkpoint --save 60s --mtbf 4h --steps 5 --step-time 6s", "save less often"),
        ("goodput --mtbf 4h --save 10min --interval 10min", AHEAD),
        ("goodput --mtbf 1h --save 60s --interval 3h", AHEAD),
        # values that contradict each other
        ("kv-cache --layers 61 --heads 4 --latent 512 --rope 64", "--heads cannot be given with --la"),
        ("checkpoint --save 1s --mtbf 4h --interval 1h --steps 9 --step-time 9s", "--steps cannot be"),
        ("checkpoint --save 1s --mtbf 4h --interval 1h --step-time 9s", "with --interval"),
        ("checkpoint --save 1s --mtbf 4h --parameters 7B --bandwidth 2GB/s", "--parameters and --ba"),
        ("comm-ratio --comm-time 1s --parameters 7B --compute-time 3s", "--comm-time cannot be"),
        ("mtbf --nodes 9 --failures 3 --span 9d", "--nodes cannot be given with --failures"),
        # values that nothing uses
        ("kv-cache --layers 61 --latent 512", "say --rope 0"),
        ("kv-cache --layers 61 --heads 4 --rope 64", "--rope needs --latent"),
        ("kv-cache --layers 61 --heads 4 --weights 99GB", "--weights needs --memory"),
        ("kv-cache --layers 61 --heads 4 --overhead 9GB", "--overhead needs --memory"),
        ("checkpoint --save 1s --mtbf 4h --step-time 9s", "--step-time needs --steps"),
        ("checkpoint --save 1s --mtbf 4h --bandwidth 9GB/s", "--bandwidth needs --parameters"),
        ("comm-ratio --comm-time 1s --compute-time 3s --ranks 8", "--ranks needs --parameters"),
        ("mtbf --nodes 9 --span 9d", "--span needs --failures"),
        ("goodput --productive 1h --wall 2h --interval 9min", "--interval needs --mtbf"),
        ("goodput --mtbf 8h --interval 1h --wall 2h", "--wall needs --productive"),
        ("flops --batch 1 --sequence 8 --layers 1 --hidden 8 --peak 1T", "--peak needs --step-time"),
        ("mfu --tokens-per-second 9 --parameters 7B --peak 1T --layers 32",
         "--layers needs --hidden and --sequence"),
        ("mfu --tokens-per-second 9 --parameters 7B --peak 1T --hidden 32 --sequence 64",
         "--hidden needs --layers"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(line, said):
    ran = CliRunner().invoke(main, ["calc", *line.split()], terminal_width=200)
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert said in ran.stderr


def test_a_size_that_a_fit_does_not_reach_has_no_value_but_a_reason():
    line = "efficiency --small 8 --small-rate 800 --large 16 --large-rate 2400 --at 512"
    ran = CliRunner().invoke(main, ["calc", *line.split(), "--format", "json"])
    measured, *expected = json.loads(ran.stdout)["results"]
    assert measured["value"] == pytest.approx(1.5)
    assert [one["value"] for one in expected] == [None, None]
    assert "0 to 100 %" in expected[0]["reason"]
    assert "- (the fit leaves" in CliRunner().invoke(main, ["calc", *line.split()]).stdout


def test_even_scaling_is_expected_to_go_on():
    line = "efficiency --small 3 --small-rate 0.3 --large 7 --large-rate 0.7 --at 512"
    assert results(line)["efficiency expected there, as a ring"] == pytest.approx(1)


def test_operations_of_a_token_are_no_rate():
    line = "mfu --tokens-per-second 400 --parameters 175B --peak 989TFLOP/s"
    ran = CliRunner().invoke(main, ["calc", *line.split(), "--format", "json"])
    units = {one["name"]: one["unit"] for one in json.loads(ran.stdout)["results"]}
    assert units["operations for one token"] == "FLOP"
    assert units["useful operations on each GPU"] == "FLOP/s"


def test_the_list_of_calculators_is_there_as_json():
    found = json.loads(CliRunner().invoke(main, ["calc", "--format", "json"]).stdout)
    assert [one["name"] for one in found] == sorted(CALCULATORS)
    [bubble] = [one for one in found if one["name"] == "bubble"]
    assert bubble["inputs"][0] == {
        "name": "stages", "unit": "count", "help": "pipeline stages p", "default": None,
        "required": True,
    }  # fmt: skip


def test_the_list_of_calculators_as_text():
    ran = CliRunner().invoke(main, ["calc", "--format", "text"])
    assert (ran.exit_code, len(ran.stdout.splitlines())) == (0, len(CALCULATORS))
    bare = CliRunner().invoke(main, ["calc"])
    assert "Commands:\n  bandwidth " in bare.output


def test_a_format_before_the_name_counts_as_well():
    words = ["calc", "--format", "json", "bubble", "--stages", "8", "--micro-batches", "16"]
    assert json.loads(CliRunner().invoke(main, words).stdout)["calculator"] == "bubble"
