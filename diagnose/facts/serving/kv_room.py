"""A KV cache too small for the configured length, or without any room, and what would fit.

``inference.kv_room``
    One for each refusal to start, at its line; ``refused`` is ``length`` (one request of the
    longest length does not fit) or ``room`` (nothing is left), ``nature`` and times those of the
    refusal. In bytes on each GPU: ``available`` and ``needed`` for one request, ``short`` between
    them, ``weights``, ``activations``, ``non_torch``, ``total``. In tokens: ``wanted``, and
    ``fit_tokens`` that fit. Each of the following alone makes it fit, None where it does not or
    where a term is missing: ``fit_utilization``, the fraction rounded up to a hundredth;
    ``fit_tp``, tensor-parallel GPUs; ``fp8_fits``, true with one byte a value in the cache.
    ``utilization`` and ``tp`` are those in use.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from diagnose.facts.serving.memory_budget import token_bytes_of
from diagnose.facts.serving.processes import process_of
from diagnose.model.event import Event, Value

EVENTS = ("inference.kv_room",)

REFUSALS = {"inference.length_over_kv": "length", "inference.no_kv_room": "room"}
BLOCK = 16
"""Tokens to which a length is rounded down."""

HIGHEST = 0.98
"""Fraction of a GPU over which nothing is proposed."""

DEVICE = ("memory_total", "capacity", "total")
"""Fields in which records of a GPU say how large it is, in bytes."""


def derive(events: Sequence[Event], plans: Sequence[Event]) -> Iterator[Event]:
    """Yield what is known of each refusal.

    Args:
        events: All that was read, in the order of sources and lines.
        plans: ``inference.memory_plan`` events.
    """
    settings: dict[str, dict[str, Value]] = {}
    refused: set[str] = set()
    for event in events:
        if event.name in ("inference.config", "inference.limits"):
            known = settings.setdefault(event.file, {})
            known |= {name: value for name, value in event.fields.items() if value is not None}
        elif event.name in REFUSALS:
            refused.add(event.file)
            plan = _plan_of(event, plans)
            yield _room(event, REFUSALS[event.name], plan, settings.get(event.file, {}), events)
    for plan in plans:
        kv_bytes = plan.number("kv_bytes")
        if plan.file not in refused and kv_bytes is not None and kv_bytes <= 0:
            yield _room(plan, "room", plan, {}, events)


def _plan_of(refusal: Event, plans: Sequence[Event]) -> Event | None:
    dp = process_of(refusal).dp
    before = (
        plan
        for plan in plans
        if (plan.file, plan.fields.get("dp")) == (refusal.file, dp) and plan.line <= refusal.line
    )
    return max(before, key=lambda plan: plan.line, default=None)


def _room(
    refusal: Event,
    refused: str,
    plan: Event | None,
    settings: Mapping[str, Value],
    events: Sequence[Event],
) -> Event:
    planned = {} if plan is None else plan.fields
    known = {**settings, **{name: one for name, one in planned.items() if one is not None}}
    stated = {name: one for name, one in refusal.fields.items() if one is not None}
    terms = replace(refusal, fields={**known, **stated})
    wanted = terms.number("wanted") or terms.number("max_model_len")
    available = terms.number("available")
    if available is None:
        available = terms.number("kv_bytes")
    needed, token = terms.number("needed"), token_bytes_of(terms)
    if needed is not None and wanted:
        token = needed / wanted
    elif token is not None and wanted:
        needed = token * wanted
    tokens = terms.number("tokens")
    if available is None and tokens is not None and token is not None:
        available = tokens * token
    if tokens is None and available is not None and token:
        tokens = max(0, int(available / token) // BLOCK * BLOCK)
    total = terms.number("total") or _device(refusal, events)
    fields: dict[str, Value] = {
        "engine": terms.fields.get("engine"),
        "refused": refused,
        "wanted": None if wanted is None else int(wanted),
        "needed": None if needed is None else int(needed),
        "available": None if available is None else int(available),
        "short": None if available is None else max(0, int((needed or 0) - available)),
        "fit_tokens": int(tokens) if tokens else None,
        **{name: known.get(name) for name in ("weights", "activations", "non_torch")},
        "total": None if total is None else int(total),
        "utilization": terms.fields.get("utilization"),
        "tp": known.get("tp"),
        "fit_utilization": _utilization(terms, needed, available, total),
        "fit_tp": _tensor(terms, needed, available),
        "fp8_fits": _fp8(terms, needed, available),
    }
    return replace(refusal, name=EVENTS[0], fields=fields, fact=None)


def _device(refusal: Event, events: Sequence[Event]) -> float | None:
    """Return the memory of the smallest GPU that records of the same host name."""
    sizes = (
        event.number(name)
        for event in events
        if event.host == refusal.host and event.name.startswith(("torch.oom", "nvidia_smi."))
        for name in DEVICE
        if event.number(name)
    )
    return min((size for size in sizes if size is not None), default=None)


def _utilization(
    terms: Event, needed: float | None, available: float | None, total: float | None
) -> float | None:
    share = terms.number("utilization")
    if share is None or available is None or total is None or (needed is None and available > 0):
        return None
    enough = math.ceil((share + ((needed or 0) - available) / total) * 100) / 100
    return enough if share < enough <= HIGHEST else None


def _tensor(terms: Event, needed: float | None, available: float | None) -> int | None:
    """Return the smallest number of GPUs by doubling that makes one request fit."""
    weights = terms.number("weights") or 0
    if available is None or (needed is None and available > 0):
        return None
    tensor = int(terms.number("tp") or 1)
    for factor in (2, 4, 8):
        # With latent attention, or more GPUs than heads, a token takes as much on each.
        one, more = token_bytes_of(terms), None
        if one is not None:
            widened = replace(terms, fields={**terms.fields, "tp": tensor * factor})
            more = token_bytes_of(widened)
        part = more / one if one and more else 1 / factor
        if available + weights * (1 - 1 / factor) >= max((needed or 0) * part, 1):
            return tensor * factor
    return None


def _fp8(terms: Event, needed: float | None, available: float | None) -> bool | None:
    if needed is None or available is None or terms.fields.get("kv_dtype") not in (None, "auto"):
        return None
    return needed / 2 <= available
