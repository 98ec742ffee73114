r"""What NCCL says of its network plugins, and what the plugins say through it.

Samples::

    node-07:4121:4388 [3] net.cc:480 NCCL WARN Error: network AWS Libfabric not found.
    node-07:4121:4402 [3] ofi_process_cq:1831 NCCL WARN NET/OFI Request completed with error. RC: 21. Error: Unresponsive receiver

Libfabric's own lines name the machines by instance (``Peer host id: i-0123…``). A plugin puts a
function or a whole signature where NCCL has its source file. Probing of plugin interfaces that are
not there (``Failed to find ncclNetPlugin_v8 symbol``) is harmless and gives no event.

Empty: no plugin, or none that failed. Cut off: fields behind the cut are missing.
"""

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature
from diagnose.parsers.base import LineParser, Pattern
from diagnose.parsers.nccl_level import judge_by_level

SAME = (("err", "code"), ("text", "error"))
"""Fields of the newer wording and what they are called in the older one."""

WITHOUT_PLUGIN = LazyPattern(r" ?(?:No plugin found \(([^)]*)\)|Using internal net)")
"""What NCCL goes on with in the line that repeats the error of the loader."""

INSTANCES = (
    ("instance", LazyPattern(r"My host id: (i-[0-9a-f]+)")),
    ("peer", LazyPattern(r"Peer host id: (i-[0-9a-f]+)")),
)
"""Machines by the name their cloud gives them, as libfabric prints them for EFA."""


def refine(event: Event, line: Line) -> Event | None:
    """Name the fields of both wordings alike, and judge by the level."""
    for own, common in SAME:
        if own in event.fields:
            event.fields[common] = event.fields.pop(own)
    error = event.fields.get("error")
    if event.fields.get("reason") == "load" and isinstance(error, str):
        if found := WITHOUT_PLUGIN.search(error):
            error = error[: found.start()]
            event.fields.setdefault("plugin", found[1])
        event.fields["error"] = error.strip()
    for name, pattern in INSTANCES:
        if found := pattern.search(line.text):
            event.fields[name] = found[1]
    return judge_by_level(event, line)


PATTERNS = (
    Pattern(
        event="nccl.net_plugin",
        regex=r"Plugin Path : (?P<path>\S+)|NET/Plugin ?: Loaded net plugin (?P<name>[^(\r\n]+)",
        nature=Nature.SETTING,
        source="NCCL 2.12 to 2.30, net.cc and plugin/net.cc; nccl-rdma-sharp, p2p_plugin.c",
        sample="node-07:4121:4388 [3] NCCL INFO NET/Plugin: Loaded net plugin Libfabric (v9)",
        types={"name": str.strip},
        constants={"value": "plugin"},
        fact="nccl.net_plugin",
    ),
    Pattern(
        event="nccl.net_plugin",
        regex=r"(?:Using internal network plugin|No plugin found \([^)\r\n]*\), using internal implementation)",
        nature=Nature.SETTING,
        source="NCCL 2.6 to 2.30, net.cc and plugin/net.cc",
        sample="node-07:4121:4388 [3] NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.",
        constants={"value": "built in"},
        fact="nccl.net_plugin",
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
        regex=r"NET/Plugin ?: (?:dlerror=|Plugin load \((?P<plugin>[^)\r\n]*)\) returned \d+ : )(?P<error>[^\r\n]*)",
        nature=Nature.ERROR,
        source="NCCL 2.19 to 2.23, net.cc; NCCL 2.24 and later, plugin/plugin_open.cc",
        sample="node-07:4121:4388 [3] NCCL INFO NET/Plugin : dlerror=/opt/plugin/libucp.so.0: undefined symbol: uct_md_open No plugin found (libnccl-net.so), using internal implementation",
        constants={"reason": "load"},
    ),
    Pattern(
        event="nccl.plugin_failed",
        regex=r"External network plugin (?P<plugin>\S+) is unsupported",
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
        regex=r"NET/OFI Request [^\r\n]*completed with error[.:] (?:RC: (?P<code>-?\d+)\. Error: (?:\d+ ?\()?(?P<error>[^,.\r\n]+)|err: (?P<err>\d+), [^\r\n]*prov_errno: (?P<provider_error>-?\d+), strerror: (?P<text>[^,\r\n]+))",
        nature=Nature.ERROR,
        source="aws-ofi-nccl 1.x, nccl_ofi_rdma.c and nccl_ofi_sendrecv.c",
        sample="node-07:4121:4402 [3] ofi_process_cq:1831 NCCL WARN NET/OFI Request completed with error. RC: 21. Error: Unresponsive receiver (reachable by EFA device but handshake failed)",
        types={"code": int, "err": int, "provider_error": int},
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
        regex=r"NET/OFI (?:No eligible providers were found|Failed to initialize \w+|Could not find any optimal provider(?:\s*$))",
        nature=Nature.ERROR,
        source="aws-ofi-nccl 0.9 to 1.x, nccl_ofi_net.c",
        sample="node-07:4121:4388 [3] nccl_net_ofi_create_plugin:211 NCCL WARN NET/OFI No eligible providers were found",
    ),
    Pattern(
        event="nccl.plugin_failed",
        regex=r"Failed to initialize NET plugin (?P<plugin>\S+)",
        nature=Nature.ERROR,
        source="NCCL 2.26 to 2.30, plugin/net.cc",
        sample="node-07:4121:4388 [3] plugin/net.cc:120 (ncclNetPluginInit) NCCL WARN NET/Plugin: Failed to initialize NET plugin Libfabric",
        constants={"reason": "init"},
    ),
    Pattern(
        event="nccl.plugin_failed",
        regex=r"CollNet is not supported or fails to initialize, ignoring NCCL_ALGO=COLLNET",
        nature=Nature.ERROR,
        source="NCCL 2.6 to 2.30, init.cc",
        sample="node-07:4121:4388 [3] init.cc:910 NCCL WARN CollNet is not supported or fails to initialize, ignoring NCCL_ALGO=COLLNET",
        constants={"plugin": "CollNet", "reason": "init", "wanted": True},
    ),
    Pattern(
        event="nccl.plugin_failed",
        regex=r"SHARP coll init error: (?P<error>[^(\r\n]+)\((?P<code>-?\d+)\)",
        nature=Nature.ERROR,
        source="nccl-rdma-sharp 2.1 to 2.7, sharp_plugin.c",
        sample="node-07:4121:4388 [3] sharp_plugin.c:310 NCCL WARN NET/IB : SHARP coll init error: Cannot connect to SHArPD(-11)",
        types={"code": int},
        constants={"plugin": "SHARP", "reason": "init"},
    ),
    Pattern(
        event="nccl.tcpx_timeout",
        regex=r"rx ctrl timeout cnt (?P<count>\d+), nanos (?P<nanoseconds>\d+)",
        nature=Nature.EFFECT,
        source="GPUDirectTCPX; its receive service does not answer",
        sample="node-07:4121:4402 [3] tcpxResult_t tcpxCommProgress(tcpxComm*):1231 NCCL WARN tcpxComm 0x7f10 rx ctrl timeout cnt 100, nanos 1000000000",
        types={"count": int, "nanoseconds": int},
    ),
    Pattern(
        event="nccl.ofi_peer_lost",
        regex=r"libfabric:(?P<pid>\d+):[\d:]+efa:[^\r\n]*<warn>[^\r\n]* err: (?P<code>\d+), message: (?P<error>.*?)(?: My EFA addr|$)",
        nature=Nature.ERROR,
        source="libfabric 1.18 and later, prov/efa; machines by instance id",
        sample="libfabric:4121:1767600000::efa:cq:efa_rdm_cq_handle_error():90<warn> err: 5, message: Unresponsive receiver (reachable by EFA device but handshake failed) My EFA addr: fi_addr_efa://[fe80::7]:0:1 My host id: i-0a1b2c3d Peer EFA addr: fi_addr_efa://[fe80::9]:0:1 Peer host id: i-0d4e5f6a",
        types={"code": int},
    ),
    Pattern(
        event="nccl.ucx_error",
        regex=r"\[(?P<host>[\w.-]+):(?P<pid>\d+):\d+\] +(?P<source_file>[\w.]+):(?P<source_line>\d+) +UCX +(?P<severity>ERROR|FATAL) +(?P<message>[^\r\n]+)",
        nature=Nature.ERROR,
        source="UCX 1.10 to 1.18",
        sample="[1716343707.920000] [node-07:4121:0]         ib_device.c:1180 UCX  ERROR ibv_create_cq(cqe=4096) failed: Cannot allocate memory",
        types={"source_line": int},
    ),
)

PARSERS = (
    LineParser(
        name="nccl-plugin",
        title="NCCL's network plugins: loading, libfabric, SHARP, TCPX, UCX",
        patterns=PATTERNS,
        refine=refine,
    ),
)
