"""Series, time and marks in reports, through the whole program."""

import json
from datetime import datetime, timedelta
from random import Random

import pytest

import diagnose
from diagnose.render import text


def iteration(step, time, loss=2.5):
    return (
        f" [{time:%Y-%m-%d %H:%M:%S}.000000] iteration {step:8}/   50000 | consumed samples: {step * 1024:12} |"
        f" elapsed time per iteration (ms): 6000.0 | learning rate: 1.2E-04 | global batch size:  1024 |"
        f" lm loss: {loss:.6E} | loss scale: 1.0 | grad norm: 0.412 |"
        " number of skipped iterations:   0 | number of nan iterations:   0 |"
    )


class Log:
    """A log of Megatron-LM with a clock that goes on."""

    def __init__(self):
        self.now = datetime(2026, 3, 2, 10, 0)
        self.lines = []

    def wait(self, seconds):
        self.now += timedelta(seconds=seconds)

    def say(self, words):
        self.lines.append(f" [{self.now:%Y-%m-%d %H:%M:%S}.000000] {words}")

    def steps(self, first, last, loss=lambda step: 2.5):
        for step in range(first, last + 1):
            self.wait(6)
            self.lines.append(iteration(step, self.now, loss(step)))

    def report(self):
        return diagnose.run_text("\n".join([*self.lines, ""]))


@pytest.fixture(scope="module")
def restarted():
    log = Log()
    log.say(
        "using world size: 64, data-parallel-size: 8, context-parallel-size: 1, tensor-model-parallel size: 4, pipeline-model-parallel size: 2"
    )
    log.lines.append("wandb: Syncing run brisk-sea-12")
    log.wait(114)
    log.steps(1, 300)
    log.say("saving checkpoint at iteration     300 to /data/ckpt in torch_dist format")
    log.wait(60)
    log.say("successfully saved checkpoint from iteration     300 to /data/ckpt [ t 1/8, p 1/4 ]")
    log.steps(301, 400)
    log.wait(1800)
    log.say("loading distributed checkpoint from /data/ckpt at iteration 300")
    log.steps(301, 500)
    return log.report()


def test_the_time_of_a_run_with_a_save_and_a_restart(restarted):
    spent = restarted.goodput
    assert (spent.warm_up, spent.save, spent.lost_work, spent.restart) == (114, 60, 600, 1800)
    assert (spent.productive, spent.lost_steps) == (500 * 6, 100)
    assert spent.wall == 114 + 3000 + 60 + 600 + 1800
    assert "goodput 54 %, ETTR 65 %, of 1 h 33 min" in " ".join(text.render(restarted).split())


def test_marks_of_the_run_are_shown(restarted):
    assert restarted.job.marks["run_name"] == "brisk-sea-12"
    assert "run_name=brisk-sea-12" in text.render(restarted)
    assert r"run\_name=brisk-sea-12" in restarted.to_markdown()


def spike(step):
    return 9.0 if step in (300, 301) else 2.5 + Random(step).random() / 70


@pytest.fixture(scope="module")
def spiked():
    log = Log()
    log.steps(1, 400, spike)
    return log.report()


def test_a_finding_holds_the_series_that_it_rests_on(spiked):
    curve = next(one for finding in spiked.findings for one in finding.series)
    assert (curve.metric, curve.first_step, curve.last_step) == ("loss", 1, 400)
    assert (curve.step, curve.values[curve.mark], curve.high) == (300, 9.0, 9.0)
    assert len(curve.values) == 60


def test_the_same_log_gives_the_same_bytes(spiked):
    log = Log()
    log.steps(1, 400, spike)
    assert log.report().to_json() == spiked.to_json()


def test_without_series_and_stamps_the_keys_are_there_all_the_same():
    found = diagnose.run_text(
        "RuntimeError: CUDA error: an illegal memory access was encountered\n"
    )
    shape = json.loads(found.to_json())
    assert shape["goodput"] is None
    assert [finding["series"] for finding in shape["findings"]] == [[]] * len(shape["findings"])
