"""The table that ``nvidia-smi`` prints without options: one row a GPU, and the processes.

::

    | NVIDIA-SMI 565.57.01              Driver Version: 565.57.01      CUDA Version: 12.7     |
    | GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
    | Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
    |   3  NVIDIA H100 80GB HBM3          On  |   00000000:5D:00.0 Off |                    2 |
    | N/A   86C    P0            312W /  700W |   78110MiB /  81559MiB |    100%      Default |
    |    3   N/A  N/A   2210457      C   /opt/conda/bin/python                        78096MiB |

Columns have moved with every few releases since driver 410, the order of the labels has not, so cells
are read by their bars and by what stands in them. Each GPU is one event ``nvidia_smi.gpu``:

``index``, ``name``, ``gpu``
    Number in this table, model and PCI address (attribute).
``temperature``, ``power``, ``power_cap``, ``perf``, ``utilisation``
    Degrees Celsius, watts, performance state (0 is the fastest) and per cent.
``memory_used``, ``memory_total``
    Bytes.
``ecc_volatile``
    Uncorrectable memory errors since the last reset; None where ECC is off or unknown.
``persistence``, ``mig``
    On, Off or a Windows driver model; True where MIG is on.
``processes``, ``process_sizes``, ``process_count``, ``process_memory``
    What the second table lists for this GPU, None where that table is not in the text.
``bad_cells``
    How many cells say ``ERR!`` or ``Unknown Error``; ``N/A`` is normal and counts as unknown.

``nvidia_smi.crowd`` is one GPU ``index`` on which ``count`` processes of one ``program`` hold memory, from
``smallest`` to ``largest`` bytes, ``second`` the one below the largest; ``elsewhere`` of them are listed
for another GPU too. It needs the table of processes only.

*Empty*: ``process_count`` 0 is normal inside a container, which does not see its own processes by
their number. *Cut off*: a GPU whose second line is missing has None in place of its readings.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, LineParser, Pattern, make_event
from diagnose.parsers.convert import pci, size

_DRIVER = "NVIDIA driver 410 to 590, nvidia-smi"

_FIRST = LazyPattern(
    r"^\s*\|\s*(?P<index>\d{1,3})\s+(?P<name>\S.*?)\s+(?P<persistence>On|Off|N/A|TCC|WDDM|MCDM|ERR!)\s*"
    r"\|\s*(?P<gpu>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s+\S+\s*\|\s*(?P<ecc>\S+)\s*\|"
)
_TEMPERATURE = LazyPattern(r"\b(\d{1,3})C\b")
_PERFORMANCE = LazyPattern(r"\bP(\d{1,2})\b")
_POWER = LazyPattern(r"([\d.]+)W\s*/")
_CAP = LazyPattern(r"/\s*([\d.]+)W")
_MEMORY = LazyPattern(r"(\d+\s?[KMG]iB)\s*/\s*(\d+\s?[KMG]iB)")
_UTILISATION = LazyPattern(r"(\d{1,3})\s?%")
_MIG = LazyPattern(r"\b(Enabled|Disabled)\b")
_PROCESS = LazyPattern(
    r"^\s*\|\s+(?P<index>\d{1,3})\s+(?:(?:N/A|\d+)\s+(?:N/A|\d+)\s+)?(?P<pid>\d+)\s+(?:C\+G|M\+C|C|G|M)\s+"
    r"(?P<name>\S.*?)\s+(?P<memory>\d+\s?[KMG]iB|N/A|\[?Not Supported\]?)\s*\|"
)
_PROCESSES = LazyPattern(r"^\s*\|\s+Processes:\s")
_TABLE = LazyPattern(r"^\s*(?:[|+].*)?$")
_BAD = ("ERR!", "Unknown Error", "GPU requires reset", "GPU is lost")


@dataclass(frozen=True, slots=True)
class _Process:
    line: Line
    index: int
    pid: int
    program: str
    memory: int | None


def _starts(line: Line) -> bool:
    if "| NVIDIA-SMI " in line.text or _PROCESSES.match(line.text) is not None:
        return True
    return _FIRST.match(line.text) is not None


def _ends(lines: list[Line], following: Line) -> bool:
    if "| NVIDIA-SMI " in following.text:
        return True
    return _TABLE.match(following.text) is None


def _read(lines: list[Line]) -> Iterator[Event]:
    rows: list[tuple[Line, dict[str, Value]]] = []
    below = 0
    table_of_processes = False
    processes: list[tuple[int, str, int | None]] = []
    listed: list[_Process] = []
    for line in lines:
        if first := _FIRST.match(line.text):
            rows.append((line, _head(first)))
            below = 0
        elif "Processes:" in line.text:
            table_of_processes = True
        elif table_of_processes and (process := _PROCESS.match(line.text)):
            memory = size(process["memory"]) if process["memory"][0].isdigit() else None
            processes.append((int(process["index"]), f"{process['pid']} {process['name']}", memory))
            listed.append(
                _Process(line, int(process["index"]), int(process["pid"]), process["name"], memory)
            )
        elif rows and not table_of_processes and line.text.lstrip().startswith("|"):
            below += 1
            if below == 1:
                rows[-1][1].update(_readings(line.text))
            if below <= 2:
                _note_mig_and_bad(rows[-1][1], line.text)
    for line, fields in rows:
        own = [one for one in processes if one[0] == fields["index"]]
        memory_known = [memory for *_, memory in own if memory is not None]
        fields["listed"] = len(rows)
        fields["processes"] = [name for _, name, _ in own] if table_of_processes else None
        fields["process_sizes"] = [size for *_, size in own] if table_of_processes else None
        fields["process_count"] = len(own) if table_of_processes else None
        fields["process_memory"] = sum(memory_known) if memory_known else None
        yield make_event("nvidia_smi.gpu", Nature.MEASUREMENT, line, fields)
    yield from _crowds(listed)


def _crowds(listed: list[_Process]) -> Iterator[Event]:
    """Return the GPUs on which several processes of one program hold memory."""
    by_program: dict[tuple[int, str], list[_Process]] = {}
    for one in listed:
        by_program.setdefault((one.index, one.program), []).append(one)
    for (index, program), own in by_program.items():
        held = sorted(one.memory for one in own if one.memory is not None)
        pids = {one.pid for one in own}
        if len(pids) < 2 or len(held) < 2:
            continue
        elsewhere = {one.pid for one in listed if one.index != index} & pids
        fields: dict[str, Value] = {
            "index": index, "program": program, "count": len(pids), "smallest": held[0],
            "second": held[-2], "largest": held[-1], "elsewhere": len(elsewhere),
        }  # fmt: skip
        yield make_event(
            "nvidia_smi.crowd",
            Nature.MEASUREMENT,
            own[0].line,
            fields,
            end_line=own[-1].line.number,
        )


def _head(found: re.Match[str]) -> dict[str, Value]:
    fields: dict[str, Value] = dict.fromkeys(
        ("temperature", "power", "power_cap", "perf", "memory_used", "memory_total", "utilisation")
    )
    fields["index"] = int(found["index"])
    fields["name"] = found["name"]
    fields["gpu"] = pci(found["gpu"])
    fields["persistence"] = found["persistence"]
    fields["ecc_volatile"] = int(found["ecc"]) if found["ecc"].isdigit() else None
    fields["mig"] = None
    fields["bad_cells"] = _bad_cells(found[0])
    return fields


def _readings(text: str) -> dict[str, Value]:
    """Read the second line of a GPU: fan, heat and power, then memory, then utilisation."""
    cells = [*text.strip().strip("|").split("|"), "", ""]
    board, memory, use = cells[:3]
    held = _MEMORY.search(memory)
    return {
        "temperature": _integer(_TEMPERATURE.search(board)),
        "perf": _integer(_PERFORMANCE.search(board)),
        "power": _decimal(_POWER.search(board)),
        "power_cap": _decimal(_CAP.search(board)),
        "memory_used": size(held[1]) if held else None,
        "memory_total": size(held[2]) if held else None,
        "utilisation": _integer(_UTILISATION.search(use)),
    }


def _note_mig_and_bad(fields: dict[str, Value], text: str) -> None:
    fields["bad_cells"] = int(str(fields["bad_cells"])) + _bad_cells(text)
    if mode := _MIG.search(text):
        fields["mig"] = mode[1] == "Enabled"


def _bad_cells(text: str) -> int:
    return sum(text.count(word) for word in _BAD)


def _integer(found: re.Match[str] | None) -> int | None:
    return int(found[1]) if found else None


def _decimal(found: re.Match[str] | None) -> float | None:
    return float(found[1]) if found else None


TABLE = BlockParser(
    name="nvidia-smi-table",
    title="nvidia-smi: memory, use, heat and processes of each GPU",
    opens=("| NVIDIA-SMI ", "| Processes:", ".0 Off |", ".0  On |"),
    starts=_starts,
    ends=_ends,
    read=_read,
    emits=("nvidia_smi.gpu", "nvidia_smi.crowd"),
    sample=(
        "| NVIDIA-SMI 565.57.01              Driver Version: 565.57.01      CUDA Version: 12.7     |\n"
        "|-----------------------------------------+------------------------+----------------------+\n"
        "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n"
        "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |\n"
        "|                                         |                        |               MIG M. |\n"
        "|=========================================+========================+======================|\n"
        "|   3  NVIDIA H100 80GB HBM3          On  |   00000000:5D:00.0 Off |                    0 |\n"
        "| N/A   66C    P0            312W /  700W |   78110MiB /  81559MiB |    100%      Default |\n"
        "|                                         |                        |             Disabled |\n"
        "+-----------------------------------------+------------------------+----------------------+\n"
        "                                                                                           \n"
        "| Processes:                                                                              |\n"
        "|  GPU   GI   CI        PID   Type   Process name                              GPU Memory |\n"
        "|        ID   ID                                                               Usage      |\n"
        "|=========================================================================================|\n"
        "|    3   N/A  N/A   2210457      C   /opt/conda/bin/python                        78096MiB |\n"
    ),
    maximum=600,
)

VERSIONS = LineParser(
    name="nvidia-smi-versions",
    title="Driver, and the newest CUDA it can serve, as nvidia-smi states them",
    patterns=(
        Pattern(
            event="nvidia_smi.driver",
            regex=r"NVIDIA-SMI [\d.]+ +(?:Driver|KMD) Version: (?P<value>[\d.]+)",
            nature=Nature.SETTING,
            source=_DRIVER,
            sample="| NVIDIA-SMI 565.57.01              Driver Version: 565.57.01      CUDA Version: 12.7     |",
            fact="driver.version",
        ),
        Pattern(
            event="nvidia_smi.driver",
            regex=r"^Driver Version {3,}: (?P<value>\d[\d.]+)\s*$",
            nature=Nature.SETTING,
            source="NVIDIA driver 410 to 590, nvidia-smi -q",
            sample="Driver Version                            : 570.124.06",
            fact="driver.version",
        ),
        Pattern(
            event="nvidia_smi.cuda",
            regex=r"\bCUDA (?:UMD )?Version: (?P<value>\d+\.\d+) +\|",
            nature=Nature.SETTING,
            source="NVIDIA driver 418 to 590, nvidia-smi",
            sample="| NVIDIA-SMI 565.57.01              Driver Version: 565.57.01      CUDA Version: 12.7     |",
            fact="cuda.driver",
        ),
        Pattern(
            event="nvidia_smi.cuda",
            regex=r"^CUDA Version {3,}: (?P<value>\d+\.\d+)\s*$",
            nature=Nature.SETTING,
            source="NVIDIA driver 418 to 590, nvidia-smi -q",
            sample="CUDA Version                              : 12.8",
            fact="cuda.driver",
        ),
    ),
)

PARSERS = (TABLE, VERSIONS)
