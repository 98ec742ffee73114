r"""What NCCL says of calls it refuses, of ranks that do not agree, and of itself.

Sample::

    node-07:4121:4388 [3] misc/argcheck.cc:50 NCCL WARN Broadcast : invalid root 16 (root should be in the 0..15 range)

``nccl.mismatch`` has ``what``: ``size``, two ranks disagree on the bytes of one transfer; ``message``,
on the layout of a message of NCCL itself, as different versions do; ``response``, two processes of
one host do; ``collective``, ranks disagree on the call.
Sizes are bytes, ``local`` this rank's. Ranks count within the communicator.

Empty: NCCL checks little, and a wrong call often hangs without a word. Cut off: fields behind the
cut are missing.
"""

from diagnose.model.event import Nature
from diagnose.parsers import convert
from diagnose.parsers.base import LineParser, Pattern
from diagnose.parsers.nccl_level import judge_by_level

PATTERNS = (
    Pattern(
        event="nccl.mismatch",
        regex=r"(?:Mismatched collective detected, please check your collective calls at and|this may be caused by a collective mismatch) around rank (?P<comm_rank>\d+)",
        nature=Nature.ERROR,
        source="NCCL 2.4 to 2.6, misc/argcheck.cc and enqueue.cc",
        sample="node-07:4121:4388 [3] enqueue.cc:300 NCCL WARN Mismatched collective detected, please check your collective calls at and around rank 3.",
        types={"comm_rank": int},
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
        event="nccl.mismatch",
        regex=r"(?:peer (?P<peer>\S+) )?collective mismatch error,? local size (?P<local_size>\d+) remote (?:size )?(?P<remote_size>\d+)",
        nature=Nature.ERROR,
        source="NCCL 2.3 to 2.19, transport/net_ib.cc",
        sample="node-07:4121:4402 [3] transport/net_ib.cc:960 NCCL WARN NET/IB : req 0/1 tag 4 peer 10.0.0.9<44206> collective mismatch error, local size 4096 remote size 8192",
        types={"peer": convert.address, "local_size": int, "remote_size": int},
        constants={"what": "size"},
    ),
    Pattern(
        event="nccl.mismatch",
        regex=r"peer (?P<peer>\S+) posted incorrect receive info: size (?P<remote_size>-?\d+)",
        nature=Nature.ERROR,
        source="NCCL 2.12 to 2.30, transport/net_ib.cc",
        sample="node-07:4121:4402 [3] transport/net_ib.cc:1890 NCCL WARN NET/IB : req 0/1 tag 4 peer 10.0.0.9<44206> posted incorrect receive info: size 0 addr 7f10 rkeys[0]=1f",
        types={"peer": convert.address, "remote_size": int},
        constants={"what": "size"},
    ),
    Pattern(
        event="nccl.mismatch",
        regex=r"(?:peer (?P<peer>\S+)|NET/Socket :) message truncated : receiving (?P<remote_size>\d+) bytes instead of (?P<local_size>\d+)",
        nature=Nature.ERROR,
        source="NCCL 2.3 to 2.30, transport/net_socket.cc",
        sample="node-07:4121:4402 [3] transport/net_socket.cc:540 NCCL WARN NET/Socket : peer 10.0.0.9<39012> message truncated : receiving 1048576 bytes instead of 524288.",
        types={"peer": convert.address, "remote_size": int, "local_size": int},
        constants={"what": "size"},
    ),
    Pattern(
        event="nccl.mismatch",
        regex=r"Message truncated : received (?P<remote_size>\d+) bytes instead of (?P<local_size>\d+)",
        nature=Nature.ERROR,
        source="NCCL 2.3 to 2.30, misc/socket.cc and bootstrap.cc",
        sample="node-07:4121:4388 [3] misc/socket.cc:900 NCCL WARN Message truncated : received 256 bytes instead of 128",
        types={"remote_size": int, "local_size": int},
        constants={"what": "message"},
    ),
    Pattern(
        event="nccl.mismatch",
        regex=r"Mismatched response size for opId=",
        nature=Nature.ERROR,
        source="NCCL 2.19 to 2.30, proxy.cc",
        sample="node-07:4121:4388 [3] proxy.cc:1120 NCCL WARN Mismatched response size for opId=0x7f10",
        constants={"what": "response"},
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
        regex=r"(?P<op>AllReduce|AllGather|Broadcast|Bcast|Reduce|ReduceScatter|Send|Recv|AlltoAll|Gather|Scatter|nccl\w+) : (?P<error>\w+ argument is NULL|\w+ (?:0x[0-9a-f]+ )?is not a valid pointer|invalid root -?\d+|invalid type -?\d+|invalid reduction operation -?\d+|reduction operation -?\d+ unknown to this communicator)",
        nature=Nature.ERROR,
        source="NCCL 2.3 to 2.30, misc/argcheck.cc",
        sample="node-07:4121:4388 [3] misc/argcheck.cc:50 NCCL WARN Broadcast : invalid root 16 (root should be in the 0..15 range)",
    ),
    Pattern(
        event="nccl.usage_error",
        regex=r"(?P<error>Error: corrupted comm object detected|comm 0x[0-9a-f]+ has already been destroyed|Attempt to use communicator before the previous operation|ncclGroupEnd: not in a group call|Trying to send to self without|Trying to recv to self without|Blocking and nonblocking communicators are not allowed|Error : mixing different streams within a group call|Streams given to a communicator within a NCCL group|Too many aggregated operations|Too many async operations in progress|FP8 reduction support begins with sm90)",
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
        regex=r"List loop at element|Could not find NET with id [0-9a-f]+|Proxy append (?:on running operation|out of bounds)|Unable to post incomplete proxy op chain|could not find mr 0x[0-9a-f]+ inside cache|NET/IB : unable to allocate requests",
        nature=Nature.ERROR,
        source="NCCL 2.4 to 2.30, proxy.cc; graph/topo.h, where the plan names an adapter outside of it",
        sample="node-07:4121:4388 [3] proxy.cc:300 NCCL WARN List loop at element 3-4",
    ),
    Pattern(
        event="nccl.config_invalid",
        regex=r"Invalid config (?P<attribute>\w+) attribute value (?P<value>\S+)|ncclConfig_t argument not initialized via (?P<missing>NCCL_CONFIG_INITIALIZER)",
        nature=Nature.ERROR,
        source="NCCL 2.17 to 2.30, init.cc; the latter means headers of another version",
        sample="node-07:4121:4388 [3] init.cc:1700 NCCL WARN Invalid config blocking attribute value 7",
    ),
    Pattern(
        event="nccl.split_failed",
        regex=r"Child comms \(nRanks (?P<nranks>\d+)\) fails to share parent comms|Split shares resources, but parent comm netName (?P<parent>\S+) is different",
        nature=Nature.ERROR,
        source="NCCL 2.18 to 2.30, init.cc",
        sample="node-07:4121:4388 [3] init.cc:1500 NCCL WARN Child comms (nRanks 8) fails to share parent comms (nRanks 16) resources",
        types={"nranks": int},
    ),
    Pattern(
        event="nccl.host_hash",
        regex=r"Failed to determine local ranks rank (?P<comm_rank>\d+) hostHash (?P<hash>\w+)",
        nature=Nature.ERROR,
        source="NCCL 2.12 to 2.30, init.cc; two hosts present themselves as one, or one as two",
        sample="node-07:4121:4388 [3] init.cc:1100 NCCL WARN Failed to determine local ranks rank 3 hostHash 7ab pidHash 1f2 intraProcRank 0",
        types={"comm_rank": int},
    ),
    Pattern(
        event="nccl.invalid_rank",
        regex=r"Invalid rank requested : (?P<comm_rank>-?\d+)/(?P<nranks>-?\d+)",
        nature=Nature.ERROR,
        source="NCCL 2.3 to 2.30, init.cc",
        sample="node-07:4121:4388 [0] init.cc:1610 NCCL WARN Invalid rank requested : 8/8",
        types={"comm_rank": int, "nranks": int},
    ),
    Pattern(
        event="nccl.invalid_rank",
        regex=r"improper usage of ncclCommInitRank: nId = -?\d+, nranks=(?P<nranks>-?\d+)|ncclCommInitRank: improper usage",
        nature=Nature.ERROR,
        source="NCCL 2.3 to 2.30, init.cc",
        sample="node-07:4121:4388 [0] init.cc:1600 NCCL WARN improper usage of ncclCommInitRank: nId = 0, nranks=16",
        types={"nranks": int},
    ),
)

PARSERS = (
    LineParser(
        name="nccl-usage",
        title="Calls that NCCL refuses, ranks that do not agree, and inconsistencies of its own",
        patterns=PATTERNS,
        refine=judge_by_level,
    ),
)
