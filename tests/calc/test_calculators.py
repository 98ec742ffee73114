"""The figures that operators quote, computed anew."""

import json

import pytest
from click.testing import CliRunner

from diagnose.calc.catalogue import CALCULATORS
from diagnose.cli import main


def results(name, *options):
    ran = CliRunner().invoke(main, ["calc", name, *options, "--format", "json"])
    assert ran.exit_code == 0, ran.output
    return {one["name"]: one["value"] for one in json.loads(ran.output)["results"]}


def test_gradients_of_17_billion_parameters():
    found = results("comm-ratio", "--parameters", "17B", "--bandwidth", "50GB/s")
    assert found["gradients of one step"] == 34e9
    assert found["moved by each rank"] == 68e9
    assert found["communication time"] == pytest.approx(1.36)


def test_a_ring_of_few_ranks_moves_less():
    options = ("--parameters", "17B", "--bandwidth", "400Gb/s", "--ranks", "8")
    found = results("comm-ratio", *options, "--compute-time", "3s")
    assert found["moved by each rank"] == pytest.approx(59.5e9)
    assert found["communication over compute"] == pytest.approx(59.5 / 50 / 3)


@pytest.mark.parametrize(
    ("micro_batches", "share"), [("16", 7 / 23), ("64", 7 / 71), ("8", 7 / 15)]
)
def test_bubble_of_eight_stages(micro_batches, share):
    found = results("bubble", "--stages", "8", "--micro-batches", micro_batches)
    assert found["idle share of a step"] == pytest.approx(share)
    assert found["micro-batches that keep it at the limit"] == 28


def test_interleaving_divides_the_bubble():
    found = results("bubble", "--stages", "8", "--micro-batches", "8", "--chunks", "2")
    assert found["idle share of a step"] == pytest.approx(7 / 23)


def test_one_of_1024_nodes_fails_in_a_day():
    found = results("failure", "--rate", "0.1%", "--nodes", "1024")
    assert round(found["chance that at least one fails"], 2) == 0.64


def test_weights_of_175_billion_parameters():
    found = results("memory", "--parameters", "175B")
    assert found["weights on each GPU"] == 350e9
    assert found["model states on each GPU"] == 175e9 * 16


def test_zero_divides_stage_by_stage():
    def state(stage):
        options = ("--parameters", "1B", "--replicas", "8", "--zero", str(stage))
        return results("memory", *options)["model states on each GPU"]

    assert [state(stage) for stage in range(4)] == [16e9, 5.5e9, 3.75e9, 2e9]


def test_two_minutes_until_a_connection_gives_up():
    found = results("ib-timeout", "--timeout", "22", "--retries", "7")
    assert found["until the connection gives up"] == pytest.approx(120.26, abs=0.01)


def test_the_interval_of_least_waste():
    found = results("checkpoint", "--save", "60s", "--mtbf", "4h")
    assert found["best interval, first order (Young)"] == pytest.approx(1314.5, abs=0.1)
    young, daly = "best interval, first order (Young)", "best interval, higher order (Daly)"
    assert found[daly] < found[young]


def test_waste_of_an_interval():
    options = ("--save", "60s", "--interval", "20min", "--mtbf", "8h", "--restart", "10min")
    found = results("checkpoint", *options)
    assert found["time lost to saves and failures"] == pytest.approx(60 / 1200 + 1200 / 28800)


def test_a_save_is_computed_from_parameters_and_bandwidth():
    options = ("--parameters", "70B", "--bandwidth", "20GB/s", "--mtbf", "4h")
    found = results("checkpoint", *options)
    assert (found["size of the checkpoint"], found["time to write it"]) == (980e9, 49)


@pytest.mark.parametrize(
    ("options", "kib"),
    [
        (("--layers", "32", "--heads", "32"), 512),
        (("--layers", "80", "--heads", "8"), 320),
        (("--layers", "28", "--heads", "4"), 56),
        (("--layers", "61", "--latent", "512", "--rope", "64"), 68.625),
    ],
)
def test_cache_of_one_token(options, kib):
    assert results("kv-cache", *options)["cache of one token"] == kib * 1024


@pytest.mark.parametrize(
    ("options", "tensor", "pipeline", "kib"),
    [
        (("--layers", "80", "--heads", "8"), 4, 1, 80),
        (("--layers", "80", "--heads", "8"), 8, 2, 20),
        (("--layers", "80", "--heads", "8"), 16, 1, 40),  # two GPUs keep the same head
        (("--layers", "61", "--latent", "512", "--rope", "64"), 8, 1, 68.625),
    ],
)
def test_cache_of_one_token_on_each_gpu(options, tensor, pipeline, kib):
    found = results("kv-cache", *options, "--tensor", str(tensor), "--pipeline", str(pipeline))
    assert found["cache of one token on each GPU"] == kib * 1024


@pytest.mark.parametrize(
    ("options", "gib"),
    [
        (("--layers", "32", "--heads", "32"), 16),
        (("--layers", "32", "--heads", "8"), 4),
        (("--layers", "80", "--heads", "8"), 10),
        (("--layers", "28", "--heads", "4"), 1.75),
        (("--layers", "61", "--latent", "512", "--rope", "64"), 2.14453125),
    ],
)
def test_cache_of_a_request_of_32k(options, gib):
    found = results("kv-cache", *options, "--length", "32768")
    assert found["cache of one request"] == gib * 2**30


def test_layers_with_a_window_keep_no_more_than_it():
    options = ("--layers", "32", "--heads", "8", "--length", "32768", "--window", "4096")
    half = results("kv-cache", *options, "--windowed-layers", "16")
    assert results("kv-cache", *options)["cache of one request"] == 0.5 * 2**30
    assert half["cache of one request"] == 2.25 * 2**30


def test_what_fits_beside_the_weights_in_serving():
    options = ("--parameters", "70B", "--model-parallel", "4", "--memory", "80GiB")
    found = results("memory", "--serving", *options, "--token", "80KiB", "--length", "32768")
    assert found["weights on each GPU"] == 35e9
    assert found["memory left for the cache"] == 72 * 2**30 - 35e9
    assert found["requests of that length at once"] == pytest.approx(15.76, abs=0.01)
    assert found["least share that starts"] == pytest.approx((35e9 + 2.5 * 2**30) / (80 * 2**30))


def test_weights_that_do_not_fit_have_no_share():
    found = results("memory", "--serving", "--parameters", "70B", "--memory", "80GiB")
    assert found["least share that starts"] is None


def test_requests_that_fit_into_memory():
    options = ("--layers", "80", "--heads", "8", "--length", "32768", "--memory", "640GiB")
    found = results("kv-cache", *options, "--weights", "130GiB", "--overhead", "46GiB")
    assert found["requests of that length at once"] == pytest.approx(40.0)


def test_speed_up_flattens():
    small = results("scaling", "--ranks", "8", "--serial", "1%")
    large = results("scaling", "--ranks", "512", "--serial", "1%")
    assert small["efficiency"] > 0.9 > large["efficiency"]
    assert large["speed-up"] < 100


def test_efficiency_of_two_runs():
    options = ("--small", "8", "--small-rate", "9600", "--large", "128", "--large-rate", "79872")
    assert results("efficiency", *options)["efficiency"] == pytest.approx(0.52)


def test_utilisation_from_tokens_a_second():
    options = ("--tokens-per-second", "400", "--parameters", "175B", "--peak", "989T")
    assert results("mfu", *options)["model FLOPs utilisation"] == pytest.approx(0.42467, abs=1e-4)


def test_bus_bandwidth():
    found = results("bandwidth", "--size", "1GB", "--time", "10ms", "--ranks", "8")
    assert found["algorithm bandwidth"] == 100e9
    assert found["bus bandwidth of all-reduce"] == 175e9


@pytest.mark.parametrize("name", CALCULATORS)
def test_each_one_shows_its_formula_in_its_help(name):
    ran = CliRunner().invoke(main, ["calc", name, "--help"])
    assert ran.exit_code == 0
    assert CALCULATORS[name].formula.split()[0] in ran.output


def test_text_shows_the_formula_first():
    ran = CliRunner().invoke(main, ["calc", "bubble", "--stages", "8", "--micro-batches", "16"])
    assert ran.output.startswith("(p - 1) / (v m + p - 1)\n  idle share of a step")
    assert "30.4 %" in ran.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("bubble", "--stages", "x", "--micro-batches", "8"), "'x' is not a quantity here"),
        (("bubble", "--stages", "1.5", "--micro-batches", "8"), "not a whole number"),
        (("bubble", "--stages", "8"), "--micro-batches is missing"),
        (("bubble", "--stages", "8", "--micro-batches", "0"), "--micro-batches must be above zero"),
        (("failure", "--rate", "120%", "--nodes", "8"), "not between 0 and 1"),
        (("failure", "--rate", "-1", "--nodes", "8"), "not between 0 and 1"),
        (("memory", "--parameters", "7B", "--zero", "4"), "a stage from 0 to 3"),
        (("kv-cache", "--layers", "80"), "--heads is missing"),
        (("memory", "--serving", "--parameters", "7B", "--zero", "1"), "--zero cannot be given"),
        (("memory", "--parameters", "7B", "--memory", "80GiB"), "--memory needs --serving"),
        (("memory", "--serving", "--parameters", "7B", "--graphs", "1GB"), "needs --memory"),
        (("kv-cache", "--layers", "8", "--heads", "8", "--windowed-layers", "4"), "needs --window"),
        (("checkpoint", "--mtbf", "4h"), "--save is missing"),
        (("ib-timeout", "--timeout", "600"), "--timeout goes up to 31"),
        (("ib-timeout", "--timeout", "0"), "waits for ever"),
        (("comm-ratio", "--parameters", "7B", "--bandwidth", "50GB"), "write for example 50GB/s"),
    ],
)
def test_a_wrong_value_is_named_with_its_remedy(options, message):
    ran = CliRunner().invoke(main, ["calc", *options])
    assert ran.exit_code == 2
    assert message in ran.output
    assert "Traceback" not in ran.output
