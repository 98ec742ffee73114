import pytest

from diagnose.facts.case import build
from diagnose.ingest.stamp import parse_stamp

from .build import event, points, reading

LAST = parse_stamp("2026-09-14 04:00:00")[0]


@pytest.mark.parametrize(
    ("at", "stalled"),
    [
        ("2026-09-14T04:00:20", 20),
        ("2026-09-14T07:00:00", 3 * 3600),
        ("2026-09-14T03:59:00", 0),
        ("later", None),
        (None, None),
    ],
)
def test_an_end_says_how_long_the_job_had_stood_still(at, stalled):
    end = event("slurm.cancelled", file="slurm.out", fields={"at": at, "reason": "time-limit"})
    started = event("log.error", time=LAST - 20, rank=0)
    steps = points("step_time", [2.0, 2.0], times=[LAST - 10, LAST], rank=0)
    found = reading(started, end)
    found.points.append(steps)
    build(found)
    assert end.fields["stalled"] == stalled


def test_without_steps_nothing_is_known():
    end = event("slurm.cancelled", fields={"at": "2026-09-14T04:00:20", "reason": "time-limit"})
    build(reading(end))
    assert end.fields["stalled"] is None
