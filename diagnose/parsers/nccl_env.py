r"""Environment variables of the communication stack, as NCCL echoes them and as people dump them.

NCCL prints a variable when it first uses it, at ``NCCL_DEBUG=INFO``; integers end with a dot::

    node-07:4121:4388 [3] NCCL INFO NCCL_IB_TIMEOUT set by environment to 22.
    node-07:4121:4388 [3] NCCL INFO NCCL_IB_HCA set to mlx5_0,mlx5_1

A misspelled name is never echoed. It shows only where the environment itself is printed or set:
``env``, ``export NAME=value`` of a script, ``mpirun -x NAME=value``, ``srun --export``, a printed
``os.environ``, a Dockerfile, a manifest (``- name: NAME`` and ``value: eth0`` below it),
``.deepspeed_env``, ``nccl.conf``.

Quotes that a shell or a reader of YAML takes off are taken off. What is left of them is in the value
the program sees: in an echo, inside other quotes, in ``nccl.conf``.

Empty: a variable that is not echoed may still be set: it was not used, a plugin reads it, or the
release (2.12 to 2.14) leaves the echoes out by default. Cut off: a value at the end of a cut line
is reported as far as it goes.
"""

from collections.abc import Iterable

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Line, Nature, Value
from diagnose.parsers.base import BlockParser, LineParser, Pattern, Record, make_event

NAME = LazyPattern(
    r"(?:(?:TORCH_|OFI_)?[NR]CCL_[A-Z0-9_]+|NCLL_[A-Z0-9_]+|GLOO_[A-Z0-9_]+|UCX_[A-Z0-9_]+"
    r"|FI_PROVIDER|FI_EFA_[A-Z0-9_]+|TORCH_DISTRIBUTED_DEBUG\w*|TORCH_CPP_LOG_LEVEL"
    r"|CUDA_VISIBLE_DEVICES|CUDA_LAUNCH_BLOCKING|CUDA_DEVICE_MAX_CONNECTIONS"
    r"|PYTORCH_(?:CUDA_|HIP_)?ALLOC_CONF|IB_GID_INDEX|MASTER_ADDR|MASTER_PORT)"
)

OPENS = (
    "NCCL_",
    "RCCL_",
    "NCLL_",
    "GLOO_",
    "UCX_",
    "FI_PROVIDER",
    "FI_EFA_",
    "TORCH_DISTRIBUTED_DEBUG",
    "TORCH_CPP_LOG_LEVEL",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_HIP_ALLOC_CONF",
    "PYTORCH_ALLOC_CONF",
    "IB_GID_INDEX",
    "MASTER_ADDR",
    "MASTER_PORT",
)

QUOTED = LazyPattern(
    r"['\"](?P<name>\w+)['\"]\]?(?:\s?[:=]\s?|,\s?)(?:'(?P<single>[^']*)'|\"(?P<double>[^\"]*)\")"
)
"""In a printed dictionary, a Python assignment, or ``os.environ.setdefault(name, value)``."""

PAIR = LazyPattern(
    r"['\"]?name['\"]?:\s*['\"]?(?P<name>\w+)['\"]?,\s*['\"]?value['\"]?:"
    r"\s*(?P<value>\"[^\"]*\"|'[^']*'|[^,}\s]+)"
)
"""Name and value of a container's variable on one line, as JSON or YAML."""

ENTRY_NAME = LazyPattern(r"\s*(?:-\s+)?['\"]?name['\"]?:\s*['\"]?(?P<name>\w+)['\"]?,?\s*")
ENTRY_VALUE = LazyPattern(r"\s*['\"]?value['\"]?:\s*(?P<value>\S.*?)?,?\s*")
"""The same on two lines of a manifest."""

NEXT_IN_LIST = LazyPattern(r",(?=[A-Z][A-Z0-9_]*=)")
"""Slurm's ``--export=ALL,A=1,B=2``; a comma inside a value is followed by no ``NAME=``."""

WORD = LazyPattern(r"(?:\"[^\"]*\"|'[^']*'|[^\s\"'])+")
"""A word as a shell cuts it; blanks inside quotes belong to it."""

SHELL_WORDS = frozenset({"export", "declare", "typeset", "env", "ENV", "setenv", "+", "++", "$"})
FLAGS = frozenset({"-x", "-e", "--env", "-genv", "-env", "&&", ";"})

DIRECTIVES = ("#SBATCH", "#PBS", "#BSUB")
"""What opens a comment that a scheduler reads."""

VALUE_APART = frozenset({"-genv", "-env", "setenv", "ENV"})
"""What a name and its value may follow as two words: MPICH's options, csh, an old Dockerfile."""

PLAIN_FILES = ("nccl.conf", ".nccl.conf")
"""Files that NCCL reads itself, quotes and all (misc/param.cc)."""


def assignments(text: str) -> list[tuple[str, str]]:
    """Return the (name, value) pairs a line sets; a variable that prose mentions is none."""
    words = WORD.findall(NEXT_IN_LIST.sub(" ", text))
    if len(words) == 2 and words[0].endswith(":") and NAME.fullmatch(words[0][:-1]):
        return [(words[0][:-1], unquoted(words[1]))]
    if len(words) == 2 and words[0] == "-":  # a list in YAML
        del words[0]
    found: list[tuple[str, str]] = []
    sets = True
    before: list[str] = ["", ""]
    for word in words:
        if word.startswith("#") and word not in DIRECTIVES:
            break
        if word.startswith(("--env=", "--export=", "Environment=")):
            word = word.partition("=")[2]
            sets = True
        name, equals, value = unquoted(word).partition("=")
        if word in FLAGS or word.endswith(";"):
            follows = True
        else:
            follows = sets and (bool(equals) or word in SHELL_WORDS or word in ("ALL", "NONE"))
        if sets and equals and NAME.fullmatch(name):
            found.append((name, unquoted(value.rstrip(";"))))
        elif before[-2] in VALUE_APART and NAME.fullmatch(before[-1]):
            found.append((before[-1], unquoted(word)))
        before.append(word)
        sets = follows
    quoted = ((one["name"], one["single"] or one["double"] or "") for one in QUOTED.finditer(text))
    pairs = ((one["name"], unquoted(one["value"])) for one in PAIR.finditer(text))
    return found + [pair for pair in (*quoted, *pairs) if NAME.fullmatch(pair[0])]


def unquoted(text: str) -> str:
    """Return a text without the quotes around it that a shell or a reader of YAML takes off."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text


def _starts(line: Line) -> bool:
    printed_by_nccl = "NCCL INFO" in line.text or "NCCL WARN" in line.text
    return not printed_by_nccl and bool(assignments(line.text))


def _ends(lines: list[Line], following: Line) -> bool:
    return True


def _read(lines: list[Line]) -> Iterable[Record]:
    line = lines[0]
    plain = line.file.rpartition("/")[2] in PLAIN_FILES
    for name, value in assignments(line.text):
        kept = line.text.partition("=")[2].strip() if plain else value
        yield _setting(line, name, kept)


def _opens_entry(line: Line) -> bool:
    entry = ENTRY_NAME.fullmatch(line.text)
    return entry is not None and NAME.fullmatch(entry["name"]) is not None


def _ends_entry(lines: list[Line], following: Line) -> bool:
    return len(lines) > 1 or ENTRY_VALUE.fullmatch(following.text) is None


def _read_entry(lines: list[Line]) -> Iterable[Record]:
    entry = ENTRY_NAME.fullmatch(lines[0].text)
    value = ENTRY_VALUE.fullmatch(lines[-1].text) if len(lines) > 1 else None
    if entry is not None and value is not None:
        yield _setting(lines[0], entry["name"], unquoted(value["value"] or ""), lines[-1].number)


def _setting(line: Line, name: str, value: str, end_line: int | None = None) -> Record:
    fields: dict[str, Value] = {"name": name, "value": value}
    return make_event("nccl.env", Nature.SETTING, line, fields, end_line=end_line, fact="env")


PATTERNS = (
    Pattern(
        event="nccl.env",
        regex=r"(?P<name>[NR]CCL_[A-Z0-9_]+) set by environment to (?P<value>[^\r\n]*)",
        nature=Nature.SETTING,
        source="NCCL 2.3 to 2.30, misc/param.cc and where a text variable is used",
        sample="node-07:4121:4388 [3] NCCL INFO NCCL_IB_TIMEOUT set by environment to 22.",
        types={"value": lambda text: text.strip().removesuffix(".")},
        fact="env",
    ),
    Pattern(
        event="nccl.env",
        regex=r"(?P<name>NCCL_(?:IB_HCA|SOCKET_IFNAME|OOB_NET_IFNAME|NET_PLUGIN|TUNER_PLUGIN|PROFILER_PLUGIN|IB_ADDR_RANGE|IB_ADDR_FAMILY|SOCKET_FAMILY|TOPO_FILE|HOSTID)) set to (?P<value>\S+)",
        nature=Nature.SETTING,
        source="NCCL 2.3 to 2.30, transport/net_ib.cc and misc/socket.cc",
        sample="node-07:4121:4388 [3] NCCL INFO NCCL_IB_HCA set to mlx5_0,mlx5_1",
        fact="env",
    ),
    Pattern(
        event="nccl.env",
        regex=r"Plugin name set by env to (?P<value>\S+)",
        nature=Nature.SETTING,
        source="NCCL 2.19 to 2.27, net.cc",
        sample="node-07:4121:4388 [3] NCCL INFO NET/Plugin: Plugin name set by env to libnccl-net-ofi.so",
        constants={"name": "NCCL_NET_PLUGIN"},
        fact="env",
    ),
    Pattern(
        event="nccl.env_invalid",
        regex=r"Invalid value (?P<value>\S*) for (?P<name>NCCL_[A-Z0-9_]+), using default (?P<used>-?\w+)",
        nature=Nature.ERROR,
        source="NCCL 2.4 to 2.30, misc/param.cc",
        sample="node-07:4121:4388 [3] NCCL INFO Invalid value eleven for NCCL_IB_TIMEOUT, using default 20.",
    ),
    Pattern(
        event="nccl.env_invalid",
        regex=r"Invalid (?P<name>NCCL_(?:LL128_)?NTHREADS) (?P<value>\d+) \((?P<limit>must be a multiple of \d+|(?:maximum|minimum) \d+)\)",
        nature=Nature.ERROR,
        source="NCCL 2.5 to 2.30, graph/tuning.cc; WARN to 2.18, then INFO",
        sample="node-07:4121:4388 [3] NCCL INFO Invalid NCCL_NTHREADS 100 (must be a multiple of 32)",
    ),
    Pattern(
        event="nccl.env_invalid",
        regex=r"Unrecognized (?:element|prefix) token \"(?P<value>[^\"]*)\" when parsing \"(?P<whole>[^\"]*)\"",
        nature=Nature.ERROR,
        source="NCCL 2.24 to 2.30, graph/tuning.cc",
        sample='node-07:4121:4388 [3] graph/tuning.cc:80 NCCL WARN Unrecognized element token "rings" when parsing "rings"',
        constants={"name": "NCCL_ALGO or NCCL_PROTO"},
    ),
    Pattern(
        event="nccl.env_invalid",
        regex=r"Invalid (?P<name>NCCL_COMM_ID), please use format",
        nature=Nature.ERROR,
        source="NCCL 2.4 to 2.30, bootstrap.cc",
        sample="node-07:4121:4388 [3] bootstrap.cc:240 NCCL WARN Invalid NCCL_COMM_ID, please use format: <ipv4>:<port> or [<ipv6>]:<port> or <hostname>:<port>",
    ),
    Pattern(
        event="nccl.env_invalid",
        regex=r"(?P<name>NCCL_IB_SUBNET_PREFIX_LEN)=(?P<value>-?\d+) is out of range",
        nature=Nature.ERROR,
        source="NCCL 2.30, transport/net_ib/init.cc",
        sample="node-07:4121:4388 [3] transport/net_ib/init.cc:90 (ncclIbInit) NCCL WARN NET/IB: NCCL_IB_SUBNET_PREFIX_LEN=64 is out of range [1,32]",
    ),
    Pattern(
        event="nccl.env_invalid",
        regex=r"Ip address '(?P<value>[^']*)' is invalid for family (?P<family>\w+), ignoring address",
        nature=Nature.ERROR,
        source="NCCL 2.21 to 2.30, transport/net_ib.cc",
        sample="node-07:4121:4388 [3] transport/net_ib.cc:310 NCCL WARN NET/IB: Ip address '10.0.0' is invalid for family AF_INET, ignoring address",
        constants={"name": "NCCL_IB_ADDR_RANGE"},
    ),
    Pattern(
        event="nccl.env_invalid",
        regex=r"(?P<name>NCCL_NET_FORCE_MERGE) specified (?P<value>\S+)",
        nature=Nature.ERROR,
        source="NCCL 2.24 to 2.30, transport/net_ib.cc",
        sample="node-07:4121:4388 [3] transport/net_ib.cc:601 NCCL WARN NET/IB : Invalid NCCL_NET_FORCE_MERGE specified mlx5_0",
    ),
    Pattern(
        event="nccl.env_invalid",
        regex=r"The value of (?P<name>TORCH_DISTRIBUTED_DEBUG) must be OFF, INFO, or DETAIL",
        nature=Nature.ERROR,
        source="PyTorch 1.9 to 2.12, c10d/debug.cpp",
        sample="RuntimeError: The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL.",
    ),
)

PARSERS = (
    LineParser(
        name="nccl-env",
        title="Environment variables as NCCL echoes them, and values it refuses",
        patterns=PATTERNS,
    ),
    BlockParser(
        name="environment-dump",
        title="Environment variables of the communication stack in dumps, scripts and commands",
        opens=OPENS,
        starts=_starts,
        ends=_ends,
        read=_read,
        emits=("nccl.env",),
        sample="export NCCL_SOCKET_IFNAME=eth0",
        maximum=1,
    ),
    BlockParser(
        name="container-environment",
        title="Environment variables of the communication stack in manifests of containers",
        opens=OPENS,
        starts=_opens_entry,
        ends=_ends_entry,
        read=_read_entry,
        emits=("nccl.env",),
        sample="- name: NCCL_SOCKET_IFNAME\n  value: eth0",
        maximum=2,
    ),
)
