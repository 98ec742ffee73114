r"""Every warning of NCCL as a generic symptom, and those about topology and tuning.

Sample::

    node-07:4121:4388 [3] graph/connect.cc:40 NCCL WARN No transport found for rank 3[5d000] -> rank 4[6f000]

Each ``NCCL WARN`` line gives one ``nccl.warn``, whatever else it gives. The first warning of a
process is usually the telling one; the ``NCCL INFO file:line -> code`` lines behind it repeat it
frame by frame and are left out. ``nccl.env_limited`` is a setting that NCCL lowered to ``used``; the
job runs with that.

Empty: no warning; on a process that was killed the last block of its output may be lost. Cut off:
the message ends where the line ends.
"""

from diagnose.model.event import Event, Line, Nature
from diagnose.parsers.base import LineParser, Pattern
from diagnose.parsers.nccl_level import judge_by_level

ANYWHERE = "NCCL 2.3 to 2.30, every file"


def refine(event: Event, line: Line) -> Event | None:
    """Judge an event by the level NCCL printed it at: the same text at INFO was tolerated."""
    return event if event.name == "nccl.warn" else judge_by_level(event, line)


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
        regex=r"(?:Could not find real path of|Topology detection ?: could not read) (?P<path>[^\s,]+)",
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
        regex=r"XML Topology has wrong version (?P<found>\d+), (?P<expected>\d+) needed|XML Mismatch : (?P<mismatch>[^\r\n]+)|XML Parse error(?P<error>[^\r\n]*)|Attribute (?P<attribute>\w+) of node (?P<node>\w+) not found",
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
        regex=r"Could not find NIC for rank (?P<comm_rank>\d+) in NVLS graph|Could not find intermediate GPU between GPU rank (?P<gpu_rank>\d+) and NIC (?P<net>\S+)|Could not find net id (?P<net_id>\S+)|No path computed to go from (?P<path_from>\S+) to (?P<path_to>\S+)",
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
        event="nccl.nic_virtual",
        regex=r"Topology detection: network path (?P<path>\S+) is not a PCI device \((?P<interface>[^)\r\n]+)\)",
        nature=Nature.MEASUREMENT,
        source="NCCL 2.5 to 2.30, graph/xml.cc; a bridge, a container end or a virtual machine",
        sample="node-07:4121:4388 [3] NCCL INFO Topology detection: network path /sys/devices/virtual/net/br0 is not a PCI device (br0). Attaching to first CPU",
    ),
    Pattern(
        event="nccl.device_unknown",
        regex=r"(?:Trying to use non-existent virtual device|Requested properties for vNic) (?P<device>\d+)(?:, only (?P<devices>\d+) vNics)?",
        nature=Nature.ERROR,
        source="NCCL 2.22 to 2.30, transport/net_ib.cc",
        sample="node-07:4121:4388 [3] transport/net_ib.cc:840 NCCL WARN NET/IB : Trying to use non-existent virtual device 9",
        types={"device": int, "devices": int},
    ),
    Pattern(
        event="nccl.pxn_host_buffers",
        regex=r"PXN should not use host buffers for data",
        nature=Nature.ERROR,
        source="NCCL 2.12 to 2.30, transport/net.cc; GPUDirect is off",
        sample="node-07:4121:4388 [3] transport/net.cc:900 NCCL WARN PXN should not use host buffers for data",
    ),
    Pattern(
        event="nccl.env_limited",
        regex=r"User asked for a minimum of (?P<value>\d+) channels, limiting to (?P<used>\d+)",
        nature=Nature.ERROR,
        source="NCCL 2.5 to 2.30, graph/connect.cc and init.cc",
        sample="node-07:4121:4388 [3] graph/connect.cc:300 NCCL WARN User asked for a minimum of 64 channels, limiting to 32",
        constants={"name": "NCCL_MIN_NCHANNELS"},
    ),
    Pattern(
        event="nccl.env_limited",
        regex=r"(?:maxCTAs|minCTAs) (?P<value>\d+) is larger than #channels upper limit (?P<used>\d+)",
        nature=Nature.ERROR,
        source="NCCL 2.17 to 2.30, init.cc",
        sample="node-07:4121:4388 [3] init.cc:1680 NCCL WARN maxCTAs 128 is larger than #channels upper limit 64, cap it to 64",
        constants={"name": "NCCL_MAX_CTAS"},
    ),
    Pattern(
        event="nccl.env_invalid",
        regex=r"TOPO/NET : Could not force merge NICs (?P<value>[^\s.]+)",
        nature=Nature.ERROR,
        source="NCCL 2.23 to 2.30, graph/topo.cc",
        sample="node-07:4121:4388 [3] graph/topo.cc:900 NCCL WARN TOPO/NET : Could not force merge NICs mlx5_0,mlx5_9. Please specify a valid NCCL_NET_FORCE_MERGE string.",
        constants={"name": "NCCL_NET_FORCE_MERGE"},
    ),
    Pattern(
        event="nccl.env_invalid",
        regex=r"Tried merging multiple devices together and failed",
        nature=Nature.ERROR,
        source="NCCL 2.22 to 2.30, graph/topo.cc",
        sample="node-07:4121:4388 [3] graph/topo.cc:930 NCCL WARN TOPO/NET : Tried merging multiple devices together and failed. Set NCCL_NET_MERGE_LEVEL=LOC to disable",
        constants={"name": "NCCL_NET_MERGE_LEVEL"},
    ),
    Pattern(
        event="nccl.env_limited",
        regex=r"(?P<name>NCCL_SOCKET_NTHREADS) is greater than the maximum allowed, setting to (?P<used>\d+)",
        nature=Nature.ERROR,
        source="NCCL 2.4 to 2.30, transport/net_socket.cc",
        sample="node-07:4121:4388 [3] transport/net_socket.cc:200 NCCL WARN NET/Socket : NCCL_SOCKET_NTHREADS is greater than the maximum allowed, setting to 16",
    ),
    Pattern(
        event="nccl.env_invalid",
        regex=r"OOO RQ is force enabled but (?P<reason>[^\r\n]+)",
        nature=Nature.ERROR,
        source="NCCL 2.30, transport/net_ib/init.cc",
        sample="node-07:4121:4388 [3] transport/net_ib/init.cc:410 (ncclIbInit) NCCL WARN NET/IB: OOO RQ is force enabled but the device does not support it",
        constants={"name": "NCCL_IB_OOO_RQ"},
    ),
    Pattern(
        event="nccl.env_invalid",
        regex=r"Net : No valid (?:<IPv4_or_hostname>:<port>|\[IPv6\]:port) pair found",
        nature=Nature.ERROR,
        source="NCCL 2.4 to 2.30, misc/socket.cc",
        sample="node-07:4121:4388 [3] misc/socket.cc:210 NCCL WARN Net : No valid <IPv4_or_hostname>:<port> pair found",
        constants={"name": "NCCL_COMM_ID"},
    ),
    Pattern(
        event="nccl.env_limited",
        regex=r"(?P<name>NCCL_CGA_CLUSTER_SIZE) value (?P<value>\d+) is too big",
        nature=Nature.ERROR,
        source="NCCL 2.17 to 2.30, init.cc",
        sample="node-07:4121:4388 [3] init.cc:1690 NCCL WARN NCCL_CGA_CLUSTER_SIZE value 16 is too big. Limiting value to 8.",
    ),
    Pattern(
        event="nccl.env_limited",
        regex=r"number of sockets is greater than the maximum allowed, setting (?P<name>NCCL_NSOCKS_PERTHREAD) to (?P<used>\d+)",
        nature=Nature.ERROR,
        source="NCCL 2.4 to 2.30, transport/net_socket.cc",
        sample="node-07:4121:4388 [3] transport/net_socket.cc:206 NCCL WARN NET/Socket : the total number of sockets is greater than the maximum allowed, setting NCCL_NSOCKS_PERTHREAD to 4",
    ),
)

PARSERS = (
    LineParser(
        name="nccl-warn",
        title="All warnings of NCCL, with what those about topology and tuning say",
        patterns=PATTERNS,
        refine=refine,
    ),
)
