import pytest

from diagnose.model.report import Goodput
from diagnose.render import markdown, text


def spent(**changes):
    values = dict(
        wall=4000.0, productive=2400.0, warm_up=100.0, lost_work=600.0, save=0.0, evaluation=0.0,
        stall=10.0, restart=890.0, unknown=0.0, goodput=0.6, ettr=0.75, step_time=6.0,
        lost_steps=100,
    )  # fmt: skip
    return Goodput(**(values | changes))


def test_where_the_time_went(one_root):
    one_root.goodput = spent()
    drawn = " ".join(text.render(one_root).split())
    assert (
        "Time of the run goodput 60 %, ETTR 75 %, of 1 h 7 min that the logs show; training 40 min"
        " (60 %), start and warm-up 1 min 40 s (2.5 %), lost work 10 min (15 %), restarting 14 min"
        " 50 s (22 %) Checked"
    ) in drawn
    assert "### Time of the run" in markdown.render(one_root)
    assert "有效训练占 60 %" in text.render(one_root, lang="zh")


@pytest.mark.parametrize("changes", [{"goodput": 0.93}, {"wall": 3500.0}])
def test_a_good_or_a_short_run_is_shown_only_where_all_is_asked_for(one_root, changes):
    one_root.goodput = spent(**changes)
    assert "Time of the run" not in text.render(one_root)
    assert "Time of the run" in text.render(one_root, verbose=True)


def test_without_an_account_nothing_is_said(one_root):
    assert "Time of the run" not in text.render(one_root, verbose=True)
