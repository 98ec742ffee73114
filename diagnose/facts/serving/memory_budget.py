"""The memory plan of a serving engine, worked out again from its own terms and from the model.

What is left for the KV cache is total x utilization less weights, activations and what is not
PyTorch's; of graphs too where the engine estimates them first. SGLang counts from what was free
before it loaded: free x fraction less weights.

``inference.memory_budget_check``
    One for each plan. In bytes: ``kv_bytes`` as printed and ``kv_expected`` by the terms that are
    printed (``kv_share`` is the first over the second); ``reserve`` that is left beside all of it
    once graphs are captured, ``reserve_share`` of the GPU. By the shape of the model, where its
    name is known (``model``): ``token_bytes`` on each GPU, ``tokens_expected`` in ``kv_bytes`` and
    ``tokens_share``, the printed ``kv_tokens`` over them. ``worker_share`` is the smallest cache of
    a worker over the largest, ``least_worker`` names it; ``stages`` of the pipeline hold unequal
    parts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from diagnose.facts.serving.model_shapes import element_of, shape_of
from diagnose.model.event import Event, Value

EVENTS = ("inference.memory_budget_check",)


def derive(plans: Sequence[Event]) -> Iterator[Event]:
    """Yield the check of each plan.

    Args:
        plans: ``inference.memory_plan`` events.
    """
    for plan in plans:
        kv_bytes, expected = plan.number("kv_bytes"), expected_bytes(plan)
        tokens, token_bytes = plan.number("kv_tokens"), token_bytes_of(plan)
        in_bytes = kv_bytes / token_bytes if kv_bytes and token_bytes else None
        total, reserve = _total(plan), _reserve(plan)
        shape = shape_of(plan.fields.get("model"))
        fields: dict[str, Value] = {
            "engine": plan.fields.get("engine"),
            "model": shape.name if shape else None,
            "kv_bytes": plan.fields.get("kv_bytes"),
            "kv_expected": None if expected is None else int(expected),
            "kv_share": _over(kv_bytes, expected),
            "kv_tokens": plan.fields.get("kv_tokens"),
            "token_bytes": token_bytes,
            "tokens_expected": None if in_bytes is None else int(in_bytes),
            "tokens_share": _over(tokens, in_bytes),
            "worker_share": _over(kv_bytes, plan.number("kv_bytes_most")),
            "least_worker": plan.fields.get("least_worker"),
            "stages": plan.number("pp") or 1,
            "utilization": plan.fields.get("utilization"),
            "reserve": None if reserve is None else int(reserve),
            "reserve_share": _over(reserve, total),
        }
        yield replace(plan, name=EVENTS[0], fields=fields)


def expected_bytes(plan: Event) -> float | None:
    """Return the room for the KV cache by the terms of a plan, None where one is missing."""
    weights, share = plan.number("weights"), plan.number("utilization")
    if plan.fields.get("engine") == "sglang":
        free = plan.number("free")
        if free is None or weights is None or share is None or plan.fields.get("speculative"):
            return None
        return free * share - weights
    terms = [plan.number(name) for name in ("budget", "activations", "non_torch")]
    budget, activations, others = terms
    if budget is None or weights is None or activations is None or others is None:
        return None
    return budget - weights - activations - others - (plan.number("graph_estimate") or 0)


def token_bytes_of(plan: Event) -> float | None:
    """Return the bytes of a token on each GPU by the shape of the model, None where unknown."""
    shape = shape_of(plan.fields.get("model"))
    element = element_of(plan.fields.get("kv_dtype"))
    if shape is None or element is None or plan.fields.get("speculative"):
        return None
    return shape.token_bytes(plan.number("tp") or 1, plan.number("pp") or 1, element)


def _reserve(plan: Event) -> float | None:
    """Return what stays free beside the engine once it has started.

    SGLang says so at its end; of vLLM the graphs come out of what is beside the budget, unless they
    were counted in.
    """
    reserve = plan.number("reserve")
    if reserve is None or plan.fields.get("engine") == "sglang":
        return reserve
    counted = plan.number("graph_estimate") is not None
    return reserve if counted else reserve - (plan.number("graph") or 0)


def _total(plan: Event) -> float | None:
    return plan.number("total") or plan.number("free")


def _over(part: float | None, whole: float | None) -> float | None:
    return round(part / whole, 4) if part is not None and whole else None
