"""Training records as JSON between the other lines of a log.

::

    [rank0]: {"step": 10, "loss": 1.7, "lr": 1e-4, "step_time": 0.52}
    2026-01-05 10:00:00 INFO metrics {"epoch": 1.3, "loss": 1.8}

or over several lines, as a piece of ``trainer_state.json`` that was pasted into a log.

A record with a step becomes a measurement, under the names of ``metric_names``; the last ones of a stretch
are also ``train.record``, a sign that training went on. A file of nothing but such records is read by
``metrics_jsonl``, with all its lines in view, and gives signs only here.

*Empty*: the program logs otherwise. *Cut off*: an object without its brace is not read.
"""

import re
from collections.abc import Iterator
from itertools import islice

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Measurement, Nature
from diagnose.parsers.base import BlockText, BulkParser, make_event
from diagnose.parsers.metric_names import ALIASES, with_nan_events
from diagnose.parsers.metric_rows import HEAD_LINES, Row, holds_records, measure, record_of

RECORD = LazyPattern(
    rb'\{[^{}\n]*"(?:train[_/]|lm )?loss": ?"?(?:-?[\d.]|NaN|-?Infinity|nan|inf)[^{}\n]*\}'
)
INDENTED = LazyPattern(
    rb'\{\s*\n[^{}]{0,4000}?"loss": ?"?(?:-?[\d.]|NaN|-?Infinity|nan|inf)[^{}]{0,4000}\}'
)
COUNT = LazyPattern(rb'"(?:epoch|step|global_step|iter|iteration|current_steps)": ?"?[\d.]')
TAGGED = LazyPattern(rb"\| (?:train_inner|train|valid) \| $")
"""Before a record of fairseq's."""
LAST_RECORDS = 5
"""Records of a block that are kept as signs."""


def read(block: BlockText) -> Iterator[Event | Measurement]:
    """Read the records of a block."""
    patterns = (RECORD,) if _is_file_of_its_own(block) else (RECORD, INDENTED)
    found = [
        one
        for pattern in patterns
        for one in pattern.finditer(block.data)
        if COUNT.search(one[0])
        and not TAGGED.search(block.data, max(0, one.start() - 16), one.start())
    ]
    for record in found[-LAST_RECORDS:]:
        line = block.line_at(record.start())
        yield make_event("train.record", Nature.PROGRESS, line, {})
    if found and not holds_records(_head(block)):
        yield from with_nan_events(measure(_rows(block, found)))


def _is_file_of_its_own(block: BlockText) -> bool:
    """Return whether the block is of a whole file in JSON, which ``metrics_jsonl`` reads."""
    first = block.line_at(0)
    begins = not block.is_first or first.raw.lstrip().startswith("{")
    return first.file.endswith(".json") and begins


def _head(block: BlockText) -> str:
    """Return the first lines of a block without their prefixes."""
    starts = (one.start() for one in re.finditer(rb"^(?=[^\n])", block.data, re.MULTILINE))
    return "\n".join(block.line_at(at).text for at in islice(starts, HEAD_LINES))


def _rows(block: BlockText, found: list[re.Match[bytes]]) -> Iterator[Row]:
    for record in found:
        columns = record_of(record[0].decode("utf-8", "replace"))
        if columns is not None:
            yield block.line_at(record.start()), columns


PARSERS = (
    BulkParser(
        name="json-records",
        title="Training records as JSON between other lines",
        opens=('"loss":', '"train_loss":', '"train/loss":', '"lm loss":'),
        read=read,
        emits=("train.record", *ALIASES, "train.nan_loss", "train.nan_gradient"),
        sample='starting\n{"step": 10, "loss": 1.8, "epoch": 1.3}\ndone\n',
    ),
)
