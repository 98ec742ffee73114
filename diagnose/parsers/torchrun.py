r"""What torchrun's agent says: which worker failed, restarts, signals, and who runs where.

Samples::

    E0321 02:07:21.000000 26021 site-packages/torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -9) local_rank: 5 (pid: 26029) of binary: /opt/venv/bin/python
    Root Cause (first observed failure):
    [0]:
      time      : 2025-05-01_11:12:35
      host      : node-07.cluster
      rank      : 12 (local_rank: 4)
      exitcode  : -9 (pid: 26029)

All of it is an effect. The "root cause" of the table is only the earliest exit that one node's agent
noticed, to the second: ``first`` marks it and proves nothing. Workers that were ended by the agent
appear with SIGTERM, among them a rank that the others waited for. Each node prints its own table.
``agent`` is the pid of the agent that speaks (2.5 and later); ``pid`` that of the worker.

Empty: no worker failed, or the agent itself was killed. Cut off: an entry without its ``exitcode``
line is passed over; one that is the last of a cut file may lack the error text.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

import regex

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Clock, Event, Line, Nature, Value
from diagnose.parsers import convert
from diagnose.parsers.base import BlockParser, LineParser, Note, Pattern, Record, make_event

ENTRY = LazyPattern(r"^\s*\[\d+\]:\s*$")
SECTION = LazyPattern(
    r"^\s*(?:Root Cause(?: \(first observed failure\))?|(?:Other )?Failures):\s*$"
)
FRAME = LazyPattern(r"^\s*(?:={10,}|\*{10,})\s*$")
FIELD = LazyPattern(
    r"^\s*(?P<name>time|host|rank|exitcode|error_file|traceback|msg)\s*: ?(?P<value>.*)$"
)
RANKS = LazyPattern(r"(?P<rank>\d+) \(local_rank: (?P<local_rank>\d+)\)")
EXIT = LazyPattern(r"(?P<code>-?\d+) \(pid: (?P<pid>\d+)\)")
NO_TRACEBACK = "To enable traceback see"

RESULT = LazyPattern(r"^\s*(?P<name>[a-z_]+)=(?P<value>\[[^\]]*\]?|\S*)\s*$")
PLACEMENT = {
    "restart_count", "master_port", "group_rank", "group_world_size", "local_ranks", "role_ranks",
    "global_ranks", "role_world_sizes", "global_world_sizes", "master_addr",
}  # fmt: skip


def refine(event: Event, line: Line) -> Event | None:
    """Name signals, also those printed as numbers, and count the attempts."""
    event.fields["agent"] = line.pid
    code, signal = event.fields.get("exit_code"), event.fields.get("signal")
    if isinstance(code, int):
        event.fields["signal"] = convert.signal_of_exit(code)
    elif isinstance(signal, str):
        number = int(signal) if signal.isdigit() else None
        event.fields["signal"] = convert.SIGNALS.get(number or 0) or signal.removeprefix("Signals.")
    if event.name == "torchrun.group_finished" and event.fields["state"] == "SUCCEEDED":
        event.nature = Nature.PROGRESS
    left, maximum = event.fields.get("attempts_left"), event.fields.get("maximum")
    if isinstance(left, int) and isinstance(maximum, int):
        event.fields["attempt"] = maximum - left + 1
    return event


def _table_starts(line: Line) -> bool:
    return SECTION.match(line.text) is not None


def _table_ends(lines: list[Line], following: Line) -> bool:
    return FRAME.match(lines[-1].text) is not None


def read_table(lines: list[Line]) -> Iterator[Record]:
    """Return an event for each failure of a table.

    Raises:
        Note: No entry of the table is whole.
    """
    first = False
    found = False
    entry: list[Line] = []
    for line in [*lines, None]:
        if entry and (line is None or ENTRY.match(line.text) or _closes(line.text)):
            event = _failure(entry, first)
            if event is not None:
                found = True
                yield event
            entry = []
        if line is None:
            break
        if SECTION.match(line.text):
            first = "Root Cause" in line.text
        elif ENTRY.match(line.text) or entry:
            entry.append(line)
    if not found and any(ENTRY.match(line.text) for line in lines):
        raise Note("a table of failed workers was cut off")


def _closes(text: str) -> bool:
    return bool(SECTION.match(text) or FRAME.match(text) or regex.match(r"^\s*-{10,}\s*$", text))


def _failure(lines: list[Line], first: bool) -> Event | None:
    values: dict[str, tuple[str, Line]] = {}
    trace: list[str] = []
    for line in lines:
        found = FIELD.match(line.text)
        if found and found["name"] not in values:
            values[found["name"]] = (found["value"].strip(), line)
        elif "traceback" in values and line.text.strip():
            trace.append(line.text.strip())
    exit_ = EXIT.search(values["exitcode"][0]) if "exitcode" in values else None
    if exit_ is None:
        return None
    code = int(exit_["code"])
    error = values.get("traceback", values.get("msg", ("", lines[0])))[0]
    fields: dict[str, Value] = {
        "exit_code": code,
        "signal": convert.signal_of_exit(code),
        "pid": int(exit_["pid"]),
        "first": first,
        "error_file": _known(values, "error_file"),
        "error": trace[-1] if trace else None if NO_TRACEBACK in error else error or None,
    }
    if host := _known(values, "host"):
        fields["host"] = convert.short_host(host)
    if ranks := RANKS.search(values["rank"][0]) if "rank" in values else None:
        fields["rank"], fields["local_rank"] = int(ranks["rank"]), int(ranks["local_rank"])
    summary, last = values["exitcode"][1], lines[-1].number
    event = make_event("torchrun.child_failed", Nature.EFFECT, summary, fields, end_line=last)
    when = _time(values["time"][0]) if "time" in values else None
    if when is not None:
        event.time, event.clock = when, Clock.LOCAL
    return event


def _known(values: dict[str, tuple[str, Line]], name: str) -> str | None:
    text = values[name][0] if name in values else ""
    return None if text in ("", "<N/A>", "<NA>") else text


def _time(text: str) -> float | None:
    try:
        return datetime.strptime(text, "%Y-%m-%d_%H:%M:%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def _result_starts(line: Line) -> bool:
    return "complete for workers" in line.text


def _result_ends(lines: list[Line], following: Line) -> bool:
    return RESULT.match(following.text) is None


def read_result(lines: list[Line]) -> Iterable[Record]:
    """Return which global ranks the workers of this node have."""
    values = {m["name"]: m["value"] for line in lines[1:] if (m := RESULT.match(line.text))}
    fields: dict[str, Value] = {}
    for name in sorted(PLACEMENT & values.keys()):
        numbers: list[Value] = [int(one) for one in regex.findall(r"-?\d+", values[name])]
        if name == "master_addr":
            fields[name] = values[name]
        elif values[name].startswith("["):
            fields[name] = numbers
        elif numbers:
            fields[name] = numbers[0]
    if fields:
        fields["agent"] = lines[0].pid
        last = lines[-1].number
        yield make_event("torchrun.placement", Nature.SETTING, lines[0], fields, end_line=last)


PATTERNS = (
    Pattern(
        event="torchrun.process_failed",
        regex=r"failed \(exitcode: (?P<exit_code>-?\d+)\) local_rank: (?P<local_rank>\d+) \(pid: (?P<pid>\d+)\)",
        nature=Nature.EFFECT,
        source="PyTorch 1.9 to 2.12, torch/distributed/elastic/multiprocessing/api.py",
        sample="E0321 02:07:21.000000 26021 site-packages/torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: -6) local_rank: 5 (pid: 26029) of binary: /opt/venv/bin/python",
        types={"exit_code": int},
    ),
    Pattern(
        event="torchrun.sigterm",
        regex=r"Sending process (?P<pid>\d+) closing signal (?P<signal>SIG[A-Z0-9]+)",
        nature=Nature.TEARDOWN,
        source="PyTorch 1.9 to 2.12, torch/distributed/elastic/multiprocessing/api.py",
        sample="W0321 02:07:20.000000 26021 site-packages/torch/distributed/elastic/multiprocessing/api.py:897] Sending process 26024 closing signal SIGTERM",
    ),
    Pattern(
        event="torchrun.agent_signal",
        regex=r"Received (?P<signal>[\w.]+) death signal, shutting down workers",
        nature=Nature.EFFECT,
        source="PyTorch 1.9 to 2.12, torch/distributed/elastic/agent/server/api.py",
        sample="W0321 02:07:20.000000 26021 site-packages/torch/distributed/elastic/agent/server/api.py:704] Received 15 death signal, shutting down workers",
    ),
    Pattern(
        event="torchrun.agent_signal",
        regex=r"SignalException: Process (?P<pid>\d+) got signal: (?P<signal>\d+)",
        nature=Nature.EFFECT,
        source="PyTorch 1.9 to 2.12, torch/distributed/elastic/multiprocessing/api.py",
        sample="torch.distributed.elastic.multiprocessing.api.SignalException: Process 26021 got signal: 15",
    ),
    Pattern(
        event="torchrun.unkillable",
        regex=r"Unable to shutdown process (?P<pid>\d+) via (?P<signal>[\w.]+), forcefully exitt?ing via",
        nature=Nature.EFFECT,
        source="PyTorch 1.9 to 2.12, torch/distributed/elastic/multiprocessing/api.py",
        sample="W0321 02:07:50.000000 26021 site-packages/torch/distributed/elastic/multiprocessing/api.py:916] Unable to shutdown process 26024 via Signals.SIGTERM, forcefully exiting via Signals.SIGKILL",
    ),
    Pattern(
        event="torchrun.restart",
        regex=r"Worker group (?P<state>[A-Z]+)\. (?P<attempts_left>\d+)/(?P<maximum>\d+) attempts left; will restart worker group",
        nature=Nature.EFFECT,
        source="PyTorch 1.9 to 2.12, torch/distributed/elastic/agent/server/api.py",
        sample="I0321 02:07:51.000000 26021 site-packages/torch/distributed/elastic/agent/server/api.py:905] [default] Worker group FAILED. 3/3 attempts left; will restart worker group",
        types={"attempts_left": int, "maximum": int},
    ),
    Pattern(
        event="torchrun.restart",
        regex=r"Detected (?P<new_nodes>\d+) new nodes from group_rank=(?P<group_rank>\d+); will restart worker group",
        nature=Nature.EFFECT,
        source="PyTorch 1.9 to 2.12, torch/distributed/elastic/agent/server/api.py",
        sample="I0321 02:07:51.000000 26021 site-packages/torch/distributed/elastic/agent/server/api.py:920] [default] Detected 1 new nodes from group_rank=0; will restart worker group",
        types={"new_nodes": int, "group_rank": int},
    ),
    Pattern(
        event="torchrun.group_finished",
        regex=r"Local worker group finished \((?:WorkerState\.)?(?P<state>[A-Z]+)\)",
        nature=Nature.EFFECT,
        source="PyTorch 1.9 to 2.12, torch/distributed/elastic/agent/server/api.py",
        sample="I0321 02:07:51.000000 26021 site-packages/torch/distributed/elastic/agent/server/api.py:930] Local worker group finished (WorkerState.FAILED). Waiting 300 seconds for other agents to finish",
    ),
    Pattern(
        event="torchrun.finished",
        regex=r"worker group successfully finished",
        nature=Nature.PROGRESS,
        source="PyTorch 1.9 to 2.12, torch/distributed/elastic/agent/server/api.py",
        sample="I0321 03:00:51.000000 26021 site-packages/torch/distributed/elastic/agent/server/api.py:879] [default] worker group successfully finished. Waiting 300 seconds for other agents to finish.",
    ),
)

PARSERS = (
    LineParser(
        name="torchrun",
        title="torchrun's agent: failed workers, signals, restarts",
        patterns=PATTERNS,
        refine=refine,
    ),
    BlockParser(
        name="torchrun-failures",
        title="torchrun's table of failed workers",
        opens=("Root Cause", "Failures:"),
        starts=_table_starts,
        ends=_table_ends,
        read=read_table,
        emits=("torchrun.child_failed",),
        sample="""Failures:
[1]:
  time      : 2025-05-01_11:12:36
  host      : node-07.cluster
  rank      : 13 (local_rank: 5)
  exitcode  : -6 (pid: 26030)
  error_file: <N/A>
  traceback : Signal 6 (SIGABRT) received by PID 26030
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2025-05-01_11:12:35
  host      : node-07.cluster
  rank      : 12 (local_rank: 4)
  exitcode  : -9 (pid: 26029)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 26029
============================================================""",
        maximum=1000,
    ),
    BlockParser(
        name="torchrun-placement",
        title="torchrun's rendezvous result: the global ranks of a node",
        opens=("endezvous complete for workers",),
        starts=_result_starts,
        ends=_result_ends,
        read=read_result,
        emits=("torchrun.placement",),
        sample="""[default] Rendezvous complete for workers. Result:
  restart_count=0
  master_addr=node-00
  master_port=29500
  group_rank=1
  group_world_size=2
  local_ranks=[0, 1, 2, 3]
  role_ranks=[4, 5, 6, 7]
  global_ranks=[4, 5, 6, 7]""",
        maximum=16,
    ),
)
