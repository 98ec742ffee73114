"""Meters of image training, from the ImageNet example to detectron2, mmengine and darknet.

The current value of a meter is read, not its running mean in brackets, which still holds the
start-up of the loader workers. torchvision's values are means over 20 iterations. The step is
``epoch * iterations per epoch + iteration``. detectron2's ``time`` is a mean since the start, so
``last_time`` and ``last_data_time`` are read. Where the time is that of the last step alone, whatever
the interval between lines, ``train.single_step_times`` says so.

*Empty*: no print interval was completed. *Cut off*: a line without its time is not read.
"""

from collections.abc import Iterator

from diagnose.model.event import Event, Measurement, Nature
from diagnose.parsers.base import BlockText, BulkParser, make_event
from diagnose.parsers.meter_layouts import METERS
from diagnose.parsers.metric_names import numbers, with_nan_events

SINGLE = "train.single_step_times"


def read(block: BlockText) -> Iterator[Event | Measurement]:
    """Read all layouts."""
    yield from _single(block)
    yield from with_nan_events(_measure(block))


def _single(block: BlockText) -> Iterator[Event]:
    for meter in METERS:
        if not meter.is_mean and (found := meter.regex.search(block.data)):
            yield make_event(SINGLE, Nature.MEASUREMENT, block.line_at(found.start()))


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
               "memory_peak", "epoch", "train.nan_loss", "train.nan_gradient", SINGLE),
        sample="Epoch: [2][140/5005]\tTime 0.412 (0.437)\tData 0.006 (0.021)\tLoss 4.1021 (4.2310)\tPrec@1 21.484 (19.770)\n",
    ),
)  # fmt: skip
