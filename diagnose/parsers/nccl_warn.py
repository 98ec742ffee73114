r"""Every warning of NCCL as a generic symptom, and the rarer ones with a meaning of their own.

Sample::

    node-07:4121:4388 [3] graph/connect.cc:40 NCCL WARN No transport found for rank 3[5d000] -> rank 4[6f000]

Each ``NCCL WARN`` line gives one ``nccl.warn``, whatever else it gives. The first warning of a
process is usually the telling one; the ``NCCL INFO file:line -> code`` lines behind it repeat it
frame by frame and are left out. Messages of the proxy about a local rank that went away are effects.

Empty: no warning; on a process that was killed the last block of its output may be lost. Cut off:
the message ends where the line ends.
"""

from diagnose.model.event import Event, Line, Nature
from diagnose.parsers.base import LineParser, Pattern

ANYWHERE = "NCCL 2.3 to 2.30, every file"


def refine(event: Event, line: Line) -> Event | None:
    """Judge an event by the level NCCL printed it at: the same text at INFO was tolerated."""
    if event.name != "nccl.warn":
        event.fields["level"] = "INFO" if "NCCL INFO" in line.text else "WARN"
        if event.nature is Nature.ERROR and event.fields["level"] == "INFO":
            event.nature = Nature.MEASUREMENT
    return event


PATTERNS = (
    Pattern(
        event="nccl.warn",
        regex=r"(?:(?P<source_file>[^\s:]+):(?P<source_line>\d+) (?:\([^)\r\n]*\) )?)?NCCL WARN (?P<message>[^\r\n]*)",
        literals=("NCCL WARN",),
        nature=Nature.EFFECT,
        source=ANYWHERE,
        sample="node-07:4121:4388 [3] transport/net_ib/p2p.cc:688 (ncclIbTest) NCCL WARN NET/IB: something went wrong",
        types={"source_line": int, "message": str.strip},
    ),
    Pattern(
        event="nccl.no_transport",
        regex=r"No transport found (?:for rank (?P<src>\d+)\[[0-9a-f]+\] -> rank (?P<dst>\d+)\[[0-9a-f]+\]|!)",
        nature=Nature.ERROR,
        source="NCCL 2.3 to 2.11 (without ranks), 2.12 to 2.30, transport.cc",
        sample="node-07:4121:4388 [3] transport.cc:40 NCCL WARN No transport found for rank 3[5d000] -> rank 4[6f000]",
        types={"src": int, "dst": int},
    ),
    Pattern(
        event="nccl.no_path",
        regex=r"Could not find a path for pattern (?P<pattern>\d+), falling back to simple order",
        nature=Nature.ERROR,
        source="NCCL 2.5 to 2.30, graph/search.cc; INFO from 2.27",
        sample="node-07:4121:4388 [3] graph/search.cc:1001 NCCL WARN Could not find a path for pattern 4, falling back to simple order",
        types={"pattern": int},
    ),
    Pattern(
        event="nccl.sysfs_unreadable",
        regex=r"Could not find real path of (?P<path>\S+)",
        nature=Nature.ERROR,
        source="NCCL 2.5 to 2.30, graph/xml.cc",
        sample="node-07:4121:4388 [3] graph/xml.cc:330 NCCL WARN Could not find real path of /sys/class/net/eth1",
    ),
    Pattern(
        event="nccl.topo_file_failed",
        regex=r"Could not open XML (?P<what>topology|graph) file (?P<path>\S+) : (?P<error>[^\r\n]+)",
        nature=Nature.ERROR,
        source="NCCL 2.5 to 2.30, graph/xml.cc",
        sample="node-07:4121:4388 [3] graph/xml.cc:260 NCCL WARN Could not open XML topology file /etc/nccl/topo.xml : No such file or directory",
    ),
    Pattern(
        event="nccl.topo_file_failed",
        regex=r"XML Topology has wrong version (?P<found>\d+), (?P<expected>\d+) needed|XML Mismatch : (?P<mismatch>[^\r\n]+)|NCCL WARN XML Parse error(?P<error>[^\r\n]*)",
        nature=Nature.ERROR,
        source="NCCL 2.5 to 2.30, graph/xml.cc",
        sample="node-07:4121:4388 [3] graph/xml.cc:210 NCCL WARN XML Topology has wrong version 2, 1 needed",
        types={"found": int, "expected": int},
        constants={"what": "topology"},
    ),
    Pattern(
        event="nccl.nic_missing",
        regex=r"Rank (?P<comm_rank>\d+) requires NIC (?P<net>\S+) but that NIC is not available for rank (?P<other_rank>\d+)",
        nature=Nature.ERROR,
        source="NCCL 2.12 to 2.30, graph/search.cc",
        sample="node-07:4121:4388 [3] graph/search.cc:1240 NCCL WARN Rank 3 requires NIC 2 but that NIC is not available for rank 11",
        types={"comm_rank": int, "other_rank": int},
    ),
    Pattern(
        event="nccl.nic_missing",
        regex=r"Could not find NIC for rank (?P<comm_rank>\d+) in NVLS graph|Could not find intermediate GPU between GPU rank (?P<gpu_rank>\d+) and NIC (?P<net>\S+)|NCCL WARN Could not find net id (?P<net_id>\S+)",
        nature=Nature.ERROR,
        source="NCCL 2.12 to 2.30, graph/search.cc and graph/paths.cc",
        sample="node-07:4121:4388 [3] graph/search.cc:1190 NCCL WARN Could not find NIC for rank 3 in NVLS graph",
        types={"comm_rank": int, "gpu_rank": int},
    ),
    Pattern(
        event="nccl.net_count_differs",
        regex=r"Detected mixed local (?P<what>Net|CollNet) device counts across ranks \(min (?P<minimum>\d+), max (?P<maximum>\d+)\)",
        nature=Nature.ERROR,
        source="NCCL 2.30, init.cc",
        sample="node-07:4121:4388 [3] init.cc:1122 (initTransportsRank) NCCL WARN Detected mixed local Net device counts across ranks (min 7, max 8). Set NCCL_IGNORE_NET_MISMATCH=1 to continue.",
        types={"minimum": int, "maximum": int},
    ),
    Pattern(
        event="nccl.no_algorithm",
        regex=r"Error : no algorithm/protocol available(?: for function (?P<function>\w+) with datatype (?P<datatype>\w+))?",
        nature=Nature.ERROR,
        source="NCCL 2.6 to 2.30, enqueue.cc",
        sample="node-07:4121:4388 [3] enqueue.cc:1820 NCCL WARN Error : no algorithm/protocol available for function ReduceScatter with datatype ncclFloat32. NCCL_ALGO was set to nvls.",
    ),
    Pattern(
        event="nccl.plugin_failed",
        regex=r"Error: network (?P<plugin>[^\r\n]+) not found",
        nature=Nature.ERROR,
        source="NCCL 2.11 to 2.30, net.cc",
        sample="node-07:4121:4388 [3] net.cc:480 NCCL WARN Error: network AWS Libfabric not found.",
        constants={"reason": "not found"},
    ),
    Pattern(
        event="nccl.plugin_failed",
        regex=r"Plugin load returned (?P<code>-?\d+) : (?P<error>[^\r\n]*): when loading (?P<plugin>\S+)",
        nature=Nature.ERROR,
        source="NCCL 2.12 to 2.27, net.cc",
        sample="node-07:4121:4388 [3] NCCL INFO NET/Plugin : Plugin load returned 2 : /lib/libc.so.6: version `GLIBC_2.32' not found (required by /opt/plugin/libnccl-net.so) : when loading libnccl-net.so",
        types={"code": int, "error": str.strip},
        constants={"reason": "load"},
    ),
    Pattern(
        event="nccl.plugin_failed",
        regex=r"External network plugin (?P<plugin>\S+) is unsupported|Failed to initialize NET plugin (?P<name>\S+)",
        nature=Nature.ERROR,
        source="NCCL 2.12 to 2.30, net.cc and plugin/net.cc",
        sample="node-07:4121:4388 [3] net.cc:120 NCCL WARN NET/Plugin: External network plugin libnccl-net.so is unsupported",
        constants={"reason": "unsupported"},
    ),
    Pattern(
        event="nccl.plugin_failed",
        regex=r"Cannot initialize CollNet, using point-to-point network instead",
        nature=Nature.MEASUREMENT,
        source="NCCL 2.7 to 2.30, init.cc",
        sample="node-07:4121:4388 [3] init.cc:900 NCCL WARN Cannot initialize CollNet, using point-to-point network instead",
        constants={"plugin": "CollNet", "reason": "init"},
    ),
    Pattern(
        event="nccl.ofi_error",
        regex=r"NET/OFI Request [^\r\n]*completed with error[.:] (?:RC: (?P<code>-?\d+)\. Error: |err: (?P<number>\d+), [^\r\n]*strerror: )(?P<error>[^,\r\n]+)",
        nature=Nature.ERROR,
        source="aws-ofi-nccl 1.x, nccl_ofi_rdma.c and nccl_ofi_sendrecv.c",
        sample="node-07:4121:4402 [3] ofi_process_cq:1831 NCCL WARN NET/OFI Request completed with error. RC: 21. Error: Unresponsive receiver (reachable by EFA device but handshake failed)",
        types={"code": int, "number": int},
    ),
    Pattern(
        event="nccl.ofi_open_failed",
        regex=r"NET/OFI Couldn't open (?P<what>[\w /]+)\. RC: (?P<code>-?\d+), ERROR: (?P<error>[^\r\n]+)",
        nature=Nature.ERROR,
        source="aws-ofi-nccl 1.x, nccl_ofi_ofiutils.c",
        sample="node-07:4121:4388 [3] create_nccl_ofi_component:401 NCCL WARN NET/OFI Couldn't open CQ. RC: -12, ERROR: Cannot allocate memory",
        types={"code": int},
    ),
    Pattern(
        event="nccl.ofi_no_provider",
        regex=r"NET/OFI No eligible providers were found|NET/OFI Failed to initialize \w+",
        nature=Nature.ERROR,
        source="aws-ofi-nccl 1.x, nccl_ofi_net.c",
        sample="node-07:4121:4388 [3] nccl_net_ofi_create_plugin:211 NCCL WARN NET/OFI No eligible providers were found",
    ),
    Pattern(
        event="nccl.mismatch",
        regex=r"Mismatched collective detected, please check your collective calls at and around rank (?P<comm_rank>\d+)|this may be caused by a collective mismatch around rank (?P<around>\d+)",
        nature=Nature.ERROR,
        source="NCCL 2.4 to 2.6, misc/argcheck.cc and enqueue.cc",
        sample="node-07:4121:4388 [3] enqueue.cc:300 NCCL WARN Mismatched collective detected, please check your collective calls at and around rank 3.",
        types={"comm_rank": int, "around": int},
        constants={"what": "collective"},
    ),
    Pattern(
        event="nccl.mismatch",
        regex=r"Coll (?P<op>\w+) size (?P<bytes>\d+) symmetric registration check failed on rank (?P<comm_rank>\d+)",
        nature=Nature.ERROR,
        source="NCCL 2.29 to 2.30, misc/argcheck.cc",
        sample="node-07:4121:4388 [3] misc/argcheck.cc:140 NCCL WARN Coll AllReduce size 4096 symmetric registration check failed on rank 3: window offset mismatch with rank 0",
        types={"bytes": int, "comm_rank": int},
        constants={"what": "collective"},
    ),
    Pattern(
        event="nccl.unconnected_peer",
        regex=r"Rank (?P<comm_rank>\d+) has no transport for (?P<direction>send|recv) peer (?P<peer_rank>-?\d+) on channel",
        nature=Nature.ERROR,
        source="NCCL 2.7 to 2.30, proxy.cc",
        sample="node-07:4121:4388 [3] proxy.cc:500 NCCL WARN Rank 3 has no transport for send peer 4 on channel 0/0",
        types={"comm_rank": int, "peer_rank": int},
    ),
    Pattern(
        event="nccl.wrong_device",
        regex=r"(?P<op>\w+) : (?P<argument>\w+) allocated on device (?P<device>\d+) mismatchs with NCCL device (?P<comm_device>\d+)",
        nature=Nature.ERROR,
        source="NCCL 2.3 to 2.30, misc/argcheck.cc",
        sample="node-07:4121:4388 [3] misc/argcheck.cc:27 NCCL WARN AllReduce : sendbuff allocated on device 0 mismatchs with NCCL device 3",
        types={"device": int, "comm_device": int},
    ),
    Pattern(
        event="nccl.usage_error",
        regex=r"NCCL WARN (?P<op>\w+) : (?P<error>\w+ argument is NULL|invalid root -?\d+|invalid type -?\d+|invalid reduction operation -?\d+|reduction operation -?\d+ unknown to this communicator)",
        nature=Nature.ERROR,
        source="NCCL 2.3 to 2.30, misc/argcheck.cc",
        sample="node-07:4121:4388 [3] misc/argcheck.cc:50 NCCL WARN Broadcast : invalid root 16 (root should be in the 0..15 range)",
    ),
    Pattern(
        event="nccl.usage_error",
        regex=r"NCCL WARN (?P<error>Error: corrupted comm object detected|comm 0x[0-9a-f]+ has already been destroyed|Attempt to use communicator before the previous operation|ncclGroupEnd: not in a group call|Trying to send to self without|Trying to recv to self without|Blocking and nonblocking communicators are not allowed|Error : mixing different streams within a group call|Streams given to a communicator within a NCCL group|Too many aggregated operations|Too many async operations in progress|FP8 reduction support begins with sm90)",
        literals=("NCCL WARN",),
        nature=Nature.ERROR,
        source="NCCL 2.3 to 2.30, group.cc, enqueue.cc and misc/argcheck.cc",
        sample="node-07:4121:4388 [3] group.cc:210 NCCL WARN ncclGroupEnd: not in a group call.",
    ),
    Pattern(
        event="nccl.library_mismatch",
        regex=r"NCCL library is too old\. This application was compiled with NCCL version (?P<compiled>[\d.]+), but is running with (?:NCCL library version )?(?P<running>[\d.]+\d)",
        nature=Nature.ERROR,
        source="NCCL 2.30, init.cc",
        sample="node-07:4121:4388 [3] init.cc:1800 (parseCommConfig) NCCL WARN NCCL library is too old. This application was compiled with NCCL version 2.30.7, but is running with NCCL library version 2.27.5.",
    ),
    Pattern(
        event="nccl.library_mismatch",
        regex=r"application was compiled with too old version of NCCL|undefined symbol: (?P<symbol>p?nccl[A-Z]\w+)",
        nature=Nature.ERROR,
        source="NCCL 2.30, init.cc; the dynamic linker",
        sample="ImportError: /opt/venv/lib/python3.11/site-packages/torch/lib/libtorch_cuda.so: undefined symbol: ncclCommRegister",
    ),
    Pattern(
        event="nccl.internal_bug",
        regex=r"List loop at element|Proxy append (?:on running operation|out of bounds)|Unable to post incomplete proxy op chain",
        nature=Nature.ERROR,
        source="NCCL 2.4 to 2.30, proxy.cc",
        sample="node-07:4121:4388 [3] proxy.cc:300 NCCL WARN List loop at element 3-4",
    ),
    Pattern(
        event="nccl.proxy_failed",
        regex=r"Failed to execute operation (?P<operation>\w+) from rank (?P<comm_rank>\d+), retcode (?P<code>\d+)|Error encountered progressing operation=(?P<running>\w+), res=(?P<result>\d+)",
        nature=Nature.EFFECT,
        source="NCCL 2.12 to 2.30, proxy.cc",
        sample="node-07:4121:4402 [3] proxy.cc:1533 NCCL WARN [Proxy Service 3] Failed to execute operation Connect from rank 3, retcode 2",
        types=dict.fromkeys(("comm_rank", "code", "result"), int),
    ),
    Pattern(
        event="nccl.proxy_failed",
        regex=r"Socket recv failed while polling for opId=|Proxy Call to rank (?P<comm_rank>\d+) failed|Could not receive type from localRank (?P<comm_local_rank>\d+)|Comm 0x[0-9a-f]+ is in abort state|ncclAsyncJobComplete: job 0x[0-9a-f]+ failed, job error (?P<code>\d+)",
        nature=Nature.EFFECT,
        source="NCCL 2.12 to 2.30, proxy.cc and group.cc",
        sample="node-07:4121:4402 [3] proxy.cc:1133 NCCL WARN Socket recv failed while polling for opId=0x7f10aa00",
        types=dict.fromkeys(("comm_rank", "comm_local_rank", "code"), int),
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
        name="nccl-warn",
        title="All warnings of NCCL, with what topology, plugin, usage and proxy warnings say",
        patterns=PATTERNS,
        refine=refine,
    ),
)
