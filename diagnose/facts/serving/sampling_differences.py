"""Sampling parameters of requests against those that the model asks for.

``inference.sampling_differs``
    One for each log with requests whose parameters differ from the model's own generation config
    (``inference.sampling_defaults``), at the first such request: ``parameters``, their names,
    ``given`` and ``asked`` as ``name=value``, and how many ``requests`` differ.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from diagnose.model.event import Event, Value

EVENTS = ("inference.sampling_differs",)

COMPARED = (
    "temperature", "top_p", "top_k", "min_p", "repetition_penalty", "presence_penalty",
    "frequency_penalty",
)  # fmt: skip


def derive(events: Sequence[Event]) -> Iterator[Event]:
    """Yield where requests and model differ.

    Args:
        events: All that was read, in the order of sources and lines.
    """
    own = {one.file: one for one in events if one.name == "inference.sampling_defaults"}
    differing: dict[str, list[tuple[Event, list[str]]]] = {}
    for event in events:
        if event.name == "inference.request" and event.file in own:
            names = _differences(event, own[event.file])
            if names:
                differing.setdefault(event.file, []).append((event, names))
    for file, found in differing.items():
        first, names = found[0]
        asked = own[file]
        fields: dict[str, Value] = {
            "parameters": ", ".join(names),
            "given": ", ".join(f"{name}={first.number(name):g}" for name in names),
            "asked": ", ".join(f"{name}={asked.number(name):g}" for name in names),
            "requests": len(found),
        }
        yield replace(first, name=EVENTS[0], fields=fields, fact=None)


def _differences(request: Event, defaults: Event) -> list[str]:
    """Return the parameters that both state, and not alike."""
    both = ((name, request.number(name), defaults.number(name)) for name in COMPARED)
    return [
        name
        for name, given, asked in both
        if given is not None and asked is not None and given != asked
    ]
