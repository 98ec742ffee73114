import pytest

from diagnose.facts.case import build
from diagnose.model.event import Nature

from .build import event, init, reading

START = 1_789_000_000.0


def ends(*, boot, own=None, others=START + 900, host="node-07"):
    """Return ``after_start`` and ``silence`` of a boot, as seconds of three clocks' logs."""
    records = [
        init(0, 2, file="rank0.log", host="node-01", pid=11, rank=0, time=START),
        init(1, 2, file="rank1.log", host="node-07", pid=12, rank=1, time=START + 1),
        event(file="rank0.log", line=9, host="node-01", pid=11, rank=0, time=others),
    ]
    if own is not None:
        records.append(
            event("log.error", file="rank1.log", line=9, host="node-07", pid=12, rank=1, time=own)
        )
    found = event(
        "host.boot", Nature.ERROR, "messages", host=host, time=boot, fields={"role": "root"}
    )
    build(reading(*records, found))
    return found.fields["after_start"], found.fields["silence"]


@pytest.mark.parametrize(
    ("boot", "own", "after", "silence"),
    [
        (START + 700, START + 300, 700, 400),
        (START - 5000, START + 300, -5000, -5300),
        (START + 700, START + 850, 700, -150),
    ],
)
def test_a_boot_lies_between_the_start_and_the_last_line_of_its_host(boot, own, after, silence):
    assert ends(boot=boot, own=own) == (pytest.approx(after, abs=1), pytest.approx(silence, abs=1))


def test_without_a_log_of_its_host_the_others_count():
    assert ends(boot=START + 700, host="node-09")[1] == 0
    assert ends(boot=START + 1500, host="node-09")[1] == pytest.approx(600, abs=1)


def test_a_boot_without_a_stamp_says_nothing():
    assert ends(boot=None) == (None, None)
