"""Which array of a serving engine has the size that a failed allocation asked for.

Scores of the next token are an array of tokens x vocabulary; those of a whole prompt
(``prompt_logprobs``) as many rows as a step has tokens.

``inference.oom_product``
    At the line of an engine's ``torch.oom``: ``requested`` bytes are ``tokens`` (of ``source``, the
    setting or field they come from) x ``vocabulary`` x ``element`` bytes, within a fiftieth.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from diagnose.facts.serving.model_shapes import shape_of
from diagnose.model.event import Event

EVENTS = ("inference.oom_product",)

ROWS = ("max_num_batched_tokens", "max_model_len", "max_num_seqs")
"""Settings that say how many rows an array of scores has at most, the likeliest first."""

SETTINGS = frozenset({"inference.config", "inference.limits", "inference.memory_plan"})
NEAR = 0.02
SMALLEST = 256 << 20
"""Bytes under which a size says nothing."""


def derive(events: Sequence[Event], plans: Sequence[Event]) -> Iterator[Event]:
    """Yield the array of each failed allocation that has the size of one.

    Args:
        events: All that was read, in the order of sources and lines.
        plans: ``inference.memory_plan`` events.
    """
    failed = [event for event in events if event.name == "torch.oom"]
    if not failed:
        return
    stated = [event for event in (*events, *plans) if event.name in SETTINGS]
    for event in failed:
        own = [one for one in stated if one.file == event.file]
        shapes = (shape_of(one.fields.get("model")) for one in own)
        shape = next((shape for shape in shapes if shape is not None), None)
        if shape is not None:
            yield from _product(event, own, shape.vocabulary)


def _product(event: Event, own: Sequence[Event], vocabulary: int) -> Iterator[Event]:
    requested = event.number("requested")
    if requested is None or requested < SMALLEST:
        return
    for source in ROWS:
        for rows in {size for one in own if (size := one.number(source)) is not None}:
            for element in (4, 2):
                size = rows * vocabulary * element
                if abs(requested / size - 1) <= NEAR:
                    fields = {
                        "requested": event.fields.get("requested"),
                        "tokens": int(rows),
                        "source": source,
                        "vocabulary": vocabulary,
                        "element": element,
                    }
                    yield replace(event, name=EVENTS[0], fields=fields, fact=None)
                    return
