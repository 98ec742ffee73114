"""Means over epochs below a line with the epoch's number: Keras' bars, nnU-Net, and scripts like them.

::

    Epoch 3/40
    1875/1875 [==============================] - 4s - loss: 0.3125 - acc: 0.91 - val_loss: 0.40
    epoch:  12
    2026-01-05 10:02:00.120000: train loss : -0.6421

The step is the number of the epoch. A bar shows the mean since the epoch began, so it is read when it
is full; a line of its own only where nothing but a loss stands on it. Where steps state their losses
between two headlines, the means say nothing more and are left out.

*Empty*: no epoch was completed. *Cut off*: the epoch at the end has no loss yet.
"""

from collections.abc import Iterator

from diagnose.model.event import Event, Measurement
from diagnose.parsers.base import BlockText, BulkParser
from diagnose.parsers.epoch_means import means
from diagnose.parsers.metric_names import with_nan_events


def read(block: BlockText) -> Iterator[Event | Measurement]:
    """Read the means below each headline."""
    return with_nan_events(means(block))


PARSERS = (
    BulkParser(
        name="epoch-means",
        title="Losses below the number of an epoch (bars of Keras, nnU-Net, scripts)",
        opens=("poch ", "poch: ", "EPOCH", "=] - ", "\u2501 "),
        read=read,
        emits=("loss", "validation_loss", "learning_rate", "train.nan_loss"),
        sample="Epoch 3/40\n1875/1875 [==============================] - 4s - loss: 0.3125 - acc: 0.9112 - val_loss: 0.4021\n",
    ),
)
