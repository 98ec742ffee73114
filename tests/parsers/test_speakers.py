"""Which ranks write into a file that holds several."""

import io

import pytest

import diagnose
from diagnose.ingest.envelope import NOBODY
from diagnose.ingest.pieces import Pieces
from diagnose.ingest.sniff import identity
from diagnose.parsers.speakers import SAMPLE, Speakers

SAYS = "2026-03-02 10:50:00,000 INFO all is well\n"
TIMEOUT = "[rank{r}]:[E302 11:10:05.432379535 ProcessGroupNCCL.cpp:607] [Rank {r}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600060 milliseconds before timing out.\n"  # fmt: skip


def ranks(text, name="job.log"):
    who = identity(name) if name != "job.log" else NOBODY
    speakers = Speakers(name, who)
    for _ in speakers.listen(Pieces(io.BytesIO(text.encode()))):
        pass
    return sorted(speakers.ranks)


@pytest.mark.parametrize(
    "prefix",
    ["[rank{r}]: ", "[rank{r}]:", "{r}: ", "[1,{r}]<stdout>:", "[12345,{r}]<stderr>:",
     "2026-03-02T10:50:00.000Z stderr F [rank{r}]: "],
)  # fmt: skip
def test_ranks_by_prefix(prefix):
    text = "".join(prefix.format(r=r) + SAYS for r in (0, 3, 11))
    assert ranks(text) == [0, 3, 11]


@pytest.mark.parametrize(
    "text",
    [
        "[default0]: " + SAYS + "[default3]: " + SAYS,
        "2: ens1: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000\n",
        "see [rank3] in the list of hosts\n",
        SAYS,
        "",
    ],
    ids=["local ranks", "interfaces", "a mention", "no prefix", "nothing"],
)
def test_what_is_no_global_rank(text):
    assert ranks(text) == []


def test_a_file_of_one_rank_has_no_others():
    assert ranks("[rank3]: " + SAYS, name="rank0.log") == []


def test_behind_the_sample_of_a_file_without_ranks_nothing_is_looked_for():
    quiet = SAYS * (SAMPLE // len(SAYS) + 1)
    assert ranks(quiet + "[rank3]: " + SAYS) == []


def test_the_first_piece_of_a_merged_file_is_heard_whole():
    quiet = ("[rank0]: " + SAYS) * (SAMPLE // len(SAYS) + 1)
    assert ranks(quiet + "[rank3]: " + SAYS) == [0, 3]


@pytest.mark.parametrize("prefix", ["[rank{r}]: ", "{r}: "])
def test_a_rank_of_a_merged_file_that_only_works_is_not_missing(tmp_path, prefix):
    world = "[default] Rendezvous complete for workers. Result:\n  global_world_sizes=[8, 8]\n"
    lines = [prefix.format(r=r) + SAYS for r in range(7)]
    (tmp_path / "job.log").write_text(world + "".join(lines) + TIMEOUT.format(r=0))
    report = diagnose.run([tmp_path])
    assert (report.job.ranks_seen, report.job.ranks_missing) == (7, [7])


def test_the_last_stamp_of_each_rank_is_kept():
    text = "[rank0]: 2026-03-02 10:50:00 a\n[rank1]: 2026-03-02 10:50:00 a\n[rank0]: 2026-03-02 10:51:00 b\n[rank2]: c\n"
    speakers = Speakers("job.log", NOBODY)
    for _ in speakers.listen(Pieces(io.BytesIO(text.encode()))):
        pass
    times = speakers.ranks
    assert (times[0] - times[1], times[2]) == (60, None)


def test_a_rank_of_a_merged_file_that_goes_on_while_others_wait(tmp_path):
    lines = [
        "[rank{r}]: 2026-03-02 10:50:00,000 INFO step 1\n".replace("{r}", str(r)) for r in range(8)
    ]
    lines += [TIMEOUT.format(r=r) for r in range(8) if r != 5]
    lines.append("[rank5]: 2026-03-02 11:10:30,000 INFO tokenising\n")
    (tmp_path / "job.log").write_text("".join(lines))
    (root,) = (one for one in diagnose.run([tmp_path]).findings if one.role == "root")
    assert (root.cause, root.culprit.ranks) == ("comms.rank-missing", [5])
