"""What was different from one start of a job to the next."""

from collections.abc import Iterator
from dataclasses import dataclass

from diagnose.facts.pace.steps import Pace, stretches
from diagnose.model.event import Value
from diagnose.model.reading import Reading

OTHER = frozenset({
    "load", "save", "finetune", "no_load_optim", "no_load_rng", "no_save_optim", "no_save_rng",
    "train_iters", "train_samples", "exit_interval", "exit_duration_in_mins", "seed", "lr",
    "min_lr", "lr_decay_iters", "lr_decay_samples", "lr_warmup_iters", "lr_warmup_samples",
    "lr_warmup_fraction", "lr_decay_style", "weight_decay", "clip_grad", "save_interval",
    "eval_interval", "eval_iters", "max_steps", "num_epochs", "num_examples",
})  # fmt: skip
"""Arguments on which the time of a step does not depend."""


@dataclass(frozen=True, slots=True)
class Restart:
    """A later start of a job.

    Args:
        place: Its first line in the pace.
        new_hosts: Hosts that were not there before, where the logs name those of both.
        settings: Arguments that changed, likewise.
    """

    place: int
    new_hosts: tuple[str, ...]
    settings: tuple[str, ...]


def restarts(reading: Reading, pace: Pace) -> Iterator[Restart]:
    """Yield the later starts of a job."""
    hosts: dict[int, set[str]] = {}
    settings: dict[int, dict[str, Value]] = {}
    for event in reading.events:
        if event.host is not None:
            hosts.setdefault(event.attempt, set()).add(event.host)
        if event.fact is not None and event.fact.startswith("arg."):
            own = settings.setdefault(event.attempt, {})
            own.setdefault(event.fact.removeprefix("arg."), event.fields.get("value"))
    begun = [(begin, pace.attempts[begin]) for begin, _ in stretches(pace)]
    for (_, before), (place, after) in zip(begun, begun[1:], strict=False):
        known = hosts.get(before, set()), hosts.get(after, set())
        old, now = settings.get(before, {}), settings.get(after, {})
        changed = {name for name in old.keys() & now.keys() - OTHER if old[name] != now[name]}
        new = known[1] - known[0] if known[0] else set()
        yield Restart(place, tuple(sorted(new)), tuple(sorted(changed)))
