"""Samples of GPUs over time, and the event they become: what the readers of monitors share. No parser."""

from collections import Counter
from dataclasses import dataclass, field
from statistics import median

from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import make_event
from diagnose.parsers.convert import pci

LOW, HIGH = 30, 70
"""Per cent of use under and over which a sample is idle or busy."""

MEBIBYTE = 1 << 20


@dataclass(slots=True)
class Samples:
    """What was sampled of one GPU.

    Args:
        last: The last line about it.
        gpu: Its address, where that is printed.
        values: Samples by name, in the units of nvidia-smi.
        reasons: How many samples had each harmful reason for a low clock.
        count: Of the samples.
    """

    last: Line
    gpu: str | None = None
    values: dict[str, list[float]] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)
    count: int = 0


def monitored(which: str, samples: Samples) -> Event:
    """Return the event of one GPU.

    Args:
        which: Its index or address.
        samples: Of it.
    """
    values = samples.values
    use = values.get("use", [])
    fields: dict[str, Value] = {
        "index": int(which) if which.isdigit() else None,
        "samples": samples.count,
        "use": median(use) if use else None,
        "use_low": sum(1 for one in use if one < LOW) / len(use) if use else None,
        "use_high": sum(1 for one in use if one > HIGH) / len(use) if use else None,
        "slowdown": ", ".join(
            words for words, count in samples.reasons.items() if 2 * count >= samples.count
        )
        or None,
        "xid": next((int(code) for code in reversed(values.get("xid", [])) if code), None),
    }
    for name in ("power", "clock", "sm_active", "tensor_active"):
        fields[name] = median(values[name]) if name in values else None
    for name in ("temperature", "thermal_violation", "power_violation", "ecc_volatile"):
        fields[name] = max(values.get(name, []), default=None)
    for name in ("pcie_width", "pcie_width_max", "pcie_generation"):
        fields[name] = min(values.get(name, []), default=None)
    for name in ("memory_used", "memory_total"):
        fields[name] = int(max(values[name]) * MEBIBYTE) if name in values else None
    fields["gpu"] = pci(samples.gpu) if samples.gpu else (which if which.isdigit() else None)
    return make_event("nvidia_smi.monitor", Nature.MEASUREMENT, samples.last, fields)
