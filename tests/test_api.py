"""The library: limits in time, what counts as nothing, errors with reports."""

import pytest

import diagnose
from diagnose.errors import NoInputError, UsageError

XID = "[Mon Jan  5 10:00:00 2026] NVRM: Xid (PCI:0000:5d:00): 79, pid=1, GPU has fallen off the bus.\n"


def roots(report):
    return [finding.cause for finding in report.findings if finding.role == "root"]


def test_a_snippet_gives_a_report_with_the_keys_of_the_json():
    report = diagnose.run_text(XID)
    assert report.verdict == "root-cause"
    assert roots(report) == ["resources.gpu-lost"]
    assert '"verdict": "root-cause"' in report.to_json()
    assert "resources.gpu-lost" in report.to_markdown()


@pytest.mark.parametrize(
    ("limits", "found"),
    [
        ({}, ["resources.gpu-lost"]),
        ({"since": "2026-01-05"}, ["resources.gpu-lost"]),
        ({"until": "2026-01-05T09:00:00"}, []),
        ({"since": "2026-01-06"}, []),
    ],
)
def test_limits_leave_out_what_is_older_or_newer(limits, found):
    assert roots(diagnose.run_text(XID, **limits)) == found


def test_a_record_without_a_stamp_has_the_time_of_the_one_before_it():
    undated = XID + "NVRM: Xid (PCI:0000:5e:00): 79, pid=1, GPU has fallen off the bus.\n"
    assert roots(diagnose.run_text(undated, since="2026-01-06")) == []


def test_records_of_which_no_time_is_known_stay_and_are_counted():
    report = diagnose.run_text(XID.partition("] ")[2], since="2027-01-01")
    assert roots(report) == ["resources.gpu-lost"]
    assert any("without a date" in note["what"] for note in report.inputs.truncated)


def test_a_limit_that_is_no_time_is_refused():
    with pytest.raises(UsageError, match="not a time"):
        diagnose.run_text(XID, since="yesterday-ish")


@pytest.mark.parametrize("name", ["empty.log", None])
def test_nothing_at_all_is_no_input(tmp_path, name):
    if name:
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(NoInputError) as caught:
        diagnose.run([tmp_path])
    assert caught.value.report.verdict == "no-evidence"


def test_an_error_that_no_rule_knows_is_a_symptom():
    report = diagnose.run_text("FATAL the tensor shuffler gave up\n")
    assert report.verdict == "symptoms-only"
    assert report.unknown_errors[0].template == "FATAL the tensor shuffler gave up"


def test_an_unknown_error_with_much_after_it_is_not_what_the_job_ended_in():
    text = "ERROR cannot find the optional cache\n" + "quiet\n" * 500
    assert diagnose.run_text(text).unknown_errors == []


def test_limits_hold_for_series_that_share_their_columns():
    lines = [
        f" [2026-01-05 10:{minute:02d}:00] iteration {minute:8d}/     100 | elapsed time per iteration (ms): {6000 + minute}.0"
        f" | learning rate: 3.0E-04 | lm loss: {2.5 - minute / 1000:.6E} | number of skipped iterations:   0 |"
        for minute in range(1, 60)
    ]
    report = diagnose.run_text(
        "\n".join(lines), since="2026-01-05T10:10:00", until="2026-01-05T10:50:00"
    )
    assert report.job.last_progress == {"step": 50, "time": "2026-01-05T10:50:00"}
    assert report.goodput.wall == 40 * 60
