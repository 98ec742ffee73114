import pytest

from diagnose.facts.attempts import find_attempts
from diagnose.facts.case import build
from diagnose.facts.clock import Clocks
from diagnose.facts.records import Records
from diagnose.model.event import Nature
from diagnose.model.reading import SourceSummary

from .build import event, init, points, reading


def found(read):
    return find_attempts(Records(read))


def restart(line, **fields):
    return event("torchrun.restart", Nature.EFFECT, line=line, fields=fields)


def load(line, name="ckpt.load_end"):
    return event(name, Nature.PROGRESS, line=line)


@pytest.mark.parametrize(
    ("records", "starts"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([restart(10)], [11], id="restart line"),
        pytest.param(
            [event("slurm.cancelled", line=line, fields={"reason": "requeue"}) for line in (10, 11)],
            [11],
            id="requeue of two steps",
        ),
        pytest.param(
            [event("slurm.cancelled", line=10, fields={"reason": "time-limit"})], [], id="time limit"
        ),
        pytest.param(
            [restart(10, left=2), restart(11, left=2), restart(50, left=1)],
            [11, 51],
            id="two agents announce the same restart",
        ),
        pytest.param(
            [init(0, 2, 5, host="node-01", pid=7, gpu="0000:1b:00.0"), restart(10),
             init(0, 2, 20, host="node-01", pid=9, gpu="0000:1b:00.0")],
            [11],
            id="restart line and new processes are one restart",
        ),
        pytest.param(
            [init(rank, 2, line, host="node-01", pid=pid, gpu=f"0000:{rank}b:00.0")
             for rank, line, pid in [(0, 1, 7), (1, 2, 8), (0, 20, 17), (1, 21, 18)]],
            [20],
            id="new processes of all ranks are one restart",
        ),
        pytest.param(
            [init(0, 8, 1, host="node-01", pid=7, gpu="0000:1b:00.0"),
             init(0, 8, 2, host="node-01", pid=7, gpu="0000:1b:00.0", communicator="0xbb")],
            [],
            id="a second communicator of one process",
        ),
        pytest.param(
            [init(0, 2, 1, host="node-01", pid=7, gpu="0000:1b:00.0"),
             init(1, 2, 2, host="node-01", pid=8, gpu="0000:1b:00.0")],
            [],
            id="two ranks on one GPU",
        ),
        pytest.param(
            [points("loss", [3, 2, 3, 2], steps=[100, 110, 101, 111], lines=[1, 2, 30, 31]), load(20)],
            [20],
            id="steps again after a load",
        ),
        pytest.param(
            [points("loss", [3, 2, 3, 2], steps=[1, 2, 1, 2], lines=[1, 2, 30, 31])],
            [],
            id="steps again without a load: an epoch",
        ),
        pytest.param(
            [points("loss", [3, 2, 3, 2], steps=[100, 110, 101, 111], lines=[1, 2, 30, 31]),
             restart(10), load(20)],
            [11],
            id="restart and load are one restart",
        ),
        pytest.param([load(1), points("loss", [3, 2], steps=[100, 110], lines=[2, 3])], [], id="load first"),
    ],
)  # fmt: skip
def test_starts(records, starts):
    attempts = found(reading(*records))
    assert attempts.starts.get("a.log", []) == starts
    assert attempts.total == 1 + len(starts)


def test_line_of_the_restart_belongs_to_the_old_attempt():
    attempts = found(reading(restart(10)))
    assert [attempts.at("a.log", line) for line in (9, 10, 11, 12)] == [0, 0, 1, 1]


def test_path_states_the_attempt():
    source = SourceSummary(name="attempt_2/0/stderr.log", attempt=2)
    attempts = found(reading(event(file=source.name, attempt=2), sources=[source]))
    assert attempts.at(source.name, 1) == 2
    assert attempts.total == 3


def test_a_second_pass_changes_nothing():
    source = SourceSummary(name="a.log")
    records = reading(restart(10), event(line=20), sources=[source])
    for _ in range(2):
        attempts = found(records)
        for one in records.events:
            one.attempt = attempts.at(one.file, one.line, one.attempt)
    assert [one.attempt for one in records.events] == [0, 1]


def concatenated(*processes):
    """Init lines of ranks whose logs stand one behind the other, ten lines a process."""
    return [
        init(rank, 2, 10 * at + 1, host="node-01", pid=pid, gpu=f"0000:{rank}b:00.0")
        for at, (rank, pid) in enumerate(processes)
    ]


def test_logs_one_behind_the_other_count_their_attempts_each():
    attempts = found(reading(*concatenated((0, 7), (0, 17), (1, 8), (1, 18)), restart(90)))
    assert [attempts.at("a.log", line) for line in (5, 15, 25, 35, 90, 95)] == [0, 1, 0, 1, 0, 1]
    assert attempts.total == 2
    assert len(attempts.longest("a.log")) == 1


def test_a_host_that_joined_at_a_restart_was_not_there_before():
    old = concatenated((0, 7), (0, 17), (0, 27))
    new = [init(1, 2, line, host="node-09", pid=pid, gpu="0000:1b:00.0")
           for line, pid in ((12, 50), (22, 60))]  # fmt: skip
    attempts = found(reading(*old, *new))
    assert [attempts.at("a.log", line) for line in (5, 15, 25)] == [0, 1, 2]


def test_a_series_falls_into_its_attempts():
    known = reading(restart(10, left=2), restart(50, left=1))
    attempts = found(known)
    series = points("loss", [1.0] * 6, lines=[2, 9, 11, 40, 60, 61])
    assert attempts.spans(series) == [(0, 0, 2), (1, 2, 4), (2, 4, 6)]
    assert attempts.spans(points("loss", [1.0, 1.0], lines=[20, 21])) == [(1, 0, 2)]
    assert attempts.spans(points("loss", [], lines=[])) == []


def test_restarts_of_one_file_are_carried_to_another_in_one_pass(monkeypatch):
    asked = []
    difference = Clocks.difference

    def counted(clocks, first, second):
        asked.append(first)
        return difference(clocks, first, second)

    monkeypatch.setattr(Clocks, "difference", counted)
    numbers = range(1, 101)
    restarts = [
        event("torchrun.restart", Nature.EFFECT, line=10 * i, time=100.0 * i, fields={"left": -i})
        for i in numbers
    ]
    begun = [event("train.started", line=10 * i + 1, time=100.0 * i) for i in numbers]
    others = [event("ckpt.found", file="b.log", line=i, time=100.0 * i + 50) for i in (0, *numbers)]
    case = build(reading(*restarts, *begun, *others))
    assert [one.attempt for one in case.named("ckpt.found")] == [0, *numbers]
    assert len(asked) < 4 * len(restarts)
