"""torchelastic's error file: what a worker with ``@record`` raised, as JSON.

::

    {"message": {"message": "RuntimeError: bad sample", "extraInfo": {"py_callstack": "Traceback (most recent call last):...", "timestamp": "1714560755"}}}

The event is ``python.error_line``, as if the last line of the traceback had been printed; the time is
the worker's own, in whole seconds. The folder above the file is the rank on the node
(``attempt_0/3/error.json``). torchrun's table repeats the message of one such file a node.

Empty: the worker was killed before it could write. Cut off: a file that is no whole object gives a
note; its text is not searched.
"""

import json
from collections.abc import Iterator
from typing import Any

import regex

from diagnose.model.event import Clock, Event, Line, Value
from diagnose.parsers.base import Document, FileParser, Note, make_event
from diagnose.parsers.gate import Gate
from diagnose.parsers.python_error import MESSAGE_LIMIT, error_details, error_nature

SUMMARY = regex.compile(
    r"(?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w*)(?:: (?P<message>.*))?", regex.DOTALL
)
FRAME = regex.compile(r'File "([^"]+)", line (\d+), in (\S+)')
SIZE_LIMIT = 4 << 20
"""Bytes."""


def accepts(name: str, head: bytes) -> bool:
    """Return whether the file is torchelastic's, by the keys that it always has."""
    start = head[:64].lstrip()
    return start.startswith((b'{"message"', b"{\n")) and b'"py_callstack"' in head


def read(document: Document) -> Iterator[Event]:
    """Yield the error of the worker.

    Raises:
        Note: The file is no whole object, or has no message.
    """
    line = next(document.lines(), None) or Line(document.name, 1, "", "")
    try:
        message, extra = _parts(json.loads(document.text(SIZE_LIMIT)))
    except (ValueError, RecursionError) as error:
        raise Note("an error file is cut off") from error
    found = SUMMARY.fullmatch(message.strip())
    if found is None:
        raise Note("an error file without the class of the error")
    text = str(found["message"] or "").strip()[:MESSAGE_LIMIT]
    fields: dict[str, Value] = {"type": str(found["type"]), **error_details(text)}
    frames = FRAME.findall(str(extra.get("py_callstack", "")))
    if frames:
        fields["source_file"], fields["function"] = frames[-1][0], frames[-1][2]
    event = make_event("python.error_line", error_nature(str(found["type"]), text), line, fields)
    event.text = message.strip()[:MESSAGE_LIMIT]
    stamp = str(extra.get("timestamp", ""))
    if stamp.isdecimal() and len(stamp) <= 11:
        event.time, event.clock = float(stamp), Clock.UTC
    yield event


def _parts(content: Any) -> tuple[str, dict[str, Any]]:
    """Return the message and what stands beside it; old versions have one level less."""
    inner = content.get("message") if isinstance(content, dict) else None
    if isinstance(inner, str):
        inner = content
    if not isinstance(inner, dict) or not isinstance(inner.get("message"), str):
        raise Note("an error file without a message")
    extra = inner.get("extraInfo")
    return inner["message"], extra if isinstance(extra, dict) else {}


PARSERS = (
    FileParser(
        name="torchelastic-error-file",
        title="torchelastic's error.json: the exception of a worker",
        accepts=accepts,
        gate=Gate(starts=(b"{",), holds=(b'"py_callstack"',)),
        read=read,
        emits=("python.error_line",),
        sample='{"message": {"message": "RuntimeError: bad sample", "extraInfo": {"py_callstack": "Traceback (most recent call last):\\n  File \\"/srv/train.py\\", line 3, in main\\nRuntimeError: bad sample\\n", "timestamp": "1714560755"}}}',
    ),
)
