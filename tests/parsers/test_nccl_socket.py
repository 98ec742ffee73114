import pytest
from communication import check_table, cut_anywhere, holds, names, one

from diagnose.model.event import Nature
from diagnose.parsers import nccl_socket as module

WARN = "node-07:4121:4388 [3] misc/socket.cc:484 NCCL WARN "
INFO = "node-07:4121:4388 [3] NCCL INFO "


def test_pattern_table():
    check_table(module)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (INFO + "Call to connect returned Connection refused, retrying", {"reason": "refused", "retrying": True, "nature": Nature.EFFECT}),
        (INFO + "socketPollConnect: connect to 10.0.0.9<56821> returned Connection timed out, retrying (3/34) after sleep for 300 msec", {"peer": "10.0.0.9", "reason": "timeout", "retrying": True, "attempts": 3}),
        (WARN + "Connect to 10.0.0.9<56821> failed : Connection refused", {"peer": "10.0.0.9", "reason": "refused", "retrying": False, "nature": Nature.ERROR}),
        (WARN + "Net : Connect to fe80::9%ib0<56821> failed : No route to host", {"peer": "fe80::9%ib0", "reason": "no-route"}),
        (WARN + "socketStartConnect: connect to 10.0.0.9<56821> failed : Network is unreachable", {"reason": "unreachable"}),
        (WARN + "socketPollConnect: connect to 10.0.0.9<56821> returned Connection refused, exceeded error retry count after 35 attempts", {"reason": "refused", "attempts": 35, "retrying": False}),
        (WARN + "socketPollConnect: exceeded timeouts (20000)", {"reason": "timeout", "attempts": 20000}),
        (WARN + "socketPollConnect: Connect to 10.0.0.9<56821> returned 113(No route to host) errno 115(Operation now in progress)", {"peer": "10.0.0.9", "errno": 113, "reason": "no-route"}),
        (WARN + "socketPollConnect to 10.0.0.9<56821> failed with error Software caused connection abort", {"reason": "other"}),
    ],
)  # fmt: skip
def test_connections_that_failed(text, expected):
    event = one(module, text)
    assert event.name == "nccl.connect_failed"
    assert holds(event, expected) == {}


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (WARN + "socketProgress: Connection closed by remote peer node-09.cluster<39012>", "nccl.socket_closed", {"peer": "node-09", "nature": Nature.EFFECT}),
        (WARN + "Net : Connection closed by remote peer", "nccl.socket_closed", {}),
        (WARN + "socketProgressOpt: Call to recv from 10.0.0.9<39012> failed : Connection reset by peer", "nccl.socket_failed", {"peer": "10.0.0.9", "reason": "reset", "nature": Nature.EFFECT}),
        (WARN + "socketProgressOpt: Call to send to 10.0.0.9<39012> failed : Broken pipe", "nccl.socket_failed", {"reason": "broken-pipe"}),
        (WARN + "socketProgressOpt: Call to recv from 10.0.0.9<39012> failed : Connection timed out", "nccl.socket_failed", {"reason": "timeout", "nature": Nature.ERROR}),
        (WARN + "Call to socket failed : Too many open files", "nccl.system_call_failed", {"call": "socket", "error": "Too many open files"}),
        (WARN + "Net : connecting to address  with family 0 is neither AF_INET(2) nor AF_INET6(10)", "nccl.socket_family", {"family": 0, "peer": ""}),
        (WARN + "ncclSocketInit: connecting to address 10.0.0.9<56821> with family 5376 is neither AF_INET(2) nor AF_INET6(10)", "nccl.socket_family", {"family": 5376, "peer": "10.0.0.9"}),
        (WARN + "Bootstrap : no socket interface found", "nccl.socket.no_interface", {"nature": Nature.ERROR}),
        (WARN + "Bootstrap Root : mismatch in info from procs, nranks 16 vs 8 (expected 16)", "nccl.bootstrap_mismatch", {"local": 16, "remote": 8}),
        (WARN + "Bootstrap Root : rank 3 of 16 ranks has already checked in", "nccl.duplicate_rank", {"comm_rank": 3, "nranks": 16, "rank": None}),
        (WARN + "socketFinalizeAccept: wrong magic 7ab != 564ab9f2fc4b9d6c", "nccl.socket_magic", {"nature": Nature.ERROR}),
        (INFO + "socketFinalizeAccept: didn't receive a valid magic from 10.0.0.9<41002>", "nccl.socket_magic", {"peer": "10.0.0.9", "nature": Nature.MEASUREMENT}),
    ],
)  # fmt: skip
def test_sockets_and_bootstrap(text, name, expected):
    event = one(module, text)
    assert event.name == name
    assert holds(event, expected) == {}


@pytest.mark.parametrize(
    "text",
    [
        INFO + "[Service thread] Connection closed by localRank 3",
        INFO + "misc/socket.cc:47 -> 3",
        INFO + "socketProgressOpt: abort called",
        INFO + "RAS failed to establish a client listening socket at 127.0.0.1<28028>",
        "If a connect to 10.0.0.9 is not possible, check the firewall",
        "It can be also caused by unexpected exit of a remote peer.",
    ],
)
def test_near_misses(text):
    assert names(module, text) == []


def test_cut_records():
    cut_anywhere(
        module,
        WARN
        + "socketPollConnect: Connect to 10.0.0.9<56821> returned 113(No route to host) errno 115(No route to host)",
    )
