r"""How launchers report the end of a process: DeepSpeed, mpirun, srun, accelerate, spawn.

Samples::

    [2025-05-01 11:12:35,123] [ERROR] [launch.py:325:sigkill_handler] ['/opt/venv/bin/python', '-u', 'train.py'] exits with return code = -9
    srun: error: node-07: task 3: Exited with exit code 1
    prterun noticed that process rank 7 with PID 0 on node node-07 exited on signal 6 (Aborted).

All of it is an effect; the first such line of a launcher names the process it saw end first.
``tasks`` are Slurm's numbers: ranks where each task is one GPU's process, nodes where it is torchrun.
A status over 128 is a signal; 255 of ``pdsh`` and ``ssh`` is a lost connection, 126 and 127 a program
that could not be started.

Empty: no process ended with an error under a launcher that says so. Cut off: a line without its code
or signal gives nothing.
"""

from collections.abc import Iterable

import regex

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers import convert
from diagnose.parsers.base import BlockParser, LineParser, Pattern, Record, make_event

WORDS = {
    "Killed": "SIGKILL", "Terminated": "SIGTERM", "Aborted": "SIGABRT", "Hangup": "SIGHUP",
    "Segmentation fault": "SIGSEGV", "Bus error": "SIGBUS", "Illegal instruction": "SIGILL",
    "Floating point exception": "SIGFPE", "Interrupt": "SIGINT", "Out Of Memory": "SIGKILL",
}  # fmt: skip
"""``strsignal`` of the C library; Slurm adds ``Out Of Memory``."""

OWN_FORM = LazyPattern(
    r"return code|srun: error|non-zero exit status|ProcessExitedException|DataLoader|exitcode|pdsh@"
    r"|^\s+Exit code:|ProcessRaisedException|(?i:\b(?:e\.g|if|means|usually|when)\b)"
)
"""Lines that a launcher's own pattern reads, and what is said about exit codes in general."""

TASK_LIMIT = 4096
"""Tasks that are spelled out of a range such as ``0-7``."""


def refine(event: Event, line: Line) -> Event | None:
    """Give exit codes and signals one form, and take no success for a failure."""
    if event.host is not None and ("[" in event.host or "," in event.host):
        event.fields["hosts"], event.host = event.host, None
    code = event.fields.get("exit_code")
    if code == 0:
        return None
    if event.fields["launcher"] == "other" and OWN_FORM.search(line.text):
        return None
    number, words = event.fields.pop("signal_number", None), event.fields.pop("words", None)
    if isinstance(number, int):
        event.fields["signal"] = convert.SIGNALS.get(number)
    elif isinstance(words, str):
        event.fields["signal"] = next((WORDS[one] for one in WORDS if words.startswith(one)), None)
        event.fields["out_of_memory"] = words.startswith("Out Of Memory")
    elif isinstance(code, int):
        event.fields["signal"] = convert.signal_of_exit(code)
    return event


def tasks(text: str) -> Value:
    """Return the numbers in ``0-3,8``."""
    found: list[Value] = []
    for first, last in regex.findall(r"(\d+)(?:-(\d+))?", text):
        found.extend(range(int(first), min(int(last or first), int(first) + TASK_LIMIT) + 1))
        if len(found) > TASK_LIMIT:
            break
    return found


NAME = LazyPattern(r"Process name: \[\[\d+,\d+\],(?P<rank>\d+)\]")
CODE = LazyPattern(r"Exit code: +(?P<code>\d+)")


def _name_starts(line: Line) -> bool:
    return NAME.search(line.text) is not None


def _name_ends(lines: list[Line], following: Line) -> bool:
    return CODE.search(following.text) is None


def read_name(lines: list[Line]) -> Iterable[Record]:
    """Return the first process that ended with an error under mpirun."""
    name, code = NAME.search(lines[0].text), CODE.search(lines[-1].text)
    if name is None or code is None:
        return
    number = int(code["code"])
    fields: dict[str, Value] = {
        "launcher": "mpirun",
        "rank": int(name["rank"]),
        "exit_code": number,
        "signal": convert.signal_of_exit(number),
    }
    yield make_event("launcher.exit", Nature.EFFECT, lines[0], fields, end_line=lines[-1].number)


PATTERNS = (
    Pattern(
        event="launcher.exit",
        regex=r"exits with return code = (?P<exit_code>-?\d+)",
        nature=Nature.EFFECT,
        source="DeepSpeed 0.3 to 0.18, launcher/launch.py",
        sample="node-07: [2025-05-01 11:12:35,123] [ERROR] [launch.py:325:sigkill_handler] ['/opt/venv/bin/python', '-u', 'train.py', '--local_rank=3'] exits with return code = -9",
        types={"exit_code": int},
        constants={"launcher": "deepspeed"},
    ),
    Pattern(
        event="launcher.kill",
        regex=r"Killing subprocess (?P<pid>\d+)",
        nature=Nature.TEARDOWN,
        source="DeepSpeed 0.3 to 0.18, launcher/launch.py",
        sample="node-07: [2025-05-01 11:12:35,123] [INFO] [launch.py:316:sigkill_handler] Killing subprocess 26024",
        constants={"launcher": "deepspeed"},
    ),
    Pattern(
        event="launcher.exit",
        regex=r"noticed that process rank (?P<rank>\d+) with PID (?P<pid>\d+) on node (?P<host>\S+) exited on signal (?P<signal_number>\d+)",
        nature=Nature.EFFECT,
        source="Open MPI 1.8 to 5.0, prterun and mpirun; the first exit it saw",
        sample="prterun noticed that process rank 7 with PID 0 on node node-07 exited on signal 6 (Aborted).",
        types={"signal_number": int, "host": convert.short_host},
        constants={"launcher": "mpirun"},
    ),
    Pattern(
        event="launcher.exit",
        regex=r"MPI_ABORT was invoked on rank (?P<rank>\d+)",
        nature=Nature.EFFECT,
        source="Open MPI 1.8 to 5.0",
        sample="MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD",
        constants={"launcher": "mpirun"},
    ),
    Pattern(
        event="launcher.exit",
        regex=r"RANK (?P<rank>\d+) PID (?P<pid>\d+) RUNNING AT (?P<host>\S+)",
        nature=Nature.EFFECT,
        source="MPICH 3 and 4, Intel MPI 2019 and later, hydra",
        sample="=   RANK 3 PID 26024 RUNNING AT node-07",
        types={"host": convert.short_host},
        constants={"launcher": "mpirun"},
    ),
    Pattern(
        event="launcher.exit",
        regex=r"srun: error: (?P<host>[^\s:]+): tasks? (?P<tasks>[\d,\[\]-]+): Exited with exit code (?P<exit_code>\d+)",
        nature=Nature.EFFECT,
        source="Slurm 17.02 to 25.05, srun",
        sample="srun: error: node-07: task 3: Exited with exit code 1",
        types={"exit_code": int, "tasks": tasks},
        constants={"launcher": "srun"},
    ),
    Pattern(
        event="launcher.exit",
        regex=r"srun: error: (?P<host>[^\s:]+): tasks? (?P<tasks>[\d,\[\]-]+): (?P<words>Killed|Terminated|Aborted|Hangup|Segmentation fault|Bus error|Illegal instruction|Floating point exception|Interrupt|Out Of Memory)",
        literals=("srun: error: ",),
        nature=Nature.EFFECT,
        source="Slurm 17.02 to 25.05, srun",
        sample="srun: error: node-07: tasks 0-3: Aborted (core dumped)",
        types={"tasks": tasks},
        constants={"launcher": "srun"},
    ),
    Pattern(
        event="launcher.exit",
        regex=r"pdsh@[^\s:]+: (?P<host>[^\s:]+): \w+ exited with exit code (?P<exit_code>\d+)",
        nature=Nature.EFFECT,
        source="pdsh 2.29 to 2.35; 255 is a lost or refused connection of ssh, not the program's",
        sample="pdsh@node-00: node-07: ssh exited with exit code 255",
        types={"exit_code": int, "host": convert.short_host},
        constants={"launcher": "pdsh"},
    ),
    Pattern(
        event="launcher.exit",
        regex=r"returned non-zero exit status (?P<exit_code>\d+)",
        nature=Nature.EFFECT,
        source="Python 3.5 to 3.13, subprocess.py: accelerate launch and others",
        sample="subprocess.CalledProcessError: Command '['/opt/venv/bin/python', 'train.py']' returned non-zero exit status 1.",
        types={"exit_code": int},
        constants={"launcher": "subprocess"},
    ),
    Pattern(
        event="launcher.exit",
        regex=r"died with <Signals\.(?P<signal>SIG\w+): \d+>",
        nature=Nature.EFFECT,
        source="Python 3.5 to 3.13, subprocess.py: accelerate launch and others",
        sample="subprocess.CalledProcessError: Command '['/opt/venv/bin/python', 'train.py']' died with <Signals.SIGKILL: 9>.",
        constants={"launcher": "subprocess"},
    ),
    Pattern(
        event="launcher.exit",
        regex=r"(?:^|\s)[\w./~-]{1,200}: line \d+: +(?P<pid>\d+) (?P<words>Killed|Segmentation fault|Bus error|Illegal instruction|Floating point exception)\b",
        literals=(": line ",),
        nature=Nature.EFFECT,
        source="bash 4 and 5, a command of a script that ended by a signal",
        sample="/opt/job/run.sh: line 12:    36 Killed                  python3 train.py --epochs 3",
        constants={"launcher": "shell"},
    ),
    Pattern(
        event="launcher.exit",
        regex=r"^(?:\[\d+\][+-]? +)?(?P<words>Killed|Segmentation fault|Bus error|Illegal instruction|Floating point exception)(?: +\(core dumped\))?(?: {2,}\S.*)?$",
        nature=Nature.EFFECT,
        source="bash 4 and 5, a command typed at the prompt or the only one of a script",
        sample="Killed",
        constants={"launcher": "shell"},
    ),
    Pattern(
        event="launcher.exit",
        regex=r"(?:[Ee]xit code|[Ee]rror code|[Ee]xit status|exit_code|[Ee]xited with(?: code| status)?)\"?(?: is| was)?[ :=]{1,3}(?P<exit_code>137|139|135|-9|-11|-7)\b",
        nature=Nature.EFFECT,
        source="job managers and scripts that print the status of a shell or of Python: 128 and the signal, or the signal below zero",
        sample="worker finished with exit code 137",
        types={"exit_code": int},
        constants={"launcher": "other"},
    ),
    Pattern(
        event="launcher.exit",
        regex=r"ProcessExitedException: process (?P<local_rank>\d+) terminated with signal (?P<signal>SIG\w+)",
        nature=Nature.EFFECT,
        source="PyTorch 1.5 to 2.12, torch/multiprocessing/spawn.py",
        sample="torch.multiprocessing.spawn.ProcessExitedException: process 3 terminated with signal SIGKILL",
        constants={"launcher": "spawn"},
    ),
    Pattern(
        event="launcher.exit",
        regex=r"ProcessExitedException: process (?P<local_rank>\d+) terminated with exit code (?P<exit_code>\d+)",
        nature=Nature.EFFECT,
        source="PyTorch 1.5 to 2.12, torch/multiprocessing/spawn.py",
        sample="torch.multiprocessing.spawn.ProcessExitedException: process 3 terminated with exit code 1",
        types={"exit_code": int},
        constants={"launcher": "spawn"},
    ),
    Pattern(
        event="launcher.exit",
        regex=r"-- Process (?P<local_rank>\d+) terminated with the following error:",
        nature=Nature.EFFECT,
        source="PyTorch 1.5 to 2.12, torch/multiprocessing/spawn.py",
        sample="-- Process 3 terminated with the following error:",
        constants={"launcher": "spawn"},
    ),
)

PARSERS = (
    LineParser(
        name="launcher",
        title="Ends of processes as DeepSpeed, mpirun, srun and Python launchers report them",
        patterns=PATTERNS,
        refine=refine,
    ),
    BlockParser(
        name="launcher-mpirun-name",
        title="mpirun's name of the first process that ended with an error",
        opens=("Process name: [[",),
        starts=_name_starts,
        ends=_name_ends,
        read=read_name,
        emits=("launcher.exit",),
        sample="  Process name: [[51231,1],3]\n  Exit code:    1",
        maximum=2,
    ),
)
