r"""What DCGM says is wrong with a GPU: ``dcgmi diag``, ``dcgmi health``, and the same texts in syslog.

::

    |-----  Deployment  --------+------------------------------------------------|
    | software                  | Fail                                           |
    |                           | GPU3: Fail                                     |
    | Warning: GPU3             | GPU 3 had uncorrectable memory errors and row  |
    |                           |  remapping failed. Run a field diagnostic on   |
    |                           | the GPU.                                       |

Each message is one event ``dcgm.finding``; ``what`` tells its kind (``memory``, ``memory-pending``,
``memory-content``, ``pcie``, ``nvlink``, ``nvswitch``, ``throttled``, ``slow``, ``xid``, ``lost``, ``fabric``), ``index`` the
GPU; an Xid also has ``title``, ``role``, ``cause``, ``action`` and the other words of ``kernel.xid``. The table cuts a message every 45 characters, in the middle of words, so cells are joined before
they are read. Each row of a result is one event ``dcgm.test`` with ``test``, ``result`` and ``gpus`` (indexes
that failed or warned).

Empty: ``Healthy``, or health watches that were never enabled, which says nothing. Cut off: the message
as far as it goes; one that ends before its telling words is not recognised.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, LineParser, Pattern, make_event
from diagnose.parsers.xid_table import meaning

SOURCE = "DCGM 3 and 4, dcgm_errors.h"


def _message(what: str, regex: str, sample: str) -> Pattern:
    return Pattern(
        event="dcgm.finding",
        regex=regex,
        nature=Nature.ERROR,
        source=SOURCE,
        sample=sample,
        types={"index": int, "count": int, "value": float, "limit": float, "xid": int},
        constants={"what": what},
    )


MESSAGES = (
    _message(
        "memory",
        r"Detected (?P<count>\d+) volatile double-bit ECC error\(s\) in GPU (?P<index>\d+)",
        "Detected 2 volatile double-bit ECC error(s) in GPU 3.",
    ),
    _message(
        "memory",
        r"GPU (?P<index>\d+) had uncorrectable memory errors and (?:row remapping failed|(?P<count>\d+) rows were remapped)",
        "GPU 3 had uncorrectable memory errors and row remapping failed. Run a field diagnostic on the GPU.",
    ),
    _message(
        "memory",
        r"GPU (?P<index>\d+) exceeded uncorrectable row remap limit with (?P<count>\d+) remapped rows",
        "GPU 3 exceeded uncorrectable row remap limit with 512 remapped rows.",
    ),
    _message(
        "memory",
        r"SRAM Threshold Count exceeded on GPU (?P<index>\d+): (?P<count>\d+)",
        "SRAM Threshold Count exceeded on GPU 3: 2",
    ),
    _message(
        "memory",
        r"GPU (?:(?P<index>\d+) )?had an? (?:un)?contained error",
        "GPU had an uncontained error (XID 95)",
    ),
    _message(
        "memory",
        r"Found (?P<count>\d+) faulty memory elements on GPU (?P<index>\d+)",
        "Found 12 faulty memory elements on GPU 3",
    ),
    _message(
        "memory-content",
        r"Found (?P<count>\d+) NaN-value memory elements on GPU (?P<index>\d+)",
        "Found 4 NaN-value memory elements on GPU 3",
    ),
    _message(
        "memory-pending",
        r"GPU (?P<index>\d+) had memory errors and row remappings are pending",
        "GPU 3 had memory errors and row remappings are pending",
    ),
    _message(
        "memory-pending",
        r"A pending retired page has been detected in GPU (?P<index>\d+)",
        "A pending retired page has been detected in GPU 3.",
    ),
    _message(
        "pcie",
        r"GPU (?P<index>\d+) is running at PCI link (?:generation|width) (?P<value>\d+)X?, which is below the minimum allowed link (?:generation|width) of (?P<limit>\d+)",
        "GPU 3 is running at PCI link width 8X, which is below the minimum allowed link width of 16 (parameter 'min_pci_width')",
    ),
    _message(
        "pcie",
        r"Detected more than \d+ PCIe replays per minute for GPU (?P<index>\d+) : (?P<count>\d+)",
        "Detected more than 8 PCIe replays per minute for GPU 3 : 42",
    ),
    _message(
        "pcie",
        r"GPU (?P<index>\d+) host-side PCIe replay violation",
        "GPU 3 host-side PCIe replay violation, see dmesg for more information",
    ),
    _message(
        "pcie",
        r"Bandwidth of GPU (?P<index>\d+) in direction .{1,40}? of (?P<value>\d+(?:\.\d+)?) did not exceed minimum required bandwidth of (?P<limit>\d+(?:\.\d+)?)",
        "Bandwidth of GPU 3 in direction Host to Device of 6.20 did not exceed minimum required bandwidth of 20.00.",
    ),
    _message(
        "nvlink",
        r"GPU (?P<index>\d+)'s NvLink link (?P<link>\d+) is currently down",
        "GPU 3's NvLink link 7 is currently down",
    ),
    _message(
        "nvlink",
        r"Only (?P<value>\d+) NvLinks are up out of the expected (?P<limit>\d+)",
        "Only 17 NvLinks are up out of the expected 18",
    ),
    _message(
        "nvlink",
        r"Detected (?P<count>\d+) \S+ NvLink errors on GPU (?P<index>\d+)'s NVLink which exceeds threshold",
        "Detected 210 CRC NvLink errors on GPU 3's NVLink which exceeds threshold of 100",
    ),
    _message(
        "nvlink",
        r"(?P<value>\d+(?:\.\d+)?) \S+ NvLink errors found occuring per second on GPU (?P<index>\d+), exceeding the limit",
        "412.5 replay NvLink errors found occuring per second on GPU 3, exceeding the limit of 100 per second.",
    ),
    _message(
        "nvlink",
        r"Detected symbol BER (?P<value>[\d.e+-]+) exceeds minimum threshold on GPU (?P<index>\d+)'s NVLink",
        "Detected symbol BER 3.10e-06 exceeds minimum threshold on GPU 3's NVLink.",
    ),
    _message(
        "nvswitch",
        r"NvSwitch physical ID (?P<switch>\d+)'s NvLink port (?P<link>\d+) is currently down",
        "NvSwitch physical ID 2's NvLink port 11 is currently down.",
    ),
    _message(
        "nvswitch",
        r"Detected fatal NvSwitch SXID (?P<sxid>\d+)",
        "Detected fatal NvSwitch SXID 20034",
    ),
    _message(
        "throttled",
        r"Detected clocks event due to (?P<reason>thermal|power) violation in GPU (?P<index>\d+)",
        "Detected clocks event due to thermal violation in GPU 3.",
    ),
    _message(
        "throttled",
        r"There were (?P<reason>thermal|power) violations totaling (?P<value>\d+(?:\.\d+)?) seconds for GPU (?P<index>\d+)",
        "There were thermal violations totaling 41.2 seconds for GPU 3",
    ),
    _message(
        "throttled",
        r"Temperature (?P<value>\d+) of GPU (?P<index>\d+) exceeded user-specified maximum allowed temperature (?P<limit>\d+)",
        "Temperature 96 of GPU 3 exceeded user-specified maximum allowed temperature 85",
    ),
    _message(
        "slow",
        r"Max stress level of (?P<value>\d+(?:\.\d+)?) did not reach desired stress level of (?P<limit>\d+(?:\.\d+)?) for GPU (?P<index>\d+)",
        "Max stress level of 310.2 did not reach desired stress level of 600.0 for GPU 3",
    ),
    _message(
        "slow",
        r"Detected (?P<value>\d+(?:\.\d+)?) \S.{0,40}? for GPU (?P<index>\d+) which is below the threshold (?P<limit>\d+(?:\.\d+)?)",
        "Detected 412.10 GFLOPs for GPU 3 which is below the threshold 800.00",
    ),
    _message(
        "xid",
        r"Detected XID (?P<xid>\d+) for GPU (?P<index>\d+)",
        "Detected XID 94 for GPU 3",
    ),
    _message(
        "lost",
        r"GPU (?P<index>\d+) has fallen off the bus",
        "GPU 3 has fallen off the bus",
    ),
    _message(
        "fabric",
        r"Fabric Manager \(Cluster UUID: \S*, Clique ID: -?\d+, Health Mask: \S+\): (?P<status>[^\r\n|]+)",
        "Fabric Manager (Cluster UUID: 0000, Clique ID: 0, Health Mask: 0x0): Training in progress",
    ),
)
"""The messages that mean harm; ``dcgm_errors.h`` writes ``occuring``."""

CELLS = LazyPattern(r"^\|(?P<left>[^|\r\n]*)\|(?P<right>[^|\r\n]*)\|\s*$")
RESULT = LazyPattern(
    r"^ (?P<result>Pass|Fail|Warn|Skip|Not Run)(?: - (?:All|GPUs?: (?P<gpus>[\d, ]+)))?\s*$"
)
ON_GPU = LazyPattern(r"^ GPU ?(?P<index>\d+): (?P<result>Fail|Warn)")

CUT_AT = 45
"""Characters of a message in one cell, ``dcgmi`` 3 and 4."""


def _index_as_gpu(event: Event, line: Line) -> Event:
    """Name the GPU by its index, which is all that DCGM prints."""
    index, xid = event.fields.get("index"), event.fields.get("xid")
    if event.gpu is None and isinstance(index, int):
        event.gpu = str(index)
    if isinstance(xid, int):
        event.fields |= meaning("xid", xid).values()
    return event


def _starts(line: Line) -> bool:
    return CELLS.match(line.text) is not None and "Result" in line.text


def _ends(lines: list[Line], following: Line) -> bool:
    return not following.text.startswith(("|", "+")) and bool(following.text.strip())


def _read(lines: list[Line]) -> Iterator[Event]:
    rows = [(line, found) for line in lines if (found := CELLS.match(line.text))]
    yield from _results(rows)
    for first, message in _messages(rows):
        joined = replace(first, text=message)
        if not any(pattern.match(first) for pattern in MESSAGES):
            for pattern in MESSAGES:
                event = pattern.match(joined)
                if event is not None:
                    yield _index_as_gpu(event, joined)


def _results(rows: list[tuple[Line, re.Match[str]]]) -> Iterator[Event]:
    at: Line | None = None
    fields: dict[str, Value] = {}
    failed: list[Value] = []
    for line, cells in rows:
        found, on_gpu = RESULT.match(cells["right"]), ON_GPU.match(cells["right"])
        if cells["left"].strip() and found:
            if at is not None:
                yield make_event("dcgm.test", Nature.MEASUREMENT, at, {**fields, "gpus": failed})
            at, failed = line, [int(one) for one in (found["gpus"] or "").split(",") if one.strip()]
            fields = {"test": cells["left"].strip(), "result": found["result"]}
        elif on_gpu and at is not None:
            failed.append(int(on_gpu["index"]))
    if at is not None:
        yield make_event("dcgm.test", Nature.MEASUREMENT, at, {**fields, "gpus": failed})


def _messages(rows: list[tuple[Line, re.Match[str]]]) -> Iterator[tuple[Line, str]]:
    """Yield the first line and the whole text of each message of more than one row."""
    first: Line | None = None
    parts: list[str] = []
    for line, cells in rows:
        goes_on = not cells["left"].strip() and not ON_GPU.match(cells["right"])
        if first is not None and goes_on:
            parts.append(cells["right"][1 : CUT_AT + 1])
            continue
        if first is not None and len(parts) > 1:
            yield first, "".join(parts).strip()
        begins = cells["left"].strip().startswith(("Warning", "Info"))
        first, parts = (line, [cells["right"][1 : CUT_AT + 1]]) if begins else (None, [])
    if first is not None and len(parts) > 1:
        yield first, "".join(parts).strip()


PARSERS = (
    LineParser(
        name="dcgm-messages",
        title="DCGM's messages about memory, links, heat and speed of a GPU",
        patterns=MESSAGES,
        refine=_index_as_gpu,
    ),
    BlockParser(
        name="dcgm-diag",
        title="The table of dcgmi diag: results by test, and messages cut over several rows",
        opens=("| Diagnostic  ",),
        starts=_starts,
        ends=_ends,
        read=_read,
        emits=("dcgm.test", "dcgm.finding"),
        sample=(
            "| Diagnostic                | Result                                         |\n"
            "|-----  Deployment  --------+------------------------------------------------|\n"
            "| software                  | Fail                                           |\n"
            "|                           | GPU3: Fail                                     |\n"
            "| Warning: GPU3             | GPU 3 had uncorrectable memory errors and row  |\n"
            "|                           |  remapping failed. Run a field diagnostic on   |\n"
            "|                           | the GPU.                                       |\n"
        ),
        maximum=400,
    ),
)
