"""MosaicML Composer's console logger: a header of progress with indented metrics below.

The header counts batches within the epoch, batches or tokens in all, as the length of the training is
given; ``time/batch`` is the number of the batch, zero-based. ``time/train`` are hours spent training,
evaluations left out; the time of a step is their difference over the batches between, or of
``throughput/batches_per_sec``, a mean over the last hundred, where they are not logged.

*Empty*: the console logger is off. *Cut off*: a header without metrics is not read.
"""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Measurement
from diagnose.parsers.base import BlockText, BulkParser
from diagnose.parsers.metric_names import metrics, number, with_nan_events
from diagnose.parsers.step_clock import StepClock

RECORD = LazyPattern(
    rb"(?:\[epoch=\d+(?:/\d+)?\])?\[(batch|token|sample|iter)=(\d+)(?:/\d+)?\]:[ \t\r]*\n"
    rb"((?:[^\n]*\b(?:Train|Eval) [^\n]*: [^\n]*(?:\n|\Z))+)"
)
ROW = LazyPattern(r"\bTrain (\S[^\n]*?): ([-+\w.]+)")
HOUR = 3600.0


def read(block: BlockText) -> Iterator[Event | Measurement]:
    """Read the records of training."""
    return with_nan_events(_measure(block))


def _measure(block: BlockText) -> Iterator[Measurement]:
    clock = StepClock()
    for found in RECORD.finditer(block.data):
        columns = dict(ROW.findall(found[3].decode("utf-8", "replace")))
        values = metrics(columns)
        step = float(found[2]) if found[1] == b"batch" else _batches(columns)
        if not values or step is None:
            continue
        hours = number(columns.get("time/train"))
        time = None if hours is None else clock.step_time(None, step, hours * HOUR)
        rate = number(columns.get("throughput/batches_per_sec"))
        if time is not None:
            values["step_time"] = time
        elif hours is None and rate:
            values["step_time"] = 1 / rate
        yield Measurement(block.line_at(found.start()), step, values)


def _batches(columns: dict[str, str]) -> float | None:
    number_of_batch = number(columns.get("time/batch"))
    return None if number_of_batch is None else number_of_batch + 1


PARSERS = (
    BulkParser(
        name="composer-steps",
        title="MosaicML Composer console records",
        opens=("[batch=", "[token=", "[sample=", "[iter="),
        read=read,
        emits=("loss", "step_time", "tokens_per_s_gpu", "samples_per_s", "mfu", "learning_rate",
               "memory_reserved", "alloc_retries", "train.nan_loss"),
        sample="[epoch=1][batch=100/2000]:\n\t Train time/batch: 99\n\t Train loss/train/total: 2.7133\n\t Train throughput/device/tokens_per_sec: 8123.4\n",
    ),
)  # fmt: skip
