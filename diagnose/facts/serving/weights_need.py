"""What the weights of a served model need on each GPU, by its name and its layout.

``inference.weights_need``
    One for each configuration of an engine whose ``model`` is known, where a failure says how large
    the GPU is (``capacity``, bytes): ``parameters`` in billions at ``each`` bytes make ``needed``
    bytes on each of ``gpus``; ``fits`` tells whether nine tenths of the GPU hold them, ``fit_gpus``
    how many GPUs would, by doubling.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from diagnose.facts.serving.model_shapes import shape_of
from diagnose.model.event import Event, Value

EVENTS = ("inference.weights_need",)

SHARE = 0.9
"""Of a GPU that weights may take; the engine needs the rest to start."""

MOST = 1024
"""GPUs up to which a number is proposed."""


def derive(events: Sequence[Event]) -> Iterator[Event]:
    """Yield the need of each configuration.

    Args:
        events: All that was read, in the order of sources and lines.
    """
    sizes = {
        event.file: capacity
        for event in events
        if event.name == "torch.oom" and (capacity := event.number("capacity")) is not None
    }
    for event in events:
        shape = shape_of(event.fields.get("model")) if event.name == "inference.config" else None
        capacity, each = sizes.get(event.file), _bytes_each(event)
        if shape is None or capacity is None or each is None:
            continue
        gpus = int((event.number("tp") or 1) * (event.number("pp") or 1))
        whole, enough = shape.parameters * 1e9 * each, gpus
        while whole / enough > capacity * SHARE and enough < MOST:
            enough *= 2
        fields: dict[str, Value] = {
            "model": shape.name,
            "parameters": shape.parameters,
            "each": each,
            "gpus": gpus,
            "needed": int(whole / gpus),
            "capacity": int(capacity),
            "fits": enough == gpus,
            "fit_gpus": enough,
        }
        yield replace(event, name=EVENTS[0], fields=fields, fact=None)


def _bytes_each(config: Event) -> float | None:
    """Return the bytes of a weight; None where the type of a quantised model is not known."""
    model = str(config.fields.get("model") or "").lower()
    quantized = str(config.fields.get("quantization") or model)
    if any(word in quantized for word in ("awq", "gptq", "int4", "4bit", "w4a16", "nvfp4")):
        return 0.55
    if any(word in quantized for word in ("fp8", "int8", "w8a8")) or "deepseek-v3" in model:
        return 1
    if config.fields.get("quantization") is not None or "gguf" in model:
        return None
    return 4 if config.fields.get("dtype") in ("float32", "float") else 2
