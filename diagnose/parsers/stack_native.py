"""Stacks of whole processes from pystack, gdb and the kernel.

::

    Traceback for thread 6639 (python3) [Has the GIL] (most recent call last):
        (Python) File "/app/train.py", line 15, in <module>
            main(10)
        (C) File "???", line 0, in cudaStreamSynchronize (/usr/lib/libcudart.so.12)

    Thread 1 (Thread 0x7f6ae3dfbb80 (LWP 9080) "python3"):
    #0  0x00007f6ae36a3f7b in cudaStreamSynchronize () from /usr/lib/libcudart.so.12
    #1  PyObject_Vectorcall (callable=0x1) at Objects/call.c:299

    [<0>] nfs_wait_bit_killable+0x23/0x90 [nfs]
    [<0>] __x64_sys_fsync+0x37/0x60

pystack prints the innermost call last; gdb's ``thread apply all bt`` and ``/proc/PID/stack`` print
it first. The kernel's stack names no process: its number comes from the name of the file. Each
process is one event ``stack.dump``, see ``stack_frames``.

*Empty*: the tool could not attach. *Cut off*: a dump without the main thread's stack is noted.
"""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line
from diagnose.parsers.base import BlockParser
from diagnose.parsers.stack_frames import (
    EVENT,
    Frame,
    Thread,
    native_frame,
    process_event,
    python_frame,
)

_FOREIGN = 10
"""Lines of other origin in a row behind which a dump has ended."""

_PYSTACK = LazyPattern(
    r"Traceback for thread (\d+)(?: \([^)]*\))? \[(.{0,120})\] \(most recent call last\):"
)
_PYSTACK_FRAME = LazyPattern(
    r"\s*\((Python|C)\) File \"(.*?)\", line (\d+), in (.+?)(?: \((/[^()]*)\))?\s*$"
)


def _pystack_ends(lines: list[Line], following: Line) -> bool:
    head = _PYSTACK.match(following.text)
    if head is not None:
        return any((one := _PYSTACK.match(line.text)) and one[1] == head[1] for line in lines)
    tail = lines[-_FOREIGN:]
    return len(tail) == _FOREIGN and not any(line.text[:1] in ("", " ", "T") for line in tail)


def _read_pystack(lines: list[Line]) -> Iterator[Event]:
    threads: list[Thread] = []
    end = lines[0]
    for place, line in enumerate(lines):
        head = _PYSTACK.match(line.text)
        frame = _PYSTACK_FRAME.match(line.text)
        if head is not None:
            gil = "Has the GIL" in head[2]
            threads.append(Thread(line, head[1], None, head[2] or None, gil))
        elif frame is not None and threads:
            kind, path, number, name, library = frame.groups()
            following = lines[place + 1].text.strip() if place + 1 < len(lines) else ""
            threads[-1].frames.insert(
                0,
                native_frame(name, library or path)
                if kind == "C"
                else python_frame(name, path, number, following),
            )
        else:
            continue
        end = line
    yield from process_event("pystack", threads, end)


PYSTACK = BlockParser(
    name="pystack",
    title="pystack: where the threads of a process are",
    opens=("Traceback for thread ",),
    starts=lambda line: _PYSTACK.match(line.text) is not None,
    ends=_pystack_ends,
    read=_read_pystack,
    emits=(EVENT,),
    sample=(
        "Traceback for thread 6639 (python3) [Has the GIL] (most recent call last):\n"
        '    (Python) File "/app/train.py", line 15, in <module>\n'
        "        main(10)\n"
        '    (C) File "???", line 0, in cudaStreamSynchronize (/usr/lib/libcudart.so.12)\n'
    ),
    maximum=4_000,
)

_GDB = LazyPattern(r"Thread \d+ \((?:Thread 0x[0-9a-f]+ \()?LWP (\d+)\)?(?: \"([^\"]*)\")?\)?:")
_GDB_FRAME = LazyPattern(
    r"\s*#\d+ +(?:0x[0-9a-f]+ in )?(.{1,300}?) \((.*?)(?:\) from (\S+)|\) at (\S+)|\)?)\s*$"
)
_GDB_PYTHON = LazyPattern(r"for file (\S+), line (\d+), in ([\w<>]+)")


def _gdb_ends(lines: list[Line], following: Line) -> bool:
    head = _GDB.match(following.text)
    if head is not None:
        return any((one := _GDB.match(line.text)) and one[1] == head[1] for line in lines)
    tail = lines[-_FOREIGN:]
    return len(tail) == _FOREIGN and not any(line.text[:1] in ("", "#", "T") for line in tail)


def _read_gdb(lines: list[Line]) -> Iterator[Event]:
    threads: list[Thread] = []
    end = lines[0]
    for line in lines:
        head = _GDB.match(line.text)
        if head is not None:
            threads.append(Thread(line, head[1]))
        elif threads and (frame := _gdb_frame(line.text)):
            threads[-1].frames.append(frame)
        else:
            continue
        end = line
    # Thread 1 is the process's first, and its number is the process's.
    pid = next(
        (int(one.id) for one in threads if one.id and one.at.text.startswith("Thread 1 ")), None
    )
    yield from process_event("gdb", threads, end, pid=pid)


def _gdb_frame(text: str) -> Frame | None:
    python = _GDB_PYTHON.search(text)
    if python is not None:
        return python_frame(python[3], python[1], python[2])
    found = _GDB_FRAME.match(text)
    return native_frame(found[1], found[3] or found[4] or "") if found is not None else None


GDB = BlockParser(
    name="gdb",
    title="gdb: native stacks of all threads of a process",
    opens=("(LWP ",),
    starts=lambda line: _GDB.match(line.text) is not None,
    ends=_gdb_ends,
    read=_read_gdb,
    emits=(EVENT,),
    sample=(
        'Thread 1 (Thread 0x7f6ae3dfbb80 (LWP 9080) "python3"):\n'
        "#0  0x00007f6ae36a3f7b in cudaStreamSynchronize () from /usr/lib/libcudart.so.12\n"
        "#1  PyObject_Vectorcall (callable=0x1) at Objects/call.c:299\n"
    ),
    maximum=4_000,
)

_KERNEL = LazyPattern(r"\[<0>\] ([\w.]+)\+0x[0-9a-f]+/0x[0-9a-f]+(?: \[(\w+)\])?\s*$")


def _read_kernel(lines: list[Line]) -> Iterator[Event]:
    frames = [
        native_frame(found[1], found[2] or "kernel")
        for line in lines
        if (found := _KERNEL.match(line.text))
    ]
    thread = Thread(lines[0], name="MainThread", frames=frames)
    yield from process_event("kernel", [thread], lines[-1])


KERNEL = BlockParser(
    name="kernel-stack",
    title="/proc/PID/stack: where a process is in the kernel",
    opens=("[<0>] ",),
    starts=lambda line: _KERNEL.match(line.text) is not None,
    ends=lambda lines, following: _KERNEL.match(following.text) is None,
    read=_read_kernel,
    emits=(EVENT,),
    sample="[<0>] nfs_wait_bit_killable+0x23/0x90 [nfs]\n[<0>] __x64_sys_fsync+0x37/0x60\n",
    maximum=200,
)

PARSERS = (PYSTACK, GDB, KERNEL)
