import pytest
from communication import check_table, cut_anywhere, holds, names, one

from diagnose.model.event import Nature
from diagnose.parsers import c10d_store as module

WARN = "[rank3]:[W321 02:00:08.432379535 socket.cpp:752] [c10d] "


def test_pattern_table():
    check_table(module)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("RuntimeError: [3] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: Socket Timeout", {"pg_rank": 3, "rank": 3, "target_rank": 0, "key": "0", "error": "Socket Timeout"}),
        ("RuntimeError: [1] is setting up NCCL communicator and retreiving ncclUniqueId from [0] via c10d key-value store by key '0:1', but store->get('0:1') got error: Connection reset by peer. This may indicate a possible application crash on rank 0 or a network set up issue.", {"key": "0:1", "reason": "reset", "error": "Connection reset by peer"}),
        ("[3] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: wait timeout after 600000ms, keys: /default_pg/0//cuda//0", {"lasted": 600.0, "target_rank": 0}),
        ("torch.distributed.DistStoreError: wait timeout after 2000ms, keys: /nokey", {"key": "/nokey", "lasted": 2.0}),
        ("torch.distributed.DistStoreError: Socket Timeout", {"target_rank": "absent"}),
        ("waitForInput: socket SocketImpl(fd=3, addr=[node-07]:1, remote=[node-00]:29500) timed out after 5000ms", {"lasted": 5.0}),
    ],
)  # fmt: skip
def test_store_timeouts(text, expected):
    event = one(module, text)
    assert (event.name, event.nature) == ("c10d.store_timeout", Nature.EFFECT)
    assert holds(event, expected) == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (WARN + "The client socket has failed to connect to [node-00.cluster]:29500 (errno: 110 - Connection timed out).", {"peer": "node-00.cluster", "port": 29500, "reason": "timeout", "retrying": True, "nature": Nature.EFFECT}),
        (WARN + "The client socket has failed to connect to [::ffff:10.0.0.1]:29500 (errno: 113 - No route to host).", {"peer": "::ffff:10.0.0.1", "reason": "no-route"}),
        ("TimeoutError: The client socket has timed out after 600s while trying to connect to (node-00, 29500).", {"peer": "node-00", "port": 29500, "reason": "timeout", "lasted": 600.0, "retrying": False, "nature": Nature.ERROR}),
        ("torch.distributed.DistNetworkError: The client socket has timed out after 4000ms while trying to connect to (10.0.0.1, 29500).", {"lasted": 4.0, "peer": "10.0.0.1"}),
        (WARN + "TCP client failed to connect/validate to host 10.0.0.1:29500 - timed out (try=12, timeout=600000ms): Connection reset by peer", {"retrying": False, "reason": "timeout", "host": None}),
    ],
)  # fmt: skip
def test_connections_that_failed(text, expected):
    event = one(module, text)
    assert event.name == "c10d.connect_failed"
    assert holds(event, expected) == {}


@pytest.mark.parametrize(
    ("text", "port"),
    [
        (WARN + "The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).", 29500),
        ("RuntimeError: The server socket has failed to listen on any local network address. port: 29597, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use", 29597),
        ("RuntimeError: Address already in use", None),
        ("OSError: [Errno 98] Address already in use", None),
        ("OSError: [Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use", 8000),
        ("ERROR:    bind failed on 0.0.0.0:30000: Address already in use", 30000),
    ],
)  # fmt: skip
def test_ports_in_use(text, port):
    event = one(module, text)
    assert (event.name, event.fields["port"], event.nature) == (
        "c10d.port_in_use",
        port,
        Nature.ERROR,
    )


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("torch.distributed.DistStoreError: Timed out after 901 seconds waiting for clients. 7/8 clients joined.", "c10d.clients_missing", {"joined": 7, "expected": 8, "missing": 1, "lasted": 901.0}),
        (WARN + "recvValue failed on SocketImpl(fd=61, addr=[node-07]:41022, remote=[node-00]:29500): Connection reset by peer", "c10d.store_closed", {"peer": "node-00", "port": 29500}),
        (WARN + 'Failed to check the "should dump" flag on TCPStore, (maybe TCPStore server has shut down too early), with error: Broken pipe', "c10d.store_closed", {"error": "Broken pipe"}),
        ("RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:538] Read error [10.0.0.9]:922: Connection reset by peer", "gloo.connection_closed", {"peer": "10.0.0.9", "port": 922, "detail": "Connection reset by peer", "nature": Nature.EFFECT}),
        ("RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer [fe80::9%eth0]:42311", "gloo.connection_closed", {"peer": "fe80::9%eth0"}),
        ("RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 5000ms for recv operation to complete", "gloo.timeout", {"lasted": 5.0, "direction": "recv"}),
        ("RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:799] connect [127.0.1.1]:42311: Connection refused", "gloo.connect_failed", {"peer": "127.0.1.1", "reason": "refused"}),
        ("RuntimeError: [enforce fail at ../third_party/gloo/gloo/transport/tcp/device.cc:83] ifa != nullptr. Unable to find address for: ens9", "gloo.no_interface", {"interface": "ens9"}),
        ("[rank0]:[W321 02:00:08.432379535 ProcessGroupGloo.cpp:712] Warning: Unable to resolve hostname to a (local) address. Using the loopback address as fallback. Manually set the network interface to bind to with GLOO_SOCKET_IFNAME. (function operator())", "gloo.loopback_chosen", {}),
        (WARN + "The IPv4 network addresses of (node-00, 29500) cannot be retrieved (gai error: -2 - Name or service not known).", "c10d.dns_failed", {"family": "IPv4", "peer": "node-00", "code": -2}),
        ("torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError", "rendezvous.failed", {"reason": "timeout"}),
        ("The node 'node-07_26021_0' has failed to send a keep-alive heartbeat to the rendezvous 'job-12' due to an error of type RendezvousConnectionError.", "rendezvous.heartbeat_failed", {"endpoint": "job-12", "reason": "RendezvousConnectionError"}),
    ],
)  # fmt: skip
def test_other_lines(text, name, expected):
    event = one(module, text, name)
    assert holds(event, expected) == {}


@pytest.mark.parametrize(
    "text",
    [
        WARN
        + "The client socket has failed to connect to [::1]:29500 (errno: 97 - Address family not supported by protocol).",
        "node-07:4121:4388 [3] NCCL INFO RAS: bind failed: Address already in use",
        "If the address is in use, choose another --master_port",
        "socket timeout set to 30 s",
        "Some clients joined.",
        "",
    ],
)
def test_noise_and_near_misses(text):
    assert names(module, text) == []


def test_cut_records():
    cut_anywhere(
        module,
        WARN
        + "recvValue failed on SocketImpl(fd=61, addr=[node-07]:41022, remote=[node-00]:29500): Connection reset by peer",
    )
