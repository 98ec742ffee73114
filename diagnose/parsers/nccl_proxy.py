r"""What NCCL's proxy, group and socket threads print after an error somewhere else.

Sample::

    node-07:4121:4402 [3] proxy.cc:1533 NCCL WARN [Proxy Service 3] Failed to execute operation Connect from rank 3, retcode 2

A proxy thread serves the ranks of its own host, so ``comm_rank`` and ``comm_local_rank`` are those
that asked, or that went away. ``code`` is the result that was handed on, an ``ncclResult_t`` or, at
the end of a communicator, a CUDA error. All of it follows from something printed before, on
this host or by the peer.

Empty: nothing failed here. Cut off: fields behind the cut are missing.
"""

from diagnose.model.event import Nature
from diagnose.parsers.base import LineParser, Pattern
from diagnose.parsers.nccl_level import judge_by_level

TYPES = dict.fromkeys(("comm_rank", "comm_local_rank", "code"), int)


def _follows(regex: str, source: str, sample: str) -> Pattern:
    """Return a pattern of a message that follows from another."""
    return Pattern(
        event="nccl.proxy_failed",
        regex=regex,
        nature=Nature.EFFECT,
        source=source,
        sample=sample,
        types=TYPES,
    )


PATTERNS = (
    _follows(
        r"Failed to execute operation (?P<operation>\w+) from rank (?P<comm_rank>\d+), retcode (?P<code>\d+)",
        "NCCL 2.12 to 2.30, proxy.cc",
        "node-07:4121:4402 [3] proxy.cc:1533 NCCL WARN [Proxy Service 3] Failed to execute operation Connect from rank 3, retcode 2",
    ),
    _follows(
        r"Error encountered progressing operation=(?P<operation>\w+), res=(?P<code>\d+)",
        "NCCL 2.14 to 2.30, proxy.cc",
        "node-07:4121:4402 [3] proxy.cc:1600 NCCL WARN [Service thread] Error encountered progressing operation=Connect, res=3, closing connection",
    ),
    _follows(
        r"Could not receive type from localRank (?P<comm_local_rank>\d+)|\[Service thread\] Accept failed",
        "NCCL 2.12 to 2.30, proxy.cc; a process of this host went away",
        "node-07:4121:4402 [3] proxy.cc:1580 NCCL WARN [Service thread] Could not receive type from localRank 3, res=6, closed=1",
    ),
    _follows(
        r"Proxy Call to rank (?P<comm_rank>\d+) failed(?: \((?P<operation>\w+)\))?|Socket recv failed while polling for opId=|Proxy response for opId=\S+ doesn't match any expected|Comm 0x[0-9a-f]+ is in abort state",
        "NCCL 2.12 to 2.30, proxy.cc",
        "node-07:4121:4402 [3] proxy.cc:1133 NCCL WARN Proxy Call to rank 3 failed (Connect)",
    ),
    _follows(
        r"ncclAsyncJobComplete: job 0x[0-9a-f]+ failed, job error (?P<code>\d+)",
        "NCCL 2.14 to 2.30, group.cc",
        "node-07:4121:4388 [3] group.cc:64 NCCL WARN ncclAsyncJobComplete: job 0x7f10aa failed, job error 3",
    ),
    _follows(
        r"ncclCommSetAsyncError: error comm 0x[0-9a-f]+ sets state (?P<code>\d+)|commReclaim: comm 0x[0-9a-f]+ \(rank = (?P<comm_rank>\d+)\) in abort",
        "NCCL 2.14 to 2.30, init.cc",
        "node-07:4121:4388 [3] init.cc:2100 NCCL WARN commReclaim: comm 0x7f10aa (rank = 3) in abort, error 3",
    ),
    _follows(
        r"ncclProxyClientGetFd call to tpRank (?P<comm_rank>\d+) handle \S+ failed : (?P<code>\d+)",
        "NCCL 2.18 to 2.30, proxy.cc",
        "node-07:4121:4388 [3] proxy.cc:1210 NCCL WARN ncclProxyClientGetFd call to tpRank 3 handle 0x7f10aa failed : 2",
    ),
    _follows(
        r"hostStreamPlanCallback\(\) failed|Failure in host setup :|Legacy IPC cleanup callback failed|commDestroySync: comm 0x[0-9a-f]+ rank (?P<comm_rank>\d+) sync deviceStream error (?P<code>\d+)",
        "NCCL 2.12 to 2.30, enqueue.cc, transport/p2p.cc and init.cc",
        "node-07:4121:4388 [3] init.cc:1990 NCCL WARN commDestroySync: comm 0x7f10aa rank 3 sync deviceStream error 700",
    ),
    _follows(
        r"Unexpected connections are not empty|NET/Socket : (?:socket progress error|test called with NULL request|unable to allocate (?:requests|subtasks))|ncclIbIsend\(\) called when comm->base\.ready == 0",
        "NCCL 2.4 to 2.30, bootstrap.cc, transport/net_socket.cc and transport/net_ib.cc",
        "node-07:4121:4402 [3] transport/net_socket.cc:590 NCCL WARN NET/Socket : socket progress error",
    ),
    Pattern(
        event="nccl.local_rank_closed",
        regex=r"\[Service thread\] Connection closed by localRank (?P<comm_local_rank>\d+)",
        nature=Nature.TEARDOWN,
        source="NCCL 2.12 to 2.30, proxy.cc; normal at the end of a job",
        sample="node-07:4121:4402 [3] NCCL INFO [Service thread] Connection closed by localRank 3",
        types={"comm_local_rank": int},
    ),
)

PARSERS = (
    LineParser(
        name="nccl-proxy",
        title="What follows in NCCL's threads from an error elsewhere",
        patterns=PATTERNS,
        refine=judge_by_level,
    ),
)
