import pytest
from dialects import events

from diagnose.model.event import Line
from diagnose.parsers import stragglers as dialect

REPORT = "[2026-01-05 10:20:00] | MnRtt/Rnk: 6000.00ms/8 | MxRtt/Rnk: 6155.90ms/41 | MnPwr/Rnk: 612000.00W/41 | MxPwr/Rnk: 689000.00W/3 | MnTmp/Rnk: 49.00C/2 | MxTmp/Rnk: 83.00C/41 | MnUtl/Rnk: 97.00%/9 | MxUtl/Rnk: 100.00%/0 | MnClk/Rnk: 990.00MHz/41 | MxClk/Rnk: 1980.00MHz/0 | MnDRtt/Rnk: 10.00ms/5 | MxDRtt/Rnk: 610.00ms/17 | MnEtpt/Rnk: 300.00TF/41 | MxEtpt/Rnk: 400.00TF/8"
LIST = (
    "^^^^ Bottom 4 Ranks with lowest  Etpt(TF): 300.00TF/41, 375.00TF/40, 398.30TF/44, 398.40TF/47,"
)


def test_a_report_tells_the_slowest_rank_and_what_else_is_odd_with_it():
    lines = [Line("a.log", number, text, text) for number, text in enumerate((REPORT, LIST), 1)]
    (event,) = dialect.read_report(lines)
    assert (event.name, event.rank) == ("train.straggler_report", 41)
    assert event.fields == {
        "throughput_low": 300.0,
        "throughput_high": 400.0,
        "ratio": 0.75,
        "next_ratio": 0.8,
        "clock_rank": 41,
        "clock_low": 990.0,
        "clock_high": 1980.0,
        "clock_ratio": 0.5,
        "heat_rank": 41,
        "temperature": 83.0,
        "batch_rank": 17,
        "batch_low": 0.01,
        "batch_high": 0.61,
        "batch_share": 0.1,
    }


def test_a_report_cut_off_gives_what_is_whole():
    (event,) = events(dialect, REPORT[: REPORT.index("MnClk")])
    assert (event.rank, event.fields) == (None, {"heat_rank": 41, "temperature": 83.0})


def test_the_list_below_belongs_to_the_report_and_other_lines_do_not():
    parser = dialect.PARSERS[0]
    assert not parser.ends([], Line("a.log", 2, LIST, LIST))
    assert parser.ends([], Line("a.log", 2, "iteration 7", "iteration 7"))


@pytest.mark.parametrize(
    "text, found",
    [
        ("STRAGGLER DETECTION WARNING: Some GPUs have worse relative performance. Affected ranks: {StragglerId(rank=41, node='node-07'), StragglerId(rank=42, node='node-07')}", [(41, "node-07", None), (42, "node-07", None)]),
        ("STRAGGLER DETECTION WARNING: Some GPUs performance dropped. Affected ranks: [76, 13]", [(76, None, None), (13, None, None)]),
        ("  Rank=41 Node=node-07.example.net Score=0.61", [(41, "node-07", 0.61)]),
        ("Affected ranks: see below", []),
        ("the Rank=41 Node=node-07 Score=0.61 was typed by hand", []),
    ],
)  # fmt: skip
def test_warnings_and_scores_name_ranks(text, found):
    named = [(one.rank, one.host, one.fields.get("score")) for one in events(dialect, text + "\n")]
    assert named == found


def test_prose_about_the_columns_is_no_report():
    assert events(dialect, "MnRtt/Rnk: is the least round trip and its rank\n") == []
