"""Stacks that a Python process prints of itself: faulthandler, fatal errors, and gdb's py-bt.

::

    Fatal Python error: Aborted

    Thread 0x00007f30e81696c0 (most recent call first):
      File "/opt/venv/lib/python3.11/queue.py", line 171 in get
      File "/app/train.py", line 5 in worker

    Current thread 0x00007f30e8dcbb80 (most recent call first):
      File "/app/train.py", line 14 in main
      File "/app/train.py", line 15 in <module>

``Timeout (0:05:00)!`` stands above a dump that ``dump_traceback_later`` made, a ``Fatal Python
error`` above one of a process that a signal ended; ``fault`` has its text. Python 3.14 puts the
name of a thread in brackets. Each dump is one event ``stack.dump``, see ``stack_frames``.

*Empty*: nobody asked for a dump. *Cut off*: a dump without the main thread's stack is noted.
"""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line
from diagnose.parsers.base import BlockParser
from diagnose.parsers.stack_frames import EVENT, Frame, Thread, process_event, python_frame

_FATAL = LazyPattern(r"Fatal Python error: (.{1,200}?)\s*$")
_TIMEOUT = LazyPattern(r"Timeout \((?:\d+ days?, )?\d+:\d\d:\d\d(?:\.\d+)?\)!\s*$")
_THREAD = LazyPattern(
    r"(?P<current>Current t|T)hread (?P<id>0x[0-9a-fA-F]+)(?: \[(?P<name>.{0,80})\])? "
    r"\(most recent call first\):|(?:Stack|Traceback) \(most recent call first\):"
)
_FRAME = LazyPattern(r"\s*File \"(.+?)\", line (\d+|\?\?\?),? in (.+?)\s*$")

_FOREIGN = 10
"""Lines of other origin in a row behind which a dump has ended."""


def _starts(line: Line) -> bool:
    return any(pattern.match(line.text) for pattern in (_THREAD, _FATAL, _TIMEOUT))


def _ends(lines: list[Line], following: Line) -> bool:
    text = following.text
    if _FATAL.match(text) or _TIMEOUT.match(text):
        return True
    head = _THREAD.match(text)
    if head is not None:
        return _seen(lines, head["id"])
    tail = lines[-_FOREIGN:]
    return len(tail) == _FOREIGN and not any(_belongs(line.text) for line in tail)


def _seen(lines: list[Line], thread: str | None) -> bool:
    """Return whether a thread is in the dump already: another dump of the process begins."""
    heads = (_THREAD.match(line.text) for line in lines)
    return any(head is not None and head["id"] == thread for head in heads)


def _belongs(text: str) -> bool:
    return not text.strip() or any(one.match(text) for one in (_THREAD, _FRAME, _FATAL, _TIMEOUT))


def _read(lines: list[Line]) -> Iterator[Event]:
    threads: list[Thread] = []
    fault = _FATAL.match(lines[0].text)
    end = lines[0]
    for line in lines:
        head = _THREAD.match(line.text)
        frame = _frame(line.text) if threads else None
        if head is not None:
            state = "current" if head["current"] == "Current t" else None
            threads.append(Thread(line, head["id"], head["name"], state))
        elif frame is not None:
            threads[-1].frames.append(frame)
        else:
            continue
        end = line
    if threads:
        yield from process_event("faulthandler", threads, end, fault=fault[1] if fault else None)


def _frame(text: str) -> Frame | None:
    found = _FRAME.match(text)
    if found is None:
        return None
    line = found[2] if found[2].isdecimal() else None
    return python_frame(found[3], found[1], line)


PARSERS = (
    BlockParser(
        name="faulthandler",
        title="stacks that a Python process prints of itself (faulthandler, fatal errors)",
        opens=("(most recent call first)", "Fatal Python error: ", "Timeout ("),
        starts=_starts,
        ends=_ends,
        read=_read,
        emits=(EVENT,),
        sample=(
            "Timeout (0:05:00)!\n"
            "Thread 0x00007f30e81696c0 (most recent call first):\n"
            '  File "/opt/venv/lib/python3.11/queue.py", line 171 in get\n'
            '  File "/app/train.py", line 14 in main\n'
            '  File "/app/train.py", line 15 in <module>\n'
        ),
        maximum=4_000,
    ),
)
