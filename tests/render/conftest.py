import os
from pathlib import Path

import pytest

from diagnose.model.report import (
    Alternative,
    Culprit,
    Evidence,
    FilledPlaybook,
    Finding,
    Inputs,
    Job,
    Moment,
    Placement,
    ReportData,
    Stage,
    Step,
    UnknownError,
)

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def golden():
    """Compare a text with a golden file; UPDATE_GOLDEN=1 in the environment writes it anew."""

    def compare(name, text):
        path = GOLDEN / name
        if os.environ.get("UPDATE_GOLDEN"):
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return compare


def place(
    file="rank17.log",
    line=20411,
    text="node-03:341:412 [1] transport/net_ib.cc:93 NCCL WARN NET/IB : mlx5_2:1 Got async event : port error",
):
    return Evidence(
        file=file,
        line=line,
        end_line=line,
        time="2026-01-02T12:06:41",
        rank=17,
        host="node-03",
        text=text,
    )


def finding(**changes):
    values = dict(
        key="ib-port-error@node-03",
        id="ib-port-error",
        cause="comms.link-down",
        stage="comms",
        symptoms=[1, 7],
        role="root",
        level="critical",
        confidence=0.94,
        owner="network",
        title="InfiniBand port of node-03 went down",
        explanation="Port event at 12:06:41 on node-03, 118 s before its peers ran out of retries.",
        culprit=Culprit(hosts=["node-03"], nics=["node-03/mlx5_2"]),
        first_seen="2026-01-02T12:06:41",
        count=8,
        evidence=[place(line=20411 + n) for n in range(5)],
        explains=[
            "collective-timeout@job",
            "rdma-retry-exceeded@node-01",
            "rdma-retry-exceeded@node-02",
        ],
        missing_evidence=["ibstatus of node-03: ssh node-03 ibstatus"],
        alternatives=[
            Alternative(cause="comms.packet-loss", confidence=0.2, why_not="no drop counter rose")
        ],
        playbook=FilledPlaybook(
            id="ib-link-down",
            title="Bring the InfiniBand port back or take the node out",
            steps=[
                Step(
                    group="confirm",
                    text="Look at the port on node-03",
                    command="ssh node-03 ibstatus",
                    kind="observe",
                    expect="state 4: ACTIVE, phys state 5: LinkUp",
                    otherwise="Polling means cable or far end; Disabled means the switch port is shut",
                ),
                Step(
                    group="fix",
                    text="Resubmit without the node",
                    command="sbatch --exclude=node-03 --nodes=7 --ntasks-per-node=8 --gres=gpu:8 --time=48:00:00 job.sh",
                    kind="safe-change",
                    expect=None,
                    otherwise=None,
                ),
                Step(
                    group="prevent",
                    text="Watch link_downed and symbol errors per hour",
                    command=None,
                    kind="observe",
                    expect=None,
                    otherwise=None,
                ),
                Step(
                    group="not_if",
                    text="The port serves storage only",
                    command=None,
                    kind="observe",
                    expect=None,
                    otherwise=None,
                ),
            ],
        ),
    )
    return Finding(**(values | changes))


def effect(key, rule, title, count, **changes):
    values = dict(
        key=key,
        id=rule,
        title=title,
        count=count,
        role="cascade",
        level="high",
        explains=[],
        explained_by=["ib-port-error@node-03"],
        missing_evidence=[],
        playbook=None,
        alternatives=[],
        evidence=[place("rank2.log", 77, "Watchdog caught collective operation timeout")],
    )
    return finding(**(values | changes))


@pytest.fixture
def one_root():
    return ReportData(
        schema="diagnose.report/1",
        tool={"name": "diagnose", "version": "0.1.0", "rules": {"shipped": "0.1.0", "packs": []}},
        verdict="root-cause",
        summary="InfiniBand port of node-03 went down; 3 findings follow from it.",
        job=Job(
            world_size=64,
            ranks_seen=63,
            ranks_missing=[41],
            hosts=[f"node-0{n}" for n in range(1, 9)],
            placement=[
                Placement(
                    rank=17, host="node-03", local_rank=1, gpu="0000:5d:00.0", nics=["mlx5_2"]
                )
            ],
            versions={"nccl": "2.21.5", "torch": "2.6.0", "cuda": "12.4", "driver": None},
            parallel={"tp": 8, "pp": 4, "dp": 2, "micro_batches": 16},
            framework="megatron",
            last_progress={"step": 1580, "time": "2026-01-02T12:05:12"},
        ),
        findings=[
            finding(),
            effect(
                "collective-timeout@job",
                "collective-timeout",
                "63 ranks timed out in ALLREDUCE",
                63,
            ),
            effect(
                "rdma-retry-exceeded@node-01",
                "rdma-retry-exceeded",
                "RDMA retries to node-03 exhausted",
                4,
            ),
            effect(
                "rdma-retry-exceeded@node-02",
                "rdma-retry-exceeded",
                "RDMA retries to node-03 exhausted",
                2,
            ),
            effect(
                "slow-save@job",
                "slow-save",
                "One checkpoint save took 41 s",
                1,
                role="context",
                level="low",
                explained_by=[],
            ),
        ],
        stages={
            "dataflow": Stage(state="clear", checked=12, why="steps went on until the fault"),
            "comms": Stage(state="fault", checked=31, why="port of node-03 down"),
            "resources": Stage(state="suspect", checked=9, why="one slow save"),
            "parameters": Stage(state="no-evidence", checked=0, why="no step log"),
        },
        timeline=[
            Moment(
                time="2026-01-02T12:06:41",
                what="port error",
                rank=17,
                host="node-03",
                finding="ib-port-error@node-03",
            ),
            Moment(time=None, what="job ended", rank=None, host=None, finding=None),
        ],
        unknown_errors=[
            UnknownError(
                template="Failed to reticulate <*> splines",
                count=3,
                ranks=[17],
                first={"file": "rank17.log", "line": 7},
            )
        ],
        inputs=Inputs(
            files=130,
            bytes=9_663_676_416,
            lines=81_234_567,
            skipped=[{"file": "core.12", "reason": "binary"}],
            truncated=[{"file": "rank3.log", "what": "line 9 has 3,000,000 bytes"}],
        ),
    )


@pytest.fixture
def two_roots(one_root):
    second = finding(
        key="disk-full@node-05",
        id="disk-full",
        cause="dataflow.disk-full",
        stage="dataflow",
        owner="storage",
        symptoms=[10],
        confidence=0.7,
        level="high",
        title="Disk of node-05 is full",
        explanation="",
        culprit=Culprit(hosts=["node-05"], files=["/ckpt/iter_1500"]),
        evidence=[place("node-05.log", 3, "OSError: [Errno 28] No space left on device")],
        explains=[],
        missing_evidence=[],
        alternatives=[],
        playbook=None,
    )
    one_root.findings.insert(1, second)
    one_root.summary = "InfiniBand port of node-03 went down, and the disk of node-05 is full."
    return one_root


@pytest.fixture
def symptoms_only(one_root):
    one_root.verdict = "symptoms-only"
    one_root.summary = "63 ranks timed out in ALLREDUCE and nothing says who or why."
    one_root.findings = [
        finding(
            key="collective-timeout@job",
            id="collective-timeout",
            cause="comms.timeout-unexplained",
            level="high",
            owner="unknown",
            confidence=0.4,
            title="63 ranks timed out in ALLREDUCE",
            culprit=Culprit(),
            explains=[],
            missing_evidence=["py-spy dump of rank 41"],
        )
    ]
    return one_root


@pytest.fixture
def healthy(one_root):
    one_root.verdict = "healthy"
    one_root.summary = "No fault found in 130 files; training went on to step 1580."
    one_root.findings = []
    one_root.unknown_errors = []
    return one_root


@pytest.fixture
def no_evidence(healthy):
    healthy.verdict = "no-evidence"
    healthy.summary = "Nothing in 1 file is of a program that diagnose knows."
    healthy.job = Job()
    healthy.stages = {
        name: Stage(state="no-evidence", checked=0, why="nothing recognised")
        for name in ("dataflow", "comms", "resources", "parameters")
    }
    healthy.timeline = []
    healthy.inputs = Inputs(files=1, bytes=812, lines=9)
    return healthy
