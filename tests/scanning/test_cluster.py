"""The engine of a Dask cluster: what it reads, and what it says where it cannot."""

import json
import os
import pickle
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from distributed import LocalCluster

import diagnose
from diagnose.cli import main
from diagnose.engine.load import load_rules, rule_parsers
from diagnose.errors import ClusterError, UsageError
from diagnose.ingest.source import Source
from diagnose.model.event import Nature
from diagnose.parsers.base import LineParser, Pattern
from diagnose.parsers.reader import Reader
from diagnose.scanning import units
from diagnose.scanning.cluster import connect, meet, work, worker
from diagnose.scanning.cluster.engine import Dask
from diagnose.scanning.cluster.release import Release, release
from diagnose.scanning.local import Local
from diagnose.scanning.reading import read_all
from diagnose.scanning.units import Unit

ROOT = Path(__file__).resolve().parent.parent.parent
SAMPLE = ROOT / "samples/comms/ib-port-down/logs"
FOLDERS = [
    SAMPLE,
    ROOT / "samples/dataflow/checkpoint-truncated/logs",
    ROOT / "samples/healthy/tools-of-two-hosts/logs",
]


def nothing(name):
    return False


def deadly(event, line):
    """Kill the process that reads the line, the first time or each time."""
    flag = Path(event["flag"])
    if event["code"] == "always" or not flag.exists():
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return event


ALARM = Pattern(
    event="test.alarm",
    regex=r"ALARM (?P<code>\w+) (?P<flag>\S+)",
    nature=Nature.ERROR,
    source="a test",
    sample="ALARM once /tmp/flag",
)
READER = Reader([LineParser(name="alarms", title="Alarms", patterns=(ALARM,))])
DEADLY = Reader([LineParser(name="alarms", title="Alarms", patterns=(ALARM,), refine=deadly)])


@pytest.fixture(scope="module")
def scheduler():
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        silence_logs=connect.SILENT,
        scheduler_kwargs=connect.LOCAL,
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def many_batches(monkeypatch):
    """Small chunks, each a batch, of which few are handed over at once."""
    monkeypatch.setattr(units, "CHUNK", 2000)
    monkeypatch.setattr(units, "BATCH_BYTES", 1000)
    monkeypatch.setattr(work, "FEWEST_BATCHES", 1)
    monkeypatch.setattr(work, "BATCHES_A_THREAD", 1)


def sources_in(folder, **texts):
    found = []
    for name, text in texts.items():
        path = folder / f"{name}.log"
        path.write_text(text)
        found.append(Source(path.name, str(path), path.stat().st_size))
    return found


def read(sources, engine, reader=READER, **options):
    return read_all(sources, reader, wants=nothing, engine=engine, **options)[0]


def refusal(*arguments):
    result = CliRunner().invoke(main, [str(SAMPLE), "--quiet", *arguments])
    assert (result.exit_code, result.stdout) == (2, "")
    return result.stderr


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.parent.name)
def test_the_report_is_the_one_of_a_single_machine(folder, scheduler, many_batches):
    here = diagnose.run(folder, jobs=1)
    assert diagnose.run(folder, engine="dask", scheduler=scheduler).to_json() == here.to_json()


def test_the_command_line_starts_workers_on_this_machine(monkeypatch):
    monkeypatch.chdir(SAMPLE.parent)
    call = [SAMPLE.name, "--format", "json", "--jobs", "1"]
    here = CliRunner().invoke(main, call)
    there = CliRunner().invoke(main, call, env={"DIAGNOSE_ENGINE": "dask"})
    assert (there.exit_code, there.stdout, there.stderr) == (1, here.stdout, "")


def test_a_scheduler_is_known_by_its_file_or_by_the_settings_of_dask(
    scheduler, tmp_path, monkeypatch
):
    file = tmp_path / "scheduler.json"
    file.write_text(json.dumps({"address": scheduler}))
    assert connect._address_in(file) == scheduler
    monkeypatch.setattr(connect, "_local", None)
    with connect.dask.config.set({"scheduler-address": scheduler}):
        report = diagnose.run(SAMPLE, engine="dask")
    assert report.verdict == "root-cause"


RULE = r"""
id: cache-lease-revoked
role: context
title: "Lease {{ event.lease }} was revoked by {{ event.owner }}"
cause: dataflow.storage-error
level: low
match:
  regex: 'lease (?P<lease>\d+) revoked by (?P<owner>[\w-]+)'
  capture: {lease: int, owner: host}
tests:
  - {name: revoked, logs: {a.log: lease 4711 revoked by node-09}, expect: {fires: true}}
  - {name: renewed, logs: {a.log: lease 4711 renewed by node-09}, expect: {fires: false}}
"""


def test_rules_that_lie_on_this_machine_alone_find_their_lines(scheduler, tmp_path):
    rules = tmp_path / "ours"
    rules.mkdir()
    (rules / "cache-lease-revoked.yaml").write_text(RULE)
    log = tmp_path / "rank3.log"
    log.write_text("lease 4711 revoked by node-09\n")
    here = diagnose.run(log, rules=[rules], jobs=1)
    there = diagnose.run(log, rules=[rules], engine="dask", scheduler=scheduler)
    assert [finding.title for finding in here.findings] == ["Lease 4711 was revoked by node-09"]
    assert there.to_json() == here.to_json()


def test_the_text_selections_of_all_rules_can_be_sent():
    selections = rule_parsers(load_rules())
    for selection in selections:
        assert all(pattern.compiled for pattern in selection.patterns)
    sent = worker.order(Reader(selections), nothing).selections
    arrived = pickle.loads(sent)
    assert [one.refine for one in arrived] == [one.refine for one in selections]
    assert Reader(arrived).matcher.literals == Reader(selections).matcher.literals
    assert len(sent) < 1000 * len(selections)


def test_a_lost_worker_costs_nothing_but_time_and_is_told(scheduler, tmp_path, many_batches):
    flag = tmp_path / "flag"
    sources = sources_in(tmp_path, a="quiet\n" * 2000, b=f"ALARM once {flag}\n", c="quiet\n")
    here = read(sources, Local(1))
    told, progress = [], []
    there = read(
        sources,
        Dask(scheduler, warn=told.append),
        DEADLY,
        progress=lambda done, total: progress.append((done, total)),
    )
    assert there == here
    assert len(told) == 1
    assert told[0].startswith("lost the worker tcp://127.0.0.1:")
    assert progress[-1][0] == progress[-1][1]


def test_a_file_that_kills_each_worker_is_skipped_and_its_neighbours_are_read(scheduler, tmp_path):
    sources = sources_in(
        tmp_path, a="ALARM never /\n", b=f"ALARM always {tmp_path}/flag\n", c="quiet\n"
    )
    (tmp_path / "a.log").write_text("quiet .......\n")
    reading = read(sources, Dask(scheduler), DEADLY)
    assert [source.name for source in reading.sources] == ["a.log", "c.log"]
    assert reading.skipped == [{"file": "b.log", "reason": work.KILLED}]


def test_an_interrupt_keeps_what_was_read(scheduler, tmp_path, many_batches):
    sources = sources_in(tmp_path, a="ALARM 1 /\n" * 2000)

    def interrupt(done, total):
        raise KeyboardInterrupt

    engine = Dask(scheduler)
    reading = read(sources, engine, progress=interrupt, keep_partial=True)
    assert 0 < reading.partial.read < reading.partial.found
    assert read(sources, engine) == read(sources, Local(1))


@pytest.fixture
def passing():
    """A cluster in this process, which a test may end."""
    with LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        silence_logs=connect.SILENT,
        scheduler_kwargs=connect.LOCAL,
    ) as cluster:
        yield cluster


def test_a_scheduler_that_ends_ends_the_run(passing, tmp_path, many_batches):
    sources = sources_in(tmp_path, a="quiet\n" * 5000)
    with pytest.raises(ClusterError, match="connection to the Dask scheduler was lost"):
        read(sources, Dask(passing.scheduler_address), progress=lambda *_: passing.close())


def test_a_cluster_that_loses_all_workers_is_not_waited_for_in_vain(
    passing, tmp_path, many_batches, monkeypatch
):
    def all_leave(done, total):
        monkeypatch.setattr(work, "SILENCE", 0.2)
        monkeypatch.setattr(meet, "PATIENCE", 0.2)
        passing.scale(0)
        while passing.scheduler.workers:
            time.sleep(0.01)

    monkeypatch.setattr(work, "SILENCE", 2.0)
    sources = sources_in(tmp_path, a="quiet\n" * 5000)
    with pytest.raises(ClusterError, match="has had no worker"):
        read(sources, Dask(passing.scheduler_address), progress=all_leave)


def test_a_result_that_came_counts_though_its_worker_has_left():
    done = worker.Done("node-07", [])
    assert work.outcome(SimpleNamespace(status="lost"), done) is done
    with pytest.raises(ClusterError, match="scheduler was lost"):
        work.outcome(SimpleNamespace(status="lost"), None)


def test_workers_that_do_not_start_are_no_traceback(monkeypatch):
    def broken(**options):
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr(connect, "LocalCluster", broken)
    monkeypatch.delenv("DASK_SCHEDULER_ADDRESS", raising=False)
    assert refusal("--engine", "dask").startswith(
        "Error: workers cannot be started on this machine"
    )


def test_what_is_held_in_memory_needs_no_cluster():
    data = b"ALARM 1 /\n"
    units = [Unit(Source("paste", None, len(data), data=data))]
    [(number, [part])] = Dask("127.0.0.1:1").read(units, READER, nothing)
    assert (number, len(part.records)) == (0, 1)


def test_each_thread_of_a_worker_makes_a_reader_of_its_own_once():
    order = worker.order(READER, nothing)
    both = Barrier(2)

    def readers(_):
        both.wait()
        return worker.reader_of(order), worker.reader_of(order)

    with ThreadPoolExecutor(2) as pool:
        (first, again), (other, _) = pool.map(readers, range(2))
    assert first is again
    assert first is not other


@pytest.mark.parametrize(
    "place", ["127.0.0.1:1", "tcp://127.0.0.1:1", "tls://127.0.0.1:1", "x://y"]
)
def test_a_scheduler_that_does_not_answer_is_named(place, monkeypatch):
    monkeypatch.setattr(connect, "ANSWER", 0.2)
    said = refusal("--engine", "dask", "--scheduler", place)
    assert said.startswith(f"Error: the Dask scheduler at {place} does not answer: ")


@pytest.mark.parametrize("place", ["tcp://10.0.0.1", "tcp://10.0.0.1:port", "x://10.0.0.1:1"])
def test_an_address_that_cannot_be_one_is_refused_without_a_try(place, monkeypatch):
    monkeypatch.delattr(connect, "Client")
    said = refusal("--engine", "dask", "--scheduler", place)
    assert said.startswith(f"Error: the Dask scheduler at {place} does not answer: ")


def test_a_scheduler_file_that_nobody_wrote_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(connect, "ANSWER", 0.2)
    said = refusal("--engine", "dask", "--scheduler", f"{tmp_path}/scheduler.json")
    assert said.startswith(f"Error: {tmp_path}/scheduler.json is neither the address of")


def test_a_scheduler_without_workers_is_not_waited_for_in_vain(monkeypatch):
    monkeypatch.setattr(meet, "PATIENCE", 0.2)
    with (
        LocalCluster(
            n_workers=0, silence_logs=connect.SILENT, scheduler_kwargs=connect.LOCAL
        ) as no,
        pytest.raises(ClusterError, match="has had no worker for"),
    ):
        diagnose.run(SAMPLE, engine="dask", scheduler=no.scheduler_address)


def test_without_the_package_it_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("diagnose.scanning.cluster.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert "pip install 'diagnose-ai[cluster]'" in refusal("--engine", "dask")


def test_a_scheduler_without_the_engine_is_a_mistake(monkeypatch):
    assert refusal("--scheduler", "x:1") == "Error: --scheduler goes with --engine dask\n"
    with pytest.raises(UsageError, match="no engine 'spark'"):
        diagnose.run(SAMPLE, engine="spark")


def test_workers_of_another_release_are_refused(scheduler, tmp_path, monkeypatch):
    monkeypatch.setattr(worker, "release", lambda: Release("9.9", "0123456789"))
    with pytest.raises(ClusterError) as refused:
        read(sources_in(tmp_path, a="quiet\n"), Dask(scheduler))
    assert f"has {release()}, but this machine diagnose 9.9 (files 01234567)" in str(refused.value)


def test_a_scheduler_without_this_program_is_refused(passing, tmp_path, monkeypatch):
    def missing():
        raise ModuleNotFoundError("No module named 'diagnose'")

    monkeypatch.setattr(meet, "release", missing)
    with pytest.raises(ClusterError, match="the scheduler cannot run diagnose"):
        read(sources_in(tmp_path, a="quiet\n"), Dask(passing.scheduler_address))


def test_a_worker_of_another_release_that_comes_late_is_refused(tmp_path):
    late = worker.Order(Release("9.9", "0123456789"), b"", nothing)
    with pytest.raises(ClusterError, match="this machine diagnose 9.9"):
        worker.fill(late, [])


@pytest.fixture
def seen_here_alone():
    """A file that is there for this process alone."""
    path = Path(f"/proc/thread-self/../{os.getpid()}/comm")
    if not path.is_file():
        pytest.skip("needs the /proc of Linux")
    return Source("rank0.log", str(path), 4)


def test_a_folder_that_workers_do_not_see_is_named_before_anything_is_read(
    scheduler, seen_here_alone
):
    with pytest.raises(ClusterError, match="does not see /proc/.*not shared with the workers"):
        read([seen_here_alone], Dask(scheduler))


def test_a_file_that_its_worker_does_not_see_is_skipped_with_the_machine(
    scheduler, seen_here_alone, monkeypatch
):
    monkeypatch.setattr(meet, "FOLDERS", 0)
    [skipped] = read([seen_here_alone], Dask(scheduler)).skipped
    assert skipped["reason"].endswith(", which was to read it, does not see it")
