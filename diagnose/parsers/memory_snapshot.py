"""Snapshots of PyTorch's allocator: who holds GPU memory, and in which pieces the rest lies.

``torch.cuda.memory._dump_snapshot()`` writes a pickle of plain values, and so do observers that are
called when an allocation fails (2.0 to 2.14)::

    {"segments": [{"device": 0, "total_size": 20971520, "allocated_size": ..., "blocks": [
         {"size": 2097152, "state": "active_allocated", "frames": [{"filename": "/app/model.py", ...}]}, ...]}],
     "device_traces": [[{"action": "oom", "size": 3221225472, "device_free": 704643072, ...}]],
     "allocator_settings": {"expandable_segments": False, ...}}

``torch.memory_snapshot``, one for each device that holds memory, in bytes:

====================== ===========================================================================
``reserved``           Of all segments; ``allocated`` of it by live blocks
``free``               Inactive blocks in segments; ``free_share`` of ``reserved``
``largest_free``       The largest of them: a request above it does not fit, whatever the sum is
``pending``            Blocks that were freed and wait for another stream
``ooms``               Failures in the trace; ``requested`` and ``device_free`` of the last one
``holder``             Line of code that holds most, outside installed packages where any is;
                       ``holder_size`` is how much
``expandable``         Whether expandable segments are on
``gpu_index``          Of the device, inside the process
====================== ===========================================================================

*Empty*: an empty file is no snapshot. *Cut off*: a pickle without its end is not opened.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from diagnose.errors import Unreadable
from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Nature, Value
from diagnose.parsers import plain_pickle
from diagnose.parsers.base import Document, FileParser, make_event
from diagnose.parsers.gate import Gate
from diagnose.parsers.memory_phase import users_frame

_PICKLE = LazyPattern(rb"\x80[\x02-\x05](?:\x95[\x00-\xff]{8})?\}")
_KEYS = (b"segments", b"total_size")

LIMIT = 256 << 20
"""Bytes of one snapshot; a trace of 100,000 events with their frames takes about 100 MiB."""

SEGMENTS, BLOCKS, TRACE = 200_000, 2_000_000, 500_000
"""Segments, blocks and trace entries that are read."""


def accepts(name: str, head: bytes) -> bool:
    """Return whether a file is a snapshot, by its first bytes."""
    return _PICKLE.match(head) is not None and all(key in head for key in _KEYS)


def read(document: Document) -> Iterator[Event]:
    """Yield what a snapshot says of each device.

    Raises:
        Unreadable: It is cut off, damaged, too large, or would run code.
    """
    if len(document.data) > LIMIT:
        raise Unreadable(f"a memory snapshot of more than {LIMIT >> 20} MiB")
    try:
        snapshot = plain_pickle.load(document.data)
    except plain_pickle.Refused as error:
        raise Unreadable(f"a memory snapshot that {error}") from error
    if not isinstance(snapshot, Mapping):
        raise Unreadable("looks like a memory snapshot and is no mapping")
    segments = [one for one in _list(snapshot.get("segments"))[:SEGMENTS] if isinstance(one, dict)]
    traces = _list(snapshot.get("device_traces"))
    settings = snapshot.get("allocator_settings")
    expandable = settings.get("expandable_segments") if isinstance(settings, Mapping) else None
    for device in sorted({_size(one, "device") for one in segments}):
        own = [one for one in segments if _size(one, "device") == device]
        trace = _list(traces[device])[:TRACE] if device < len(traces) else []
        fields = {**_held(own), **_failures(trace), "gpu_index": device}
        fields["expandable"] = expandable if isinstance(expandable, bool) else None
        text = f"memory snapshot of device {device}: " + ", ".join(
            f"{name} {value}" for name, value in fields.items() if isinstance(value, int)
        )
        yield make_event("torch.memory_snapshot", Nature.MEASUREMENT, document.at(text), fields)


def _held(segments: Sequence[Mapping[str, Any]]) -> dict[str, Value]:
    reserved = sum(_size(one, "total_size") for one in segments)
    allocated = free = largest = pending = 0
    holders: Counter[str] = Counter()
    blocks = (block for one in segments for block in _list(one.get("blocks")))
    for _, block in zip(range(BLOCKS), blocks, strict=False):
        if not isinstance(block, Mapping):
            continue
        size = _size(block, "size")
        if block.get("state") == "inactive":
            free, largest = free + size, max(largest, size)
        elif block.get("state") == "active_allocated":
            allocated += size
            holders[_code(block)] += size
        else:
            pending += size
    holders.pop("", None)
    holder, size = max(holders.items(), key=lambda one: one[1], default=(None, 0))
    return {
        "reserved": reserved,
        "allocated": allocated,
        "free": free,
        "free_share": round(free / reserved, 4) if reserved else None,
        "largest_free": largest,
        "pending": pending,
        "holder": holder,
        "holder_size": size,
    }


def _code(block: Mapping[str, Any]) -> str:
    frames = [
        f"{one.get('filename')}:{one.get('line')} {one.get('name')}"
        for one in _list(block.get("frames"))
        if isinstance(one, Mapping)
    ]
    return users_frame(frames[::-1]) or (frames[0] if frames else "")


def _failures(trace: Sequence[Any]) -> dict[str, Value]:
    failed = [one for one in trace if isinstance(one, Mapping) and one.get("action") == "oom"]
    last = failed[-1] if failed else {}
    return {
        "ooms": len(failed),
        "requested": _size(last, "size") if failed else None,
        "device_free": _size(last, "device_free") if failed else None,
    }


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else []


def _size(record: Mapping[str, Any], name: str) -> int:
    value = record.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


PARSERS = (
    FileParser(
        name="torch-memory-snapshot",
        title="Snapshots of PyTorch's allocator, as its own pickles",
        accepts=accepts,
        gate=Gate(starts=(b"\x80",), holds=_KEYS[:1]),
        read=read,
        emits=("torch.memory_snapshot",),
        sample="",
        alone=True,
    ),
)
