"""The prefixes that launchers, collectors and logging libraries put in front of a line.

One pattern and one handler a family; what they say is gathered in ``Hints``. Only ``[rank5]:``,
MPI's and srun's tags state a global rank; torchrun's ``[default5]:`` is a rank on its host.
"""

from collections.abc import Callable, Mapping

from diagnose.ingest.host import OTHER_WORDS, short, states_host
from diagnose.ingest.lazy import LazyPattern
from diagnose.ingest.stamp import find_stamp
from diagnose.model.event import Clock

MAX_PREFIXES = 12
"""Prefixes taken off one line; more is not a log."""

MAX_PID_DIGITS = 7
"""Digits of a process id; torch 2.4 prints a thread's address in its place."""

LEVEL = "(?:DEBUG|INFO|NOTICE|WARNING|WARN|ERROR|CRITICAL|FATAL|TRACE)"
SOURCE_FILE = r"[\w./<>-]+\.(?:cpp|cc|cuh?|hpp|h|hip|py|go):\d+"

# host:pid:tid [cuda device], nccl/src/debug.cc; CALL lines have no device.
CORE = LazyPattern(r"([A-Za-z0-9_.\-]+):(\d+):\d+ (?:\[(-?\d+)\] )?")
DEVICE = LazyPattern(r"\[(-?\d+)\] (?=NCCL )")

NUMBERED = LazyPattern(
    r"\[(?:\d+,(?P<mpi>\d+)\](?:<(?P<stream>stdout|stderr|stddiag)>:|<>:)(?: (?! ))?"
    r"|(?P<rank>\d{1,6})\]:(?=\s*\S)(?: (?! ))?)"
)
NAMED = LazyPattern(
    r"\[(?:rank(?P<rank>\d{1,6})\]: ?"
    r"|(?P<role>[A-Za-z_]+)(?P<local>\d{1,4})\]:"
    r"|[\w.-]+@\d+,(?P<mpi>\d+)\]<(?P<stream>stdout|stderr|stddiag)>:(?: (?! ))?"
    r"|pod/(?P<pod>[\w.-]+)(?:/[\w.-]+)?\] ?"
    r"|(?P<host>[\w-]+)\](?: |$)"
    r"|titan\] (?=\[?\d{4}-))"
)
# c10/util/Logging.cpp: "[E ProcessGroupNCCL.cpp:828] " to 2.3, "[E301 13:49:45.100000000 …" since
C10D = LazyPattern(rf"\[[VDIWEF](?:\d{{3,4}} \d\d:\d\d:\d\d\.\d+ ?)? ?{SOURCE_FILE}\] ?")
# glog, klog, and torch.distributed's Python logger from 2.4
GLOG = LazyPattern(
    r"[VDIWEF]\d{4}(?:\d{4})? \d\d:\d\d:\d\d\.\d+ +(?P<pid>\d+) (?P<file>[^\s:]+):\d+\] ?"
)
NEMO = LazyPattern(r"\[NeMo [A-Z] ")
# SGLang "[2026-01-05 10:00:00 DP0 TP3] ", NeMo "… nemo_logging:349] ", detectron2 "… d2.utils]: "
TAGS = LazyPattern(r"((?: [\w.:/-]+){1,4})\]:? ?")
PARALLEL = LazyPattern(r"(?: (?:DP|PP|TP|EP|ATTN|MOE)\w*)+")
# srun -l; not "5: ens1: <BROADCAST>" of ip, "1: link mlx5_0/1" of rdma, "3: std::panic" of Rust,
# nor the columns of /proc/interrupts, nor the kernel's "4: ACTIVE" and "5: LinkUp" of a port
SRUN = LazyPattern(
    r"(\d{1,6}):(?: (?!\s*0x[0-9a-f]|[\w.@-]+: <|link \w|\s*\d+ +\d+ +\d|\s*[\w<]+::"
    r"|(?:DOWN|INIT|ARMED|ACTIVE|ACTIVE_DEFER|Sleep|Polling|Disabled|PortConfigurationTraining"
    r"|LinkUp|LinkErrorRecovery|Phy Test)\s*$)|$)"
)
SLURM_DAEMON = LazyPattern(r"^slurm(?:stepd|d|ctld)-")
"""What Slurm's daemons put before the host, src/common/log.c: ``slurmstepd-node07: error:``."""

PARALLEL_SHELL = LazyPattern(r"([A-Za-z0-9][\w.-]{1,80}):(?: |$)")
ACTOR = LazyPattern(
    r"\((?:(?P<raylet>raylet)|(?:(?P<tag>[A-Za-z][^()=,]{0,80}?) )?(?:rank=(?P<rank>\d+) )?"
    r"pid=(?P<pid>\d+))(?:, ip=(?P<ip>[\w.:]+))?\)(?: |$)"
)
# vLLM's "Worker_TP2_EP2" and SGLang's "TP2"; beside a replica or stage it is no rank of the job
TENSOR_RANK = LazyPattern(r"(?:Worker_)?TP(\d{1,4})(?:[_ ]EP\d{1,4})?")
STREAM = LazyPattern(r"<(?:(stdout|stderr|stddiag)>: ?|\d{1,3}>(?=\[ *\d))")
HARNESS = LazyPattern(r"[\w.-]+ \[(stdout|stderr)\](?: |$)")
# stern's "trainer-0 pytorch text"; two plain words prove nothing, so the container is a usual one
STERN = LazyPattern(
    r"([a-z0-9][a-z0-9.-]{0,80}-(?:\d{1,5}|[a-z0-9]{5})) (?:[a-z-]+-)?"
    r"(?:pytorch|train(?:er|ing)?|worker|master|launcher|main|app|mpi|vllm|sglang|container)(?: |$)"
)
KERNEL_HOST = LazyPattern(r"([A-Za-z0-9][\w.-]{1,80}) kernel: ")
QUOTE = LazyPattern(r"(?:> ){1,8}(?=[ \t]*[^\s>&/.~$])|(?:> ){0,7}> ?$")
"""Marks of a quoted mail or issue; not a redirection, nor Python's ``>>> ``."""
KERNEL_FACILITY = LazyPattern(r"kern +:\w+ *: (?=\[)")

CRI = LazyPattern(r" (stdout|stderr) [PF](?: |$)")
SYSLOG = LazyPattern(r" ([\w.-]+) ([\w./@-]+)(?:\[(\d+)\])?: ?")
JOURNAL = LazyPattern(r" ([\w.-]+) (?:([\w./@-]+)\[(\d+)\]|(kernel)): ?")
AFTER_STAMP = LazyPattern(
    rf"[ \t]?(?:- (?:[\w.\[\]/:-]+ - )*{LEVEL} - "
    rf"|\[ *{LEVEL} *\](?: - | ?\[[\w./-]+:\d+(?::\w+)?\] ?| )"
    rf"|\| *{LEVEL} *\| [^|]{{0,200}}? - "
    rf"|[\w.]+: \[{LEVEL}\] "
    rf"|{LEVEL}:? +(?:[\w./-]+:\d+ -- )?)"
    r"|\[ *[TC]\d+\] ?|: ?| (?:>> )?"
)
# Hugging Face "[INFO|trainer.py:2134] 2025-01-05 …", and any level in front of a date
LEVELED = LazyPattern(
    rf"(?:\[ *{LEVEL}(?:\|[^\[\]]{{1,80}})?\]|{LEVEL}):? +(?=\[?\d{{4}}[-/]\d\d[-/])"
)
# vLLM "ERROR 01-05 10:00:00 [core.py:708]   File …"; V0 had no opening bracket
VLLM = LazyPattern(rf"{LEVEL} +(?P<stamp>\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?) \[?[\w./<>-]+:\d+\] ?")
PYTHON = LazyPattern(rf"{LEVEL}:[A-Za-z_][\w.]*:(?=\S)")

# Go's "time=2026-01-05T10:00:00.000Z level=INFO", Rust's {"timestamp":"2026-…"}, and GIN's log
STAMPED_FIELD = LazyPattern(
    r"(?:time=\"?|\{\"timestamp\": ?\"|\[GIN\] )"
    r"(?P<stamp>\d{4}[-/]\d\d[-/]\d\d(?:T| - )[\d:.]{8,18}(?:Z|[+-]\d\d:?\d\d)?)"
)

HOST_ROLES = frozenset({"node", "host", "machine", "server"})
"""Words that in ``[node3]:`` name a machine, where any other word is torchrun's role."""

LEVEL_STARTS = frozenset("-[|>DINWECFT")

QUALITY = {
    Clock.NONE: 0, Clock.UPTIME: 1, Clock.DAYTIME: 2, Clock.YEARLESS: 3, Clock.LOCAL: 4,
    Clock.UTC: 5,
}  # fmt: skip
"""Of two stamps on a line the one that says more is kept, of equals the outer one."""


class Hints:
    """What the prefixes of one line said so far.

    Its defaults belong to the class: one is made for every line, and most set two or three.
    """

    time: float | None = None
    clock: Clock = Clock.NONE
    rank: int | None = None
    task: int | None = None
    local: int | None = None
    host: str | None = None
    pid: int | None = None
    gpu: str | None = None
    stream: str | None = None
    nccl = False
    done = False

    def at(self, time: float, clock: Clock) -> None:
        """Take a stamp, if it says more than the one at hand."""
        if self.clock is Clock.NONE or QUALITY[clock] > QUALITY[self.clock]:
            self.time = time
            self.clock = clock


def strip(raw: str, end: int, hints: Hints) -> int:
    """Return where the text behind all prefixes begins.

    Args:
        raw: A record without escapes.
        end: Where it ends.
        hints: Takes what the prefixes say.
    """
    hints.nccl = "NCCL " in raw
    start = 0
    for _ in range(MAX_PREFIXES):
        at = start
        while at < end and raw[at] == " ":
            at += 1
        if at == end:
            break
        after = HANDLERS.get(raw[at], _word)(raw, at, hints)
        if after <= at:
            break
        start = after
        if hints.done:
            break
    return min(start, end)


def _bracket(raw: str, at: int, hints: Hints) -> int:
    second = raw[at + 1 : at + 2]
    if second.isalpha():
        return _field(raw, at, hints) if raw.startswith("[GIN] ", at) else _named(raw, at, hints)
    if raw[at + 5 : at + 6] == "-":
        return _stamp(raw, at, hints)
    if hints.nccl:
        found = DEVICE.match(raw, at)
        if found is not None:
            hints.gpu = found[1]
            return found.end()
    found = NUMBERED.match(raw, at)
    if found is None:
        return _stamp(raw, at, hints)
    # "[3]:" comes from torchrun's --log-line-prefix-template "[${rank}]:".
    hints.rank = int(found["mpi"] or found["rank"])
    hints.stream = found["stream"] or hints.stream
    return found.end()


def _named(raw: str, at: int, hints: Hints) -> int:
    found = C10D.match(raw, at)
    if found is not None:
        stamp = find_stamp(raw, at)
        if stamp is not None:
            hints.at(stamp[0], stamp[1])
        hints.done = True
        return found.end()
    found = NEMO.match(raw, at)
    if found is not None:
        return _tagged(raw, found.end(), hints)
    found = LEVELED.match(raw, at)
    if found is not None:
        return found.end()
    found = NAMED.match(raw, at)
    if found is None:
        return _stamp(raw, at, hints)
    kind = found.lastgroup
    if kind == "rank":
        hints.rank = int(found["rank"])
    elif kind == "local":
        role = found["role"].lower()
        if role in OTHER_WORDS:
            return -1
        if role in HOST_ROLES:
            hints.host = found["role"] + found["local"]
        else:
            hints.local = int(found["local"])
    elif kind == "stream":
        hints.rank = int(found["mpi"])
        hints.stream = found["stream"]
    elif kind == "pod":
        hints.host = found["pod"]
    elif kind == "host":
        if raw.startswith("[titan] ", at) and raw[at + 8 : at + 12].strip("[").isdecimal():
            return found.end()
        if not states_host(found["host"]):
            return -1
        hints.host = found["host"]
    return found.end()


def _stamp(raw: str, at: int, hints: Hints) -> int:
    stamp = find_stamp(raw, at)
    if stamp is None:
        return _tagged(raw, at + 1, hints) if raw[at] == "[" else -1
    time, clock, length = stamp
    hints.at(time, clock)
    end = at + length
    if raw[at] != "[" and clock is not Clock.DAYTIME:
        found = CRI.match(raw, end)
        if found is not None:
            hints.stream = found[1]
            return found.end()
        pattern = SYSLOG if raw[at].isalpha() else JOURNAL
        found = pattern.match(raw, end)
        if found is not None and not found[1].isupper():
            hints.host = short(found[1])
            hints.stream = found[2] or "kernel"
            hints.pid = int(found[3]) if found[3] else None
            return found.end()
    if hints.nccl and raw[end : end + 1] == " " and raw[end + 1 : end + 2] not in LEVEL_STARTS:
        return end + 1
    found = AFTER_STAMP.match(raw, end)
    return end if found is None else found.end()


def _tagged(raw: str, at: int, hints: Hints) -> int:
    stamp = find_stamp(raw, at)
    if stamp is None:
        return -1
    found = TAGS.match(raw, at + stamp[2])
    if found is None:
        return -1
    hints.at(stamp[0], stamp[1])
    if PARALLEL.fullmatch(found[1]):
        hints.stream = found[1].strip()
        _take_tensor_rank(hints.stream, hints)
    return found.end()


def _digit(raw: str, at: int, hints: Hints) -> int:
    found = SRUN.match(raw, at)
    if found is not None:
        hints.task = int(found[1])
        return found.end()
    after = _stamp(raw, at, hints)
    return after if after > at else _word(raw, at, hints)


def _capital(raw: str, at: int, hints: Hints) -> int:
    if raw[at + 1 : at + 2].isdecimal():
        found = GLOG.match(raw, at)
        if found is None:
            return _word(raw, at, hints)
        stamp = find_stamp(raw, at)
        if stamp is None:
            return -1
        hints.at(stamp[0], stamp[1])
        if found["file"].endswith(".py") and len(found["pid"]) <= MAX_PID_DIGITS:
            hints.pid = int(found["pid"])
        if "distributed/elastic/" in found["file"]:
            # The agent speaks, one a node: a task number in front of it counts nodes.
            hints.task = None
        hints.done = True
        return found.end()
    found = VLLM.match(raw, at)
    if found is not None:
        stamp = find_stamp(raw, found.start("stamp"))
        if stamp is not None:
            hints.at(stamp[0], stamp[1])
        hints.done = True
        return found.end()
    found = PYTHON.match(raw, at) or LEVELED.match(raw, at)
    if found is not None:
        return found.end()
    after = _stamp(raw, at, hints) if raw[at + 3 : at + 4] == " " else -1
    return after if after > at else _word(raw, at, hints)


def _word(raw: str, at: int, hints: Hints) -> int:
    if hints.nccl:
        found = CORE.match(raw, at)
        if found is not None and raw.find("NCCL ", found.end()) >= 0:
            hints.host = short(found[1])
            hints.pid = int(found[2])
            if found[3] is not None and found[3] != "-1":
                hints.gpu = found[3]
            hints.done = True
            return found.end()
    found = PARALLEL_SHELL.match(raw, at)
    if found is not None:
        name = SLURM_DAEMON.sub("", found[1])
        if not states_host(name):
            return -1
        hints.host = short(name)
        return found.end()
    found = KERNEL_HOST.match(raw, at) if " kernel: " in raw else None
    if found is not None and _names_host(found[1]):
        hints.host = short(found[1])
        hints.stream = "kernel"
        return found.end()
    if "[std" in raw:
        found = HARNESS.match(raw, at)
        if found is not None:
            hints.stream = found[1]
            return found.end()
    found = STERN.match(raw, at) if at == 0 else None
    if found is not None:
        hints.host = short(found[1])
        return found.end()
    return -1


def _names_host(word: str) -> bool:
    """Return whether a word before ``kernel:`` is a host, not ``CUDA`` or ``gpu0``."""
    name = short(word)
    letters = name.rstrip("0123456789")
    numbered = letters != name and letters.isalpha() and letters.lower() not in OTHER_WORDS
    return numbered or states_host(word)


def _actor(raw: str, at: int, hints: Hints) -> int:
    found = ACTOR.match(raw, at)
    if found is None:
        return -1
    hints.stream = found["raylet"] or found["tag"] or hints.stream
    if found["rank"]:
        hints.rank = int(found["rank"])
    elif found["tag"]:
        _take_tensor_rank(found["tag"], hints)
    if found["pid"]:
        hints.pid = int(found["pid"])
    hints.host = found["ip"] or hints.host
    return found.end()


def _take_tensor_rank(tag: str, hints: Hints) -> None:
    found = TENSOR_RANK.fullmatch(tag)
    if found is not None:
        hints.rank = int(found[1])


def _angle(raw: str, at: int, hints: Hints) -> int:
    found = STREAM.match(raw, at)
    if found is None:
        return -1
    hints.stream = found[1] or "kernel"
    return found.end()


def _quote(raw: str, at: int, hints: Hints) -> int:
    found = QUOTE.match(raw, at) if at == 0 else None
    return -1 if found is None else found.end()


def _kernel(raw: str, at: int, hints: Hints) -> int:
    found = KERNEL_FACILITY.match(raw, at)
    if found is None:
        return _word(raw, at, hints)
    hints.stream = "kernel"
    return found.end()


def _field(raw: str, at: int, hints: Hints) -> int:
    """Take the stamp of a record of named fields, which stays whole: its fields belong together."""
    found = STAMPED_FIELD.match(raw, at)
    stamp = find_stamp(found["stamp"].replace(" - ", " ").replace("/", "-")) if found else None
    if stamp is not None:
        hints.at(stamp[0], stamp[1])
        return -1
    return _word(raw, at, hints) if raw[at] == "t" else -1


def _nothing(raw: str, at: int, hints: Hints) -> int:
    return -1


Handler = Callable[[str, int, Hints], int]
HANDLERS: Mapping[str, Handler] = (
    dict.fromkeys("0123456789", _digit)
    | dict.fromkeys("ABCDEFGIJMNOSTVWX", _capital)
    | dict.fromkeys("#$%&'\"*+,-./;=?@\\^_`|}~!)]\t", _nothing)
    | {"[": _bracket, "(": _actor, "<": _angle, ">": _quote, "k": _kernel, "t": _field, "{": _field}
)
"""By the first character; any other begins a word."""
