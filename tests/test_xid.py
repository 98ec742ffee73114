"""The tables of Xids and SXids, and the way from each kernel line to its cause."""

import json
from collections import Counter
from dataclasses import replace

import pytest
import yaml

from diagnose import api, shipped
from diagnose.parsers import xid_table

FAMILIES = {
    "program", "driver", "memory", "link", "peer", "bus", "firmware", "media", "security",
    "information",
}  # fmt: skip
ROLES = {"root", "cascade", "context", "repeated"}
SEVERITIES = {"info", "low", "medium", "high", "critical"}
ACTIONS = {
    "ignore", "restart-program", "reset-gpu", "reboot-node", "drain-node", "replace-gpu",
    "update-driver", "restart-fabric",
}  # fmt: skip
REACHES = {"port", "fabric", "none"}
KEYS = {
    "code", "name", "family", "role", "severity", "action", "cause", "lasts", "reach", "hint", "meaning",
    "variants", "registers", "subcodes",
}  # fmt: skip

TABLES = ("xid", "sxid")
XIDS = sorted(code for code in xid_table.load("xid") if isinstance(code, int))
SXIDS = sorted(code for code in xid_table.load("sxid") if isinstance(code, int))

BODIES = dict.fromkeys(range(144, 151), "NETIR_LINK_EVT  Fatal   XC0 i0 Link 05 (0x02000000 0x0)")
"""Texts without which a number says nothing."""


EXPLAINED = {"resources.gpu-ecc", "resources.gpu-fault"}
"""Causes whose explanation repeats what the number means."""


def entries(table):
    text = (shipped.root("rules") / f"{table}.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text)


@pytest.mark.parametrize("table", TABLES)
def test_each_number_stands_once_and_every_key_is_known(table):
    listed = entries(table)
    codes = Counter(code for entry in listed for code in xid_table._codes(entry["code"]))
    assert [code for code, times in codes.items() if times > 1] == []
    assert {key for entry in listed for key in entry} <= KEYS
    assert {key for one in listed for v in one.get("variants", ()) for key in v} <= KEYS | {"says"}


@pytest.mark.parametrize("table", TABLES)
def test_every_word_is_of_the_vocabulary_with_any_variant(table):
    causes = {None, *api.load_knowledge().rules.causes}
    for listed in xid_table.load(table).values():
        for known in (listed, *(replace(listed, **v.changes) for v in listed.variants)):
            assert known.family in FAMILIES
            assert known.role in ROLES
            assert known.severity in SEVERITIES
            assert known.action in ACTIONS
            assert known.reach in {None, *REACHES}
            assert known.cause in causes
            assert known.meaning
            assert known.role != "root" or known.cause


def test_a_number_that_is_not_listed_has_no_cause():
    assert xid_table.meaning("xid", 99999).cause is None
    assert xid_table.meaning("xid", 99999).role == "unknown"


def line(code):
    body = BODIES.get(code, "text of the driver")
    return f"[12345.100000] NVRM: Xid (PCI:0000:5d:00): {code}, pid=8123, name=python, {body}\n"


def judged(tmp_path, text, name="dmesg-node-07.log"):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return api.run([tmp_path], jobs=1)


@pytest.mark.parametrize("code", XIDS)
def test_one_line_leads_to_the_cause_of_its_number(tmp_path, code):
    known = xid_table.meaning("xid", code, BODIES.get(code, ""))
    report = judged(tmp_path, line(code))
    roots = [finding for finding in report.findings if finding.role == "root"]
    if known.role == "root":
        assert [finding.cause for finding in roots] == [known.cause]
        innocent = known.cause == "resources.gpu-illegal-access"
        assert roots[0].culprit.hosts == ([] if innocent else ["node-07"])
        if known.cause in EXPLAINED:
            assert known.meaning in roots[0].explanation or f"Xid {code}" in roots[0].title
    elif code == 43:
        assert [(one.cause, one.confidence < 0.6) for one in roots] == [(known.cause, True)]
    else:
        assert roots == []


@pytest.mark.parametrize("code", SXIDS)
def test_one_line_of_a_switch_leads_to_its_cause(tmp_path, code):
    known = xid_table.meaning("sxid", code, "Fatal, text")
    text = f"[12345.100000] nvidia-nvswitch3: SXid (PCI:0000:05:00.0): {code:05d}, Fatal, Link 12 text\n"
    roots = [one for one in judged(tmp_path, text).findings if one.role == "root"]
    assert [one.cause for one in roots] == ([known.cause] if known.role == "root" else [])


LOST = (
    "NVRM: Xid (PCI:0000:5d:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
)


@pytest.mark.parametrize(
    "text",
    [
        LOST,
        f"[12345.100000] {LOST}",
        f"[Mon Sep 14 04:38:41 2026] {LOST}",
        f"<3>[12345.100000] {LOST}",
        f"Sep 14 04:38:41 node-07 kernel: {LOST}",
        f"Sep 14 04:38:41 node-07 kernel: [12345.100000] {LOST}",
        f"2026-09-14T04:38:41+0000 node-07 kernel: {LOST}",
        f"2026-09-14T04:38:41.123456+00:00 node-07 kernel: [12345.1] {LOST}",
        f"node-07: [Mon Sep 14 04:38:41 2026] {LOST}",
        "kern  :err   : [Mon Sep 14 04:38:41 2026] " + LOST,
        json.dumps({"MESSAGE": LOST, "_HOSTNAME": "node-07", "SYSLOG_IDENTIFIER": "kernel"}),
        json.dumps({"log": f"[12345.1] {LOST}\n", "time": "2026-09-14T04:38:41.1Z"}),
        f"2026-09-14T04:38:41.123456789Z stdout F [12345.100000] {LOST}",
        f'I0914 04:38:41.123456    812 log_monitor.go:160] New status generated: Message: "{LOST}',
        "NVRM: Xid (0000:5d:00): 79, GPU has fallen off the bus.",
        "NVRM: Xid (PCI:00000000:5D:00.0): 79, pid=812, GPU has fallen off the bus.",
        "\x1b[33m[12345.100000]\x1b[0m \x1b[31m" + LOST + "\x1b[0m",
    ],
)
def test_any_way_to_collect_the_line_gives_the_same_answer(tmp_path, text):
    report = judged(tmp_path, text + "\n")
    roots = [finding for finding in report.findings if finding.role == "root"]
    assert [finding.cause for finding in roots] == ["resources.gpu-lost"]
    assert roots[0].culprit.gpus == ["node-07/0000:5d:00.0"]


INIT = (
    "2026-09-14 04:00:00 node-07:4711:4711 [3] NCCL INFO ncclCommInitRank comm 0x55d0 rank 3"
    " nranks 4 cudaDev 3 nvmlDev 3 busId 5d000 commId 0xabc - Init COMPLETE\n"
)


def test_the_bus_address_of_nccl_names_the_rank(tmp_path):
    (tmp_path / "rank3.log").write_text(INIT, encoding="utf-8")
    report = judged(tmp_path, f"[Mon Sep 14 04:38:41 2026] {LOST}\n")
    (root,) = [finding for finding in report.findings if finding.role == "root"]
    assert (root.culprit.ranks, root.culprit.hosts) == ([3], ["node-07"])


def test_a_dead_gpu_explains_the_timeouts_of_its_peers_and_the_exit_of_its_rank(tmp_path):
    timeout = (
        "2026-09-14 04:48:40 [rank{0}]:[E914 04:48:40.100000000 ProcessGroupNCCL.cpp:632] [Rank {0}]"
        " Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1201, OpType=ALLREDUCE,"
        " NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600065 milliseconds before timing out.\n"
    )
    for rank in (0, 1, 2):
        (tmp_path / f"rank{rank}.log").write_text(timeout.format(rank), encoding="utf-8")
    died = "2026-09-14 04:38:35 [rank3]: RuntimeError: CUDA error: unspecified launch failure\n"
    (tmp_path / "rank3.log").write_text(INIT + died, encoding="utf-8")
    report = judged(tmp_path, f"[Mon Sep 14 04:38:41 2026] {LOST}\n")
    roles = {finding.id: finding.role for finding in report.findings}
    assert roles["gpu-fell-off-bus"] == "root"
    assert roles["collective-timeout"] == "cascade"
    assert roles["gpu-illegal-access"] == "cascade"


def test_a_fault_on_the_node_of_another_job_is_no_cause(tmp_path):
    (tmp_path / "rank0.log").write_text(
        INIT.replace("rank 3 nranks 4", "rank 0 nranks 1"), encoding="utf-8"
    )
    report = judged(tmp_path, f"[Mon Sep 14 04:38:41 2026] {LOST}\n", "dmesg-node-99.log")
    assert [finding.id for finding in report.findings] == []


@pytest.mark.parametrize(
    "text",
    [
        "Where dmesg says NVRM: Xid 79, reboot the node.\n",
        "Look for lines like NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.\n",
        'DCGM_FI_DEV_XID_ERRORS{gpu="3",pci_bus_id="00000000:5D:00.0",Hostname="node-07"} 79\n',
        "GPU 3: NVIDIA H100 80GB HBM3 (UUID: GPU-1f0c0a52-0000-4d4f-8f0e-5f9d7a1b2c3d)\n"
        "\t Link 0: Replay Errors: 12\n\t Link 0: CRC Errors: 7\n",
        "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping\n",
    ],
    ids=["text", "quoted line", "a gauge", "counters of one sample", "clean-up"],
)
def test_what_only_looks_like_a_fault(tmp_path, text):
    report = judged(tmp_path, text, "notes.txt")
    assert [finding.id for finding in report.findings if finding.role == "root"] == []
