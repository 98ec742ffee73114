"""Memory figures and warnings that training programs print while they run.

::

    [Rank 0] (after 2 iterations) memory (MB) | allocated: 9812.40 | max allocated: 38120.55 | ...
    [titan] 2026-01-05 10:00:00,123 - root - WARNING - 3 CUDA memory allocation retries.

Megatron-LM prints its line once behind the warm-up, each rank for itself; ``MB`` is 2**20 bytes. Other
scripts print it at each step, with another head. It
becomes the metrics ``memory_allocated``, ``memory_peak`` and ``memory_reserved``.

``torch.memory_pressure`` are ``count`` flushes of the allocator's cache (``kind`` ``retries`` of
torchtitan, ``flushes`` of DeepSpeed): each stops the device, and more of them come before a failure.
``torch.alloc_conf_refused`` is a setting of the allocator that was not accepted or cannot work, with
the ``option`` and the ``problem``.

``train.memory_estimate`` is what Megatron-LM computes for weights, optimizer and activations, in bytes;
``measured`` is the highest peak of the memory lines behind it, ``ratio`` that over the ``total``.

DeepSpeed's ``MA ... CA ...`` lines are read with its steps. *Empty*: nothing is printed where memory
is no problem. *Cut off*: a line cut inside a figure gives the figures before it.
"""

from collections.abc import Iterator
from dataclasses import replace

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Measurement, Nature, Value
from diagnose.parsers.base import BlockText, BulkParser, LineParser, Pattern, make_event
from diagnose.parsers.metric_names import numbers

_MEGATRON = LazyPattern(
    rb"(?:\[Rank (\d+)\] )?(?:\(after \d+ iterations\) )?memory \(MB\) \| allocated: ([\d.]+)"
    rb"(?: \| max allocated: ([\d.]+))?(?: \| reserved: ([\d.]+))?"
)


_ESTIMATE = LazyPattern(
    rb"Theoretical memory footprints: weight and optimizer=([\d.]+) MB"
    rb"(?:, activation=([\d.]+) MB, total=([\d.]+) MB)?"
)


def read_estimate(block: BlockText) -> Iterator[Event]:
    """Read the estimate (``theoretical_memory_usage.py``) and hold the peaks behind it against it."""
    for found in _ESTIMATE.finditer(block.data):
        fields: dict[str, Value] = {"states": round(float(found[1]) * 2**20)}
        if found[3]:
            total = float(found[3])
            fields |= {"activations": round(float(found[2]) * 2**20), "total": round(total * 2**20)}
            peaks = [float(one[3]) for one in _MEGATRON.finditer(block.data, found.end()) if one[3]]
            if peaks and total:
                fields |= {"measured": round(max(peaks) * 2**20), "ratio": max(peaks) / total}
        line = block.line_at(found.start())
        yield make_event("train.memory_estimate", Nature.MEASUREMENT, line, fields)


def read_megatron(block: BlockText) -> Iterator[Measurement]:
    """Read Megatron-LM's memory lines (``report_memory`` in ``megatron/training/utils.py``)."""
    for found in _MEGATRON.finditer(block.data):
        names = ("memory_allocated", "memory_peak", "memory_reserved")
        figures = numbers(dict(zip(names, found.groups()[1:], strict=True)))
        line = block.line_at(found.start())
        if found[1]:
            line = replace(line, rank=int(found[1]))
        values = {name: value * 2**20 for name, value in figures.items()}
        yield Measurement(line, None, values)


def _pressure(kind: str, regex: str, source: str, sample: str) -> Pattern:
    return Pattern(
        event="torch.memory_pressure",
        regex=regex,
        nature=Nature.MEASUREMENT,
        source=source,
        sample=sample,
        types={"count": int},
        constants={"kind": kind},
    )


def _refused(option: str, problem: str, regex: str, sample: str, nature: Nature) -> Pattern:
    return Pattern(
        event="torch.alloc_conf_refused",
        regex=regex,
        nature=nature,
        source="PyTorch, c10/cuda/CUDAAllocatorConfig.cpp and CUDACachingAllocator.cpp",
        sample=sample,
        constants={"option": option, "problem": problem},
    )


PARSERS = (
    BulkParser(
        name="megatron-memory",
        title="Megatron-LM's memory line of each rank, and those of scripts that took it over",
        opens=("memory (MB) | allocated: ",),
        read=read_megatron,
        emits=("memory_allocated", "memory_peak", "memory_reserved"),
        sample="[Rank 0] (after 2 iterations) memory (MB) | allocated: 9812.40 | max allocated: 38120.55 | reserved: 41250.00 | max reserved: 41250.00\n",
    ),
    BulkParser(
        name="megatron-memory-estimate",
        title="Megatron-LM's estimate of GPU memory, beside what was measured",
        opens=("Theoretical memory footprints: ",),
        read=read_estimate,
        emits=("train.memory_estimate",),
        sample="Theoretical memory footprints: weight and optimizer=18204.11 MB, activation=21987.40 MB, total=40191.51 MB\n",
    ),
    LineParser(
        name="memory-warnings",
        title="Warnings of full GPU memory, and refused settings of the allocator",
        patterns=(
            _pressure("retries", r"\b(?P<count>\d+) CUDA memory allocation retries\.",
                      "torchtitan components/metrics.py",
                      "[titan] 2026-01-05 10:00:00,123 - root - WARNING - 3 CUDA memory allocation retries."),
            _pressure("flushes", r"\b(?P<count>\d+) pytorch allocator cache flushes since last step",
                      "DeepSpeed runtime/zero/stage3.py",
                      "[WARNING] [stage3.py:2011:step] 2 pytorch allocator cache flushes since last step. this happens when there is high memory pressure and is detrimental to performance."),
            _refused("max_split_size_mb", "too small", r"CachingAllocator option max_split_size_mb too small, must be >",
                     "RuntimeError: CachingAllocator option max_split_size_mb too small, must be > 20", Nature.ERROR),
            _refused("expandable_segments", "not shared between processes",
                     r"Tensors allocated with expandable_segments:True cannot be shared between processes",
                     "RuntimeError: Tensors allocated with expandable_segments:True cannot be shared between processes. Consider using expandable_segments:False in data loading workers via torch.cuda.memory._set_allocator_settings('expandable_segments:False')", Nature.ERROR),
            _refused("PYTORCH_CUDA_ALLOC_CONF", "deprecated name", r"PYTORCH_CUDA_ALLOC_CONF is deprecated, use PYTORCH_ALLOC_CONF instead",
                     "Warning: PYTORCH_CUDA_ALLOC_CONF is deprecated, use PYTORCH_ALLOC_CONF instead", Nature.ADVICE),
        ),
    ),
)  # fmt: skip
