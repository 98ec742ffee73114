"""Meters of image training, from the ImageNet example to detectron2, mmengine and darknet.

The current value of a meter is read, not its running mean in brackets, which still holds the
start-up of the loader workers. torchvision's values are means over 20 iterations. The step is
``epoch * iterations per epoch + iteration``. detectron2's ``time`` is a mean since the start, so
``last_time`` and ``last_data_time`` are read.

*Empty*: no print interval was completed. *Cut off*: a line without its time is not read.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Measurement
from diagnose.parsers.base import BlockText, BulkParser
from diagnose.parsers.metric_names import numbers, with_nan_events


@dataclass(frozen=True, slots=True)
class Meter:
    """One layout of a meter line.

    Args:
        regex: With the groups ``it``, where known ``ep`` and ``n`` (iterations of an epoch), and
            one group a metric, named like it.
        memory_unit: Bytes of one unit of ``memory_peak``.
        first_epoch: Number of the first epoch.
    """

    regex: LazyPattern[bytes]
    memory_unit: int = 1 << 20
    first_epoch: int = 0


METERS = (
    # pytorch/examples imagenet/main.py, AverageMeter and ProgressMeter
    Meter(LazyPattern(
        rb"Epoch: \[(?P<ep>\d+)\]\[ *(?P<it>\d+)/(?P<n>\d+)\]\s+Time\s+(?P<step_time>[\d.]+) \( *[\d.]+\)"
        rb"(?:\s+Data\s+(?P<data_time>[\d.]+) \( *[\d.]+\))?(?:\s+Loss\s+(?P<loss>[-+\w.]+))?"
    )),
    # pytorch/vision references/*/utils.py, copied by DETR, MAE and DeiT
    Meter(LazyPattern(
        rb"Epoch: \[(?P<ep>\d+)\]\s+\[ *(?P<it>\d+)/(?P<n>\d+)\]\s+eta: [^\n\r]*?"
        rb"(?:\blr: (?P<learning_rate>[\d.eE+-]+)[^\n\r]*?)?(?:\bloss: (?P<loss>[-+\w.]+)[^\n\r]*?)?"
        rb"\btime: (?P<step_time>[\d.]+)\s+data: (?P<data_time>[\d.]+)(?:\s+max mem: (?P<memory_peak>\d+))?"
    )),
    # huggingface/pytorch-image-models train.py
    Meter(LazyPattern(
        rb"Train: (?P<ep>\d+) \[ *(?P<it>\d+)/(?P<n>\d+) \( *\d+%\)\]\s+Loss: *(?P<loss>[-+\w.]+)[^\n\r]*?"
        rb"Time: (?P<step_time>[\d.]+)s, *(?P<samples_per_s>[\d.]+)/s[^\n\r]*?"
        rb"LR: (?P<learning_rate>[\d.eE+-]+)\s+Data: (?P<data_time>[\d.]+)"
    )),
    # detectron2/utils/events.py CommonMetricPrinter
    Meter(LazyPattern(
        rb"\biter: (?P<it>\d+)\s+total_loss: (?P<loss>[-+\w.]+)[^\n\r]*?\blast_time: (?P<step_time>[\d.]+)"
        rb"[^\n\r]*?\blast_data_time: (?P<data_time>[\d.]+)(?:\s+lr: (?P<learning_rate>[\d.eE+-]+))?"
        rb"(?:\s+max_mem: (?P<memory_peak>\d+)M)?"
    )),
    # open-mmlab/mmengine hooks/logger_hook.py, epoch-based
    Meter(LazyPattern(
        rb"Epoch\(train\)\s*\[ *(?P<ep>\d+)\]\[ *(?P<it>\d+)/(?P<n>\d+)\][^\n\r]*?(?:\blr: (?P<learning_rate>[\d.eE+-]+))?"
        rb"[^\n\r]*?\btime: (?P<step_time>[\d.]+)\s+data_time: (?P<data_time>[\d.]+)(?:\s+memory: (?P<memory_peak>\d+))?"
        rb"(?:\s+grad_norm: (?P<grad_norm>[-+\w.]+))?(?:\s+loss: (?P<loss>[-+\w.]+))?"
    ), first_epoch=1),
    # mmengine, iteration-based
    Meter(LazyPattern(
        rb"Iter\(train\)\s*\[ *(?P<it>\d+)/\d+\][^\n\r]*?\btime: (?P<step_time>[\d.]+)\s+data_time: (?P<data_time>[\d.]+)"
        rb"(?:\s+memory: (?P<memory_peak>\d+))?(?:\s+grad_norm: (?P<grad_norm>[-+\w.]+))?(?:\s+loss: (?P<loss>[-+\w.]+))?"
    )),
    # pjreddie/darknet examples/detector.c; "-nan" beside "count: 0" in its Region lines is normal
    Meter(LazyPattern(
        rb"^ *(?P<it>\d+): (?P<loss>[-+\w.]+), [-+\w.]+ avg(?: loss)?, (?P<learning_rate>[\d.]+) rate, "
        rb"(?P<step_time>[\d.]+) seconds, \d+ images", re.MULTILINE
    )),
    # dbolya/yolact train.py; the losses are means over 100 iterations
    Meter(LazyPattern(
        rb"^\[ *(?P<epoch>\d+)\] +(?P<it>\d+) \|\| [^\n\r]*?\bT: +(?P<loss>[-+\w.]+) \|\| ETA: [^\n\r]*?\|\| timer: (?P<step_time>[\d.]+)",
        re.MULTILINE
    )),
)  # fmt: skip


def read(block: BlockText) -> Iterator[Event | Measurement]:
    """Read all layouts."""
    return with_nan_events(_measure(block))


def _measure(block: BlockText) -> Iterator[Measurement]:
    for meter in METERS:
        for found in meter.regex.finditer(block.data):
            groups = found.groupdict()
            step = float(groups.pop("it"))
            epoch, length = groups.pop("ep", None), groups.pop("n", None)
            values = numbers(groups)
            if epoch is not None and length is not None:
                values["epoch"] = float(epoch)
                step += (int(epoch) - meter.first_epoch) * int(length)
            if "memory_peak" in values:
                values["memory_peak"] *= meter.memory_unit
            yield Measurement(block.line_at(found.start()), step, values)


PARSERS = (
    BulkParser(
        name="image-meters",
        title="Meter lines of image training (ImageNet example, torchvision, timm, detectron2, mmengine, darknet, YOLACT)",
        opens=("Epoch: [", "Train: ", "total_loss: ", "Epoch(train)", "Iter(train)", " rate, ", " || timer: "),
        read=read,
        emits=("step_time", "data_time", "loss", "learning_rate", "grad_norm", "samples_per_s",
               "memory_peak", "epoch", "train.nan_loss", "train.nan_gradient"),
        sample="Epoch: [2][140/5005]\tTime 0.412 (0.437)\tData 0.006 (0.021)\tLoss 4.1021 (4.2310)\tPrec@1 21.484 (19.770)\n",
    ),
)  # fmt: skip
