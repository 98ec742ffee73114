import math

import pytest

from diagnose.model.event import Clock
from diagnose.parsers.metric_names import canonical, clock, metrics, number, step_of


@pytest.mark.parametrize(
    "name, meaning",
    [
        ("step_time", ("step_time", 1.0, False)),
        ("Step Time (ms)", ("step_time", 1e-3, True)),
        ("train_step_timing in s", ("step_time", 1.0, True)),
        ("data_time_ms", ("data_time", 1e-3, True)),
        ("Train/Loss", ("loss", 1.0, True)),
        ("lr-AdamW/group0", ("learning_rate", 1.0, True)),
        ("memory(GiB)", ("memory_reserved", 2.0**30, True)),
        ("max_memory_allocated_gb", ("memory_peak", 2.0**30, True)),
        ("max_mem", None),
        ("throughput", None),
        ("loss_s", None),
        ("train_speed(s/it)", None),
        ("accuracy", None),
        ("", None),
    ],
)
def test_a_name_means_one_metric_or_none(name, meaning):
    assert canonical(name) == meaning


@pytest.mark.parametrize(
    "value, expected",
    [
        (1, 1.0),
        ("1,024", 1024.0),
        ("41.7%", 0.417),
        ("-inf", -math.inf),
        ("2e-5", 2e-5),
        (True, None),
        (None, None),
        ("", None),
        ("1_0", None),
        ("1.2.3", None),
        ("fast", None),
        ([1], None),
        (10**400, None),
    ],
)
def test_numbers(value, expected):
    assert number(value) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    "value, expected",
    [
        (1767607200, (1767607200.0, Clock.UTC)),
        (1767607200123, (1767607200.123, Clock.UTC)),
        ("2026-01-05T10:00:00Z", (1767607200.0, Clock.UTC)),
        ("2026-01-05T12:00:00+02:00", (1767607200.0, Clock.UTC)),
        ("2026-01-05 10:00:00", (1767607200.0, Clock.LOCAL)),
        (0.52, None),
        ("10:00", None),
        (None, None),
    ],
)
def test_clocks(value, expected):
    assert clock(value) == expected


def test_a_time_column_is_a_step_time_only_beside_a_data_time():
    assert metrics({"time": 0.5, "loss": 1.0}) == {"loss": 1.0}
    assert metrics({"time": 0.5, "data_time": 0.1}) == {"data_time": 0.1, "step_time": 0.5}


def test_a_utilisation_in_percent_becomes_a_share():
    assert metrics({"mfu": 41.0}) == {"mfu": pytest.approx(0.41)}
    assert metrics({"mfu": 0.41}) == {"mfu": 0.41}


def test_the_step_of_the_run_is_believed_before_that_of_the_epoch():
    assert step_of({"step": 3, "global_step": 903}) == 903
    assert step_of({"loss": 1}) is None
