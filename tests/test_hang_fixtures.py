"""Three hangs of 256 ranks get one answer each, however their logs are delivered."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache

import pytest
from joblog import book, delivery
from joblog.job import Job
from scenarios import waits

from diagnose import api

WORLD = Job(world=256, start=datetime(2026, 5, 4, 9, 0, 0), torch="2.6", nccl="2.21.5")


@dataclass(frozen=True)
class Hang:
    """One hang: what happened, and what has to come out."""

    story: Callable[[Job], book.Book]
    culprit: int | None
    cause: str = "comms.timeout-unexplained"

    @cache  # noqa: B019
    def book(self, host: str = "", ahead: float = 0.0) -> book.Book:
        return self.story(replace(WORLD, offsets={host: ahead}))

    @property
    def suspects(self) -> list[int]:
        """The ranks whose logs the alterations put in odd places."""
        return [137 if self.culprit is None else self.culprit]


NEVER_ENTERED = Hang(lambda job: waits.never_entered(job, 137), 137, "comms.rank-missing")
OUT_OF_MEMORY = Hang(
    lambda job: waits.out_of_memory_long_before(job, 77), 77, "resources.gpu-oom-capacity"
)
EVERYBODY = Hang(waits.everybody_waits, None)
HANGS = {"one never entered": NEVER_ENTERED, "out of memory": OUT_OF_MEMORY, "all": EVERYBODY}


def clock_off(seconds: float, of_the_culprit: bool = True):
    def files(hang: Hang) -> book.Files:
        host = WORLD.host(hang.suspects[0]) if of_the_culprit else "node-03"
        return book.by_rank(hang.book(host, seconds))

    return files


def of(change: Callable[[book.Book], book.Files]):
    return lambda hang: change(hang.book())


def files_as(change: Callable[[book.Files], book.Files]):
    return lambda hang: change(book.by_rank(hang.book()))


DELIVERIES = {
    "a file for each rank": of(book.by_rank),
    "a file for each host": of(book.by_host),
    "the folders of torchrun": of(book.by_worker),
    "one file, rank behind rank": of(delivery.merged),
    "one file, as the lines came": of(delivery.in_order_of_arrival),
    "the culprit first": lambda hang: delivery.merged(hang.book(), first=hang.suspects),
    "the culprit last": lambda hang: delivery.merged(hang.book(), last=hang.suspects),
    "names that say nothing": of(delivery.renamed),
    "labels of srun": of(delivery.srun_labels),
    "prefixes of torchrun": of(delivery.torchrun_tee),
    "prefixes of kubectl": of(delivery.kubectl),
    "JSON of Docker": of(delivery.docker_json),
    "compressed": files_as(delivery.gzipped),
    "carriage returns": files_as(delivery.with_carriage_returns),
    "colour": files_as(delivery.coloured),
    "the culprit's clock 90 s ahead": clock_off(90),
    "the culprit's clock 90 s behind": clock_off(-90),
    "another clock 90 s behind": clock_off(-90, of_the_culprit=False),
    "the culprit in another zone": clock_off(7 * 3600),
    "another host in another zone": clock_off(-9 * 3600, of_the_culprit=False),
    "a quarter is missing": lambda hang: delivery.without_a_quarter(hang.book(), hang.suspects),
}


def judged(files: book.Files, folder) -> api.Report:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return api.run([folder])


def roots(report: api.Report) -> list:
    return [finding for finding in report.findings if finding.role == "root"]


@pytest.mark.parametrize("name", DELIVERIES)
@pytest.mark.parametrize("hang", [NEVER_ENTERED, OUT_OF_MEMORY], ids=["entered", "memory"])
def test_the_culprit_is_named_however_the_logs_come(hang, name, tmp_path):
    report = judged(DELIVERIES[name](hang), tmp_path)
    assert report.verdict == "root-cause"
    [root] = roots(report)
    assert (root.cause, root.culprit.ranks) == (hang.cause, [hang.culprit])
    assert root.culprit.hosts in ([WORLD.host(hang.culprit)], [])
    assert root.confidence >= 0.6


@pytest.mark.parametrize("name", DELIVERIES)
def test_nobody_is_named_where_all_wait_alike(name, tmp_path):
    report = judged(DELIVERIES[name](EVERYBODY), tmp_path)
    assert report.verdict == "symptoms-only"
    [root] = roots(report)
    assert root.cause == EVERYBODY.cause
    assert (root.culprit.ranks, root.culprit.hosts) == ([], [])
    assert root.confidence < 0.6


@pytest.mark.parametrize("hang", [NEVER_ENTERED, OUT_OF_MEMORY], ids=["entered", "memory"])
def test_without_the_culprits_log_the_report_says_whose_is_missing(hang, tmp_path):
    report = judged(delivery.without(hang.book(), [hang.culprit]), tmp_path)
    assert report.verdict == "symptoms-only"
    assert report.job.ranks_missing == [hang.culprit]
    [root] = roots(report)
    assert root.culprit.ranks in ([], [hang.culprit])
    assert any(f"rank {hang.culprit}" in text for text in root.missing_evidence)


@pytest.mark.parametrize("hang", HANGS.values(), ids=HANGS)
def test_one_waiting_rank_alone_blames_nobody(hang, tmp_path):
    files = book.by_rank(hang.book())
    report = judged({"rank0.log": files["rank0.log"]}, tmp_path)
    assert report.verdict == "symptoms-only"
    assert all(root.culprit.ranks == [] for root in roots(report))
