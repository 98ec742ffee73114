"""What an interrupt and a killed worker leave."""

import os
import signal
from pathlib import Path

import pytest

from diagnose import api
from diagnose.ingest.source import Source
from diagnose.model.event import Nature
from diagnose.model.reading import Extent
from diagnose.parsers.base import LineParser, Pattern
from diagnose.parsers.reader import Reader
from diagnose.scanning import local, units
from diagnose.scanning.local import Local
from diagnose.scanning.reading import read_all
from diagnose.scanning.units import read_unit

ALARM = Pattern(
    event="test.alarm",
    regex=r"ALARM (?P<code>\d+)",
    nature=Nature.ERROR,
    source="a test",
    sample="ALARM 7",
    types={"code": int},
)
PARENT = os.getpid()
SAMPLES = Path(__file__).resolve().parents[2] / "samples"


def deadly(event, line):
    """End the worker that reads alarm 13, as the kernel does where memory runs out."""
    if event["code"] == 13 and os.getpid() != PARENT:
        os.kill(os.getpid(), signal.SIGKILL)
    return event


READER = Reader((LineParser(name="alarms", title="Alarms", patterns=(ALARM,), refine=deadly),))


def nobody(name):
    return False


class Interrupted:
    """Reads some units and is interrupted then."""

    def __init__(self, numbers):
        self.numbers = numbers

    def read(self, units, reader, wants):
        for number in self.numbers:
            yield number, read_unit(units[number], reader, wants)
        raise KeyboardInterrupt


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """Three files; the second is read in three chunks."""
    monkeypatch.setattr(units, "CHUNK", 400)
    found = []
    for name, lines in (("a.log", 10), ("b.log", 30), ("c.log", 10)):
        data = b"".join(b"2026-01-02 10:00:%02d ALARM %d\n" % (n, 100 + n) for n in range(lines))
        (tmp_path / name).write_bytes(data)
        found.append(Source(name, str(tmp_path / name), len(data)))
    return found


def partial(sources, numbers):
    return read_all(sources, READER, wants=nobody, engine=Interrupted(numbers), keep_partial=True)[
        0
    ]


def test_what_was_read_before_an_interrupt_is_kept_up_to_the_first_gap(sources):
    reading = partial(sources, [1, 0, 3])
    assert [one.name for one in reading.sources] == ["a.log", "b.log"]
    assert reading.skipped == [{"file": "c.log", "reason": "the reading was interrupted"}]
    assert reading.truncated == [
        {"file": "b.log", "what": "not read to its end: the reading was interrupted", "count": 1}
    ]
    lines = [event.line for event in reading.events if event.file == "b.log"]
    assert lines == list(range(1, len(lines) + 1))
    assert 10 < len(lines) < 20
    assert reading.partial == Extent(
        read=sources[0].size + 800 - 400 + sources[1].size - 800,
        found=sum(source.size for source in sources),
    )


def test_a_file_that_was_not_read_to_its_end_has_no_last_stamp(sources):
    whole, cut = partial(sources, [0, 1]).sources
    assert whole.last_time is not None
    assert cut.last_time is None
    assert cut.first_time is not None


def test_an_interrupt_before_anything_was_read_goes_on(sources):
    with pytest.raises(KeyboardInterrupt):
        partial(sources, [])


def test_a_library_that_did_not_ask_for_a_partial_answer_is_interrupted(sources):
    with pytest.raises(KeyboardInterrupt):
        read_all(sources, READER, wants=nobody, engine=Interrupted([0]))


def report_after(monkeypatch, logs, numbers):
    def read(self, units, reader, wants):
        return Interrupted(numbers(len(units))).read(units, reader, wants)

    monkeypatch.setattr(Local, "read", read)
    return api.run(SAMPLES / logs / "logs", keep_partial=True)


def test_a_partial_report_says_so_and_is_sure_of_nothing(monkeypatch):
    report = report_after(monkeypatch, "comms/ib-port-down", lambda number: range(number - 1))
    assert report.inputs.partial is not None
    assert report.inputs.partial.read < report.inputs.partial.found
    assert report.summary.startswith("Partial, ")
    assert report.findings
    assert max(finding.confidence for finding in report.findings) < 0.6
    assert '"partial": {' in report.to_json()
    assert "interrupted" in report.to_markdown()


def test_a_part_without_a_fault_is_not_called_healthy(monkeypatch):
    report = report_after(
        monkeypatch, "healthy/ranks-of-normal-spread", lambda number: range(number - 1)
    )
    assert report.verdict == "no-evidence"
    assert report.summary.endswith("nothing was found in that part.")


@pytest.fixture
def workers(monkeypatch):
    monkeypatch.setattr(local, "WORTH_WORKERS", 0)
    monkeypatch.setattr(units, "BATCH_UNITS", 4)


def test_a_file_that_kills_its_worker_costs_only_itself(tmp_path, workers):
    found = []
    for number in range(12):
        path = tmp_path / f"{number:02d}.log"
        path.write_text(f"ALARM {number + 8}\n")
        found.append(Source(path.name, str(path), path.stat().st_size))
    reading = read_all(found, READER, wants=nobody, engine=Local(2))[0]
    assert [event["code"] for event in reading.events] == [
        code for code in range(8, 20) if code != 13
    ]
    assert [one["file"] for one in reading.skipped] == ["05.log"]
    assert "killed" in reading.skipped[0]["reason"]
