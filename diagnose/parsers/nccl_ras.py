r"""NCCL's RAS service (2.24 and later): peers it misses, and the report it gives when asked.

Samples::

    node-07:4121:4188 [0] NCCL INFO RAS declaring peer 10.0.0.9<28028> as DEAD; excluding it

    #0-0 (27a079b828ff1a75) MISMATCH
      Communicator ranks have different collective operation counts
      7 ranks have launched up to operation 6650
      1 rank has launched up to operation 6649
      Rank 5 -- GPU 5 managed by process 4125 on node 10.0.0.9

The processes of a job watch one another over sockets of their own, so a peer that is missed here
died or froze whatever the collectives do. The log lines are effects: they say that a process went
away and not why. The report (``ncclras``, port 28028) is a snapshot. Ranks in it count within the
communicator, ``highest`` and ``lowest`` are numbers of calls, and it lists the smaller group: where
that is the one ahead, ``behind`` is empty. Ranks of a healthy job differ by a call or two.

Empty: all peers answer, or nobody asked. Cut off: a block keeps the ranks above the cut.
"""

from collections.abc import Iterable

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers import convert
from diagnose.parsers.base import BlockParser, LineParser, Pattern, make_event
from diagnose.parsers.nccl_level import judge_by_level

HEADER = LazyPattern(
    r"#\d+-\d+ \((?P<comm>[0-9a-f]+)\) (?P<kind>MISMATCH|INCOMPLETE|ERROR|TIMEOUT)\b"
)
LAUNCHED = LazyPattern(r"(\d+) ranks? ha(?:ve|s) launched up to operation (\d+)")
MEMBER = LazyPattern(r"Rank (\d+) -- GPU (\d+) managed by process (\d+) on node (\S+)")
STATUS = LazyPattern(r"Rank (\d+) has status (\w+)")
MISSING = LazyPattern(r"[Tt]he missing ranks?: ([\d, -]+)")
OPERATION = LazyPattern(r"have different (\w+) operation counts")


def _opens(line: Line) -> bool:
    return HEADER.search(line.text) is not None


def _ends(lines: list[Line], following: Line) -> bool:
    return not following.text.startswith((" ", "\t")) or HEADER.search(following.text) is not None


def _read(lines: list[Line]) -> Iterable[Event]:
    head = HEADER.search(lines[0].text)
    if head is None:
        return
    text = "\n".join(line.text for line in lines[1:])
    members = list(MEMBER.finditer(text))
    fields: dict[str, Value] = {"comm": head["comm"], "kind": head["kind"]}
    if found := MISSING.search(text):
        fields["missing"] = _ranks(found[1])
    if launched := {int(one[2]): int(one[1]) for one in LAUNCHED.finditer(text)}:
        lowest, highest = min(launched), max(launched)
        operation = OPERATION.search(text)
        listed = sorted(int(one[1]) for one in members)
        # Ranks are listed for the smaller group alone.
        behind = lowest < highest and launched[lowest] < sum(launched.values()) / 2
        fields |= {
            "operation": operation[1] if operation else None, "lowest": lowest, "highest": highest,
            "listed": [*listed], "behind": [*listed] if behind else [],
        }  # fmt: skip
    if statuses := {one[2] for one in STATUS.finditer(text)}:
        fields["statuses"] = sorted(statuses)
    nodes = {one[4] for one in members}
    if len(nodes) == 1:
        fields["host"] = next(iter(nodes))
    yield make_event(
        "nccl.ras_report", Nature.MEASUREMENT, lines[0], fields, end_line=lines[-1].number
    )


def _ranks(text: str) -> list[Value]:
    found: list[Value] = []
    for part in text.replace(",", " ").split():
        first, _, last = part.partition("-")
        if first.isdigit():
            found.extend(range(int(first), int(last if last.isdigit() else first) + 1))
    return found


PATTERNS = (
    Pattern(
        event="nccl.ras_dead_peer",
        regex=r"RAS (?:declaring peer |handling deadPeer \(addr |dead peer \d+: )(?P<process>(?P<peer>[^\s;)<]+)[^\s;)]*)",
        nature=Nature.EFFECT,
        source="NCCL 2.24 to 2.30, ras/peers.cc",
        sample="node-07:4121:4188 [0] NCCL INFO RAS declaring peer 10.0.0.9<28028> as DEAD; excluding it",
        types={"peer": convert.address},
    ),
    Pattern(
        event="nccl.ras_timeout",
        regex=r"RAS (?:keep-alive|connect) timeout (?P<severity>warning|error) \((?P<lasted>\d+)s\) on socket connection with (?P<peer>[^\s,]+)",
        nature=Nature.EFFECT,
        source="NCCL 2.24 to 2.30, ras/rasnet.cc",
        sample="node-07:4121:4188 [0] NCCL INFO RAS keep-alive timeout warning (5s) on socket connection with 10.0.0.9<28028>",
        types={"lasted": float, "peer": convert.address},
    ),
    Pattern(
        event="nccl.ras_timeout",
        regex=r"RAS [^\r\n]*socket connection with (?P<peer>[^\s,]+) closed by peer",
        nature=Nature.EFFECT,
        source="NCCL 2.24 to 2.30, ras/rasnet.cc",
        sample="node-07:4121:4188 [0] NCCL INFO RAS network socket connection with 10.0.0.9<28028> closed by peer",
        types={"peer": convert.address},
        constants={"severity": "closed"},
    ),
    Pattern(
        event="nccl.ras_timeout",
        regex=r"RAS connection from peer (?P<peer>\S+) that is considered dead",
        nature=Nature.EFFECT,
        source="NCCL 2.24 to 2.30, ras/rasnet.cc; the host was frozen and came back",
        sample="node-07:4121:4188 [0] NCCL INFO RAS connection from peer 10.0.0.9<28028> that is considered dead!",
        types={"peer": convert.address},
        constants={"severity": "returned"},
    ),
    Pattern(
        event="nccl.ras_process_dead",
        regex=r"^\s*Process (?P<process>\d+) on node (?P<node>(?P<host>\S+)) managing GPUs? (?P<device>[\d, ]+)",
        nature=Nature.EFFECT,
        source="NCCL 2.24 to 2.30, ras/client_support.cc; below DEAD or INCOMPLETE",
        sample="  Process 4125 on node 10.0.0.9 managing GPU 5",
        types={"process": int},
    ),
)

PARSERS = (
    BlockParser(
        name="nccl-ras-report",
        title="The report of NCCL's RAS service: ranks that are behind or missing",
        opens=(") MISMATCH", ") INCOMPLETE", ") ERROR", ") TIMEOUT"),
        starts=_opens,
        ends=_ends,
        read=_read,
        emits=("nccl.ras_report",),
        sample=(
            "#0-0 (27a079b828ff1a75) MISMATCH\n"
            "  Communicator ranks have different collective operation counts\n"
            "  7 ranks have launched up to operation 6650\n"
            "  1 rank has launched up to operation 6649\n"
            "  Rank 5 -- GPU 5 managed by process 4125 on node 10.0.0.9\n"
        ),
    ),
    LineParser(
        name="nccl-ras",
        title="NCCL's RAS service: peers it misses",
        patterns=PATTERNS,
        refine=judge_by_level,
    ),
)
