r"""PyTorch's rendezvous: the TCP store, its sockets, gloo's pairs and elastic rendezvous.

Samples::

    [rank3]:[W321 02:00:08.432379535 socket.cpp:752] [c10d] The client socket has failed to connect to [node-00]:29500 (errno: 111 - Connection refused).
    RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer [10.0.0.9]:42311
    torch.distributed.DistStoreError: Timed out after 901 seconds waiting for clients. 7/8 clients joined.

``target_rank`` and ``pair`` count within the group; ``awaited``, added from the job model, is the global
rank that had to publish the id. ``peer`` is the other end, never the writer. A connection attempt is repeated until its own timeout,
so one refusal (``retrying``) is normal while the store's host still starts. Error 97 (address
family) is noise on hosts without IPv6 and gives no event. A lost connection to the store says that
the store's host, normally that of rank 0, went first.

Empty: nothing went wrong at rendezvous. Cut off: the fields behind the cut are missing.
"""

from collections.abc import Callable

import regex

from diagnose.model.event import Event, Line, Nature
from diagnose.parsers import convert
from diagnose.parsers.base import LineParser, Pattern

WAITED = regex.compile(r"wait timeout after (\d+)ms")

PAIR = regex.compile(r"(\d+):(\d+)")
"""The key of a communicator for point-to-point calls: the two ranks of the group."""

KEY_GROUP = regex.compile(r"keys: /?(?:default_pg/)?(\w+)//\w+//")
"""The name of the group in the path of a key, ``/default_pg/0//cuda//0``."""

PORTS = tuple(
    regex.compile(text)
    for text in (
        r"to bind to \S*?:(\d{3,5})\b",
        r"\bport[:=]? ?(\d{3,5})\b",
        r"address \('[^']*', (\d{3,5})\)",
        r"[\d\]*]:(\d{3,5})\b",
    )
)
"""Where the wordings put the port: c10d's socket and libuv, asyncio, gRPC and others."""


def refine(event: Event, line: Line) -> Event | None:
    """Complete an event from the rest of its line, or drop one that another reports better."""
    complete = COMPLETE.get(event.name)
    return complete(event, line.text) if complete else event


GLOO_PEER = regex.compile(r"(?:connect(?: timeout)? |remote=)\[([\w.:]+)\]:\d+")
"""The peer within what ``connectFullMesh`` passes on."""


def _reason(event: Event, text: str) -> Event | None:
    error = str(event.fields.get("error") or text)
    if event.fields.get("errno") == 97 or "Address family not supported" in error:
        return None
    if event.name == "gloo.connect_failed" and (peer := GLOO_PEER.search(error)):
        event.fields.setdefault("peer", peer[1])
    event.fields.setdefault("reason", convert.network_reason(error))
    event.fields.setdefault("retrying", False)
    event.nature = Nature.EFFECT if event.fields["retrying"] else Nature.ERROR
    return event


def _store_timeout(event: Event, text: str) -> Event | None:
    if "store->get" in text and "target_rank" not in event.fields:
        return None
    if waited := WAITED.search(text):
        event.fields["lasted"] = convert.milliseconds(waited[1])
    error = event.fields.get("error")
    if isinstance(error, str):
        # What follows is a guess that PyTorch prints whatever happened.
        event.fields["error"] = error.partition(". This may indicate")[0]
        event.fields["reason"] = convert.network_reason(error)
    if group := KEY_GROUP.search(text):
        event.communicator = group[1]
    rank = event.fields.get("pg_rank")
    if event.rank is None and isinstance(rank, int) and event.communicator in (None, "0"):
        event.rank = rank
    pair = PAIR.fullmatch(str(event.fields.get("key")))
    event.fields["pair"] = [int(pair[1]), int(pair[2])] if pair else None
    return event


def _store_closed(event: Event, text: str) -> Event | None:
    # The check of the flag wraps the error of the read: one line, one event.
    wrapped = '"should dump" flag' in text and "error" not in event.fields
    if wrapped or (text.count(" failed on SocketImpl(") and "peer" not in event.fields):
        return None
    return event


def _port_in_use(event: Event, text: str) -> Event | None:
    # NCCL's RAS service finds its port taken by the sibling ranks of each host: no trouble.
    if "NCCL INFO" in text or "NCCL WARN" in text:
        return None
    found = next((match for port in PORTS if (match := port.search(text))), None)
    event.fields["port"] = int(found[1]) if found else None
    return event


def _listen_failed(event: Event, text: str) -> Event | None:
    return None if event.fields.get("errno") == 98 else event


def _clients(event: Event, text: str) -> Event:
    joined, expected = event.fields["joined"], event.fields["expected"]
    if isinstance(joined, int) and isinstance(expected, int):
        event.fields["missing"] = expected - joined
    return event


COMPLETE: dict[str, Callable[[Event, str], Event | None]] = {
    "c10d.connect_failed": _reason,
    "gloo.connect_failed": _reason,
    "c10d.store_timeout": _store_timeout,
    "c10d.store_closed": _store_closed,
    "c10d.port_in_use": _port_in_use,
    "c10d.clients_missing": _clients,
    "c10d.listen_failed": _listen_failed,
}

PATTERNS = (
    Pattern(
        event="c10d.store_timeout",
        regex=r"\[(?P<pg_rank>\d+)\] is setting up NCCL communicator and (?:retrieving|retreiving) ncclUniqueId from \[(?P<target_rank>\d+)\] via c10d key-value store by key '(?P<key>[^']*)'(?:, but store->get\('[^']*'\) got error: (?P<error>[^\r\n]*))?",
        nature=Nature.EFFECT,
        source="PyTorch 1.8 to 2.12, ProcessGroupNCCL.cpp; target_rank counts within the group",
        sample="torch.distributed.DistBackendError: [3] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: wait timeout after 600000ms, keys: /default_pg/0//cuda//0. This may indicate a possible application crash on rank 0 or a network set up issue.",
        types={"pg_rank": int, "target_rank": int},
    ),
    Pattern(
        event="c10d.store_timeout",
        regex=r"wait timeout after \d+ms, keys: (?P<key>[^\r\n]+)",
        nature=Nature.EFFECT,
        source="PyTorch 2.3 to 2.12, TCPStore.cpp",
        sample="torch.distributed.DistStoreError: wait timeout after 300000ms, keys: /worker/barrier",
    ),
    Pattern(
        event="c10d.store_timeout",
        regex=r"(?:Error: |\] )Socket Timeout|waitForInput: socket SocketImpl\([^\r\n]*\) timed out after (?P<lasted>\d+)ms",
        nature=Nature.EFFECT,
        source="PyTorch 1.8 to 2.12, socket.cpp and TCPStore.cpp",
        sample="torch.distributed.DistStoreError: Socket Timeout",
        types={"lasted": convert.milliseconds},
    ),
    Pattern(
        event="c10d.clients_missing",
        regex=r"Timed out after (?P<lasted>\d+) seconds waiting for clients\. (?P<joined>\d+)/(?P<expected>\d+) clients joined",
        nature=Nature.ERROR,
        source="PyTorch 1.10 to 2.12, TCPStore.cpp",
        sample="torch.distributed.DistStoreError: Timed out after 901 seconds waiting for clients. 7/8 clients joined.",
        types={"lasted": float, "joined": int, "expected": int},
    ),
    Pattern(
        event="c10d.store_closed",
        regex=r"(?P<call>\w+) failed on SocketImpl\([^\r\n]*remote=\[?(?P<peer>[^\]\s]+)\]?:(?P<port>\d+)\): (?P<error>[^\r\n]+)",
        nature=Nature.EFFECT,
        source="PyTorch 2.5 to 2.12, Utils.hpp",
        sample="[rank3]:[W321 02:10:08.432379535 TCPStore.cpp:106] [c10d] recvValue failed on SocketImpl(fd=61, addr=[node-07]:41022, remote=[node-00]:29500): Connection reset by peer",
        types={"port": int, "peer": convert.short_host},
    ),
    Pattern(
        event="c10d.store_closed",
        regex=r"Failed to check the \"should dump\" flag on TCPStore, \(maybe TCPStore server has shut down too early\)(?:, with error: (?P<error>[^\r\n]+))?",
        nature=Nature.EFFECT,
        source="PyTorch 2.4 to 2.12, ProcessGroupNCCL.cpp",
        sample='[rank3]:[W321 02:10:08.432379535 ProcessGroupNCCL.cpp:1680] [PG ID 0 PG GUID 0 Rank 3] Failed to check the "should dump" flag on TCPStore, (maybe TCPStore server has shut down too early), with error: Broken pipe',
    ),
    Pattern(
        event="c10d.store_closed",
        regex=r"Failed to recv, got 0 bytes\. Connection was likely closed|(?:DistNetworkError|DistStoreError): (?P<error>Connection reset by peer|Broken pipe|failed to recv, got 0 bytes)|Store is down while (?:updating|getting)|(?P<unexpected>Stop_waiting response is expected)",
        nature=Nature.EFFECT,
        source="PyTorch 1.8 to 2.12, Utils.hpp, TraceUtils.h",
        sample="torch.distributed.DistNetworkError: Connection reset by peer",
    ),
    Pattern(
        event="c10d.connect_failed",
        regex=r"client socket has failed to connect to \[?(?P<peer>[^\]\s]+)\]?:(?P<port>\d+) \(errno: (?P<errno>\d+) - (?P<error>[^)\r\n]+)",
        nature=Nature.EFFECT,
        source="PyTorch 1.11 to 2.12, socket.cpp; repeated until its timeout",
        sample="[rank3]:[W321 02:00:08.432379535 socket.cpp:752] [c10d] The client socket has failed to connect to [node-00]:29500 (errno: 111 - Connection refused).",
        types={"port": int, "errno": int},
        constants={"retrying": True},
    ),
    Pattern(
        event="c10d.connect_failed",
        regex=r"client socket has timed out after (?P<lasted>\d+ ?m?s) while trying to connect to \((?P<peer>[^,\s]+), (?P<port>\d+)\)",
        nature=Nature.ERROR,
        source="PyTorch 1.11 to 2.12, socket.cpp; ms from 2.5",
        sample="torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to connect to (node-00, 29500).",
        types={"port": int, "lasted": convert.seconds},
        constants={"reason": "timeout"},
    ),
    Pattern(
        event="c10d.connect_failed",
        regex=r"Error: (?P<error>connect\(\) timed out)(?:\. Original timeout was (?P<lasted>\d+ ms))?",
        nature=Nature.ERROR,
        source="PyTorch 1.5 to 1.12, torch/lib/c10d/Utils.hpp and socket.cpp; it names no peer",
        sample="RuntimeError: connect() timed out. Original timeout was 1800000 ms.",
        types={"lasted": convert.seconds},
        constants={"reason": "timeout"},
    ),
    Pattern(
        event="c10d.connect_failed",
        regex=r"TCP client failed to connect/validate to host (?P<peer>\S+):(?P<port>\d+) - retrying[^\r\n:]*: (?P<error>[^\r\n]+)",
        nature=Nature.EFFECT,
        source="PyTorch 2.5 to 2.12, TCPStore.cpp",
        sample="[rank3]:[W321 02:00:08.432379535 TCPStore.cpp:340] [c10d] TCP client failed to connect/validate to host node-00:29500 - retrying (try=0, timeout=600000ms, delay=28140ms): Connection reset by peer",
        types={"port": int},
        constants={"retrying": True},
    ),
    Pattern(
        event="c10d.connect_failed",
        regex=r"TCP client failed to connect/validate to host (?P<peer>\S+):(?P<port>\d+) - timed out",
        nature=Nature.ERROR,
        source="PyTorch 2.5 to 2.12, TCPStore.cpp",
        sample="[rank3]:[E321 02:10:08.432379535 TCPStore.cpp:330] [c10d] TCP client failed to connect/validate to host node-00:29500 - timed out (try=12, timeout=600000ms): Connection reset by peer",
        types={"port": int},
        constants={"reason": "timeout"},
    ),
    Pattern(
        event="c10d.dns_failed",
        regex=r"The (?P<family>IPv[46]) network addresses of \((?P<peer>[^,\s]+), (?P<port>\d+)\) cannot be retrieved \(gai error: (?P<code>-?\d+) - (?P<error>[^)\r\n]+)",
        nature=Nature.ERROR,
        source="PyTorch 1.11 to 2.12, socket.cpp; IPv6 alone is common where the name has IPv4 only",
        sample="[rank3]:[W321 02:00:08.432379535 socket.cpp:697] [c10d] The IPv4 network addresses of (node-00, 29500) cannot be retrieved (gai error: -2 - Name or service not known).",
        types={"port": int, "code": int},
    ),
    Pattern(
        event="c10d.port_in_use",
        regex=r"[Aa]ddress already in use|EADDRINUSE",
        nature=Nature.ERROR,
        source="C library, errno 98; PyTorch's socket.cpp and TCPStoreLibUvBackend.cpp, asyncio, gRPC",
        sample="[W321 02:00:08.432379535 socket.cpp:464] [c10d] The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).",
    ),
    Pattern(
        event="gloo.connection_closed",
        regex=r"gloo/transport/\S+\] (?P<error>Connection closed by peer|Read error|Write error|Application timeout caused pair closure)(?: \[(?P<peer>[^\]\s]+)\]:(?P<port>\d+))?(?:: (?P<detail>[^\r\n]+))?",
        nature=Nature.EFFECT,
        source="gloo of PyTorch 1.8 to 2.12, transport/tcp/pair.cc",
        sample="RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer [10.0.0.9]:42311",
        types={"port": int},
    ),
    Pattern(
        event="gloo.timeout",
        regex=r"gloo/transport/\S+\] Timed out waiting (?P<lasted>\d+)ms for (?P<direction>recv|send) operation to complete",
        nature=Nature.EFFECT,
        source="gloo of PyTorch 1.8 to 2.12, transport/tcp/unbound_buffer.cc",
        sample="RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 1800000ms for recv operation to complete",
        types={"lasted": convert.milliseconds},
    ),
    Pattern(
        event="gloo.size_mismatch",
        regex=r"op\.preamble\.length <= op\.nbytes\. (?P<received>\d+) vs (?P<expected>\d+)",
        nature=Nature.ERROR,
        source="gloo of PyTorch 1.8 to 2.12, transport/tcp/pair.cc: a peer sends more than was asked for",
        sample="RuntimeError: [enforce fail at ../third_party/gloo/gloo/transport/tcp/pair.cc:490] op.preamble.length <= op.nbytes. 40 vs 20",
        types={"received": int, "expected": int},
    ),
    Pattern(
        event="gloo.loopback_chosen",
        regex=r"Unable to resolve hostname to a \(local\) address\. Using the loopback address as fallback",
        nature=Nature.MEASUREMENT,
        source="PyTorch 1.8 to 2.12, ProcessGroupGloo.cpp; harmless in a job on one host",
        sample="[W321 02:00:08.432379535 ProcessGroupGloo.cpp:712] Warning: Unable to resolve hostname to a (local) address. Using the loopback address as fallback. Manually set the network interface to bind to with GLOO_SOCKET_IFNAME. (function operator())",
    ),
    Pattern(
        event="gloo.no_interface",
        regex=r"Unable to find address for: (?P<interface>\S+)",
        nature=Nature.ERROR,
        source="gloo of PyTorch 1.4 to 2.12, transport/tcp/device.cc; the interface of GLOO_SOCKET_IFNAME",
        sample="RuntimeError: [enforce fail at ../third_party/gloo/gloo/transport/tcp/device.cc:83] ifa != nullptr. Unable to find address for: ens9",
    ),
    Pattern(
        event="gloo.connect_failed",
        regex=r"Gloo connectFullMesh failed with (?P<error>[^\r\n]+)",
        nature=Nature.ERROR,
        source="PyTorch 2.1 to 2.12, ProcessGroupGloo.cpp",
        sample="RuntimeError: Gloo connectFullMesh failed with [../third_party/gloo/gloo/transport/tcp/pair.cc:144] no error",
    ),
    Pattern(
        event="gloo.connect_failed",
        regex=r"gloo/transport/\S+\] [Cc]onnect(?: timeout)? \[(?P<peer>[^\]\s]+)\](?::(?P<port>\d+))?(?:: (?P<error>[^\r\n]+))?",
        nature=Nature.ERROR,
        source="gloo of PyTorch 1.8 to 2.12, transport/tcp/pair.cc",
        sample="RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:799] connect [10.0.0.9]:42311: Connection refused",
        types={"port": int},
    ),
    Pattern(
        event="gloo.connect_failed",
        regex=r"gloo/transport/\S+\] rv != -1\. -1 vs -1\. connect: (?P<error>[A-Z][A-Za-z ]+)",
        nature=Nature.ERROR,
        source="gloo of PyTorch 2.3 and later, transport/tcp/socket.cc; it names no peer",
        sample="[rank3]: RuntimeError: [enforce fail at ../third_party/gloo/gloo/transport/tcp/socket.cc:142] rv != -1. -1 vs -1. connect: No route to host",
    ),
    Pattern(
        event="gloo.connect_failed",
        regex=r"SO_ERROR: (?P<error>[A-Za-z ]+), remote=\[(?P<peer>[^\]\s]+)\]",
        nature=Nature.ERROR,
        source="gloo of PyTorch 2.1 to 2.12, transport/tcp/pair.cc",
        sample="[E321 02:10:08.432379535 pair.cc:861] SO_ERROR: Connection refused, remote=[10.0.0.9]:42311",
    ),
    Pattern(
        event="rendezvous.failed",
        regex=r"Rendezvous(?P<reason>Timeout|Connection|Closed|State|GracefulExit)Error(?:: (?P<error>[^\r\n]+))?",
        nature=Nature.EFFECT,
        source="PyTorch 1.9 to 2.12, torch/distributed/elastic/rendezvous/api.py",
        sample="torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d store has failed. See inner exception for details.",
        types={"reason": str.lower},
    ),
    Pattern(
        event="rendezvous.heartbeat_failed",
        regex=r"The node '(?P<node>[^']*)' has failed to (?P<action>send a keep-alive heartbeat to|shutdown|close) the rendezvous '(?P<endpoint>[^']*)' due to an error of type (?P<reason>\w+)",
        nature=Nature.EFFECT,
        source="PyTorch 1.9 to 2.12, torch/distributed/elastic/rendezvous/dynamic_rendezvous.py",
        sample="W0321 02:10:08.432000 26021 site-packages/torch/distributed/elastic/rendezvous/dynamic_rendezvous.py:1331] The node 'node-07_26021_0' has failed to send a keep-alive heartbeat to the rendezvous 'job-12' due to an error of type RendezvousConnectionError.",
    ),
    Pattern(
        event="c10d.listen_failed",
        regex=r"The server socket has failed to (?:bind to|listen on) \[?(?P<address>[^\]\s]+)\]?:(?P<port>\d+) \(errno: (?P<errno>\d+) - (?P<error>[^)\r\n]+)",
        nature=Nature.ERROR,
        source="PyTorch 1.11 to 2.12, socket.cpp; a port in use has an event of its own",
        sample="[W321 02:00:08.432379535 socket.cpp:464] [c10d] The server socket has failed to bind to [::]:80 (errno: 13 - Permission denied).",
        types={"port": int, "errno": int},
    ),
    Pattern(
        event="c10d.listen_failed",
        regex=r"failed to listen on any local network address\. port: (?P<port>\d+), useIpv6: \w+, code: -(?P<errno>\d+), name: E\w+, message: (?P<error>[^\r\n]+)",
        nature=Nature.ERROR,
        source="PyTorch 2.4 to 2.12, TCPStoreLibUvBackend.cpp; a port in use has an event of its own",
        sample="torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 80, useIpv6: false, code: -13, name: EACCES, message: permission denied",
        types={"port": int, "errno": int},
    ),
    Pattern(
        event="c10d.store_backlog",
        regex=r"Starting store with (?P<workers>\d+) workers but somaxconn is (?P<somaxconn>\d+)",
        nature=Nature.SETTING,
        source="PyTorch 2.4 to 2.12, TCPStoreLibUvBackend.cpp: connections may be refused at the start",
        sample="[W321 02:00:08.432379535 TCPStoreLibUvBackend.cpp:1100] [c10d] Starting store with 512 workers but somaxconn is 128. This might cause instability during bootstrap, consider increasing it.",
        types={"workers": int, "somaxconn": int},
    ),
    Pattern(
        event="c10d.stray_client",
        regex=r"client without VALIDATE query is detected",
        nature=Nature.MEASUREMENT,
        source="PyTorch 2.4 to 2.12, TCPStore.cpp: something else talks to the port",
        sample="[W321 02:10:08.432379535 TCPStore.cpp:320] [c10d] Miscellaneous client without VALIDATE query is detected",
    ),
)

PARSERS = (
    LineParser(
        name="c10d-store",
        title="PyTorch's TCP store, gloo and elastic rendezvous",
        patterns=PATTERNS,
        refine=refine,
    ),
)
