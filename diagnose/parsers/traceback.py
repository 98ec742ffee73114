"""Python tracebacks and the line they end with.

Two events, one for matching and one for the frames::

    Traceback (most recent call last):
      File "/app/train.py", line 88, in main
        batch = next(loader)
    FileNotFoundError: [Errno 2] No such file or directory: '/data/shard-7.tar'

``python.error_line``
    Every final line, such as the last one above, whether a traceback stands before it or not:
    people paste it alone. Rules match this one.
``python.exception``
    The whole record: the frames, and for chained tracebacks the class and message of the origin.
    It is emitted beside ``python.error_line``; a rule that counted both would count twice.

In a chain (``The above exception was the direct cause``, ``During handling of``) the first block is
the origin; behind ``Original Traceback``, ``-- Process 3 terminated`` and in an exception group it
is the inner one. ``last_type`` and ``last_message`` are what the program ended with. ``loader_wait``: the
main process was waiting for a batch of PyTorch's loader.

*Empty*: no uncaught error was printed; a process that was killed prints none either.
*Cut off*: a traceback without its last line gives an event at its deepest frame and no ``type``,
save behind a terminal's ``^C``; one without frames is noted.
"""

import re
from dataclasses import dataclass, field

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, LineParser, Note, Pattern, make_event
from diagnose.parsers.python_error import MESSAGE_LIMIT, error_details, error_nature

HEADER = "Traceback (most recent call last)"
FRAME_LIMIT = 30

_TYPE = r"(?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|ExceptionGroup))"
_OTHER_TYPES = (
    r"(?P<type>(?:[A-Za-z_]\w*\.)*(?:ArrowInvalid|ArrowTypeError|OutOfResources|TimeoutExpired"
    r"|StopIteration|StopAsyncIteration|SystemExit|KeyboardInterrupt|\w+\.Timeout|HTTPStatusError"
    r"|BackendCompilerFailed|Unsupported|EntryNotFound|ActorUnavailable|BrokenExecutor"
    r"|BrokenProcessPool|UnidentifiedImage))"
)

_PLAIN_HEAD = LazyPattern(r"(?:[\s\d:.,/TZ+|-]|\[[^\]]*\]|\([^)]*\))*$")
_ERROR_HEAD = LazyPattern(r"\b(?:ERROR|CRITICAL|FATAL|Exception|E)\b")
_MILD_HEAD = LazyPattern(r"\b(?:DEBUG|INFO|WARN(?:ING)?)\b|\b[Rr]etry")
_NOT_PYTHON = LazyPattern(r"\b(?:LustreError|LNetError): ")
"""Kernel lines that begin like the name of a class."""


def _complete(event: Event, line: Line) -> Event | None:
    kind = event.fields.get("type")
    if not isinstance(kind, str):
        return None
    head, found, _ = line.text.partition(kind)
    if (found and not _is_error_head(head)) or _NOT_PYTHON.search(line.text):
        return None
    message = str(event.fields.get("message") or "")[:MESSAGE_LIMIT].strip()
    event.fields = {"type": kind, **error_details(message), **_given(event)}
    event.fields["message"] = message
    event.nature = error_nature(kind, message)
    return event


def _is_error_head(head: str) -> bool:
    """Tell a logged error from a sentence that names one; a head is stamps, tags and a level."""
    if _MILD_HEAD.search(head):
        return False
    return bool(_PLAIN_HEAD.match(head) or _ERROR_HEAD.search(head))


def _given(event: Event) -> dict[str, Value]:
    return {name: value for name, value in event.fields.items() if value is not None}


ERROR_LINES = LineParser(
    name="python-error-line",
    title="the final line of a Python traceback, alone or not",
    patterns=(
        Pattern(
            event="python.error_line",
            regex=rf"(?:^|[\s|\]]){_TYPE}: (?P<message>\S.*)",
            nature=Nature.ERROR,
            source="CPython, Lib/traceback.py, format_exception_only",
            sample="FileNotFoundError: [Errno 2] No such file or directory: '/data/shard-7.tar'",
        ),
        Pattern(
            event="python.error_line",
            regex=rf"^[\s|]*{_TYPE}:?\s*$",
            nature=Nature.ERROR,
            source="CPython, Lib/traceback.py: a class without a message",
            sample="AssertionError",
        ),
        Pattern(
            event="python.error_line",
            regex=rf"^[\s|]*{_OTHER_TYPES}(?:: (?P<message>.*))?$",
            nature=Nature.ERROR,
            source="CPython, Lib/traceback.py: classes not named Error or Exception",
            sample="filelock._error.Timeout: The file lock '/data/cache/x.lock' could not be acquired.",
        ),
        Pattern(
            event="python.error_line",
            regex=r"^\S*python[\d.]*: (?P<message>No module named .*)",
            nature=Nature.ERROR,
            source="CPython, Modules/main.c and Lib/runpy.py",
            sample="/opt/venv/bin/python3: No module named torch.distributed.run",
            constants={"type": "ModuleNotFoundError"},
        ),
        Pattern(
            event="python.error_line",
            regex=r"^\S*python[\d.]*: can't open file '?(?P<path>[^']+)'?: (?P<message>\[Errno \d+\] .*)",
            nature=Nature.ERROR,
            source="CPython, Modules/main.c",
            sample="python3: can't open file '/app/train.py': [Errno 2] No such file or directory",
            constants={"type": "FileNotFoundError"},
        ),
    ),
    refine=_complete,
)


_FRAME = LazyPattern(r'\s*File "([^"]+)", line (\d+)(?:, in (.+))?$')
_SUMMARY = LazyPattern(r"((?:[A-Za-z_]\w*\.)*([A-Za-z_]\w*))(?:: ?(.*))?$")
_KNOWN_END = LazyPattern(
    r"(?:Error|Exception|ExceptionGroup|Warning|Exit|Interrupt|Timeout|TimeoutExpired|Iteration"
    r"|Invalid|OutOfResources|Failed|Pool|Empty|Full)$"
)
_CONNECTORS = (
    "The above exception was the direct cause of the following exception",
    "During handling of the above exception, another exception occurred",
)
_INWARD = LazyPattern(r"Original Traceback|-- Process \d+ terminated with|^[\s|]*\+-\+?-+ \d+ -+")
_INTERRUPTED = LazyPattern(r"\^C\W*Traceback")
"""What a terminal echoes where somebody pressed Ctrl-C."""
_LOADER_WAIT = LazyPattern(r"/torch/utils/data/dataloader\.py:\d+ (?:_try_get_data|_get_data)$")
"""The wait of the main process for a batch of the workers, torch 1.0 to 2.9."""
_AFTER_SUMMARY = 8
"""Lines of a longer message that may stand before the next block of a chain."""
_FOREIGN = 10
"""Lines of other origin that may stand inside a traceback."""


@dataclass(slots=True)
class _Block:
    """One traceback of a chain."""

    inward: bool
    frames: list[tuple[str, str, str]] = field(default_factory=list)
    source_line: str | None = None
    deepest: Line | None = None
    summary: Line | None = None
    type: str | None = None
    message: str = ""


def _starts(line: Line) -> bool:
    return HEADER in line.text


def _ends(lines: list[Line], following: Line) -> bool:
    if lines[-1].text[:1] == following.text[:1] == " " and HEADER not in following.text:
        return False
    texts = _bare(lines)
    text = _without_bars(_strip_prefix(following.text, _prefix(lines[0])))
    last = _last_header(texts)
    summary = next((at for at in range(last + 1, len(texts)) if _is_summary(texts, at)), None)
    if summary is None:
        if HEADER in text:
            return True
        return sum(_is_foreign(texts[at]) for at in range(last + 1, len(texts))) >= _FOREIGN
    behind = texts[summary + 1 :]
    if HEADER in text:
        return not (_INWARD.search(text) or any(_links(one) for one in behind))
    return len([one for one in behind if one.strip()]) >= _AFTER_SUMMARY or bool(_FRAME.match(text))


def _read(lines: list[Line]) -> list[Event]:
    blocks: list[_Block] = []
    texts = _bare(lines)
    inward = False
    for at, text in enumerate(texts):
        if HEADER in text or _INWARD.search(text):
            inward = inward or bool(_INWARD.search(text))
            if HEADER in text:
                blocks.append(_Block(inward))
                inward = False
            continue
        block = blocks[-1]
        if block.summary is not None:
            continue
        frame = _FRAME.match(text)
        if frame:
            block.frames.append((frame[1], frame[2], frame[3] or ""))
            block.source_line, block.deepest = None, lines[at]
        elif _is_summary(texts, at):
            parts = _SUMMARY.match(text)
            assert parts is not None
            block.summary, block.type, block.message = lines[at], parts[1], parts[3] or ""
        elif text.strip() and not (block.frames and block.source_line):
            block.source_line = text.strip()
    blocks = [block for block in blocks if block.summary or block.frames]
    if not blocks:
        raise Note("a traceback is cut off behind its first line")
    return [_event(blocks, lines[0])]


def _event(blocks: list[_Block], first: Line) -> Event:
    inner = [block for block in blocks if block.inward]
    origin, last = (inner or blocks)[-1 if inner else 0], blocks[-1]
    if inner and blocks[0].summary:
        last = blocks[0]
    path, _, function = origin.frames[-1] if origin.frames else (None, None, None)
    message = origin.message[:MESSAGE_LIMIT].strip()
    kind = origin.type or ("KeyboardInterrupt" if _INTERRUPTED.search(first.text) else None)
    frames: list[Value] = [
        f"{name}:{number} {inside}".strip() for name, number, inside in origin.frames[-FRAME_LIMIT:]
    ]
    ends = [one for block in blocks if (one := block.summary or block.deepest)]
    end = max((one.number for one in ends), default=first.number)
    return make_event(
        "python.exception",
        error_nature(kind, message),
        origin.summary or origin.deepest or first,
        {
            "type": kind,
            **error_details(message),
            "source_file": path,
            "function": function,
            "source_line": origin.source_line,
            "frames": frames,
            "loader_wait": any(_LOADER_WAIT.search(str(frame)) for frame in frames),
            "chained": len(blocks) > 1,
            "last_type": last.type,
            "last_message": last.message[:MESSAGE_LIMIT].strip(),
        },
        end_line=end,
    )


def _prefix(header: Line) -> str:
    before = header.text.partition(HEADER)[0]
    for word in ("Original ", "Exception Group ", "+ "):
        before = before.removesuffix(word)
    return before if before.strip(" |+") else ""


def _strip_prefix(text: str, prefix: str) -> str:
    """Take off a logger's head that repeats on each line; only its digits may differ."""
    if not prefix:
        return text
    head = text[: len(prefix)]
    same = re.sub(r"\d", "0", head) == re.sub(r"\d", "0", prefix)
    return text[len(prefix) :] if same else text


def _without_bars(text: str) -> str:
    return re.sub(r"^\s*\|(?: |$)", "", text.rstrip())


def _bare(lines: list[Line]) -> list[str]:
    prefix = _prefix(lines[0])
    return [_without_bars(_strip_prefix(line.text, prefix)) for line in lines]


def _last_header(texts: list[str]) -> int:
    return max(at for at, text in enumerate(texts) if HEADER in text)


def _is_summary(texts: list[str], at: int) -> bool:
    found = _SUMMARY.match(texts[at])
    if found is None:
        return False
    if _KNOWN_END.search(found[2]):
        return True
    before = texts[at - 1]
    behind_frame = before[:1] == " " or bool(_FRAME.match(before))
    named_like_class = found[2][0].isupper() and not found[2].isupper()
    return behind_frame and named_like_class and found[3] is not None


def _is_foreign(text: str) -> bool:
    return text[:1] != " " and not _FRAME.match(text)


def _links(text: str) -> bool:
    return any(words in text for words in _CONNECTORS) or bool(_INWARD.search(text))


TRACEBACKS = BlockParser(
    name="python-traceback",
    title="Python tracebacks with their frames, also chained",
    opens=(HEADER,),
    starts=_starts,
    ends=_ends,
    read=_read,
    emits=("python.exception",),
    sample=(
        "Traceback (most recent call last):\n"
        '  File "/app/train.py", line 88, in main\n'
        "    batch = next(loader)\n"
        "FileNotFoundError: [Errno 2] No such file or directory: '/data/shard-7.tar'\n"
    ),
    maximum=600,
)

PARSERS = (ERROR_LINES, TRACEBACKS)
