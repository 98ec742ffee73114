r"""InfiniBand and RoCE trouble as NCCL prints it: completions, port events, queue pairs, memory.

Sample::

    node-07:4121:4402 [3] transport/net_ib.cc:2279 NCCL WARN NET/IB: Got completion from peer 10.0.0.9<44206> with status=12 opcode=32698 len=0 vendor err 129 (Send) localGid ::ffff:10.20.3.7 remoteGids::ffff:10.20.3.9 hca mlx5_3

Of a failed completion only status, vendor error, peer and adapter mean anything: the verbs interface
leaves opcode and length undefined, so they are not read. Status 5 is the flush of work queued on a
queue pair that had failed before, a consequence. ``peer`` is the bootstrap address of the peer
process. The same text at INFO level was tolerated by NCCL: such an event is a measurement and has
``level: INFO``. ``HINT:`` lines (2.30) are guesses and give no event.

Empty: no verbs error on this process; its peer may have one. Cut off: a completion line without its
tail keeps the status and lacks adapter and vendor error.
"""

from collections.abc import Callable

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature
from diagnose.parsers import convert
from diagnose.parsers.base import LineParser, Pattern
from diagnose.parsers.nccl_level import add_errno, judge_by_level

STATUS = {
    0: "SUCCESS", 1: "LOC_LEN_ERR", 2: "LOC_QP_OP_ERR", 3: "LOC_EEC_OP_ERR", 4: "LOC_PROT_ERR",
    5: "WR_FLUSH_ERR", 6: "MW_BIND_ERR", 7: "BAD_RESP_ERR", 8: "LOC_ACCESS_ERR",
    9: "REM_INV_REQ_ERR", 10: "REM_ACCESS_ERR", 11: "REM_OP_ERR", 12: "RETRY_EXC_ERR",
    13: "RNR_RETRY_EXC_ERR", 14: "LOC_RDD_VIOL_ERR", 15: "REM_INV_RD_REQ_ERR",
    16: "REM_ABORT_ERR", 17: "INV_EECN_ERR", 18: "INV_EEC_STATE_ERR", 19: "FATAL_ERR",
    20: "RESP_TIMEOUT_ERR", 21: "GENERAL_ERR", 22: "TM_ERR", 23: "TM_RNDV_INCOMPLETE",
}  # fmt: skip
"""``enum ibv_wc_status`` of rdma-core, libibverbs/verbs.h."""

FLUSHED = 5

BENIGN = frozenset(
    {
        "LID change", "SM change", "P_Key change", "client reregistration", "GID table change",
        "last WQE reached", "communication established", "path migrated", "port active",
    }
)  # fmt: skip
"""Event names of libibverbs that cost a running job nothing by themselves."""

VENDOR = LazyPattern(r"vendor[_ ]err[ =](\d+)")
DIRECTION = LazyPattern(r"\((Send|Recv)\)|req_type=(\w+)")
LOCAL_GID = LazyPattern(r"localGid ([0-9a-fA-F:.]+)")
REMOTE_GID = LazyPattern(r"remoteGids? ?([0-9a-fA-F:.]+)")
RETRY = LazyPattern(r", retrying (\d+)/(\d+)")
NUMBER = LazyPattern(r" errno (\d+)")
QUEUE_PAIR = LazyPattern(r"\bqpn[ =](\d+)")
HCA = LazyPattern(r"\bhca ([\w.+-]+)")

OTHER_EVENT = frozenset({"ibv_modify_qp", "ibv_open_device"})


def refine(event: Event, line: Line) -> Event | None:
    """Complete an event from the rest of its line, and judge it by the level NCCL printed it at."""
    complete = COMPLETE.get(event.name)
    kept = complete(event, line.text) if complete else event
    return judge_by_level(kept, line) if kept else None


def _completion(event: Event, text: str) -> Event:
    status = event.fields["status"]
    if isinstance(status, int):
        event.fields.setdefault("status_name", STATUS.get(status, "unknown"))
        event.nature = Nature.EFFECT if status == FLUSHED else Nature.ERROR
    if found := VENDOR.search(text):
        event.fields["vendor_error"] = int(found[1])
    if found := DIRECTION.search(text):
        event.fields["direction"] = (found[1] or found[2]).lower()
    if found := LOCAL_GID.search(text):
        event.fields["local_gid"] = found[1]
    if found := REMOTE_GID.search(text):
        event.fields["remote_gid"] = found[1]
    if found := HCA.search(text):
        event.fields["hca"] = event.nic = found[1]
    return event


def _async_event(event: Event, text: str) -> Event:
    name = str(event.fields["event"]).strip()
    event.fields["event"] = name
    if found := QUEUE_PAIR.search(text):
        event.fields["qpn"] = int(found[1])
    fatal = " fatal event" in text
    event.fields["fatal"] = fatal
    event.fields["severity"] = "fatal" if fatal else "benign" if name in BENIGN else "error"
    # Non-fatal for the communicator says nothing of the port: a lost link is printed so since 2.28.
    event.fields["level"] = "WARN"
    if name == "port active":
        event.nature = Nature.PROGRESS
    elif name in BENIGN:
        event.nature = Nature.MEASUREMENT
    return event


def _errno(event: Event, text: str) -> Event:
    error = event.fields.get("error")
    if isinstance(error, str):
        event.fields["error"] = error.strip().removesuffix(" errno")
        if found := NUMBER.search(text):
            event.fields["errno"] = int(found[1])
        add_errno(event)
    return event


def _modify_qp(event: Event, text: str) -> Event:
    attempt = RETRY.search(text)
    event.fields["retrying"] = attempt is not None
    if attempt:
        event.fields |= {"attempts": int(attempt[1]), "limit": int(attempt[2])}
        event.nature = Nature.EFFECT
    return _errno(event, text)


def _call(event: Event, text: str) -> Event | None:
    call = str(event.fields["call"])
    if call in OTHER_EVENT or call.startswith("ibv_reg_"):
        return None
    if call.startswith("ibv_post_"):
        event.nature = Nature.EFFECT
    return _errno(event, text)


COMPLETE: dict[str, Callable[[Event, str], Event | None]] = {
    "nccl.ib.completion_error": _completion,
    "nccl.ib.async_event": _async_event,
    "nccl.ib.modify_qp_failed": _modify_qp,
    "nccl.ib.reg_mr_failed": _errno,
    "nccl.ib.call_failed": _call,
}

PATTERNS = (
    Pattern(
        event="nccl.ib.completion_error",
        regex=r"Got completion with error (?P<status>\d+)",
        nature=Nature.ERROR,
        source="NCCL 2.3 to 2.9, transport/net_ib.cc",
        sample="node-07:4121:4402 [3] transport/net_ib.cc:789 NCCL WARN NET/IB : Got completion with error 12, opcode 32600, len 32630, vendor err 129",
        types={"status": int},
    ),
    Pattern(
        event="nccl.ib.completion_error",
        regex=r"Got completion from peer (?P<peer>\S+) with (?:error |status=)(?P<status>\d+)",
        nature=Nature.ERROR,
        source="NCCL 2.10 to 2.19 (error), 2.20 to 2.27 (status=; hca from 2.22), transport/net_ib.cc",
        sample="node-07:4121:4402 [3] transport/net_ib.cc:2279 NCCL WARN NET/IB: Got completion from peer 10.0.0.9<44206> with status=12 opcode=0 len=0 vendor err 129 (Send) localGid ::ffff:10.20.3.7 remoteGids::ffff:10.20.3.9 hca mlx5_3",
        types={"status": int, "peer": convert.address},
    ),
    Pattern(
        event="nccl.ib.completion_error",
        regex=r"Got completion from peer (?P<peer>\S+) with status=IBV_WC_(?P<status_name>[A-Z_]+)\((?P<status>\d+)\)",
        nature=Nature.ERROR,
        source="NCCL 2.28 to 2.30, transport/net_ib/p2p.cc; NET/IB/GIN prints the same",
        sample="node-07:4121:4402 [3] transport/net_ib/p2p.cc:688 (ncclIbLogCompletionWithError) NCCL WARN NET/IB: Got completion from peer 10.0.0.9<44206> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) vendor_err=129  localGid fe80::a remoteGidsfe80::b hca mlx5_0",
        types={"status": int, "peer": convert.address},
    ),
    Pattern(
        event="nccl.ib.cqe_error",
        regex=r"Got CQE with error \(devIndex=(?P<device_index>\d+)",
        nature=Nature.EFFECT,
        source="NCCL 2.29 to 2.30, transport/net_ib/p2p_resiliency.cc",
        sample="node-07:4121:4402 [3] NCCL INFO NET/IB: Got CQE with error (devIndex=1, req=0x7f10, qp_num=412)",
        types={"device_index": int},
    ),
    Pattern(
        event="nccl.ib.async_event",
        regex=r"NET/IB ?: (?:(?P<hca>[\w.+-]+):(?P<port>\d+) )?Got (?:non-fatal )?async (?:error )?event ?: (?P<event>[^(\r\n]+)",
        nature=Nature.ERROR,
        source="NCCL 2.3 to 2.30, transport/net_ib.cc; names from libibverbs, adapter from 2.20",
        sample="node-07:4121:4380 [0] transport/net_ib.cc:93 NCCL WARN NET/IB : mlx5_2:1 Got async event : port error",
        types={"port": int},
    ),
    Pattern(
        event="nccl.ib.async_event",
        regex=r"NET/IB ?: (?P<hca>[\w.+-]+):(?P<port>\d+) async fatal event(?: on (?P<object>QP|CQ|SRQ) [^\r\n:]*)?: (?P<event>[^\r\n]+)",
        literals=("async fatal event",),
        nature=Nature.ERROR,
        source="NCCL 2.23 to 2.30, transport/net_ib.cc",
        sample="node-07:4121:4380 [0] transport/net_ib.cc:121 NCCL WARN NET/IB : mlx5_2:1 async fatal event: local catastrophic error",
        types={"port": int},
    ),
    Pattern(
        event="nccl.ib.gid_changed",
        regex=r"NET/IB ?: (?P<hca>[\w.+-]+):(?P<port>\d+) GID table changed",
        nature=Nature.ERROR,
        source="NCCL 2.28 to 2.30, transport/net_ib/common.cc",
        sample="node-07:4121:4380 [0] transport/net_ib/common.cc:88 NCCL WARN NET/IB : mlx5_2:1 GID table changed",
        types={"port": int},
    ),
    Pattern(
        event="nccl.ib.fatal",
        regex=r"communicator encountered a fatal error \(detected in (?P<where>[^)]*)\)",
        nature=Nature.EFFECT,
        source="NCCL 2.23 to 2.30, transport/net_ib.cc",
        sample="node-07:4121:4402 [3] transport/net_ib.cc:260 NCCL WARN NET/IB: communicator encountered a fatal error (detected in ncclIbTest)",
    ),
    Pattern(
        event="nccl.ib.modify_qp_failed",
        regex=r"Call to ibv_modify_qp failed(?: with error (?P<error>[A-Z][A-Za-z /]*)|\s*$)",
        nature=Nature.ERROR,
        source="NCCL 2.3 to 2.23, misc/ibvwrap.cc",
        sample="node-07:4121:4402 [3] misc/ibvwrap.cc:256 NCCL WARN Call to ibv_modify_qp failed with error Connection timed out errno 110",
    ),
    Pattern(
        event="nccl.ib.modify_qp_failed",
        regex=r"Call to ibv_modify_qp failed with (?P<errno>\d+) (?P<error>[^,\r\n]+)(?:, on dev (?P<device>(?P<hca>[^\s:,]+):\d+), curr state (?P<state>\w+), next state (?P<next_state>\w+), local GID index (?P<gid_index>-?\d+), local GID (?P<local_gid>[^\s,]+), remote GID (?P<remote_gid>[^\s,]+))?",
        nature=Nature.ERROR,
        source="NCCL 2.24 to 2.30, misc/ibvwrap.cc",
        sample="node-07:4121:4402 [3] misc/ibvwrap.cc:277 NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_3:1, curr state INIT, next state RTR, local GID index 3, local GID ::ffff:10.20.3.7, remote GID ::ffff:10.20.3.9",
        types={"errno": int, "gid_index": int},
    ),
    Pattern(
        event="nccl.ib.reg_mr_failed",
        regex=r"Call to (?P<call>ibv_reg_mr_iova2|ibv_reg_dmabuf_mr|ibv_reg_mr) failed(?: with error (?P<error>[A-Z][A-Za-z /]*))?",
        nature=Nature.ERROR,
        source="NCCL 2.3 to 2.30, misc/ibvwrap.cc",
        sample="node-07:4121:4402 [3] misc/ibvwrap.cc:151 NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory",
    ),
    Pattern(
        event="nccl.ib.call_failed",
        regex=r"Call to (?P<call>ibv_[a-z_0-9]+)(?:\(\))? (?:failed|returned)(?: with error)? ?(?P<error>[A-Z][A-Za-z /]*|-?\d+)?",
        literals=("Call to ibv_",),
        nature=Nature.ERROR,
        source="NCCL 2.3 to 2.30, misc/ibvwrap.cc",
        sample="node-07:4121:4402 [3] misc/ibvwrap.cc:199 NCCL WARN Call to ibv_create_qp failed with error Cannot allocate memory",
    ),
    Pattern(
        event="nccl.ib.call_failed",
        regex=r"(?P<call>ibv_post_send|ibv_post_recv)\(\) failed with error (?P<error>[A-Z][A-Za-z /]*)",
        nature=Nature.EFFECT,
        source="NCCL 2.3 to 2.30, include/ibvwrap.h",
        sample="node-07:4121:4402 [3] include/ibvwrap.h:94 NCCL WARN ibv_post_send() failed with error Cannot allocate memory, Bad WR 0x7f10, First WR 0x7f10",
    ),
    Pattern(
        event="nccl.ib.open_failed",
        regex=r"NET/IB ?: Unable to (?P<call>open|query) device (?P<device>(?P<hca>[\w.+-]+))",
        nature=Nature.ERROR,
        source="NCCL 2.3 to 2.30, transport/net_ib.cc",
        sample="node-07:4121:4388 [3] transport/net_ib.cc:218 NCCL WARN NET/IB : Unable to open device mlx5_bond_0",
    ),
    Pattern(
        event="nccl.ib.open_failed",
        regex=r"NET/IB ?: Unable to (?P<call>query port)(?:_num)? (?P<port>\d+)",
        nature=Nature.ERROR,
        source="NCCL 2.3 to 2.30, transport/net_ib.cc",
        sample="node-07:4121:4388 [3] transport/net_ib.cc:231 NCCL WARN NET/IB : Unable to query port_num 1",
        types={"port": int},
    ),
    Pattern(
        event="nccl.ib.open_failed",
        regex=r"Call to (?P<call>ibv_open_device) failed",
        nature=Nature.ERROR,
        source="NCCL 2.3 to 2.30, misc/ibvwrap.cc",
        sample="node-07:4121:4388 [3] misc/ibvwrap.cc:94 NCCL WARN Call to ibv_open_device failed",
    ),
    Pattern(
        event="nccl.ib.no_device",
        regex=r"NET/(?P<net>\w+) : No device found",
        nature=Nature.SETTING,
        source="NCCL 2.3 to 2.30, transport/net_ib.cc; normal on hosts without RDMA",
        sample="node-07:4121:4388 [3] NCCL INFO NET/IB : No device found.",
    ),
    Pattern(
        event="nccl.ib.no_interface",
        regex=r"NET/IB : No IP interface found",
        nature=Nature.ERROR,
        source="NCCL 2.3 to 2.30, transport/net_ib.cc",
        sample="node-07:4121:4388 [3] transport/net_ib.cc:190 NCCL WARN NET/IB : No IP interface found.",
    ),
    Pattern(
        event="nccl.ib.library_missing",
        regex=r"Failed to open (?P<library>libibverbs\.so[.\d]*)",
        nature=Nature.SETTING,
        source="NCCL 2.3 to 2.30, misc/ibvsymbols.cc",
        sample="node-07:4121:4388 [3] NCCL INFO Failed to open libibverbs.so[.1]",
    ),
    Pattern(
        event="nccl.ib.incompatible",
        regex=r"Attempted to (?P<action>connect|merge) incompatible devices: \[\d+\](?P<local>[^\s/]+)/(?P<local_layer>\w+) and \[\d+\](?P<remote>[^\s/]+)/(?P<remote_layer>\w+)",
        nature=Nature.ERROR,
        source="NCCL 2.26 to 2.30, transport/net_ib.cc",
        sample="node-07:4121:4388 [3] transport/net_ib.cc:745 NCCL WARN NET/IB : Attempted to merge incompatible devices: [0]mlx5_0:1/IB and [4]mlx5_4:1/RoCE. Try selecting NICs of only one link type using NCCL_IB_HCA",
    ),
    Pattern(
        event="nccl.ib.incompatible",
        regex=r"Can't (?P<action>merge|connect) net devices with different link_layer",
        nature=Nature.ERROR,
        source="NCCL 2.20 to 2.25, transport/net_ib.cc",
        sample="node-07:4121:4388 [3] transport/net_ib.cc:702 NCCL WARN NET/IB : Can't connect net devices with different link_layer. i=0 remDev=1",
    ),
    Pattern(
        event="nccl.ib.incompatible",
        regex=r"Remote (?P<remote>\S+) device is incompatible with the local (?P<local>\S+)",
        nature=Nature.ERROR,
        source="NCCL 2.20 to 2.30, transport/net_ib.cc",
        sample="node-07:4121:4388 [3] transport/net_ib.cc:712 NCCL WARN NET/IB : Remote mlx5_4:1 device is incompatible with the local [0]mlx5_0:1/IB",
    ),
    Pattern(
        event="nccl.ib.device_mismatch",
        regex=r"Local mergedDev (?P<local>\S+) has a different number of devices=(?P<local_devices>\d+) as remote (?P<remote>\S+) (?P<remote_devices>\d+)",
        nature=Nature.ERROR,
        source="NCCL 2.20 to 2.30, transport/net_ib.cc",
        sample="node-07:4121:4388 [3] transport/net_ib.cc:980 NCCL WARN NET/IB : Local mergedDev mlx5_0 has a different number of devices=1 as remote mlx5_0+mlx5_1 2",
        types={"local_devices": int, "remote_devices": int},
    ),
    Pattern(
        event="nccl.ib.device_mismatch",
        regex=r"mismatched physical devices between local \((?P<local>[^)]*)\) and remote \((?P<remote>[^)]*)\)",
        nature=Nature.MEASUREMENT,
        source="NCCL 2.24 to 2.30, transport/net_ib.cc",
        sample="node-07:4121:4388 [3] NCCL INFO NET/IB : There are mismatched physical devices between local (mlx5_0) and remote (mlx5_1).",
    ),
    Pattern(
        event="nccl.ib.device_failed",
        regex=r"NET/IB: (?:(?P<hca>[\w.+-]+): )?Device (?P<device>\S+) marked as failed",
        nature=Nature.ERROR,
        source="NCCL 2.29 to 2.30, transport/net_ib/p2p_resiliency.cc; the job goes on over the others",
        sample="node-07:4121:4402 [3] transport/net_ib/p2p_resiliency.cc:311 (ncclIbResiliency) NCCL WARN NET/IB: Device 1 marked as failed. Traffic moves to the others",
    ),
    Pattern(
        event="nccl.ib.no_device_left",
        regex=r"Detected (?P<failed>\d+) failed devices out of (?P<devices>\d+) devices|Could not find a functional device to post the probe",
        nature=Nature.ERROR,
        source="NCCL 2.29 to 2.30, transport/net_ib/p2p_resiliency.cc",
        sample="node-07:4121:4402 [3] transport/net_ib/p2p_resiliency.cc:355 (ncclIbResiliency) NCCL WARN NET/IB: Fatal error. Detected 2 failed devices out of 2 devices.",
        types={"failed": int, "devices": int},
    ),
    Pattern(
        event="nccl.ib.subnet_route",
        regex=r"remote FLID configured as zero even when endpoints are on different subnets",
        nature=Nature.MEASUREMENT,
        source="NCCL 2.22 to 2.30, transport/net_ib.cc",
        sample="node-07:4121:4388 [3] NCCL INFO Warning: remote FLID configured as zero even when endpoints are on different subnets, using dlid as fallback",
    ),
    Pattern(
        event="nccl.ib.gid_unreadable",
        regex=r"(?P<call>open|read) failed in ncclIbRoceGetVersionNum: (?P<error>[^\r\n]+)",
        nature=Nature.ERROR,
        source="NCCL 2.23 to 2.30, transport/net_ib.cc",
        sample="node-07:4121:4388 [3] transport/net_ib.cc:402 NCCL WARN NET/IB: open failed in ncclIbRoceGetVersionNum: No such file or directory",
    ),
    Pattern(
        event="nccl.ib.symbol_missing",
        regex=r"dlvsym failed on (?P<symbol>\w+) - (?P<error>[^\r\n]+)",
        nature=Nature.MEASUREMENT,
        source="NCCL 2.3 to 2.30, misc/ibvsymbols.cc; an old libibverbs",
        sample="node-07:4121:4388 [3] misc/ibvsymbols.cc:60 NCCL WARN dlvsym failed on ibv_reg_mr_iova2 - /lib/libibverbs.so.1: version IBVERBS_1.8 not found version IBVERBS_1.8",
    ),
)

PARSERS = (
    LineParser(
        name="nccl-ib",
        title="NCCL's InfiniBand and RoCE trouble",
        patterns=PATTERNS,
        refine=refine,
    ),
)
