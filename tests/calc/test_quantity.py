import pytest

from diagnose.calc.quantity import Unit, parse, show


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("17B", Unit.COUNT, 17e9),
        ("8", Unit.COUNT, 8),
        ("1.3T", Unit.COUNT, 1.3e12),
        ("80GiB", Unit.BYTES, 80 << 30),
        ("34 GB", Unit.BYTES, 34e9),
        ("50GB/s", Unit.RATE, 50e9),
        ("400Gb/s", Unit.RATE, 50e9),
        ("5min", Unit.SECONDS, 300),
        ("4h", Unit.SECONDS, 14400),
        ("30ms", Unit.SECONDS, 0.03),
        ("0.1%", Unit.SHARE, 0.001),
        ("989T", Unit.FLOPS, 989e12),
        ("989 TFLOPS", Unit.FLOPS, 989e12),
    ],
)
def test_what_people_type(text, unit, value):
    assert parse(text, unit) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("", Unit.COUNT),
        ("ten", Unit.COUNT),
        ("5 GB", Unit.SECONDS),
        ("50GB", Unit.RATE),
        ("1e400x", Unit.NUMBER),
    ],
)
def test_what_is_no_quantity(text, unit):
    with pytest.raises(ValueError, match="write for example"):
        parse(text, unit)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (34e9, Unit.BYTES, "34 GB"),
        (50e9, Unit.RATE, "50 GB/s"),
        (0.304, Unit.SHARE, "30.4 %"),
        (120.26, Unit.SECONDS, "2 min"),
        (0.017, Unit.SECONDS, "17 ms"),
        (86400 * 3, Unit.SECONDS, "3 d"),
        (28, Unit.COUNT, "28"),
    ],
)
def test_what_people_read(value, unit, text):
    assert show(value, unit) == text


@pytest.mark.parametrize("text", ["1e400", "1e308T"])
def test_what_is_too_large_to_compute_with(text):
    with pytest.raises(ValueError, match="too large"):
        parse(text, Unit.COUNT)


@pytest.mark.parametrize(
    ("text", "value"), [("989e12", 989e12), ("5M", 5e6), ("989TFLOP/s", 989e12)]
)
def test_a_peak_is_a_large_number_or_has_a_unit(text, value):
    assert parse(text, Unit.FLOPS) == pytest.approx(value)


def test_a_peak_without_its_unit_is_refused():
    with pytest.raises(ValueError, match="write 989TFLOP/s if that is meant"):
        parse("989", Unit.FLOPS)
