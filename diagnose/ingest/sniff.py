"""What a file is, from its name and first bytes, and who wrote it, from its name alone."""

import re
from dataclasses import dataclass

from diagnose.ingest.host import OTHER_WORDS, is_host, states_host
from diagnose.ingest.lazy import LazyPattern
from diagnose.ingest.unwrap import encoding_of

SAMPLE = 64 << 10
"""Bytes looked at."""

MAX_CONTROLS = 0.05
"""Share of control characters a text may have; progress bars and colours stay under it."""

MAX_NULS = 0.01
"""Share of NUL bytes between the first and the last letter; a crash leaves runs at the ends."""

BINARY_MAGICS = (
    (b"\x7fELF", "ELF program or library"),
    (b"\x93NUMPY", "NumPy array"),
    (b"\x89HDF\r\n\x1a\n", "HDF5"),
    (b"\x89PNG", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"%PDF-", "PDF"),
    (b"SQLite format 3\x00", "SQLite database"),
    (b"PAR1", "Parquet table"),
    (b"ARROW1", "Arrow table"),
    (b"LPKSHHRH", "systemd journal; export it with journalctl"),
    (b"\xd7\xcd\xc6\x9a", "Windows metafile"),
    (b"7z\xbc\xaf\x27\x1c", "7z archive; unpack it and run again"),
    (b"Rar!\x1a\x07", "RAR archive; unpack it and run again"),
    (b"\x04\x22\x4d\x18", "lz4 data; unpack it and run again"),
    (b"GGUF", "GGUF weights"),
    (b"\x0a\x0d\x0d\x0a", "pcapng capture"),
    (b"\xd4\xc3\xb2\xa1", "pcap capture"),
    (b"\xca\xfe\xba\xbe", "Java class or Mach-O program"),
)

ZIP_CONTENTS = (
    (LazyPattern(r"(^|/)(data\.pkl|constants\.pkl|\.format_version|byteorder)$"), "PyTorch zip"),
    (LazyPattern(r"\.npy$"), "NumPy zip"),
    (LazyPattern(r"^\[Content_Types\]\.xml$|^mimetype$"), "office document"),
    (LazyPattern(r"^META-INF/|\.class$"), "Java archive"),
)

ZIP_NAMES = LazyPattern(
    r"\.(?:pt|pth|ckpt|bin|distcp|npz|whl|jar|egg|docx|xlsx|pptx|nemo)$", re.IGNORECASE
)

REPORT = LazyPattern(
    rb'(?:\xef\xbb\xbf)?\s*\{\s*"schema"\s*:\s*"diagnose\.report/\d+"'
    rb"|(?:## )?[^\n]{1,500}\n\s*(?:\*\*)?"
    rb"(?:How sure|\xe6\x8a\x8a\xe6\x8f\xa1):[^\n]{1,80}[01]\.\d\d(?:\)|\xef\xbc\x89); "
)
"""The JSON report, and the first two lines of the one in text or Markdown, English or Chinese."""

PART = b'{"format":"diagnose.part/'
"""How the first line of a part of ``diagnose scan`` begins."""

PICKLE = LazyPattern(rb"\x80[\x02-\x05](?:[\x8a\x95}\](KcqX.N\x88\x89]|$)")
PRINTABLE = bytes(range(32, 127)) + bytes(range(128, 256)) + b"\t\n\r\x08\x0c\x1b"


def is_text(name: str, head: bytes) -> bool:
    """Return whether a file that begins like this can be read as lines of text."""
    return binary_reason(name, head) is None


def binary_reason(name: str, head: bytes) -> str | None:
    """Return why a file is not text, such as ``binary (pickle)``; None for text.

    Args:
        name: Of the source; only a zip is judged by it as well.
        head: Its first bytes, unpacked, 64 KiB or the whole.
    """
    if REPORT.match(head):
        return "a report of diagnose"
    if head.startswith(PART):
        return "a part of diagnose scan, which is read as a file of its own alone"
    if encoding_of(head) is not None:
        return None
    kind = _binary_kind(name, head)
    if kind is not None:
        return f"binary ({kind})"
    sample = head[:SAMPLE]
    inner = sample.strip(b"\x00")
    if sample and not inner:
        return "NUL bytes only, as in a file that was never flushed"
    if 0 in inner and inner.count(0) > MAX_NULS * len(inner):
        return "binary (NUL bytes)"
    controls = len(inner.translate(None, PRINTABLE))
    if controls > MAX_CONTROLS * len(inner):
        return "binary (mostly control characters)"
    return None


def _binary_kind(name: str, head: bytes) -> str | None:
    if head.startswith(b"\x7fELF") and head[16:17] == b"\x04":
        return "ELF core dump"
    for magic, kind in BINARY_MAGICS:
        if head.startswith(magic):
            return kind
    if head.startswith(b"PK\x03\x04"):
        return zip_kind(name, head)
    if PICKLE.match(head):
        return "pickle"
    if head[8:10] == b'{"' and head[3:8] == b"\x00\x00\x00\x00\x00":
        return "safetensors"
    if b"brain.Event:" in head[:64] or "tfevents" in name:
        return "TensorBoard events"
    return None


def zip_kind(name: str, head: bytes) -> str | None:
    """Return what a zip holds if that is no logs, by its first member and its own name."""
    first = head[30 : 30 + int.from_bytes(head[26:28], "little")].decode("utf-8", "replace")
    for content, kind in ZIP_CONTENTS:
        if content.search(first):
            return kind
    return "zip of data, not of logs" if ZIP_NAMES.search(name) else None


@dataclass(frozen=True, slots=True)
class Identity:
    """Who wrote a file, as far as its name says.

    Args:
        rank: Global rank.
        local_rank: Rank on its host.
        host: Short host name or address.
        attempt: Restart count, 0 where the name has none.
        stream: ``stdout`` or ``stderr``.
    """

    rank: int | None = None
    local_rank: int | None = None
    host: str | None = None
    attempt: int = 0
    stream: str | None = None


NOBODY = Identity()

EXTENSIONS = LazyPattern(
    r"(?:\.(?:log|txt|out|err|gz|bz2|xz|zst|tar|tgz|zip|json|jsonl|csv|stdout|stderr|pkl)(?:\.\d{1,2})?)+$",
    re.IGNORECASE,
)
STREAM = LazyPattern(r"(?:^|[._-])(?:(stdout|out)|(stderr|err))(?=$|[._-])", re.IGNORECASE)
ATTEMPT = LazyPattern(r"^attempt[_-](\d+)$")

RANK = LazyPattern(
    r"(?:(?<![A-Za-z])(?P<word>[A-Za-z]+)[-_.])?(?<![A-Za-z])(?P<local>local)?rank[-_.=]?"
    r"(?P<number>\d{1,6})(?![\dA-Za-z])",
    re.IGNORECASE,
)
LAYOUT_WORDS = frozenset(
    {"pp", "tp", "mp", "dp", "ep", "cp", "sp", "expp", "node", "group", "machine", "size", "role"}
)

WHOLE_NAMES = (
    # Flight recorder: "<prefix>rank_<host>_<rank>" where users add the host, else "<prefix><rank>".
    (
        "nc",
        LazyPattern(
            r"^(?:nccl|comm_lib)_trace_rank_(?:(?P<host>.*[A-Za-z].*)_)?(?P<rank>\d{1,6})$"
        ),
    ),
    ("_fdn", LazyPattern(r"^_?(?:fr_|nccl_)?dump_(?P<rank>\d{1,6})$")),
    # srun's %j_%s_%t, and %j_%t
    ("s", LazyPattern(r"^slurm-\d+(?:_\d+)?_(?P<rank>\d{1,5})$")),
    (
        "s",
        LazyPattern(
            r"^slurm-\d+[-_.](?!ip-\d+-\d+-\d+-\d+$)(?P<host>[A-Za-z].*\d)[-_.](?P<rank>\d{1,5})$"
        ),
    ),
    # NCCL_DEBUG_FILE=nccl.%h.%p.log
    (
        "n",
        LazyPattern(
            r"^nccl[._-](?:debug[._-])?(?P<host>[A-Za-z][\w-]*\d[\w-]*)(?:\.[A-Za-z][\w-]*)*\.\d+$"
        ),
    ),
    ("w", LazyPattern(r"^workerlog\.(?P<local_rank>\d{1,3})$")),
    # MindFormers' msrun
    ("w", LazyPattern(r"^worker_(?P<rank>\d{1,6})$")),
    ("0123456789", LazyPattern(r"^(?P<host>\d{1,3}(?:\.\d{1,3}){3})$")),
)
"""First characters that such a name may have, and the whole name."""

TOKENS = LazyPattern(r"[^A-Za-z0-9-]+")
CONTENTS = LazyPattern(
    r"dmesg|kern|kernel|syslog|messages|journal|journalctl|console|bmc|sel|ipmi|ipmitool|ip"
    r"|addr|address|route|link|neigh|ifconfig|ethtool|netstat|netdev|netdev2|rdma|ibv"
    r"|devinfo|devices|sysfs|infiniband|ibstat|ibstatus|ibdev2netdev|ibdiagnet|iblinkinfo"
    r"|perfquery|mlxlink|counters"
    r"|show|gids?|cma|lldp|lldpctl|lldpcli|neighbou?rs|interfaces|ucx|info|acs"
    r"|lspci|lscpu|numactl|lstopo|sysctl|limits|ulimit|ps|top|free|df|du|mount|iostat|vmstat"
    r"|mpstat|dstat|sar|meminfo|cpuinfo|nvidia|smi|nvsmi|nvlink|topo|dmon|pmon|dcgm|dcgmi|q|env"
    r"|fabricmanager|nvlsm|imex|rocm"
    r"|pip|packages|slurm|torchrun|srun|mpirun|nccl|rccl|vllm|sglang|tgi|serve|serving|infer"
    r"|inference|train|training|megatron|deepspeed|accelerate|all|reduce|allreduce|gather"
    r"|allgather|scatter|sendrecv|alltoall|bandwidth|log|logs|out|err|stdout|stderr|output"
    r"|trace|debug|kubectl|docker|crictl|describe|pyspy|spy|py|pystack|stack|stacks|gdb|bt"
    r"|faulthandler|proc|hang|agent|elastic|driver|console|stdio|events|monitor|health|capture"
    r"|nvbandwidth|iperf3?|perftest|osu|hccl|ib|bw|lat|p2p|tests?",
    re.IGNORECASE,
)
"""Words that say what a file holds, written before or behind the host: ``dmesg-node-07``."""

FOLDER_HOST = LazyPattern(r"([A-Za-z][A-Za-z-]*?-?)\d{1,5}")
"""A folder that may be a host: letters and a number, as in ``w-01`` and ``th02``."""

RANK_PART = LazyPattern(r"(?:^|(?<=-))(?:local-?)?rank-?\d{1,6}(?:-|$)", re.IGNORECASE)
MOMENT = LazyPattern(
    r"before|after|pre|post|start|begin|end|first|second|last|old|new|t\d|snap(?:shot)?\d{0,3}",
    re.IGNORECASE,
)
"""Words behind a host that say which of several readings a file holds: ``node-07-after``."""

COUNTED = LazyPattern(
    r"(?:gpu|cuda|device|attempt|restart|try|pid|tid|proc|process|task|job|run|step|part|eth|mlx|nic|ib)"
    r"\d+",
    re.IGNORECASE,
)
"""A number beside a host that counts something else: ``node-51-gpu3``."""

STACK_TOOL = LazyPattern(r"pyspy|spy|pystack|stacks?|gdb|bt|faulthandler")
PROCESS = LazyPattern(r"\d{3,7}")
"""What a dump of stacks is named after, and the process behind the host: ``stack-node-07-1234``."""

DAY = LazyPattern(r"(?:^|-)20\d\d-\d\d-\d\d(?:T[\dZ-]*)?(?=-|$)")
DATE = LazyPattern(r"20\d{6}(?:T\d{4,6}Z?)?|\d{10,}")
CLOCK_TIME = LazyPattern(r"[0-2]\d[0-5]\d(?:[0-5]\d)?")


def identity(name: str) -> Identity:
    """Return who wrote a file, as launchers and people name files; unclear names say nothing.

    Args:
        name: Of the source, with folders and, after ``!``, the name in an archive.
    """
    rank = local_rank = host = stream = None
    attempt = 0
    parts = [part for part in re.split(r"[/\\!]", name) if part]
    for place, part in enumerate(reversed(parts)):
        stem = EXTENSIONS.sub("", part)
        found = ATTEMPT.match(part)
        if found is not None:
            attempt = int(found[1])
            below = parts[len(parts) - place :]
            # torchrun: attempt_<restarts>/<local rank>/stderr.log
            if len(below) > 1 and below[0].isdecimal() and local_rank is None:
                local_rank = int(below[0])
            continue
        whole = _whole_name(part, stem)
        ranks = whole if whole else _ranks(part)
        if rank is None:
            rank = _number(ranks.get("rank"))
        if local_rank is None:
            local_rank = _number(ranks.get("local_rank"))
        if host is None:
            host = whole.get("host") or _host(stem)
        if place == 0:
            stream = _stream(part)
    if host is None and rank is None and len(parts) > 1:
        host = _folder_host(parts[-2], EXTENSIONS.sub("", parts[-1]))
    return Identity(rank, local_rank, host, attempt, stream)


def _whole_name(part: str, stem: str) -> dict[str, str]:
    for firsts, pattern in WHOLE_NAMES:
        found = part[:1] in firsts and (pattern.match(stem) or pattern.match(part))
        if found:
            return {key: text for key, text in found.groupdict().items() if text}
    return {}


def _ranks(part: str) -> dict[str, str]:
    ranks: dict[str, str] = {}
    for found in RANK.finditer(part):
        word = (found["word"] or "").lower()
        if found["local"] or word == "local":
            ranks.setdefault("local_rank", found["number"])
        elif word not in LAYOUT_WORDS:
            ranks.setdefault("rank", found["number"])
    return ranks


def _folder_host(folder: str, stem: str) -> str | None:
    """Return the host that a folder is named after, where the file is named after a tool alone."""
    words = [word for word in re.split(r"[^A-Za-z0-9]+", stem) if word]
    if not words or not all(CONTENTS.fullmatch(word) for word in words):
        return None
    found = FOLDER_HOST.fullmatch(folder)
    if found is None or found[1].rstrip("-").lower() in OTHER_WORDS:
        return None
    return folder if states_host(folder) or not found[1].endswith("-") else None


def _host(stem: str) -> str | None:
    hosts = (_host_in(token) for token in TOKENS.split(stem))
    return next((host for host in hosts if host), None)


def _host_in(token: str) -> str | None:
    """Return the host in a word such as ``ip-addr-node-12`` or ``train-gpu-n37-rank12``.

    What is not known to say something else stays with the host: ``llama-worker-3`` may be a pod.
    """
    parts = RANK_PART.sub("", DAY.sub("", token)).strip("-").split("-")
    if len(parts) > 2 and DATE.fullmatch(parts[-2]) and CLOCK_TIME.fullmatch(parts[-1]):
        parts.pop()
    while len(parts) > 1 and any(one.fullmatch(parts[-1]) for one in (CONTENTS, DATE, MOMENT)):
        parts.pop()
    if is_host("-".join(parts[:-1])) and COUNTED.fullmatch(parts[-1]):
        parts.pop()
    stacks = False
    while is_host("-".join(parts[1:])) and _says_something_else(parts[0]):
        stacks = stacks or STACK_TOOL.fullmatch(parts.pop(0)) is not None
    if stacks and PROCESS.fullmatch(parts[-1]) and is_host("-".join(parts[:-1])):
        parts.pop()
    host = "-".join(parts)
    return host if is_host(host) else None


def _says_something_else(part: str) -> bool:
    return part.isdecimal() or bool(CONTENTS.fullmatch(part) or COUNTED.fullmatch(part))


def _stream(part: str) -> str | None:
    found = STREAM.search(part)
    if found is None:
        return None
    return "stdout" if found[1] else "stderr"


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)
