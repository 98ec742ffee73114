"""Steps that go up and down, where the log does not say what they wait for."""

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Nature

from ..build import event, named, points, reading
from .series import noisy

WAVES = "train.waves"


def wavy(every=8, slow=3, factor=1.6):
    return [
        one * (factor if at % every >= every - slow else 1)
        for at, one in enumerate(noisy(200, noise=0.03))
    ]


def found(*records):
    return named(build(reading(*records)), WAVES)


def test_the_course_repeats():
    workers = event("job.argument", Nature.SETTING, fact="arg.num_workers",
                    fields={"name": "num_workers", "value": 8})  # fmt: skip
    (waves,) = found(points("step_time", wavy(), first=100), workers)
    assert (waves["lag"], waves["workers"]) == (8, True)
    assert waves["repeats"] > 0.8
    assert waves["slow"] == pytest.approx(3 / 8, abs=0.02)
    assert waves["spread"] > 1.5


def test_even_steps_a_change_of_level_and_waits_that_are_printed():
    assert not found(points("step_time", noisy(200), first=100))
    stepped = [one * (1.3 if at > 90 else 1) for at, one in enumerate(noisy(200))]
    assert not found(points("step_time", stepped, first=100))
    series = points("step_time", wavy(), first=100)
    assert not found(series, points("data_time", [0.1] * 200, first=100))
