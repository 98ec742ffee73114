"""What all stack dumps have in common: frames, threads, the process, and the event it becomes.

``stack.dump`` is one process at one moment, told by its main thread:

=============== ==================================================================================
``tool``        ``py-spy``, ``faulthandler``, ``pystack``, ``gdb`` or ``kernel``
``command``     Command line, where the tool prints it
``thread``      Name of the thread
``state``       ``idle``, ``active``, ``active+gil``, or as the tool words it
``doing``       Kind of work or wait, see ``stack_sites``
``call``        Function of the frame that tells it
``site``        That frame, with file and line
``code``        Innermost frame of the user's own code
``way``         Functions of program and framework from the outermost inwards, which tell places
                apart
``frames``      Innermost first, the first ``FRAME_LIMIT``
``role``        ``rank``, or ``helper`` for launchers, loader workers and other helpers
``threads``     Number of threads printed
``holder``      Where another thread is that holds the GIL
``fault``       What the dump was printed for, such as ``Aborted``; None for one asked for
=============== ==================================================================================
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import Note, make_event
from diagnose.parsers.stack_sites import is_helper, is_loop, is_users, locate

EVENT = "stack.dump"
FRAME_LIMIT = 30
COMMAND_LIMIT = 500
"""Characters of a command line that are kept."""

MAIN = "MainThread"
OUTERMOST = frozenset({"<module>", "_run_module_as_main", "_run_code", "main"})
"""Python functions or C's ``main`` at the bottom of a main thread's stack."""

MOST_FRAMES = 100
"""Frames of a thread that faulthandler prints (CPython, Python/traceback.c)."""

_INSTALLED = LazyPattern(r"(?:^|.*/)(?:site-packages|dist-packages|lib/python3\.\d+)/")
_RANK = LazyPattern(
    r"(?:(?:^|\s)(?:--rank[= ]|RANK=)|^(?:VLLM::Worker|sglang::scheduler)_TP)(\d{1,6})(?=\s|_EP\d+$|$)"
)
"""Options and variables, and the titles of vLLM's and SGLang's processes."""

_LOCAL_RANK = LazyPattern(r"(?:--local[-_]rank[= ]|LOCAL_RANK=)(\d{1,3})(?=\s|$)")
_PID = LazyPattern(r"(?P<before>[A-Za-z]*)[._-]?(?P<pid>\d{3,7})(?:\.[A-Za-z]+)*$")


@dataclass(frozen=True, slots=True)
class Frame:
    """One call of a stack.

    Args:
        function: Its name without class or namespace.
        path: File, from the package on for installed code; the library of native code.
        line: Line in the file, if known.
        native: It is no Python.
        source: Text of the line, where the tool prints it.
    """

    function: str
    path: str
    line: int | None = None
    native: bool = False
    source: str = ""

    def __str__(self) -> str:
        """Return ``wait (threading.py:327)``."""
        name = self.path.rpartition("/")[2]
        if name == "__init__.py":
            name = "/".join(self.path.rsplit("/", 2)[-2:])
        return f"{self.function} ({name if self.line is None else f'{name}:{self.line}'})"


@dataclass(slots=True)
class Thread:
    """One thread of a dump.

    Args:
        at: Its heading.
        id: As the tool prints it; the kernel's number where it is decimal.
        name: If printed.
        state: As in the event.
        gil: It holds the GIL.
        frames: Innermost first.
    """

    at: Line
    id: str | None = None
    name: str | None = None
    state: str | None = None
    gil: bool = False
    frames: list[Frame] = field(default_factory=list)


def python_frame(name: str, path: str, line: str | int | None, source: str = "") -> Frame:
    """Return a frame of Python code; newer tools print the class before the function."""
    number = int(line) if line is not None else None
    return Frame(name.rpartition(".")[2] or name, installed(path), number, source=source)


def native_frame(name: str, library: str = "") -> Frame:
    """Return a frame of native code, its name without namespace, parameters and offset."""
    bare = name.split("(")[0].split("<")[0].split("+")[0].strip()
    whole = bare if bare.startswith("c10d::") else bare.rpartition("::")[2]
    return Frame(whole or name, library.rpartition("/")[2], native=True)


def installed(path: str) -> str:
    """Return a path from the package on where the code is installed, else as it is."""
    return _INSTALLED.sub("", path)


def process_event(
    tool: str,
    threads: Sequence[Thread],
    end: Line,
    *,
    pid: int | None = None,
    command: str | None = None,
    fault: str | None = None,
) -> Iterator[Event]:
    """Yield the event of one process.

    Args:
        tool: That made the dump.
        threads: All that were printed.
        end: Last line of the record.
        pid: If the tool prints it.
        command: Command line, if printed.
        fault: What it was printed for.

    Raises:
        Note: The main thread is not in the dump.
    """
    main = _main(threads, pid)
    if main is None:
        raise Note("the stack of the main thread is not there")
    if pid is None:
        pid = main.at.pid or (_number(main.id) or _pid_of(main.at))
    found = locate(main.frames)
    code = [one for one in main.frames if is_users(one)]
    holder = next((one for one in threads if one.gil and one is not main and one.frames), None)
    held = locate(holder.frames) if holder is not None else None
    stated = _RANK.search(command or ""), _LOCAL_RANK.search(command or "")
    fields: dict[str, Value] = {
        "tool": tool,
        "command": command and command[:COMMAND_LIMIT],
        "thread": main.name,
        "state": main.state,
        "doing": found.doing,
        "call": found.frame.function,
        "site": str(found.frame),
        "code": str(code[0]) if code else None,
        "way": [one.function for one in reversed(main.frames) if is_loop(one)],
        "frames": [str(one) for one in main.frames[:FRAME_LIMIT]],
        "role": "helper" if is_helper(main.frames, command) else "rank",
        "threads": len(threads),
        "holder": str(held.frame) if held is not None else None,
        "fault": fault,
        "pid": pid,
    }
    if main.at.rank is None and stated[0]:
        fields["rank"] = int(stated[0][1])
    if main.at.local_rank is None and stated[1]:
        fields["local_rank"] = int(stated[1][1])
    yield make_event(EVENT, Nature.MEASUREMENT, main.at, fields, end_line=end.number)


def _main(threads: Sequence[Thread], pid: int | None) -> Thread | None:
    alive = [one for one in threads if one.frames]
    for one in alive:
        if one.name == MAIN or (pid is not None and _number(one.id) == pid):
            return one
    python = [(one, [frame for frame in one.frames if not frame.native]) for one in alive]
    for one, frames in python:
        if frames and frames[-1].function in OUTERMOST:
            return one
    if len(alive) == 1 and len(alive[0].frames) >= MOST_FRAMES:
        return alive[0]
    if any(frames for _, frames in python):
        return None
    return next((one for one in alive if one.frames[-1].function in ("_start", "main")), None)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None


def _pid_of(line: Line) -> int | None:
    """Return the process id that a file is named after: ``stack-node-07-1234.txt``."""
    found = _PID.search(line.file.rpartition("/")[2])
    if found is None or found["before"].lower() in ("rank", "node", "host", "job", "slurm"):
        return None
    return None if (line.host or "").endswith(found["pid"]) else int(found["pid"])
