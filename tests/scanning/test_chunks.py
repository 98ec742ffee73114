"""A file in chunks gives exactly what it gives in one go, wherever they are cut."""

import gzip
import io
import tarfile
from pathlib import Path

import pytest
from cut_texts import NESTED, STEPS, TEXTS, oom, woven
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diagnose import api
from diagnose.ingest import pieces
from diagnose.ingest.discover import discover
from diagnose.ingest.source import Source
from diagnose.scanning import local, reading, units
from diagnose.scanning.local import Local
from diagnose.scanning.units import Unit

READER = api.load_knowledge().reader
SAMPLES = sorted((Path(__file__).parents[2] / "samples").glob("*/*/logs"))
IN_ONE = 1 << 40
SUMMED_UP = {"NCCL", "iterations", "records", "redrawn bars", "under headings"}
"""Of these a bulk parser sums up each piece, or the first one decides whether headings count."""


def read(sources, *, piece=1 << 20, chunk=IN_ONE, jobs=1):
    """Return what sources give, as text: NaN equals nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "PIECE", piece)
        patch.setattr(units, "CHUNK", chunk)
        patch.setattr(local, "WORTH_WORKERS", 0)
        read, _ = reading.read_all(sources, READER, wants=lambda name: False, engine=Local(jobs))
    return repr(read)


def source(folder, data, name="a.log"):
    path = folder / name
    path.write_bytes(data)
    return [Source(name, str(path), len(data))]


@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize("piece", [150, 211, 347, 640])
@pytest.mark.parametrize("text", TEXTS)
def test_chunks_of_whole_pieces_give_what_the_whole_gives(text, piece, pieces, tmp_path):
    whole = source(tmp_path, TEXTS[text])
    assert read(whole, piece=piece, chunk=pieces * piece) == read(whole, piece=piece)


@pytest.mark.parametrize("text", sorted(TEXTS.keys() - SUMMED_UP))
def test_two_chunks_cut_anywhere_give_what_the_whole_gives(text, tmp_path, monkeypatch):
    whole = source(tmp_path, TEXTS[text])
    wanted = read(whole)
    for cut in range(1, len(TEXTS[text]), 97):
        halves = [Unit(whole[0], 0, cut), Unit(whole[0], cut, whole[0].size)]
        monkeypatch.setattr(reading, "units_of", lambda source, reader, halves=halves: halves)
        assert read(whole) == wanted


@given(
    st.lists(st.sampled_from(list(TEXTS)), min_size=1, max_size=3),
    st.integers(0, 200),
    st.integers(120, 900),
    st.integers(1, 4),
)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_texts_behind_one_another_in_any_pieces(tmp_path, texts, left_out, piece, pieces):
    whole = source(tmp_path, b"".join(TEXTS[text] for text in texts)[left_out:])
    assert read(whole, piece=piece, chunk=pieces * piece) == read(whole, piece=piece)


def test_workers_give_what_one_process_gives(tmp_path):
    whole = source(tmp_path, STEPS + woven(oom(0), oom(1), oom(2)) * 20 + NESTED * 20)
    assert read(whole, piece=500, chunk=1000, jobs=2) == read(whole, piece=500)


def test_packed_files_give_what_a_plain_one_in_chunks_gives(tmp_path):
    data = STEPS + woven(oom(0), oom(1), oom(2)) * 20 + NESTED * 20
    plain = read(source(tmp_path, data, "a.log"), piece=500, chunk=1000)
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(data))
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        entry = tarfile.TarInfo("a.log")
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    for name, shown in (("a.log.gz", "a.log.gz"), ("a.tar", "a.tar!a.log")):
        sources = discover([str(tmp_path / name)]).sources
        packed = read(sources, piece=500).replace(f"{tmp_path}/", "").replace(shown, "a.log")
        assert packed == plain


@pytest.mark.parametrize("order", [1, -1])
def test_members_of_an_archive_come_in_the_order_of_names(order, tmp_path):
    logs = Path(__file__).parents[2] / "samples/comms/ib-port-down/logs"
    names = sorted(path.name for path in logs.iterdir())
    with tarfile.open(tmp_path / "logs.tar", "w") as archive:
        for name in names[::order]:
            archive.add(logs / name, name)
    packed = api.run([str(tmp_path / "logs.tar")]).to_json()
    assert packed.replace("logs.tar!", "") == api.run([str(logs)]).to_json()


def test_only_a_chunk_in_which_a_record_goes_on_with_a_record_is_read_again(tmp_path, monkeypatch):
    again = []
    original = reading.read_unit

    def counted(unit, *rest):
        if unit.begun:
            again.append(unit.start)
        return original(unit, *rest)

    monkeypatch.setattr(reading, "read_unit", counted)
    quiet = b"2026-01-02 10:00:00 nothing\n" * 40
    where = len(quiet) + NESTED.index(b"During")
    read(source(tmp_path, quiet + NESTED + quiet), piece=where, chunk=where)
    assert again == [where]
    again.clear()
    where = len(quiet) + NESTED.index(b"    fetch")
    read(source(tmp_path, quiet + NESTED[:90] + quiet), piece=where, chunk=where)
    assert again == []


def test_a_large_file_of_records_is_read_as_a_whole_by_its_parser(tmp_path):
    data = b"step,loss,lr\n" + b"".join(b"%d,%.3f,0.1\n" % (n, 3 - n / 900) for n in range(900))
    whole = source(tmp_path, data, "metrics.csv")
    cut = read(whole, piece=1000, chunk=1000)
    assert "metric='loss'" in cut
    assert cut == read(whole, piece=1000)


@pytest.mark.parametrize("logs", SAMPLES[::9], ids=lambda logs: logs.parent.name)
def test_samples_in_chunks(logs):
    sources = discover([str(logs)]).sources
    assert read(sources, piece=2048, chunk=4096) == read(sources, piece=2048)
