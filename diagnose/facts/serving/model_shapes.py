"""What a served model takes of memory, by its name: ``rules/models.yaml``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from diagnose import shipped
from diagnose.calc import serving
from diagnose.model.event import Value

ONE_BYTE = ("fp8", "float8", "int8", "e4m3", "e5m2")
TWO_BYTES = ("auto", "bfloat16", "float16", "bf16", "fp16", "half", "f16")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A kind of model.

    Args:
        name: Of the kind.
        says: Expression that is found in the name it is served under.
        layers: How many.
        parameters: In billions.
        vocabulary: In tokens.
        heads: Key-value heads, unless the attention is latent.
        size: Values of a head.
        latent: Size of the compressed vector of latent attention.
        rope: Size of its part with positions.
    """

    name: str
    says: str
    layers: int
    parameters: float
    vocabulary: int
    heads: int | None = None
    size: int = 128
    latent: int | None = None
    rope: int = 0

    def token_bytes(self, tensor: float, pipeline: float, element: float) -> float:
        """Return the bytes that one token keeps on each GPU.

        Args:
            tensor: Tensor-parallel GPUs.
            pipeline: Pipeline stages.
            element: Bytes of a value in the cache.
        """
        if self.heads is None:
            whole = serving.latent_bytes_per_token(
                self.layers, self.latent or 0, self.rope, element
            )
        else:
            whole = serving.kv_bytes_per_token(self.layers, self.heads, self.size, element)
        return whole * serving.cache_copies(tensor, self.heads or 1) / (tensor * pipeline)


@cache
def shapes() -> tuple[Shape, ...]:
    """Return all known kinds, in the order in which they are tried."""
    entries: list[Mapping[str, Any]] = shipped.table("models")
    return tuple(Shape(**entry) for entry in entries)


def shape_of(name: Value) -> Shape | None:
    """Return the shape of a model by its name or path, None where it is not known."""
    if not isinstance(name, str):
        return None
    plain = re.sub(r"[ _]", "-", name.rstrip("/").lower()).replace("meta-llama-", "llama-")
    return next((shape for shape in shapes() if re.search(shape.says, plain)), None)


def element_of(kv_dtype: Value) -> float | None:
    """Return the bytes of a value in the cache, None where the type is not known.

    Args:
        kv_dtype: As configured; None is the type of the weights, two bytes.
    """
    text = "auto" if kv_dtype is None else str(kv_dtype).lower()
    if text.startswith(ONE_BYTE):
        return 1
    return 2 if text in TWO_BYTES else None
