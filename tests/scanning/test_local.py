"""Sources through the engine of this machine: chunks, worker processes, what cannot be read."""

from diagnose.ingest import pieces
from diagnose.ingest.source import Source
from diagnose.model.event import Nature
from diagnose.parsers.base import LineParser, Pattern
from diagnose.parsers.reader import Reader
from diagnose.scanning import local, units
from diagnose.scanning.local import Local
from diagnose.scanning.reading import read_all

ALARM = Pattern(
    event="test.alarm",
    regex=r"ALARM (?P<code>\d+)",
    nature=Nature.ERROR,
    source="a test",
    sample="ALARM 7",
    types={"code": int},
)
READER = Reader((LineParser(name="alarms", title="Alarms", patterns=(ALARM,)),))

DATA = b"".join(b"2026-01-02 10:00:%02d ALARM %d\n" % (n % 60, n) for n in range(500))


def sources_in(tmp_path):
    (tmp_path / "a.log").write_bytes(DATA)
    (tmp_path / "b.log").write_bytes(b"quiet\n" * 10)
    return [
        Source(name, str(tmp_path / name), (tmp_path / name).stat().st_size)
        for name in ("a.log", "b.log")
    ]


def read(sources, **options):
    return read_all(sources, READER, wants=lambda name: False, **options)[0]


def test_worker_processes_and_chunks_give_what_one_process_gives(tmp_path, monkeypatch):
    sources = sources_in(tmp_path)
    alone = read(sources, engine=Local(1))
    monkeypatch.setattr(pieces, "PIECE", 500)
    monkeypatch.setattr(units, "CHUNK", 1000)
    monkeypatch.setattr(local, "WORTH_WORKERS", 0)
    shared = read(sources, engine=Local(2))
    assert shared == alone
    assert [(source.name, source.lines) for source in shared.sources] == [
        ("a.log", 500),
        ("b.log", 10),
    ]


def test_progress_ends_at_the_total(tmp_path):
    told = []
    read(sources_in(tmp_path), engine=Local(1), progress=lambda done, all: told.append((done, all)))
    assert (
        told[-1][0] == told[-1][1] == sum((tmp_path / n).stat().st_size for n in ("a.log", "b.log"))
    )


def test_one_bad_source_never_ends_a_run(tmp_path):
    sources = [Source("gone.log", str(tmp_path / "gone.log"), 10), *sources_in(tmp_path)]
    reading = read(sources, engine=Local(1))
    assert [source.name for source in reading.sources] == ["a.log", "b.log"]
    assert reading.skipped == [{"file": "gone.log", "reason": "vanished since it was found"}]


def test_a_file_that_grows_is_read_to_where_it_was_found(tmp_path):
    sources = sources_in(tmp_path)
    with (tmp_path / "a.log").open("ab") as file:
        file.write(b"ALARM 9999\n")
    assert all(event["code"] != 9999 for event in read(sources, engine=Local(1)).events)
