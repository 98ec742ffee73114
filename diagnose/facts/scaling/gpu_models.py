"""What a GPU can do, by the name its driver prints: ``rules/gpus.yaml``."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from diagnose import shipped
from diagnose.facts.settings import commonest
from diagnose.model.event import Event

NAMED_BY = {
    "nvidia_smi.gpu": "name",
    "nvidia_smi.query": "name",
    "nccl_tests.result": "gpu_model",
    "bench.collective": "gpu_model",
    "job.gpu_model": "value",
}
"""Events that print the name of a GPU, and in which field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One kind of GPU; rates in TFLOP/s.

    Args:
        name: Of the kind.
        says: Expression that is found in its printed name.
        bf16: Dense peak in bf16 or fp16.
        fp8: Dense peak in fp8, if known.
        matmul: Best bf16 multiplication measured, if known.
    """

    name: str
    says: str
    bf16: float
    fp8: float | None = None
    matmul: float | None = None


@cache
def models() -> tuple[Model, ...]:
    """Return all known kinds, in the order in which they are tried."""
    entries: list[Mapping[str, Any]] = shipped.table("gpus")
    return tuple(Model(**entry) for entry in entries)


def model_of(events: Iterable[Event]) -> Model | None:
    """Return the kind of most GPUs that the logs name, None where they name none that is known."""
    names = (event.fields.get(NAMED_BY[event.name]) for event in events if event.name in NAMED_BY)
    printed = commonest(names)
    if printed is None:
        return None
    return next((model for model in models() if re.search(model.says, printed)), None)
