"""GenAI-Perf's results as a table on the screen and as CSV.

::

                                   NVIDIA GenAI-Perf | LLM Metrics
    ┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━┳━━━━━━━━┳━━━━━━━━━━┳━━━━━━━━━━┳━━━━━━━━━━┳━━━━━━━━━━┓
    ┃                  Statistic ┃      avg ┃    min ┃      max ┃      p99 ┃      p90 ┃      p75 ┃
    ┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━━━┩
    │   Time To First Token (ms) │ 1,442.20 │ 102.30 │ 6,812.10 │ 6,637.90 │ 3,102.00 │ 1,812.00 │
    │ Request Throughput (per    │     0.41 │    N/A │      N/A │      N/A │      N/A │      N/A │
    │ sec)                       │          │        │          │          │          │          │
    └────────────────────────────┴──────────┴────────┴──────────┴──────────┴──────────┴──────────┘

Long names wrap over lines whose numbers are empty. Its time between tokens is a mean of each request,
what vLLM calls TPOT.

``inference.bench``
    The run, see ``bench_run``.

*Empty*: no statistics. *Cut off*: the rows that stand there are read; without the head the columns are
unknown, and nothing is.
"""

import csv
import re
from collections.abc import Iterator, Sequence

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line
from diagnose.parsers.base import BlockParser, Document, FileParser
from diagnose.parsers.gate import Gate
from diagnose.parsers.serving.bench_run import bench
from diagnose.parsers.serving.genai_statistics import of_genai_perf

_TITLE = "GenAI-Perf | "
_BARS = LazyPattern(r"[│┃|]")
_BORDER = LazyPattern(r"[┏┡└╇━─+-]")
_LABEL = LazyPattern(r"^([A-Za-z][A-Za-z -]+?)\s*(?:\(([^)]*)\))?$")
_NUMBER = LazyPattern(r"^\d[\d,]*(?:\.\d+)?$")


def _statistics(rows: Sequence[tuple[str, Sequence[str]]]) -> dict[str, dict[str, object]]:
    """Return rows of a label and cells by name, after the head that names the columns."""
    found: dict[str, dict[str, object]] = {}
    columns: Sequence[str] = ()
    for label, cells in rows:
        if label.lower() in ("statistic", "metric"):
            columns = ["avg" if cell.lower() == "value" else cell.lower() for cell in cells]
            continue
        named = _LABEL.match(label)
        if named is None:
            continue
        values: dict[str, object] = {
            column: float(cell.replace(",", ""))
            for column, cell in zip(columns, cells, strict=False)
            if _NUMBER.match(cell)
        }
        found[re.sub(r"\W+", "_", named[1].lower())] = {"unit": named[2], **values}
    return found


def read_table(lines: list[Line]) -> Iterator[Event]:
    """Read a table."""
    rows: list[tuple[str, list[str]]] = []
    for line in lines[1:]:
        cells = [cell.strip() for cell in _BARS.split(line.text)]
        while cells and not cells[0]:
            cells.pop(0)
        if not cells or _BORDER.match(cells[0]):
            continue
        if not any(cells[1:]) and rows:  # a long name goes on
            label, known = rows.pop()
            rows.append((f"{label} {cells[0]}", known))
        else:
            rows.append((cells[0], cells[1:]))
    event = bench(lines, "genai-perf", of_genai_perf(_statistics(rows)))
    if event is not None:
        yield event


def accepts(name: str, head: bytes) -> bool:
    """Decide whether a source is GenAI-Perf's CSV."""
    return head.lstrip(b"\xef\xbb\xbf\r\n ")[:11].lower() == b"metric,avg," and (
        b"Time To First Token" in head or b"Request Latency" in head
    )


def read_csv(document: Document) -> Iterator[Event]:
    """Read the CSV."""
    lines = list(document.lines())
    table = csv.reader(line.text.lstrip("\ufeff") for line in lines)
    rows = [(row[0].strip(), [cell.strip() for cell in row[1:]]) for row in table if row]
    event = bench(lines, "genai-perf", of_genai_perf(_statistics(rows)))
    if event is not None:
        yield event


PARSERS = (
    BlockParser(
        name="genai-perf-table",
        title="GenAI-Perf's table of metrics",
        opens=(_TITLE,),
        starts=lambda line: _TITLE in line.text,
        ends=lambda lines, following: lines[-1].text.lstrip().startswith("└"),
        read=read_table,
        emits=("inference.bench",),
        sample=(
            "NVIDIA GenAI-Perf | LLM Metrics\n"
            "┃ Statistic ┃ avg ┃ min ┃ max ┃ p99 ┃ p90 ┃ p75 ┃\n"
            "│ Time To First Token (ms) │ 1,442.20 │ 102.30 │ 6,812.10 │ 6,637.90 │ 3,102.00 │ 1,812.00 │\n"
            "└──┴──┘\n"
        ),
        maximum=60,
    ),
    FileParser(
        name="genai-perf-csv",
        title="GenAI-Perf's CSV",
        accepts=accepts,
        gate=Gate(holds=(b"Time To First Token", b"Request Latency")),
        read=read_csv,
        emits=("inference.bench",),
        sample="Metric,avg,min,max,p99,p95,p90,p75,p50,p25\nTime To First Token (ms),16.26,12.39,17.25,17.09,16.8,16.68,16.56,16.2,16.0\n",
    ),
)
