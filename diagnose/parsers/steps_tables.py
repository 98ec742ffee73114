"""Tables that a program prints with a row of names and a row of numbers for each step or epoch.

::

    epoch     train_loss  valid_loss  accuracy  time
    0         0.7812      0.5523      0.7810    00:41

    Epoch   gpu_mem      GIoU       obj       cls     total   targets  img_size
      3/99     5.1G      1.23     0.412     0.031      1.67        24       640

fastai, skorch, the notebooks of Hugging Face, YOLO. The first column is the step, or the epoch, which
counts as the step. Names are separated by tabs, bars or two blanks, where the rows then have as many
numbers. A row that is drawn again counts as it stood last. Detectors that print only the parts of
their loss get the sum.

*Empty*: the table has no column that is known. *Cut off*: a row with fewer cells ends the table.
"""

from collections.abc import Iterator, Sequence

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Measurement
from diagnose.parsers.base import BlockText, BulkParser
from diagnose.parsers.metric_names import metrics, number, with_nan_events

HEADER = LazyPattern(
    rb"\n[ \t|]*(?:[Ee]poch|EPOCH|[Ss]tep|[Ii]ter(?:ation)?)(?:[ \t]*\|[ \t]*|[ \t]+)[A-Za-z][\w \t|@.%/()-]*\r?(?=\n|\Z)"
)
NAMES_APART = LazyPattern(r"\s*\|\s*|\t+| {2,}")
CELLS_APART = LazyPattern(r"[\s|]+")
STEP = LazyPattern(r"(\d+)(?:/\d+)?")
SIZE = LazyPattern(r"([\d.]+)([GM])i?B?")
RULE = LazyPattern(r"[-=+|:\s]*")
PARTS = frozenset(
    {"giou", "box", "obj", "cls", "dfl", "box_loss", "obj_loss", "cls_loss", "dfl_loss"}
)


def read(block: BlockText) -> Iterator[Event | Measurement]:
    """Read the rows below each header."""
    return with_nan_events(_measure(block))


def _measure(block: BlockText) -> Iterator[Measurement]:
    # A line end that stands in the pattern is found much faster than the beginning of a line.
    for header in HEADER.finditer(b"\n" + block.data):
        names = NAMES_APART.split(header[0].decode("utf-8", "replace").strip(" \t|\r\n"))
        if len(names) < 3:
            continue
        for offset, line in _lines(block.data, header.end() - 1):
            cells = _cells(line)
            if len(cells) != len(names) or not (step := STEP.fullmatch(cells[0])):
                if RULE.fullmatch(line):
                    continue
                break
            if values := _values(names[1:], cells[1:]):
                yield Measurement(block.line_at(offset), float(step[1]), values)


def _lines(data: bytes, offset: int) -> Iterator[tuple[int, str]]:
    while (begin := data.find(b"\n", offset) + 1) and begin < len(data):
        offset = data.find(b"\n", begin)
        offset = offset if offset >= 0 else len(data)
        yield begin, data[begin:offset].decode("utf-8", "replace")


def _cells(line: str) -> list[str]:
    """Return the cells of a row as it was drawn last, without the bar behind it."""
    row = next((part for part in reversed(line.split("\r")) if part.strip()), "")
    return CELLS_APART.split(row.partition(": ")[0].strip(" \t|"))


def _values(names: Sequence[str], cells: Sequence[str]) -> dict[str, float]:
    columns: dict[str, object] = {}
    for name, cell in zip(names, cells, strict=True):
        size = SIZE.fullmatch(cell)
        columns[f"{name}_{size[2]}B" if size else name] = size[1] if size else cell
    values = metrics(columns)
    parts = [number(cell) for name, cell in columns.items() if name.lower() in PARTS]
    known = [part for part in parts if part is not None]
    total = number(columns.get("total"))
    if "loss" not in values and len(known) > 1:
        values["loss"] = sum(known) if total is None else total
    return values


PARSERS = (
    BulkParser(
        name="step-tables",
        title="Tables with a row of names and a row of numbers for each step or epoch (fastai, skorch, YOLO, notebooks)",
        opens=("poch ", "poch\t", "POCH", "tep ", "tep\t", "ter ", "teration "),
        read=read,
        emits=("loss", "validation_loss", "learning_rate", "grad_norm", "memory_used",
               "train.nan_loss", "train.nan_gradient"),
        sample="epoch     train_loss  valid_loss  accuracy  time    \n0         0.781204    0.552310    0.781000  00:41   \n",
    ),
)  # fmt: skip
