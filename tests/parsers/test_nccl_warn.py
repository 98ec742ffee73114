import pytest
from communication import check_table, holds, names, one, read

from diagnose.model.event import Nature
from diagnose.parsers import nccl_warn as module

WARN = "node-07:4121:4388 [3] transport.cc:40 NCCL WARN "
INFO = "node-07:4121:4388 [3] NCCL INFO "


def test_pattern_table():
    check_table(module)


@pytest.mark.parametrize(
    ("text", "file", "line", "message"),
    [
        ("node-07:4121:4388 [3] transport/net_ib.cc:2279 NCCL WARN boom\r", "transport/net_ib.cc", 2279, "boom"),
        ("[2026-05-01 10:00:00] node-07:4121:4388 [3] transport/net_ib/p2p.cc:688 (ncclIbTest) NCCL WARN boom", "transport/net_ib/p2p.cc", 688, "boom"),
        ("[3] init.cc:943 NCCL WARN boom", "init.cc", 943, "boom"),
        ("node-07:4121:4388 [3] ncclResult_t plugin_test(request*, int*):1231 NCCL WARN boom", "int*)", 1231, "boom"),
        ("node-07:4121:4388 [3] NCCL WARN boom", None, None, "boom"),
    ],
)  # fmt: skip
def test_every_warning_is_a_symptom(text, file, line, message):
    event = one(module, text)
    assert (event.name, event.nature) == ("nccl.warn", Nature.EFFECT)
    assert event.fields.get("source_file") == file
    assert event.fields.get("source_line") == line
    assert event.fields["message"] == message


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (WARN + "No transport found for rank 3[5d000] -> rank 4[6f000]", "nccl.no_transport", {"src": 3, "dst": 4, "nature": Nature.ERROR}),
        (WARN + "No transport found !", "nccl.no_transport", {}),
        (INFO + "Could not find a path for pattern 4, falling back to simple order", "nccl.no_path", {"nature": Nature.MEASUREMENT}),
        (WARN + "Error : no algorithm/protocol available", "nccl.no_algorithm", {}),
        (WARN + "Detected mixed local Net device counts across ranks (min 7, max 8). Set NCCL_IGNORE_NET_MISMATCH=1 to continue.", "nccl.net_count_differs", {"minimum": 7, "maximum": 8}),
    ],
)  # fmt: skip
def test_warnings_with_a_meaning(text, name, expected):
    event = one(module, text, name)
    assert holds(event, expected) == {}
    assert ("nccl.warn" in names(module, text)) == ("NCCL WARN" in text)


@pytest.mark.parametrize(
    "text",
    [
        INFO + "proxy.cc:889 -> 6 [Progress Thread]",
        INFO + "HINT: In many cases this error occurs when ACS is on",
        INFO + "NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.",
        "host key for 10.0.0.9 not found",
        "",
    ],
)
def test_traces_and_hints_are_no_warnings(text):
    assert names(module, text) == []


def test_glued_warnings_are_two():
    assert len(read(module, (WARN + "one") + (WARN + "two"))) == 2
