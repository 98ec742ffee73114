"""Stacks that py-spy dumps of a running process, as text and as JSON.

::

    Process 6639: /opt/venv/bin/python3 train.py --config base.yaml
    Python v3.11.7 (/opt/venv/bin/python3.11)

    Thread 6639 (idle): "MainThread"
        wait (threading.py:327)
        get (queue.py:171)
        main (train.py:14)
        <module> (train.py:15)

With ``--native`` a frame without a line number names a library, with ``--locals`` deeper lines
follow a frame, with ``--subprocesses`` several processes follow each other. Each process is one
event ``stack.dump``, see ``stack_frames``.

*Empty*: py-spy could not attach. *Cut off*: a dump without the stack of its main thread is noted;
one without its first lines counts where a thread says that it is the main one.
"""

import json
from collections.abc import Iterator
from typing import Any

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line
from diagnose.parsers.base import BlockParser, Document, FileParser, Note
from diagnose.parsers.gate import Gate
from diagnose.parsers.stack_frames import (
    EVENT,
    Frame,
    Thread,
    native_frame,
    process_event,
    python_frame,
)

_PROCESS = LazyPattern(r"Process (\d+): (.+)$")
_THREAD = LazyPattern(r"Thread (\w+)(?:/0x\w+)? \((idle|active)(\+gil)?\)(?:: \"(.*)\")?\s*$")
_OTHER = LazyPattern(r"Python v\d|\s*$|Parent Process \d+: |\s{5,}\S")
_FRAME = LazyPattern(r"\s{0,4}(?=\S)(.{1,400}) \(([^()]+?):(\d+)\)\s*$")
_NATIVE = LazyPattern(r"\s{1,4}(?=\S)(.{1,2000}) \(([^()\s]+)\)\s*$")

_FOREIGN = 10
"""Lines of other origin in a row behind which a dump has ended."""


def _starts(line: Line) -> bool:
    return bool(_PROCESS.match(line.text) or _THREAD.match(line.text))


def _ends(lines: list[Line], following: Line) -> bool:
    if _PROCESS.match(following.text):
        return True
    return len(lines) > _FOREIGN and not any(_belongs(line) for line in lines[-_FOREIGN:])


def _belongs(line: Line) -> bool:
    patterns = (_THREAD, _FRAME, _NATIVE, _OTHER)
    return any(pattern.match(line.text) for pattern in patterns)


def _read(lines: list[Line]) -> Iterator[Event]:
    heading = _PROCESS.match(lines[0].text)
    pid = int(heading[1]) if heading else None
    command = heading[2].strip() if heading else None
    threads: list[Thread] = []
    end = lines[0]
    for line in lines:
        head = _THREAD.match(line.text)
        if head is not None:
            gil = head[3] is not None
            threads.append(Thread(line, head[1], head[4], head[2] + (head[3] or ""), gil))
        elif threads and (frame := _frame(line.text)):
            threads[-1].frames.append(frame)
        else:
            continue
        end = line
    if heading and not threads and not any("Python v" in line.text for line in lines[1:4]):
        return  # "Process 12: ..." of another program
    yield from process_event("py-spy", threads, end, pid=pid, command=command)


def _frame(text: str) -> Frame | None:
    found = _FRAME.match(text)
    if found is not None:
        library = found[2].endswith((".so", ".cpp", ".cc", ".c", ".h", ".cu", ".rs", ".S"))
        return native_frame(found[1], found[2]) if library else python_frame(*found.groups())
    found = _NATIVE.match(text)
    return native_frame(found[1], found[2]) if found is not None else None


TEXT = BlockParser(
    name="py-spy",
    title="py-spy dump: where the threads of a process are",
    opens=("Process ", "(idle)", "(active)", "(idle+gil)", "(active+gil)"),
    starts=_starts,
    ends=_ends,
    read=_read,
    emits=(EVENT,),
    sample=(
        "Process 6639: /opt/venv/bin/python3 train.py --config base.yaml\n"
        "Python v3.11.7 (/opt/venv/bin/python3.11)\n"
        "\n"
        'Thread 6639 (idle): "MainThread"\n'
        "    wait (threading.py:327)\n"
        "    get (queue.py:171)\n"
        "    main (train.py:14)\n"
        "    <module> (train.py:15)\n"
    ),
    maximum=4_000,
)


def _accepts(name: str, head: bytes) -> bool:
    return head.lstrip()[:1] == b"[" and b'"owns_gil"' in head and b'"frames"' in head


def _read_json(document: Document) -> Iterator[Event]:
    text = document.text()
    lines = list(document.lines())
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        try:
            found, end = decoder.raw_decode(text, at + len(text[at:]) - len(text[at:].lstrip()))
        except ValueError:
            if text[at:].strip():
                raise Note("the JSON is cut off") from None
            return
        first, last = text.count("\n", 0, at + 1), text.count("\n", 0, end)
        yield from _processes(found, lines[first], lines[min(last, len(lines) - 1)])
        at = end


def _processes(found: Any, first: Line, last: Line) -> Iterator[Event]:
    by_pid: dict[int, list[dict[str, Any]]] = {}
    for thread in found:
        by_pid.setdefault(int(thread["pid"]), []).append(thread)
    for pid, members in by_pid.items():
        info = members[0].get("process_info") or {}
        threads = [_json_thread(member, first) for member in members]
        command = info.get("command_line")
        yield from process_event("py-spy", threads, last, pid=pid, command=command)


def _json_thread(found: dict[str, Any], at: Line) -> Thread:
    gil = bool(found.get("owns_gil"))
    state = ("active" if found.get("active") else "idle") + ("+gil" if gil else "")
    thread = Thread(at, str(found.get("os_thread_id")), found.get("thread_name"), state, gil)
    for frame in found["frames"]:
        module = frame.get("module")
        path = str(frame.get("short_filename") or frame["filename"])
        if module and not path.endswith(".py"):
            thread.frames.append(native_frame(str(frame["name"]), str(module)))
        else:
            line = frame.get("line") or None
            thread.frames.append(python_frame(str(frame["name"]), path, line))
    return thread


JSON = FileParser(
    name="py-spy-json",
    title="py-spy dump --json: where the threads of a process are",
    accepts=_accepts,
    gate=Gate(starts=(b"[",), holds=(b'"owns_gil"',)),
    read=_read_json,
    emits=(EVENT,),
    sample=(
        '[{"pid": 6639, "thread_id": 139848041937792, "thread_name": "MainThread", '
        '"os_thread_id": 6639, "active": false, "owns_gil": false, "frames": [{"name": "main", '
        '"filename": "/app/train.py", "module": null, "short_filename": "train.py", "line": 14, '
        '"locals": null}], "process_info": null}]'
    ),
)

PARSERS = (TEXT, JSON)
