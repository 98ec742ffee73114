"""Tasks and processors that are stuck in the kernel, and where they are.

::

    INFO: task pt_main_thread:81234 blocked for more than 122 seconds.
          Tainted: P           OE     6.1.0-21-amd64 #1
    Call Trace:
     <TASK>
     __schedule+0x34d/0x9e0
     nfs_wait_bit_killable+0x1f/0x60 [nfs]
     </TASK>

``kernel.hung_task`` is a task that cannot be interrupted, ``kernel.lockup`` a processor that does
not get on (``kind``: soft, hard or rcu). From the stack below come ``waits_in``, the innermost
function that is no part of scheduling or locking, and ``doing``, the kind of work it belongs to:
storage, device (the driver of a GPU), network, else what ``stack_sites`` finds.

*Empty*: nothing was stuck for as long as the kernel's detectors wait, two minutes for tasks.
*Cut off*: without the stack, or where lines of others run through it, ``doing`` is None.
"""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Line, Nature, Value
from diagnose.parsers.base import BlockParser, Note, Record, make_event
from diagnose.parsers.stack_frames import native_frame
from diagnose.parsers.stack_sites import locate

FOREIGN = 3
"""Lines in a row that are no part of a stack and show that it is over."""

_HUNG = LazyPattern(
    r"task (?P<process>.{1,40}?):(?P<pid>\d+) blocked (?:in I/O wait )?for more than (?P<seconds>\d+) seconds"
)
_SOFT = LazyPattern(
    r"soft lockup - CPU#(?P<cpu>\d+) stuck for (?P<seconds>\d+)s! \[(?P<process>[^\]]*?):(?P<pid>\d+)\]"
)
_HARD = LazyPattern(r"Watchdog detected hard LOCKUP on cpu (?P<cpu>\d+)")
_RCU = LazyPattern(r"rcu: INFO: \w+ (?:self-)?detected (?:expedited )?stalls? on CPU")
_KINDS = ((_HUNG, None), (_SOFT, "soft"), (_HARD, "hard"), (_RCU, "rcu"))

_FRAME = LazyPattern(
    r"^(?:RIP: 0010:|\s*|\s*\[<[0-9a-f]+>\] )(?P<function>[\w.]+)\+0x[0-9a-f]+/0x[0-9a-f]+(?: \[(?P<module>\w+)\])?"
)
_AROUND = LazyPattern(
    r"^\s*(?:(?:Not )?[Tt]ainted|\"echo 0|task:|Call Trace|</?[A-Z]+>|\? |\[<|R[A-Z0-9]{2}:|RIP|Code:|Modules linked|CPU: |Hardware name|[CFDE]S:|CR\d|DR\d|PKRU|Workqueue:|rcu: |\(|Sending NMI|NMI backtrace|Kernel |irq event|\S+ +[DRS] +)"
)
_END = LazyPattern(r"^\s*</TASK>")
_GENERAL = LazyPattern(
    r"(?:__)?schedule\w*|(?:__)?(?:mutex|rwsem|down|up|wait_for|wait_on|_raw|native|asm|sysvec)_\w+|__(?:mutex|down|wait)\w*|__switch_to\w*|bit_wait\w*"
)
"""Scheduling and locking, below every function that waits."""


def _kind(text: str) -> tuple[dict[str, Value], bool] | None:
    for pattern, kind in _KINDS:
        found = pattern.search(text)
        if found is not None:
            fields: dict[str, Value] = {
                name: int(value) if value.isdigit() and name != "process" else value
                for name, value in found.groupdict().items()
            }
            if kind is not None:
                fields["kind"] = kind
            return fields, kind is None
    return None


def _ends(lines: list[Line], following: Line) -> bool:
    if _END.match(lines[-1].text) or _kind(following.text) is not None:
        return True
    tail = [*lines[1:], following][-FOREIGN:]
    return len(tail) == FOREIGN and not any(
        _FRAME.match(line.text) or _AROUND.match(line.text) for line in tail
    )


def _read(lines: list[Line]) -> Iterator[Record]:
    head = _kind(lines[0].text)
    if head is None:
        raise Note("no task and no processor")
    fields, hung = head
    frames, end = [], lines[0]
    for line in lines[1:]:
        found = _FRAME.match(line.text)
        if found is not None:
            frames.append(native_frame(found["function"], found["module"] or "kernel"))
        if found is not None or _AROUND.match(line.text):
            end = line
    telling = [frame for frame in frames if not _GENERAL.fullmatch(frame.function)]
    fields["waits_in"] = str(telling[0]) if telling else None
    doing = locate(telling).doing if telling else None
    fields["doing"] = None if doing == "unknown" else doing
    name = "kernel.hung_task" if hung else "kernel.lockup"
    yield make_event(name, Nature.ERROR, lines[0], fields, end_line=end.number)


STALLS = BlockParser(
    name="kernel-stalls",
    title="kernel: hung tasks, soft and hard lockups and RCU stalls, with their stacks",
    opens=(" blocked ", "soft lockup - CPU#", "detected hard LOCKUP", "rcu: INFO: "),
    starts=lambda line: _kind(line.text) is not None,
    ends=_ends,
    read=_read,
    emits=("kernel.hung_task", "kernel.lockup"),
    sample=(
        "INFO: task python3:81234 blocked for more than 120 seconds.\n"
        "Call Trace:\n"
        " __schedule+0x34d/0x9e0\n"
        " nfs_wait_bit_killable+0x1f/0x60 [nfs]\n"
    ),
    maximum=120,
)

PARSERS = (STALLS,)
