"""Every message of NCCL that indicates trouble, under every header it is printed with."""

from functools import cache
from importlib import import_module

import nccl_rows
import pytest
from communication import holds, read

from diagnose.model.event import Nature
from diagnose.parsers import MODULES

NATURES = {nature.value for nature in Nature}


@cache
def modules():
    return [import_module(f"diagnose.parsers.{name}") for name in MODULES if "nccl" in name]


def found_in(line, name):
    events = [event for module in modules() for event in read(module, line)]
    return [event for event in events if event.name == name], events


def differs(line, row):
    mine, events = found_in(line, row.event)
    if not mine:
        return f"no {row.event} but {[event.name for event in events]}"
    if len(mine) > 1:
        return f"{len(mine)} {row.event} of one line"
    return holds(mine[0], row.fields)


@pytest.mark.parametrize("row", nccl_rows.WARNINGS, ids=lambda row: row.text[:60])
def test_a_warning_says_the_same_under_each_header(row):
    found = {
        release: wrong
        for release, header in nccl_rows.HEADERS.items()
        if (wrong := differs(header.format(file=row.file) + row.text, row))
    }
    assert found == {}
    line = nccl_rows.HEADERS["2.30"].format(file=row.file) + row.text
    (event,), _ = found_in(line, row.event)
    assert (event.host, event.pid, event.gpu) == ("node-07", 4121, row.fields.get("gpu", "3"))


@pytest.mark.parametrize("row", nccl_rows.WARNINGS, ids=lambda row: row.text[:60])
def test_the_text_of_a_last_error_has_no_header(row):
    """PyTorch repeats the last warning behind ``Last error:``."""
    if row.event == "nccl.plugin_failed":
        return
    assert differs(row.text, row) == {}


@pytest.mark.parametrize("row", nccl_rows.INFOS, ids=lambda row: row.text[:60])
def test_what_nccl_tolerates_keeps_its_level(row):
    assert differs(nccl_rows.TOLERATED + row.text, row) == {}
    event = found_in(nccl_rows.TOLERATED + row.text, row.event)[0][0]
    assert event.nature is not Nature.ERROR


@pytest.mark.parametrize(
    "text",
    [
        "init.cc:1358 -> 6",
        "init.cc:1358 (ncclCommInitRankFunc) -> 2 [Async thread]",
        "transport/net.cc:1302 -> 6 [Progress Thread]",
        "misc/socket.cc:47 -> 3",
        "misc/socket.cc:752 -> 3",
        "include/net.h:36 -> 2 (Connection reset by peer)",
        "HINT: In many cases this error occurs when PCIe ACS is enabled",
        "HINT: Try to increase NCCL_IB_TIMEOUT, a link may be down",
        "misc/socket.cc:64 (socketProgressOpt) -> 3",
        "socketProgressOpt: abort called",
        "RAS client listening socket at 127.0.0.1<28028>",
        "RAS failed to establish a client listening socket at 127.0.0.1<28028>",
        "RAS excessively long input line; terminating the client socket",
        "Continuing in spite of a RAS initialization error",
        "NET/IB : Failed to open mlx5dv symbols. Advance features like CX-8 Direct-NIC will be disabled.",
        "NET/Plugin: Failed to find ncclNetPlugin_v8 symbol.",
        "TUNER/Plugin: Could not find: libnccl-tuner.so",
        "TUNER/Plugin: Failed to find ncclTunerPlugin_v4 symbol.",
        "Disabling LL128 over all PxN connections (PXB). This ensures that no C2C link will be used by LL128.",
        "NET: GDR Flush only supported on x86_64",
        "Unable to create thread context due to old driver, disabling.",
        "Failed to open libgdrapi.so",
        "bootstrapSplit: comm 0x7f10 parent 0x7f20 rank 3 nranks 8 color 1 key 3 prev 2 next 4 - DONE",
    ],
)
def test_lines_that_blame_nobody(text):
    line = nccl_rows.TOLERATED + text
    blamed = [
        event.name
        for module in modules()
        for event in read(module, line)
        if event.nature in (Nature.ERROR, Nature.EFFECT)
    ]
    assert blamed == []


def test_what_the_verbs_interface_leaves_undefined_is_not_read():
    for row in nccl_rows.COMPLETIONS:
        (event,), _ = found_in(nccl_rows.HEADERS["2.3"].format(file="a.cc") + row.text, row.event)
        assert not {"opcode", "len"} & event.fields.keys()


def test_natures_of_the_table_exist():
    rows = (*nccl_rows.WARNINGS, *nccl_rows.INFOS)
    assert {row.fields["nature"] for row in rows if "nature" in row.fields} <= NATURES
