import pytest
from communication import check_table, names, one, read

from diagnose.model.event import Clock, Nature
from diagnose.parsers import slurm_nodes

NODE = """\
NodeName=node-07 Arch=x86_64 CoresPerSocket=48
   CPUAlloc=0 CPUEfctv=192 CPUTot=192 CPULoad=0.10
   Gres=gpu:8
   State={state} ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   BootTime=2026-09-14T04:58:02 SlurmdStartTime=2026-09-14T04:59:12
   Reason={reason}

NodeName=node-08 Arch=x86_64 CoresPerSocket=48
   State=ALLOCATED ThreadsPerCore=2 TmpDisk=0 Weight=1
   BootTime=2026-06-01T10:00:00 SlurmdStartTime=2026-06-01T10:01:00
"""


def test_samples_match_and_patterns_are_safe():
    check_table(slurm_nodes)


@pytest.mark.parametrize(
    ("state", "reason", "lost", "said"),
    [
        ("DOWN*+DRAIN", "Not responding [slurm@2026-09-14T04:48:45]", True, "Not responding"),
        ("DOWN", "Node unexpectedly rebooted [slurm@2026-09-14T04:58:45]", True, "Node unexpectedly rebooted"),
        ("IDLE*", "Not responding [slurm@2026-09-14T04:48:45]", True, "Not responding"),
        ("IDLE+DRAIN", "Kill task failed [root@2026-09-14T04:48:45]", False, "Kill task failed"),
        ("MIXED+DRAIN", "to be looked at", False, "to be looked at"),
    ],
)  # fmt: skip
def test_a_node_as_scontrol_shows_it(state, reason, lost, said):
    first, other = [
        event
        for event in read(slurm_nodes, NODE.format(state=state, reason=reason))
        if event.name == "slurm.node_state"
    ]
    assert (first.host, first.fields["lost"], first.fields["reason"]) == ("node-07", lost, said)
    assert first.nature is Nature.ERROR
    assert (other.host, other.fields["lost"], other.nature) == (
        "node-08",
        False,
        Nature.MEASUREMENT,
    )


def test_its_boot_is_a_boot_at_its_own_time():
    text = NODE.format(state="DOWN", reason="Not responding [slurm@2026-09-14T04:48:45]")
    first, other = [event for event in read(slurm_nodes, text) if event.name == "host.boot"]
    assert (first.host, other.host) == ("node-07", "node-08")
    assert first.clock is Clock.LOCAL
    assert first.time is not None and other.time is not None
    assert 100 < (first.time - other.time) / 86400 < 110


@pytest.mark.parametrize(
    ("text", "host", "hosts", "lost", "nature"),
    [
        ("gpu*         up   infinite      1  down* node-07", "node-07", None, True, Nature.ERROR),
        ("gpu*         up 7-00:00:00      2   down node-[07-08]", None, "node-[07-08]", True, Nature.ERROR),
        ("gpu*         up   infinite      1  drain node-07", "node-07", None, False, Nature.MEASUREMENT),
        ("gpu*         up   infinite      1   drng node-07", "node-07", None, False, Nature.MEASUREMENT),
    ],
)  # fmt: skip
def test_sinfo(text, host, hosts, lost, nature):
    head = "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST"
    alone = "gpu*         up   infinite      7   idle node-[01-06,08]"
    event, idle = read(slurm_nodes, f"{head}\n{text}\n{alone}\n")
    assert idle.nature is Nature.MEASUREMENT
    assert names(slurm_nodes, text) == []
    assert (event.host, event.fields.get("hosts")) == (host, hosts)
    assert (event.fields["lost"], event.nature) == (lost, nature)


def test_reasons_of_sinfo():
    text = (
        "REASON               USER      TIMESTAMP           NODELIST\n"
        "Not responding       slurm     2026-09-14T04:48:45 node-07\n"
        "Kill task failed     root      2026-09-14T04:49:45 node-08\n"
        "fans are loud        a         2026-09-01T10:00:00 node-[11-12]\n"
    )
    events = read(slurm_nodes, text)
    assert [event.fields["reason"] for event in events] == [
        "Not responding",
        "Kill task failed",
        "fans are loud",
    ]
    assert [event.host for event in events] == ["node-07", "node-08", None]


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("[2026-09-14T04:48:45.012] error: Batch JobId=77121 missing from batch node node-07 (not found BatchStartTime after startup)", "node-07"),
        ("[2026-09-14T04:58:45.012] error: Node node-07 unexpectedly rebooted boot_time=1789361882 last response=1789361325", "node-07"),
    ],
)  # fmt: skip
def test_the_controller_lost_a_node(text, host):
    assert one(slurm_nodes, text, "slurm.node_failure").host == host


@pytest.mark.parametrize(
    "text",
    [
        "NodeName=node-07 Arch=x86_64 CoresPerSocket=48",
        "the link is up again 2 times down node-07",
    ],
)
def test_near_misses(text):
    assert names(slurm_nodes, text) == []
