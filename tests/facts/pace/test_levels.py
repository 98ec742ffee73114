"""Steps that take longer from some moment on, or longer and longer."""

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Nature

from ..build import event, named, points, reading
from .series import noisy

SHIFT, DRIFT = "train.level_shift", "train.drift"


def found(*records, name=SHIFT):
    return named(build(reading(*records)), name)


def shifted(factor=1.056, at=120, count=300):
    return [one * (factor if place >= at else 1) for place, one in enumerate(noisy(count))]


def test_a_rise_says_where_and_how_far():
    (shift,) = found(points("step_time", shifted(), first=1000))
    assert shift["step"] == pytest.approx(1120, abs=2)
    assert shift["rise"] == pytest.approx(0.056, abs=0.005)
    assert shift["before"] == pytest.approx(6.2, rel=0.01)
    assert shift["noise"] == pytest.approx(0.01, rel=0.3)
    assert not shift["recovered"]
    assert not shift["restart"]


def test_a_fall_is_nothing():
    assert not found(points("step_time", shifted(0.9), first=1000))


def test_a_rise_that_goes_back():
    values = [one * (1.2 if 100 <= at < 160 else 1) for at, one in enumerate(noisy(300))]
    (shift,) = found(points("step_time", values, first=1000))
    assert shift["recovered"]
    assert shift["recovered_step"] == pytest.approx(1160, abs=2)


def test_a_change_at_a_restart():
    def argument(line, value):
        return event("job.argument", Nature.SETTING, line=line, fact="arg.micro_batch_size",
                     fields={"name": "micro_batch_size", "value": value})  # fmt: skip

    restart = event("torchrun.restart", Nature.EFFECT, line=150, fields={"left": 2})
    lines = [*range(1, 121), *range(200, 380)]
    series = points("step_time", shifted(), first=1000, lines=lines)
    for late, changed in ((2, ["micro_batch_size"]), (1, [])):
        (shift,) = found(series, restart, argument(0, 1), argument(160, late))
        assert (shift["restart"], shift["restart_step"]) == (True, 1120)
        assert shift["settings"] == changed
        assert shift["settings_changed"] == len(changed)
    hosts = [
        event("nccl.version", Nature.SETTING, line=1, host="node-01"),
        event("nccl.version", Nature.SETTING, line=170, host="node-01"),
        event("nccl.version", Nature.SETTING, line=171, host="node-02"),
    ]
    (shift,) = found(series, restart, *hosts)
    assert shift["new_hosts"] == ["node-02"]


def test_the_part_that_data_has_in_a_rise():
    late = [0.1 + (0.35 if at >= 120 else 0) for at in range(300)]
    series = points("step_time", shifted(), first=1000)
    (shift,) = found(series, points("data_time", late, first=1000))
    assert shift["data_part"] == pytest.approx(1.0, abs=0.1)
    (shift,) = found(series, points("data_time", [0.1] * 300, first=1000))
    assert shift["data_part"] == 0
    assert found(series)[0]["data_part"] is None


def test_a_change_of_the_batch_is_stated():
    batch = [512.0 if at < 120 else 1024.0 for at in range(300)]
    values = [one * (1.0 if at < 120 else 2.3) for at, one in enumerate(noisy(300))]
    (shift,) = found(
        points("step_time", values, first=1000), points("global_batch", batch, first=1000)
    )
    assert shift["work_changed"]
    assert shift["rise"] == pytest.approx(0.15, abs=0.01)


@pytest.mark.parametrize("batch", [[], [512.0] * 300])
def test_longer_sequences_are_work_that_changes(batch):
    length = [2048.0 if at < 120 else 4096.0 for at in range(300)]
    values = [one * (1.0 if at < 120 else 2.3) for at, one in enumerate(noisy(300))]
    logged = [points("global_batch", batch, first=1000)] if batch else []
    (shift,) = found(
        points("step_time", values, first=1000),
        points("sequence_length", length, first=1000),
        *logged,
    )
    assert shift["work_changed"]
    assert shift["rise"] == pytest.approx(0.15, abs=0.01)


def test_slower_and_slower():
    values = [one * (1 + 0.1 * at / 300) for at, one in enumerate(noisy(300))]
    memory = [4e10 * (1 + 0.3 * at / 300) for at in range(300)]
    series = points("step_time", values, first=1000)
    (drift,) = found(series, points("memory_reserved", memory, first=1000), name=DRIFT)
    assert drift["change"] == pytest.approx(0.1, abs=0.02)
    assert drift["p"] < 0.01
    assert drift["memory"] == "memory_reserved"
    assert drift["memory_change"] == pytest.approx(0.24, abs=0.03)
    assert not found(series)


def test_waits_for_data_that_grow():
    waits = [0.1 + 1.0 * at / 300 for at in range(300)]
    values = [one + wait for one, wait in zip(noisy(300), waits, strict=True)]
    series = points("step_time", values, first=1000)
    (drift,) = found(series, points("data_time", waits, first=1000), name=DRIFT)
    assert drift["data_part"] == pytest.approx(1, abs=0.1)
    assert drift["data_before"] == pytest.approx(0.2 / 6.4, abs=0.005)
    assert drift["data_after"] == pytest.approx(1.0 / 7.2, abs=0.005)
    (drift,) = found(series, name=DRIFT)
    assert drift["data_part"] is drift["data_before"] is None
