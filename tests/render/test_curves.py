from dataclasses import replace

import pytest

from diagnose.model.report import Curve
from diagnose.render import markdown, text
from diagnose.render.sparkline import sparkline


def curve(**changes):
    values = dict(
        metric="step_time", unit="s", file="rank3.log", rank=3, host=None, first_step=100,
        last_step=1500, low=6.1, high=7.0, before=6.2, after=6.9,
        values=[6.2, 6.1, 6.2, 6.9, 7.0, 6.9], mark=3, step=800,
    )  # fmt: skip
    return Curve(**(values | changes))


def shown(report, *curves, **options):
    report.findings = [replace(report.findings[0], series=list(curves))]
    return text.render(report, **options)


def test_bars_go_from_the_lowest_to_the_highest_value():
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7], 80) == "▁▂▃▄▅▆▇█"
    assert sparkline([5, 5, 5], 80) == "▅▅▅"
    assert sparkline([], 80) == ""
    assert sparkline([None, None], 80) == "xx"


def test_noise_of_a_steady_value_is_drawn_low():
    assert sparkline([100, 101, 100, 99, 100], 80) == "▅▅▅▄▅"
    assert sparkline([100] * 3 + [105] * 3, 80) == "▃▃▃▆▆▆"


def test_a_narrow_page_keeps_the_spike():
    values = [1.0] * 60
    values[33] = 9.0
    drawn = sparkline(values, 20)
    assert len(drawn) == 20
    assert drawn.count("█") == 1


def test_plain_bars_are_ascii():
    assert sparkline([0, 1, 2, None, 7], 80, plain=True).isascii()


def test_one_line_where_it_fits(one_root):
    drawn = shown(one_root, curve())
    line = next(line for line in drawn.splitlines() if "step time" in line)
    assert line == "  step time of rank 3  ▁▁▁███  6.2 s -> 6.9 s, at step 800, steps 100 to 1500"


def test_bars_below_where_it_does_not(one_root):
    drawn = shown(one_root, curve(values=[6.2] * 59 + [7.0])).splitlines()
    place = next(place for place, line in enumerate(drawn) if "step time" in line)
    assert drawn[place] == "  step time of rank 3  6.2 s -> 6.9 s, at step 800, steps 100 to 1500"
    assert drawn[place + 1] == "    " + "▁" * 59 + "█"
    assert max(map(len, drawn[place : place + 2])) <= 80


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"before": None}, "6.1 s to 7 s, steps 100 to 1500"),
        ({"before": None, "unit": "share", "low": 0.02, "high": 0.4}, "2 % to 40 %, steps"),
        ({"before": None, "unit": "bytes", "low": 0, "high": 1 << 30}, "0 B to 1.0 GiB"),
        ({"before": None, "unit": None, "low": 2.0, "high": 3.5}, "2 to 3.5, steps"),
        ({"before": None, "first_step": None}, "6.1 s to 7 s\n"),
        ({"values": [6.0, None]}, "steps 100 to 1500, x is not a number"),
        ({"values": [None], "low": None, "high": None, "before": None, "first_step": None},
         "x is not a number"),
    ],
)  # fmt: skip
def test_the_numbers_beside_it(one_root, changes, said):
    assert said in shown(one_root, curve(**changes), width=120)


def test_three_of_many_unless_all_are_asked_for(one_root):
    many = [curve(rank=rank) for rank in range(5)]
    assert shown(one_root, *many).count("step time of rank") == 3
    assert shown(one_root, *many, verbose=True).count("step time of rank") == 5


def test_plain_text_has_no_bars(one_root):
    assert "▁" not in shown(one_root, curve(), plain=True)


def test_in_chinese(one_root):
    assert "rank 3 的 step time" in shown(one_root, curve(), lang="zh")


def test_in_markdown(one_root):
    one_root.findings = [replace(one_root.findings[0], series=[curve()])]
    assert (
        "- step time of rank 3 `▁▁▁███` 6.2 s -\\> 6.9 s, at step 800, steps 100 to 1500"
        in markdown.render(one_root).splitlines()
    )
