"""Slurm's view of nodes: ``scontrol show node``, ``sinfo``, and slurmctld's log.

::

    NodeName=node-07 Arch=x86_64 CoresPerSocket=48
       State=DOWN*+DRAIN ThreadsPerCore=2 TmpDisk=0 Weight=1
       BootTime=2026-09-14T04:58:02 SlurmdStartTime=2026-09-14T04:59:12
       Reason=Not responding [slurm@2026-09-14T04:48:45]

``slurm.node_state`` has ``state`` in small letters (a star: it does not answer), ``reason`` as Slurm
or an operator wrote it, ``at`` and ``boot`` as printed, and ``lost``: it is down or does not answer,
not merely drained. ``sinfo`` lists nodes of no concern too, so ``role`` is root until the facts know
better. The boot is ``host.boot`` as well, at its own time.

*Empty*: no such output in the input. *Cut off*: a record without ``State=`` gives nothing.
"""

import re
from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.ingest.stamp import parse_stamp
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, LineParser, Note, Pattern, Record, make_event
from diagnose.parsers.convert import short_host

_SLURM = "Slurm 20.02 to 26.11"
LONGEST = 400
"""Characters of a line of these tools; what is longer is none of theirs."""

_FIELD = LazyPattern(r"\b(State|BootTime)=(\S+)")
_REASON = LazyPattern(r"\bReason=(?P<reason>.*?)(?: \[(?P<by>\w+)@(?P<at>[\dT:-]+)\])?\s*$")
_NAME = LazyPattern(r"\bNodeName=(?P<host>[\w.-]+) ")
_LOST = LazyPattern(r"(?i)down|fail|not_responding|\*")


def _complete(event: Event, line: Line) -> Event:
    host = event.host
    if host is not None and ("[" in host or "," in host):
        event.fields["hosts"], event.host = host, None
    if event.name == "slurm.node_state":
        state = str(event.fields.get("state") or "").lower()
        event.fields["state"] = state or None
        event.fields["role"] = "root"
        _judge(event)
    return event


def _judge(event: Event) -> None:
    state = event.fields.get("state")
    lost = isinstance(state, str) and _LOST.search(state) is not None
    event.fields["lost"] = lost
    reason = event.fields.get("reason")
    event.nature = Nature.ERROR if lost or reason not in (None, "", "none") else Nature.MEASUREMENT


def _read_node(lines: list[Line]) -> Iterator[Record]:
    name = _NAME.search(lines[0].text)
    cells: dict[str, str] = {}
    fields: dict[str, Value] = {}
    for line in lines:
        cells.update(dict(_FIELD.findall(line.text)))
        reason = _REASON.search(line.text[:LONGEST])
        if reason is not None:
            fields |= {"reason": reason["reason"], "by": reason["by"], "at": reason["at"]}
    if name is None or "State" not in cells:
        raise Note("a node without its state")
    host = short_host(name["host"])
    fields |= {"host": host, "state": cells["State"].lower(), "boot": cells.get("BootTime")}
    fields["role"] = "root"
    event = make_event(
        "slurm.node_state", Nature.MEASUREMENT, lines[0], fields, end_line=lines[-1].number
    )
    _judge(event)
    yield event
    booted = parse_stamp(cells.get("BootTime", ""))
    if booted is not None:
        at = next(line for line in lines if "BootTime=" in line.text)
        boot = make_event(
            "host.boot", Nature.MEASUREMENT, at, {"host": host, "release": None, "role": "root"}
        )
        boot.time, boot.clock = booted
        yield boot


NODE = BlockParser(
    name="slurm-node",
    title="scontrol show node: state, reason and boot of a node",
    opens=("NodeName=",),
    starts=lambda line: _NAME.search(line.text) is not None,
    ends=lambda lines, following: (
        not following.text.startswith(" ") or _NAME.search(following.text) is not None
    ),
    read=_read_node,
    emits=("slurm.node_state", "host.boot"),
    sample=(
        "NodeName=node-07 Arch=x86_64 CoresPerSocket=48\n"
        "   State=DOWN*+DRAIN ThreadsPerCore=2 TmpDisk=0 Weight=1\n"
        "   BootTime=2026-09-14T04:58:02 SlurmdStartTime=2026-09-14T04:59:12\n"
        "   Reason=Not responding [slurm@2026-09-14T04:48:45]\n"
    ),
    maximum=60,
)


_HEAD = LazyPattern(
    r"^(?:REASON +USER +TIMESTAMP|PARTITION +AVAIL +TIMELIMIT +NODES +STATE) +NODELIST"
)
_ROW = LazyPattern(
    r"^(?P<reason>\S.*?) +(?P<by>\S+) +(?P<at>\d{4}-\d\d-\d\dT[\d:]{8}) +(?P<host>[\w.,\[\]-]+)\s*$"
)
_PARTITION = LazyPattern(
    r"^\S+ +(?:up|down|drain|inact) +\S+ +\d+ +(?P<state>[a-z]+[*~#!%$@^-]?) +(?P<host>[\w.,\[\]-]+)\s*$"
)


def _row(line: Line) -> re.Match[str] | None:
    if len(line.text) > LONGEST:
        return None
    text = _plain(line.text)
    return _ROW.match(text) or _PARTITION.match(text)


def _plain(text: str) -> str:
    """Return a line without the quotes of a list, as Ansible shows the output of a command."""
    bare = text.strip()
    return bare.removesuffix(",").strip('"') if bare.startswith('"') else text


def _read_table(lines: list[Line]) -> Iterator[Record]:
    for line in lines[1:]:
        row = _row(line)
        if row is not None:
            fields: dict[str, Value] = {**row.groupdict(), "host": short_host(row["host"])}
            event = make_event("slurm.node_state", Nature.ERROR, line, fields)
            yield _complete(event, line)


SINFO = BlockParser(
    name="slurm-sinfo",
    title="sinfo, and sinfo -R: which nodes are down or drained, and why",
    opens=("NODELIST",),
    starts=lambda line: _HEAD.match(_plain(line.text)) is not None,
    ends=lambda lines, following: _row(following) is None,
    read=_read_table,
    emits=("slurm.node_state",),
    sample=(
        "REASON               USER      TIMESTAMP           NODELIST\n"
        "Not responding       slurm     2026-09-14T04:48:45 node-07\n"
    ),
    maximum=2_000,
)


def _line(event: str, regex: str, nature: Nature, source: str, sample: str) -> Pattern:
    return Pattern(
        event=event,
        regex=regex,
        nature=nature,
        source=f"{_SLURM}, {source}",
        sample=sample,
        types={"host": short_host},
    )


LINES = LineParser(
    name="slurm-nodes",
    title="what slurmctld says of nodes, and slurmstepd of steps",
    patterns=(
        _line("slurm.node_failure", r"Batch JobId=(?P<job>\d+) missing from batch node (?P<host>[\w.-]+)",
              Nature.ERROR, "src/slurmctld/job_mgr.c", "error: Batch JobId=77121 missing from batch node node-07 (not found BatchStartTime after startup)"),
        _line("slurm.node_failure", r"Node (?P<host>[\w.-]+) unexpectedly rebooted",
              Nature.ERROR, "src/slurmctld/node_mgr.c", "error: Node node-07 unexpectedly rebooted boot_time=1789361882 last response=1789361325"),
        _line("slurm.oom_kill", r"Exceeded job memory limit", Nature.ERROR, "src/slurmd/slurmstepd", "slurmstepd: error: Exceeded job memory limit"),
        _line("slurm.step_aborted", r"FAILED \(non-zero exit code or other failure mode\)", Nature.TEARDOWN,
              "src/slurmd/slurmstepd/req.c", "slurmstepd: error: *** STEP 77121.0 ON node-07 FAILED (non-zero exit code or other failure mode) ***"),
    ),
    refine=_complete,
)  # fmt: skip

PARSERS = (NODE, SINFO, LINES)
