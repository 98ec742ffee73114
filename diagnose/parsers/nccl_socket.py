r"""NCCL's TCP trouble: bootstrap and data sockets, and ranks whose start does not agree.

Sample::

    node-07:4121:4388 [3] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to 10.0.0.9<56821> failed : Connection refused
    node-07:4121:4402 [3] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer node-09.cluster<39012>

``peer`` is an address or host name without its port. A closed or reset connection says that the other
process went away, so it is an effect; a connection that timed out points at the peer's host or the
path to it. ``retrying`` is true while NCCL still tries: common at a healthy start, where peers do
not yet listen.

Empty: no socket trouble here. Cut off: the peer may be missing from a cut line.
"""

from collections.abc import Callable

from diagnose.model.event import Event, Line, Nature
from diagnose.parsers import convert
from diagnose.parsers.base import LineParser, Pattern
from diagnose.parsers.nccl_level import add_errno, judge_by_level


def refine(event: Event, line: Line) -> Event | None:
    """Add the kind of failure, and judge an event by the level NCCL printed it at."""
    judge_by_level(event, line)
    complete = COMPLETE.get(event.name)
    if complete:
        complete(event)
    return event


def _connect(event: Event) -> None:
    _use_the_pending_error(event)
    add_errno(event)
    error = event.fields.get("error")
    if isinstance(error, str):
        event.fields["reason"] = convert.network_reason(error)
    event.fields.setdefault("reason", "other")
    event.fields.setdefault("retrying", False)
    event.nature = Nature.EFFECT if event.fields["retrying"] else Nature.ERROR


def _use_the_pending_error(event: Event) -> None:
    """Take the error of the socket where it has one; errno is then left over from another call."""
    number, words = event.fields.pop("pending", 0), event.fields.pop("pending_error", None)
    if isinstance(number, int) and number > 0:
        event.fields["errno"], event.fields["error"] = number, words


def _broken(event: Event) -> None:
    event.fields["reason"] = reason = convert.network_reason(str(event.fields["error"]))
    event.nature = Nature.ERROR if reason == "timeout" else Nature.EFFECT


COMPLETE: dict[str, Callable[[Event], None]] = {
    "nccl.connect_failed": _connect,
    "nccl.socket_failed": _broken,
    "nccl.system_call_failed": add_errno,
}

RANK_TYPES = dict.fromkeys(("comm_rank", "nranks", "version", "other_rank", "other_version"), int)

PATTERNS = (
    Pattern(
        event="nccl.connect_failed",
        regex=r"Call to connect returned (?P<error>[^,\r\n]+), retrying",
        nature=Nature.EFFECT,
        source="NCCL 2.4 to 2.23, misc/socket.cc",
        sample="node-07:4121:4388 [3] NCCL INFO Call to connect returned Connection refused, retrying",
        constants={"retrying": True},
    ),
    Pattern(
        event="nccl.connect_failed",
        regex=r"onnect: (?:connect to (?P<peer>\S+)|connect) returned (?P<error>[^,\r\n]+), retrying \((?P<attempts>\d+)/(?P<limit>\d+)\)",
        nature=Nature.EFFECT,
        source="NCCL 2.23 to 2.30, misc/socket.cc and os/linux.cc; the peer from 2.24",
        sample="node-07:4121:4388 [3] NCCL INFO socketPollConnect: connect to 10.0.0.9<56821> returned Connection refused, retrying (3/34) after sleep for 300 msec",
        types={"peer": convert.address, "attempts": int, "limit": int},
        constants={"retrying": True},
    ),
    Pattern(
        event="nccl.connect_failed",
        regex=r"[Cc]onnect to (?P<peer>\S+) failed ?: (?P<error>[^\r\n]+)",
        nature=Nature.ERROR,
        source="NCCL 2.3 to 2.30, misc/socket.cc; include/socket.h before 2.12",
        sample="node-07:4121:4388 [3] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to 10.0.0.9<56821> failed : Connection refused",
        types={"peer": convert.address},
    ),
    Pattern(
        event="nccl.connect_failed",
        regex=r"[Cc]onnect(?: to (?P<peer>\S+))? returned (?P<error>[^,\r\n]+), exceeded error retry count (?:after |\()(?P<attempts>\d+)",
        nature=Nature.ERROR,
        source="NCCL 2.23 to 2.30, misc/socket.cc and os/linux.cc; the peer from 2.24",
        sample="node-07:4121:4388 [3] misc/socket.cc:562 NCCL WARN socketPollConnect: connect to 10.0.0.9<56821> returned Connection refused, exceeded error retry count after 35 attempts",
        types={"peer": convert.address, "attempts": int},
    ),
    Pattern(
        event="nccl.connect_failed",
        regex=r"socket(?:Start|Poll)Connect: exceeded (?P<error>retries|timeouts) \((?P<attempts>\d+)\)",
        nature=Nature.ERROR,
        source="NCCL 2.16 to 2.23, misc/socket.cc",
        sample="node-07:4121:4388 [3] misc/socket.cc:447 NCCL WARN socketPollConnect: exceeded retries (20000)",
        types={"attempts": int},
    ),
    Pattern(
        event="nccl.connect_failed",
        regex=r"socketPollConnect: Connect to (?P<peer>\S+) returned (?P<pending>-?\d+)\((?P<pending_error>[^)\r\n]*)\) errno (?P<errno>\d+)\((?P<error>[^)\r\n]*)\)",
        nature=Nature.ERROR,
        source="NCCL 2.20 to 2.23, misc/socket.cc",
        sample="node-07:4121:4388 [3] misc/socket.cc:460 NCCL WARN socketPollConnect: Connect to 10.0.0.9<56821> returned 113(No route to host) errno 115(No route to host)",
        types={"peer": convert.address, "pending": int, "errno": int},
    ),
    Pattern(
        event="nccl.connect_failed",
        regex=r"socketPollConnect to (?P<peer>\S+) failed with error (?P<error>[^\r\n]+)",
        nature=Nature.ERROR,
        source="NCCL 2.27 to 2.30, misc/socket.cc",
        sample="node-07:4121:4388 [3] misc/socket.cc:600 NCCL WARN socketPollConnect to 10.0.0.9<56821> failed with error No route to host",
        types={"peer": convert.address},
    ),
    Pattern(
        event="nccl.socket_closed",
        regex=r"Connection closed by remote peer(?: (?P<peer>[^\s<]+)<\d+>)?",
        nature=Nature.EFFECT,
        source="NCCL 2.3 to 2.30, misc/socket.cc; the peer from 2.10",
        sample="node-07:4121:4402 [3] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer node-09.cluster<39012>",
        types={"peer": convert.short_host},
    ),
    Pattern(
        event="nccl.socket_failed",
        regex=r"Call to (?P<call>recv from|send to) (?P<peer>[^\s<]+)(?:<\d+>)? failed ?: (?P<error>[^\r\n]+)",
        nature=Nature.EFFECT,
        source="NCCL 2.10 to 2.30, misc/socket.cc",
        sample="node-07:4121:4402 [3] misc/socket.cc:55 NCCL WARN socketProgressOpt: Call to recv from 10.0.0.9<39012> failed : Connection reset by peer",
        types={"peer": convert.short_host},
    ),
    Pattern(
        event="nccl.socket_failed",
        regex=r"Call to (?P<call>recv|send) failed ?: (?P<error>[^\r\n]+)",
        nature=Nature.EFFECT,
        source="NCCL 2.3 to 2.9, include/socket.h",
        sample="node-07:4121:4402 [3] include/socket.h:421 NCCL WARN Call to recv failed : Connection reset by peer",
    ),
    Pattern(
        event="nccl.remote_error",
        regex=r"remote process exited or there was a network error",
        nature=Nature.EFFECT,
        source="NCCL 2.13 to 2.30, init.cc, as every caller prints the result code 6",
        sample="node-07: Test NCCL failure common.cu:958 'remote process exited or there was a network error / '",
    ),
    Pattern(
        event="nccl.system_call_failed",
        regex=r"Call to (?P<call>socket|bind|listen|accept|setsockopt|getsockname|poll|fcntl|pthread_create) failed ?: (?P<error>[^\r\n]+)",
        nature=Nature.ERROR,
        source="NCCL 2.3 to 2.30, include/checks.h",
        sample="node-07:4121:4388 [3] misc/socket.cc:310 NCCL WARN Call to socket failed : Too many open files",
    ),
    Pattern(
        event="nccl.system_call_failed",
        regex=r" WARN (?:Net : )?Socket creation failed : (?P<error>[^\r\n]+)",
        nature=Nature.ERROR,
        source="NCCL 2.0 to 2.26, misc/socket.cc, include/socket.h before 2.12",
        sample="node-07:4121:4121 [0] include/socket.h:299 WARN Socket creation failed : Too many open files",
        constants={"call": "socket"},
    ),
    Pattern(
        event="nccl.system_call_failed",
        regex=r"ocketTryAccept: (?:Accept failed:|exceeded error retry count [^,\r\n]{1,30},) (?P<error>[^\r\n]+)",
        nature=Nature.ERROR,
        source="NCCL 2.16 to 2.30, misc/socket.cc",
        sample="node-07:4121:4388 [3] misc/socket.cc:402 NCCL WARN socketTryAccept: Accept failed: Too many open files",
        constants={"call": "accept"},
    ),
    Pattern(
        event="nccl.system_call_failed",
        regex=r"Thread creation failed: (?P<error>[^\r\n]+)",
        nature=Nature.ERROR,
        source="NCCL 2.27 to 2.30, os/linux.cc",
        sample="node-07:4121:4388 [3] os/linux.cc:77 NCCL WARN Thread creation failed: Resource temporarily unavailable",
        constants={"call": "pthread_create"},
    ),
    Pattern(
        event="nccl.system_call_failed",
        regex=r"\[Proxy [Ss]ervice(?: UDS)?\] (?:Poll failed: (?P<error>[^\r\n]+)|Too many connections \((?P<limit>\d+) max\))",
        nature=Nature.ERROR,
        source="NCCL 2.12 to 2.30, proxy.cc",
        sample="node-07:4121:4402 [3] proxy.cc:1640 NCCL WARN [Proxy Service] Poll failed: Cannot allocate memory",
        types={"limit": int},
        constants={"call": "poll"},
    ),
    Pattern(
        event="nccl.socket_family",
        regex=r"connecting to address (?P<peer>\S*) ?with family (?P<family>-?\d+) is neither AF_INET",
        nature=Nature.ERROR,
        source="NCCL 2.3 to 2.30, misc/socket.cc; the address may be empty",
        sample="node-07:4121:4388 [3] misc/socket.cc:600 NCCL WARN ncclSocketInit: connecting to address  with family 0 is neither AF_INET(2) nor AF_INET6(10)",
        types={"peer": convert.address, "family": int},
    ),
    Pattern(
        event="nccl.socket.no_interface",
        regex=r"Bootstrap ?: no socket interface found|NET/Socket ?: no interface found|No usable listening interface found",
        nature=Nature.ERROR,
        source="NCCL 2.3 to 2.30, bootstrap.cc and transport/net_socket.cc",
        sample="node-07:4121:4388 [3] bootstrap.cc:88 NCCL WARN Bootstrap : no socket interface found",
    ),
    Pattern(
        event="nccl.socket.no_interface",
        regex=r"no device found (?:matching|after excluding) (?P<interface>\S+), verify (?P<variable>NCCL_\w+)",
        nature=Nature.ERROR,
        source="NCCL 2.24 to 2.30, bootstrap.cc",
        sample="node-07:4121:4388 [3] bootstrap.cc:120 NCCL WARN no device found matching =ib9, verify NCCL_OOB_NET_IFNAME",
    ),
    Pattern(
        event="nccl.socket.other_subnet",
        regex=r"No interface found in the same subnet as remote address (?P<peer>\S+)",
        nature=Nature.MEASUREMENT,
        source="NCCL 2.3 to 2.26, misc/socket.cc",
        sample="node-07:4121:4388 [3] misc/socket.cc:120 NCCL WARN Net : No interface found in the same subnet as remote address 10.0.0.9<45231>",
        types={"peer": convert.address},
    ),
    Pattern(
        event="nccl.dns_failed",
        regex=r"error encountered when getting address info : (?P<error>[^\r\n]+)",
        nature=Nature.ERROR,
        source="NCCL 2.4 to 2.30, misc/socket.cc",
        sample="node-07:4121:4388 [3] misc/socket.cc:230 NCCL WARN Net : error encountered when getting address info : Name or service not known",
    ),
    Pattern(
        event="nccl.socket_magic",
        regex=r"socketFinalizeAccept: wrong (?P<what>type|magic) (?P<found>\w+) != (?P<expected>\w+)",
        nature=Nature.ERROR,
        source="NCCL 2.16 to 2.26, misc/socket.cc",
        sample="node-07:4121:4388 [3] misc/socket.cc:505 NCCL WARN socketFinalizeAccept: wrong magic 7ab != 564ab9f2fc4b9d6c",
    ),
    Pattern(
        event="nccl.socket_magic",
        regex=r"didn't receive a valid magic from (?P<peer>\S+)|socket magic mismatch",
        nature=Nature.MEASUREMENT,
        source="NCCL 2.27 to 2.30, misc/socket.cc",
        sample="node-07:4121:4388 [3] NCCL INFO socketFinalizeAccept: didn't receive a valid magic from 10.0.0.9<41002>",
        types={"peer": convert.address},
    ),
    Pattern(
        event="nccl.bootstrap_mismatch",
        regex=r"Bootstrap Root : mismatch in (?:rank count from procs|info from procs, nranks) (?P<local>\d+) (?::|vs) (?P<remote>\d+)",
        nature=Nature.ERROR,
        source="NCCL 2.3 to 2.22 (rank count), 2.23 to 2.30, bootstrap.cc",
        sample="node-07:4121:4388 [0] bootstrap.cc:310 NCCL WARN Bootstrap Root : mismatch in rank count from procs 16 : 8",
        types={"local": int, "remote": int},
    ),
    Pattern(
        event="nccl.duplicate_rank",
        regex=r"Bootstrap Root : rank (?P<comm_rank>\d+) of (?P<nranks>\d+) ranks has already checked in",
        nature=Nature.ERROR,
        source="NCCL 2.3 to 2.30, bootstrap.cc",
        sample="node-07:4121:4388 [0] bootstrap.cc:318 NCCL WARN Bootstrap Root : rank 3 of 16 ranks has already checked in",
        types=RANK_TYPES,
    ),
    Pattern(
        event="nccl.version_mismatch",
        regex=r"Mismatched NCCL version detected : rank (?P<comm_rank>\d+) version (?P<version>\d+) rank (?P<other_rank>\d+) version (?P<other_version>\d+)",
        nature=Nature.ERROR,
        source="NCCL 2.23 to 2.30, init.cc",
        sample="node-07:4121:4388 [0] init.cc:980 NCCL WARN Mismatched NCCL version detected : rank 0 version 22705 rank 3 version 22605",
        types=RANK_TYPES,
    ),
    Pattern(
        event="nccl.version_mismatch",
        regex=r"NCCL version mismatch with remote peer (?P<peer>\S+) \(local: (?P<version>\d+), remote (?P<other_version>\d+)\)",
        nature=Nature.ERROR,
        source="NCCL 2.24 to 2.30, ras/ras.cc",
        sample="node-07:4121:4388 [0] ras/ras.cc:410 NCCL WARN NCCL version mismatch with remote peer 10.0.0.9<28028> (local: 22705, remote 22605)",
        types={"peer": convert.address, "version": int, "other_version": int},
    ),
)

PARSERS = (
    LineParser(
        name="nccl-socket",
        title="NCCL's sockets and bootstrap, and ranks whose start does not agree",
        patterns=PATTERNS,
        refine=refine,
    ),
)
