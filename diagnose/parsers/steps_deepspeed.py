"""DeepSpeed: throughput, timer, memory and pipeline lines, and overflow counters.

Printed by ``deepspeed/runtime/engine.py``, ``utils/timer.py`` and ``runtime/pipe/engine.py`` on
rank 0 (0.3 to 0.19). The engine prints no loss; the client does. *Empty*: ``steps_per_print`` was
not reached. *Cut off*: a line cut inside a field gives the fields before it.

``skipped=`` counts from the start of the run and becomes ``skipped_steps_total``, its differences
``skipped_steps``;
``RunningAvgSamplesPerSec`` is a mean since step 2, so only ``CurrSamplesPerSec`` is taken. ``GB``
is 2**30 bytes.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Measurement
from diagnose.parsers.base import BlockText, BulkParser
from diagnose.parsers.metric_names import numbers, with_nan_events

STEP = LazyPattern(rb"\bstep=(\d+), skipped=(\d+), lr=\[([-\d.e+]*)")
THROUGHPUT = LazyPattern(
    rb"(?:micro_step=\d+/global_step=(\d+)|\b\d+/(\d+)), "
    rb"(?:Running(?:Avg)?SamplesPerSec=[\d.a-z]+, )?(?:Curr)?SamplesPerSec=([\d.]+)"
    rb"(?:, MemAllocated=([\d.]+)GB)?(?:, MaxMemAllocated=([\d.]+)GB)?"
)
TIMERS = LazyPattern(rb"(?:\[Rank -?\d+\] |rank=\d+ )time \(ms\) ((?:\| [\w.]+: [\d.]+ ?)+)")
TIMER = LazyPattern(rb"([\w.]+): ([\d.]+)")
MEMORY = LazyPattern(rb"\bMA ([\d.]+) GB\s+Max_MA ([\d.]+) GB\s+CA ([\d.]+) GB")
MEMSTATS = LazyPattern(
    rb"RANK=(\d+) MEMSTATS [^\n]*?current alloc=([\d.]+)GB \(delta=[-\d.]+GB max=([\d.]+)GB\)"
    rb" current cache=([\d.]+)GB"
)
PIPELINE = LazyPattern(
    rb"\bsteps: (\d+) loss: ([-+\w.]+) iter time \(s\): ([\d.]+) samples/sec: ([\d.]+)"
)

PER_STEP: dict[str, str] = {
    "fwd": "compute_time",
    "forward": "compute_time",
    "bwd_inner": "compute_time",
    "backward_inner": "compute_time",
    "bwd_allreduce": "comm_time",
    "backward_allreduce": "comm_time",
    "step": "optimizer_time",
    "pipe_recv_input": "recv_wait",
    "pipe_recv_grad": "recv_wait",
}
"""Of the global step; the ``_microstep`` timers count one micro-batch and are not read."""

PIPELINE_STEP: dict[str, str] = {
    "forward": "compute_time",
    "backward": "compute_time",
    "comms": "comm_time",
    "step": "optimizer_time",
    "pipe_recv_input": "recv_wait",
    "pipe_recv_grad": "recv_wait",
}
"""Of the pipeline engine, which adds up all that it sends and reduces as ``comms``."""


def read(block: BlockText) -> Iterator[Measurement]:
    """Read all of DeepSpeed's lines of numbers."""
    data = block.data
    last_step: list[tuple[int, float]] = []
    before: int | None = None
    for found in STEP.finditer(data):
        step = float(found[1])
        last_step.append((found.start(), step))
        values = numbers({"skipped_steps_total": found[2], "learning_rate": found[3]})
        skipped = int(found[2])
        if before is not None and skipped >= before:
            values["skipped_steps"] = skipped - before
        before = skipped
        yield Measurement(block.line_at(found.start()), step, values)
    for found in THROUGHPUT.finditer(data):
        memory = numbers({"memory_allocated": found[4], "memory_peak": found[5]})
        values = numbers({"samples_per_s": found[3]})
        values |= {name: value * 2**30 for name, value in memory.items()}
        yield Measurement(block.line_at(found.start()), float(found[1] or found[2]), values)
    for found in TIMERS.finditer(data):
        values = {}
        known = PIPELINE_STEP if b" comms: " in found[1] else PER_STEP
        for name, milliseconds in TIMER.findall(found[1]):
            if metric := known.get(name.decode()):
                values[metric] = values.get(metric, 0.0) + float(milliseconds) / 1000
        if values:
            place = bisect_left(last_step, (found.start(), 0.0)) - 1
            step_before = last_step[place][1] if place >= 0 else None
            yield Measurement(block.line_at(found.start()), step_before, values)
    for found in MEMORY.finditer(data):
        yield Measurement(block.line_at(found.start()), None, _memory(found.groups()))
    for found in MEMSTATS.finditer(data):
        line = replace(block.line_at(found.start()), rank=int(found[1]))
        yield Measurement(line, None, _memory(found.groups()[1:]))


def _memory(gigabytes: tuple[bytes, ...]) -> dict[str, float]:
    names = ("memory_allocated", "memory_peak", "memory_reserved")
    figures = numbers(dict(zip(names, gigabytes, strict=True)))
    return {name: value * 2**30 for name, value in figures.items()}


def read_pipeline(block: BlockText) -> Iterator[Event | Measurement]:
    """Read the pipeline engine's plain lines."""
    return with_nan_events(_pipeline(block))


def _pipeline(block: BlockText) -> Iterator[Measurement]:
    for found in PIPELINE.finditer(block.data):
        values = numbers({"loss": found[2], "step_time": found[3], "samples_per_s": found[4]})
        yield Measurement(block.line_at(found.start()), float(found[1]), values)


PARSERS = (
    BulkParser(
        name="deepspeed-steps",
        title="DeepSpeed step, throughput, timer and memory lines",
        opens=("skipped=", "SamplesPerSec=", "time (ms) |", "Max_MA ", " MEMSTATS "),
        read=read,
        emits=(
            "skipped_steps_total", "skipped_steps", "learning_rate", "samples_per_s",
            "memory_allocated", "memory_peak", "memory_reserved", "compute_time", "comm_time",
            "recv_wait", "optimizer_time",
        ),
        sample="[2026-01-05 10:00:10,101] [INFO] [logging.py:107:log_dist] [Rank 0] step=100, skipped=3, lr=[1.9e-05], mom=[(0.9, 0.95)]\n",
    ),
    BulkParser(
        name="deepspeed-pipeline-steps",
        title="DeepSpeed pipeline engine lines",
        opens=("iter time (s):",),
        read=read_pipeline,
        emits=("step_time", "samples_per_s", "loss", "train.nan_loss"),
        sample="steps: 10 loss: 2.1234 iter time (s): 1.234 samples/sec: 830.123\n",
    ),
)  # fmt: skip
