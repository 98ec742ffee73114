r"""What NCCL and RCCL say of themselves at the start: version, communicators, network, NICs, GPUs.

Printed with ``NCCL_DEBUG=INFO`` (the bare version banner also with ``VERSION`` and ``WARN``)::

    node-07:4121:4388 [3] NCCL INFO cudaDriverVersion 12080
    node-07:4121:4388 [3] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.7<0>
    node-07:4121:4388 [3] NCCL INFO Using network IB
    node-07:4121:4388 [3] NCCL INFO ncclCommInitRank comm 0x55d0 rank 3 nranks 16 cudaDev 3 nvmlDev 3 busId 5d000 commId 0x9f1c - Init COMPLETE

The rank in such a line counts within its communicator, so it is the field ``comm_rank`` and never
the event's rank. ``busId`` is domain * 2**20 + bus * 2**12 + device * 2**4 + function.

Empty: ``NCCL_DEBUG`` was unset, or the process never came to its first collective. No device list
does not mean no NIC. Cut off: a START without its COMPLETE is an init that did not finish, or the
last block of a piped standard output that the process could not flush; only other ranks tell which.
"""

from collections.abc import Callable

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers import convert
from diagnose.parsers.base import LineParser, Pattern

VIRTUAL = LazyPattern(
    r"(?:docker|br-|veth|virbr|cni|flannel|cali|cilium|lxc|lxd|kube-|vxlan|weave|podman|tun|tap"
    r"|tailscale|lo$)"
)
"""Interfaces that end on the host itself: bridges, container ends, overlays and tunnels."""

DEVICE = LazyPattern(r"\[\d+\](?P<name>[^\s:\];]+):(?P<port>\d+)(?:/(?P<layer>[^\s;\[]+))?")
INTERFACE = LazyPattern(
    r"(?:\[\d+\])?(?P<name>[^\s:\[\]]+):(?P<address>[0-9A-Fa-f][^\s<]*)(?:<|\s|$)"
)

COMM = (
    r"(?:(?P<api>ncclComm\w+) )?comm (?P<comm>0x[0-9a-f]+) rank (?P<comm_rank>\d+)"
    r" n[Rr]anks (?P<nranks>\d+)(?: cudaDev (?P<cuda_dev>\d+))?(?: nvmlDev (?P<nvml_dev>\d+))?"
    r"(?: busId (?P<gpu>[0-9a-f]+))?(?: parent (?P<parent>0x[0-9a-f]+))?"
    r"(?: (?:splitCount|childCount) (?P<child>\d+))?(?: color (?P<color>-?\d+) key (?P<key>-?\d+))?"
    r"(?: commId (?P<communicator>0x[0-9a-f]+))?(?: localSize \d+ used \d+ bytes)? ?- "
)
"""2.4 to 2.30; 2.29 puts ``[Rank n]`` before it, RCCL has ``localSize``."""

COMM_TYPES: dict[str, Callable[[str], Value]] = {
    **dict.fromkeys(("comm_rank", "nranks", "cuda_dev", "nvml_dev", "child", "color", "key"), int),
    "gpu": convert.pci,
}


def driver(text: str) -> str:
    """Return ``12.8`` from 12080: 1000 * major + 10 * minor."""
    return f"{int(text) // 1000}.{int(text) % 1000 // 10}"


def refine(event: Event, line: Line) -> Event | None:
    """Turn captured lists into lists, and give facts their value."""
    complete = COMPLETE.get(event.name)
    return complete(event) if complete else event


def _devices(event: Event) -> Event | None:
    found = list(DEVICE.finditer(str(event.fields.pop("listing"))))
    if not found:
        return None
    names: list[Value] = [one["name"] for one in found]
    layers: list[Value] = [one["layer"] for one in found if one["layer"]]
    event.fields["devices"] = [one[0].partition("]")[2] for one in found]
    event.fields["hcas"] = names
    event.fields["layers"] = sorted(set(layers), key=str)
    event.fields["value"] = ",".join(map(str, names))
    return event


def _interfaces(event: Event) -> Event | None:
    found = list(INTERFACE.finditer(str(event.fields.pop("listing"))))
    if not found:
        return None
    names: list[Value] = [one["name"] for one in found]
    event.fields["interfaces"] = names
    event.fields["addresses"] = [one["address"] for one in found]
    event.fields["virtual"] = [name for name in names if VIRTUAL.match(str(name))]
    return event


def _bootstrap(event: Event) -> Event | None:
    if _interfaces(event) is None:
        return None
    event.fields["interface"] = event.fields["value"] = _first(event, "interfaces")
    event.fields["address"] = _first(event, "addresses")
    return event


def _first(event: Event, name: str) -> Value:
    values = event.fields[name]
    return values[0] if isinstance(values, list) else values


def _gdr(event: Event) -> Event:
    event.fields["value"] = event.fields["enabled"] = event.fields["enabled"] in (
        "Enabled",
        "enabled",
    )
    return event


COMPLETE: dict[str, Callable[[Event], Event | None]] = {
    "nccl.ib.devices": _devices,
    "nccl.socket.interfaces": _interfaces,
    "nccl.bootstrap_interface": _bootstrap,
    "nccl.gdr": _gdr,
}

PATTERNS = (
    Pattern(
        event="nccl.version",
        regex=r"(?:^|INFO |, |environments: )NCCL version:? (?P<value>2\.\d+\.\d+(?:[a-z]\w{0,9})?)(?:\+(?:cuda|hip)(?P<cuda>\d+\.\d+))?",
        literals=("NCCL version",),
        nature=Nature.SETTING,
        source="NCCL 2.3 to 2.30, init.cc; PyTorch 1.8 and later, NCCLUtils.hpp, within error texts",
        sample="node-07:4121:4388 [3] NCCL INFO NCCL version 2.27.6+cuda12.8",
        fact="nccl.version",
    ),
    Pattern(
        event="nccl.version",
        regex=r"RCCL version ?:? (?P<value>\d+\.\d+\.\d+)(?:\+hip(?P<hip>\d+\.\d+))?",
        nature=Nature.SETTING,
        source="RCCL 2.18 to 2.21, init.cc, to standard output",
        sample="RCCL version : 2.21.5-develop:1a2b3c4",
        constants={"library": "rccl"},
        fact="nccl.version",
    ),
    Pattern(
        event="nccl.cuda_driver",
        regex=r"cudaDriverVersion (?P<value>\d{4,6})\b",
        nature=Nature.SETTING,
        source="NCCL 2.13 to 2.30, misc/cudawrap.cc",
        sample="node-07:4121:4388 [3] NCCL INFO cudaDriverVersion 12080",
        types={"value": driver},
        fact="cuda.driver",
    ),
    Pattern(
        event="nccl.comm_init",
        regex=COMM + r"Init START",
        literals=("- Init START",),
        nature=Nature.SETTING,
        source="NCCL 2.18 to 2.30, init.cc",
        sample="node-07:4121:4388 [3] NCCL INFO ncclCommInitRankConfig comm 0x55d01c30 rank 3 nranks 16 cudaDev 3 nvmlDev 3 busId 5d000 commId 0x9f1c2b3a4d5e6f70 - Init START",
        types=COMM_TYPES,
        constants={"phase": "start"},
    ),
    Pattern(
        event="nccl.comm_init",
        regex=COMM + r"(?:Init )?COMPLETE",
        literals=("- Init COMPLETE", "- COMPLETE"),
        nature=Nature.PROGRESS,
        source="NCCL 2.3 (without Init) to 2.30, init.cc",
        sample="node-07:4121:4388 [3] NCCL INFO comm 0x55d01c30 rank 3 nranks 16 cudaDev 3 busId 5d000 commId 0x9f1c2b3a4d5e6f70 - Init COMPLETE",
        types=COMM_TYPES,
        constants={"phase": "complete"},
    ),
    Pattern(
        event="nccl.comm_end",
        regex=COMM
        + r"(?P<phase>Destroy COMPLETE|Abort COMPLETE|Finalize COMPLETE|Abort START|Revoke START|Revoke COMPLETE)",
        nature=Nature.TEARDOWN,
        source="NCCL 2.12 to 2.30, init.cc",
        sample="node-07:4121:4388 [3] NCCL INFO comm 0x55d01c30 rank 3 nranks 16 cudaDev 3 busId 5d000 - Abort COMPLETE",
        types=COMM_TYPES,
    ),
    Pattern(
        event="nccl.comm_topology",
        regex=r"comm (?P<comm>0x[0-9a-f]+) rank (?P<comm_rank>\d+) nRanks (?P<nranks>\d+) nNodes (?P<nnodes>\d+) localRanks (?P<local_ranks>\d+) localRank (?P<comm_local_rank>\d+)",
        nature=Nature.SETTING,
        source="NCCL 2.20 to 2.30, init.cc",
        sample="node-07:4121:4388 [3] NCCL INFO comm 0x55d01c30 rank 3 nRanks 16 nNodes 2 localRanks 8 localRank 3 MNNVL 0",
        types=dict.fromkeys(
            ("comm_rank", "nranks", "nnodes", "local_ranks", "comm_local_rank"), int
        ),
    ),
    Pattern(
        event="nccl.init_timings",
        regex=r"Init timings - (?P<api>\w+): rank (?P<comm_rank>\d+) nranks (?P<nranks>\d+) total (?P<total>[\d.]+) \(kernels (?P<kernels>[\d.]+),(?: alloc [\d.]+,)? bootstrap (?P<bootstrap>[\d.]+), allgathers (?P<allgathers>[\d.]+), topo (?P<topo>[\d.]+), graphs (?P<graphs>[\d.]+), connections (?P<connections>[\d.]+)",
        nature=Nature.MEASUREMENT,
        source="NCCL 2.22 to 2.30, init.cc; seconds",
        sample="node-07:4121:4388 [3] NCCL INFO Init timings - ncclCommInitRankConfig: rank 3 nranks 16 total 1.08 (kernels 0.51, alloc 0.10, bootstrap 0.22, allgathers 0.01, topo 0.28, graphs 0.04, connections 0.02, rest 0.01)",
        types={
            "comm_rank": int,
            "nranks": int,
            **dict.fromkeys(
                ("total", "kernels", "bootstrap", "allgathers", "topo", "graphs", "connections"),
                float,
            ),
        },
    ),
    Pattern(
        event="nccl.network",
        regex=r"Using network (?P<value>\w[^\r\n]*)",
        nature=Nature.SETTING,
        source="NCCL 2.6 to 2.30, net.cc; a plugin's name may hold a blank",
        sample="node-07:4121:4388 [3] NCCL INFO Using network IB",
        types={"value": str.strip},
        fact="nccl.net",
    ),
    Pattern(
        event="nccl.network",
        regex=r"Assigned NET plugin (?P<value>\w[^\r\n]*?) to comm",
        nature=Nature.SETTING,
        source="NCCL 2.27 to 2.30, plugin/net.cc",
        sample="node-07:4121:4388 [3] NCCL INFO Assigned NET plugin IB to comm",
        fact="nccl.net",
    ),
    Pattern(
        event="nccl.ofi_provider",
        regex=r"NET/OFI Selected [Pp]rovider is (?P<value>[^\s,(]+)(?:(?:, fabric is [^\r\n(]*| )\(found (?P<nics>\d+) nics\))?",
        nature=Nature.SETTING,
        source="aws-ofi-nccl 1.x, nccl_ofi_net.c",
        sample="node-07:4121:4388 [3] NCCL INFO NET/OFI Selected provider is efa, fabric is efa-direct (found 16 nics)",
        types={"nics": int},
        fact="nccl.ofi_provider",
    ),
    Pattern(
        event="nccl.ib.devices",
        regex=r"NET/(?P<net>\w+) : Using(?P<listing> [^;\r\n]*); OOB (?P<oob_interface>[^\s:]+):(?P<oob_address>[^\s<]+)",
        nature=Nature.SETTING,
        source="NCCL 2.4 to 2.30, transport/net_ib.cc; nccl-rdma-sharp, ib_plugin.c; only active ports",
        sample="node-07:4121:4388 [3] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.7<0>",
        fact="nccl.hcas",
    ),
    Pattern(
        event="nccl.ib.device_speed",
        regex=r"Made virtual device \[\d+\] name=(?P<hca>\S+) speed=(?P<megabits>\d+) ndevs=(?P<ports>\d+)",
        nature=Nature.MEASUREMENT,
        source="NCCL 2.22 to 2.30, transport/net_ib.cc; speed in Mbit/s",
        sample="node-07:4121:4388 [3] NCCL INFO NET/IB : Made virtual device [0] name=mlx5_0 speed=400000 ndevs=1",
        types={"megabits": int, "ports": int},
    ),
    Pattern(
        event="nccl.socket.interfaces",
        regex=r"NET/(?:Fast)?Socket : Using(?: interface)? (?P<listing>[^\r\n]*)",
        nature=Nature.SETTING,
        source="NCCL 2.4 to 2.30, transport/net_socket.cc; nccl-fastsocket",
        sample="node-07:4121:4388 [3] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.7<0> [1]br-3f9a1c:172.18.0.1<0>",
    ),
    Pattern(
        event="nccl.bootstrap_interface",
        regex=r"Bootstrap ?: Using (?P<listing>[^\r\n]*)",
        nature=Nature.SETTING,
        source="NCCL 2.4 to 2.30, bootstrap.cc; 2.4 to 2.6 print a list",
        sample="node-07:4121:4388 [3] NCCL INFO Bootstrap: Using eth0:10.0.0.7<0>",
        fact="nccl.bootstrap_interface",
    ),
    Pattern(
        event="nccl.gdr",
        regex=r"GPU Direct RDMA (?:\([^)\r\n]*\) )?(?P<enabled>[Ee]nabled|[Dd]isabled) for (?:GPU \S+ / HCA (?P<hca_index>\S+)|HCA \d+ '(?P<hca>[^'\s]+))?(?:'? ?\((?P<reason>[^)\r\n]*)\))?",
        nature=Nature.SETTING,
        source="NCCL 2.3 to 2.30, transport/net.cc and transport/net_ib.cc; nccl-rdma-sharp, p2p_plugin.c",
        sample="node-07:4121:4388 [3] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0' (no module)",
        fact="nccl.gdr",
    ),
    Pattern(
        event="nccl.dmabuf",
        regex=r"DMA-BUF is available on GPU device",
        nature=Nature.SETTING,
        source="NCCL 2.13 to 2.30, init.cc",
        sample="node-07:4121:4388 [3] NCCL INFO DMA-BUF is available on GPU device 3",
        constants={"value": True},
        fact="nccl.dmabuf",
    ),
    Pattern(
        event="nccl.nvls",
        regex=r"NVLS multicast support is (?P<value>not available|available)",
        nature=Nature.SETTING,
        source="NCCL 2.18 to 2.30, transport/nvls.cc",
        sample="node-07:4121:4388 [3] NCCL INFO NVLS multicast support is available on dev 3 (NVLS_NCHANNELS 16)",
        fact="nccl.nvls",
    ),
    Pattern(
        event="nccl.channels",
        regex=r"NCCL INFO (?P<value>\d+) coll channels",
        literals=(" coll channels",),
        nature=Nature.SETTING,
        source="NCCL 2.7 to 2.30, init.cc",
        sample="node-07:4121:4388 [3] NCCL INFO 16 coll channels, 16 collnet channels, 0 nvls channels, 16 p2p channels, 2 p2p channels per peer",
        types={"value": int},
        fact="nccl.channels",
    ),
    Pattern(
        event="nccl.plugin",
        regex=r"NET/OFI Initializing (?P<plugin>aws-ofi-nccl) (?P<value>[\w.-]+)",
        nature=Nature.SETTING,
        source="aws-ofi-nccl 1.x, nccl_ofi_net.c",
        sample="node-07:4121:4388 [3] NCCL INFO NET/OFI Initializing aws-ofi-nccl 1.14.0",
        fact="nccl.plugin",
    ),
    Pattern(
        event="nccl.plugin",
        regex=r"P2P plugin (?:v\d+ )?(?P<value>(?P<plugin>\w+))",
        nature=Nature.SETTING,
        source="nccl-rdma-sharp 2.1 to 2.7, p2p_plugin.c",
        sample="node-07:4121:4388 [3] NCCL INFO P2P plugin v10 IBext_v10",
        fact="nccl.plugin",
    ),
    Pattern(
        event="nccl.rocm",
        regex=r"ROCm version ?: (?P<value>\d+\.\d+(?:\.\d+)?)",
        nature=Nature.SETTING,
        source="RCCL 2.18 and later, init.cc, to standard output",
        sample="ROCm version : 6.2.0.0-66-3a1b2c3",
        fact="rocm.version",
    ),
    Pattern(
        event="nccl.sharp",
        regex=r"SHARP rank (?P<comm_rank>\d+)/(?P<nranks>\d+) initialized on (?P<host>[\w.-]+)",
        nature=Nature.SETTING,
        source="nccl-rdma-sharp 2.1 to 2.7, sharp_plugin.c",
        sample="node-07:4121:4388 [3] NCCL INFO SHARP rank 0/4 initialized on node-07",
        types={"comm_rank": int, "nranks": int},
    ),
)

PARSERS = (
    LineParser(
        name="nccl-init",
        title="NCCL start-up: versions, communicators, networks and NICs",
        patterns=PATTERNS,
        refine=refine,
    ),
)
