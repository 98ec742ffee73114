"""State and error counters of NVLink: ``nvidia-smi nvlink -s`` and ``nvlink -e``.

::

    GPU 3: NVIDIA H100 80GB HBM3 (UUID: GPU-1f0c0a52-0000-4d4f-8f0e-5f9d7a1b2c3d)
             Link 0: 26.562 GB/s
             Link 1: <inactive>

Each GPU is one event ``nvidia_smi.nvlink`` with ``index``, ``name``, ``active`` and ``inactive`` (numbers
of links), ``unavailable`` (NVML found all links inactive) and ``errors`` (sum of replays, recoveries and
CRC errors since the counters were reset, None for ``-s``).

*Empty*: a GPU without links below it is the list of ``nvidia-smi -L`` and gives nothing.
*Cut off*: the links behind the cut are not counted.
"""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, make_event

_HEAD = LazyPattern(r"^\s*GPU (\d{1,3}): (.+?) \(UUID: GPU-")
_LINK = LazyPattern(r"^\s*Link \d{1,2}: (?:([\d.]+) GB/s|(<inactive>)|([A-Za-z ]+): (\d+))")
_NONE = "Unable to retrieve NVLink information"
"""Goes on with ``as all links are inactive``, in some releases ``inActive``."""


def _ends(lines: list[Line], following: Line) -> bool:
    return _LINK.match(following.text) is None and _NONE not in following.text


def _read(lines: list[Line]) -> Iterator[Event]:
    head = _HEAD.match(lines[0].text)
    links = [found for line in lines[1:] if (found := _LINK.match(line.text))]
    unavailable = any(_NONE in line.text for line in lines)
    if not links and not unavailable:
        return
    counters = [int(found[4]) for found in links if found[4]]
    states = [found for found in links if not found[4]]
    fields: dict[str, Value] = {
        "index": int(head[1]) if head else None,
        "name": head[2] if head else None,
        "active": sum(1 for found in states if found[1]) if states else None,
        "inactive": sum(1 for found in states if found[2]) if states else None,
        "unavailable": unavailable,
        "errors": sum(counters) if counters else None,
    }
    yield make_event(
        "nvidia_smi.nvlink", Nature.MEASUREMENT, lines[0], fields, end_line=lines[-1].number
    )


NVLINK = BlockParser(
    name="nvidia-smi-nvlink",
    title="nvidia-smi nvlink: which links of each GPU are up, and their errors",
    opens=("(UUID: GPU-", _NONE),
    starts=lambda line: _HEAD.match(line.text) is not None or _NONE in line.text,
    ends=_ends,
    read=_read,
    emits=("nvidia_smi.nvlink",),
    sample=(
        "GPU 3: NVIDIA H100 80GB HBM3 (UUID: GPU-1f0c0a52-0000-4d4f-8f0e-5f9d7a1b2c3d)\n"
        "\t Link 0: 26.562 GB/s\n"
        "\t Link 1: <inactive>\n"
    ),
    maximum=100,
)

PARSERS = (NVLINK,)
