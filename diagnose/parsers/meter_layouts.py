"""The layouts of meter lines of image training, one table.

Not a parser: the reader of meters takes the lines of these layouts, and that of scripts which count
alike leaves them to it.
"""

import re
from dataclasses import dataclass

from diagnose.ingest.lazy import LazyPattern


@dataclass(frozen=True, slots=True)
class Meter:
    """One layout of a meter line.

    Args:
        regex: With the groups ``it``, where known ``ep`` and ``n`` (iterations of an epoch), and
            one group a metric, named like it.
        memory_unit: Bytes of one unit of ``memory_peak``.
        first_epoch: Number of the first epoch.
        is_mean: Whether the times are means over the steps since the line before, not those of the
            last step alone.
    """

    regex: LazyPattern[bytes]
    memory_unit: int = 1 << 20
    first_epoch: int = 0
    is_mean: bool = False


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
    ), is_mean=True),
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
    ), first_epoch=1, is_mean=True),
    # mmengine, iteration-based
    Meter(LazyPattern(
        rb"Iter\(train\)\s*\[ *(?P<it>\d+)/\d+\][^\n\r]*?\btime: (?P<step_time>[\d.]+)\s+data_time: (?P<data_time>[\d.]+)"
        rb"(?:\s+memory: (?P<memory_peak>\d+))?(?:\s+grad_norm: (?P<grad_norm>[-+\w.]+))?(?:\s+loss: (?P<loss>[-+\w.]+))?"
    ), is_mean=True),
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
