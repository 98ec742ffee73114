"""Reinforcement learning: verl's and OpenRLHF's console lines.

verl prints ``step:N - name:value - ...``; throughput is per GPU, times are seconds, ``timing_s/step`` is
the whole step with generation. OpenRLHF prints ``Global step N: {dict}``.

*Empty*: no step was completed. *Cut off*: verl's line gives the values before the cut, a dict without its
brace is not read.
"""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Measurement
from diagnose.parsers.base import BlockText, BulkParser
from diagnose.parsers.metric_names import metrics, with_nan_events

VERL = LazyPattern(rb"\bstep:(\d+) - ([A-Za-z_][^\n\r]*)")
FIELD = LazyPattern(r" - (?=[A-Za-z_])")
OPENRLHF = LazyPattern(rb"Global step (\d+): \{([^{}\n]*)\}")
PAIR = LazyPattern(r"'([^']+)': '?([-+\w.]+)")


def read_verl(block: BlockText) -> Iterator[Event | Measurement]:
    """Read verl's lines."""
    return with_nan_events(_verl(block))


def _verl(block: BlockText) -> Iterator[Measurement]:
    for found in VERL.finditer(block.data):
        fields = FIELD.compiled.split(found[2].decode("utf-8", "replace"))
        columns = {name: value for name, _, value in (field.rpartition(":") for field in fields)}
        if values := metrics(columns):
            yield Measurement(block.line_at(found.start()), float(found[1]), values)


def read_openrlhf(block: BlockText) -> Iterator[Event | Measurement]:
    """Read OpenRLHF's lines."""
    return with_nan_events(_openrlhf(block))


def _openrlhf(block: BlockText) -> Iterator[Measurement]:
    for found in OPENRLHF.finditer(block.data):
        values = metrics(dict(PAIR.findall(found[2].decode("utf-8", "replace"))))
        if values:
            yield Measurement(block.line_at(found.start()), float(found[1]), values)


PARSERS = (
    BulkParser(
        name="verl-steps",
        title="verl console lines",
        opens=("timing_s/", "actor/", "critic/"),
        read=read_verl,
        emits=("step_time", "checkpoint_time", "grad_norm", "learning_rate", "mfu",
               "tokens_per_s_gpu", "memory_reserved", "train.nan_gradient"),
        sample="step:12 - actor/grad_norm:0.21 - actor/lr:1e-06 - timing_s/gen:92.1 - timing_s/step:160.2 - perf/throughput:1123.4\n",
    ),
    BulkParser(
        name="openrlhf-steps",
        title="OpenRLHF console lines",
        opens=("Global step ",),
        read=read_openrlhf,
        emits=("loss", "learning_rate", "grad_norm", "step_time", "train.nan_loss",
               "train.nan_gradient"),
        sample="Global step 12: {'policy_loss': -0.0031, 'actor_lr': 1e-06, 'kl': 0.01, 'reward': 0.32, 'timing/step_time': 160.2}\n",
    ),
)  # fmt: skip
