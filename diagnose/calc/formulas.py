"""The formulas that texts of rules and playbooks may call: ``{{ calc.bubble(8, 16) }}``."""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property

from diagnose.calc import collectives, flops, operation, serving, training

Number = int | float


class Formula:
    """One formula as texts see it: numbers in, one number out.

    A value that is not known (null, or a placeholder of a playbook) makes the result unknown; a
    list of one number is that number, as playbooks get their values.

    Args:
        name: As texts call it.
        compute: Takes numbers in base units; raises ``ValueError`` for those that make no sense.
        above_zero: Values that cannot be zero.
    """

    def __init__(
        self, name: str, compute: Callable[..., float], above_zero: frozenset[str]
    ) -> None:
        self._name = name
        self._compute = compute
        self._above_zero = above_zero

    def __call__(self, *values: object, **named: object) -> Number | None:
        """Return the result, None where a value is not known.

        Raises:
            ValueError: A value is missing, is one too many, or makes no sense.
        """
        if (problem := self.problem(len(values), named)) is not None:
            raise ValueError(problem)
        given = {**dict(zip(self._parameters, values, strict=False)), **named}
        read = {name: self._number(name, value) for name, value in given.items()}
        numbers = {name: value for name, value in read.items() if value is not None}
        if len(numbers) < len(read):
            return None
        try:
            self._check(numbers)
            found = self._compute(**numbers)
            return found if math.isfinite(found) else None
        except (ArithmeticError, ValueError) as error:
            shown = ", ".join(f"{name}={value:g}" for name, value in numbers.items())
            why = error if isinstance(error, ValueError) else "one is too large"
            raise ValueError(f"{self} has no value for {shown}: {why}") from error

    def __str__(self) -> str:
        return f"calc.{self._name}"

    def problem(self, count: int, named: Iterable[str]) -> str | None:
        """Return what is wrong with a call, None if nothing is.

        Args:
            count: Values without a name.
            named: Names of the others.
        """
        names = list(self._parameters)
        given = [*names[:count], *named]
        required = [name for name, optional in self._parameters.items() if not optional]
        fits = count <= len(names) and len(set(given)) == len(given) and set(given) <= set(names)
        if fits and set(required) <= set(given):
            return None
        shown = ", ".join(f"[{name}]" if self._parameters[name] else name for name in names)
        return f"{self} takes ({shown})"

    def misfit(self, written: Mapping[int | str, object]) -> str | None:
        """Return which value that a text spells out is no number, None if all are.

        Args:
            written: By place or by name.
        """
        names = list(self._parameters)
        for key, value in written.items():
            try:
                self._number(names[key] if isinstance(key, int) else key, value)
            except ValueError as error:
                return str(error)
        return None

    @cached_property
    def _parameters(self) -> dict[str, bool]:
        """The names of its values, and whether each may be left out."""
        found = inspect.signature(self._compute).parameters.values()
        return {one.name: one.default is not inspect.Parameter.empty for one in found}

    def _number(self, name: str, value: object) -> float | None:
        if isinstance(value, list | tuple) and len(value) == 1:
            value = value[0]
        if value is None or (isinstance(value, str) and value.startswith("<")):
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{self}: {name} is a number, not {value!r}")
        return float(value)

    def _check(self, numbers: Mapping[str, float]) -> None:
        """Hold values to the bounds that ``diagnose calc`` has.

        Raises:
            ValueError: One is outside.
        """
        for name, value in numbers.items():
            if name in SHARES and not 0 <= value <= 1:
                raise ValueError(f"{name} is a share from 0 to 1")
            if value < 0:
                raise ValueError(f"{name} is below zero")
            if value == 0 and name in self._above_zero:
                raise ValueError(f"{name} must be above zero")


SHARES = frozenset({
    "attended", "rate", "recompute", "serial", "share", "useful", "utilisation",
})  # fmt: skip
"""Values from 0 to 1, wherever they appear."""

_COMPUTED: dict[str, tuple[Callable[..., float], str]] = {
    "bubble": (training.bubble, "stages micro_batches chunks"),
    "bus_bandwidth": (collectives.bus_bandwidth, "time ranks"),
    "cache_copies": (serving.cache_copies, "tensor heads"),
    "checkpoint_size": (operation.checkpoint_size, "each"),
    "checkpoint_waste": (operation.checkpoint_waste, "interval mtbf"),
    "communication_ratio": (training.communication_ratio, "compute"),
    "daly": (operation.daly, "save mtbf"),
    "efficiency": (training.efficiency, "small small_rate large large_rate"),
    "ettr": (operation.ettr, "interval mtbf"),
    "failure_chance": (operation.failure_chance, ""),
    "flops_per_token": (training.flops_per_token, ""),
    "gradient_traffic": (training.gradient_traffic, "ranks"),
    "hfu": (flops.hfu, ""),
    "kv_budget": (serving.kv_budget, ""),
    "kv_bytes_per_token": (serving.kv_bytes_per_token, "layers heads head_size element"),
    "latent_bytes_per_token": (serving.latent_bytes_per_token, "layers latent element"),
    "lost_work": (operation.lost_work, ""),
    "mfu": (flops.mfu, "peak"),
    "micro_batches_for": (training.micro_batches_for, "stages share chunks"),
    "model_states": (training.model_states, "replicas"),
    "mtbf": (operation.mtbf, "failures nodes"),
    "request_time": (serving.request_time, "ttft tpot tokens"),
    "retry_time": (operation.retry_time, ""),
    "ring_all_reduce": (training.ring_all_reduce, "ranks"),
    "save_overhead": (operation.save_overhead, "save interval step_time"),
    "speed_up": (training.speed_up, "ranks"),
    "step_flops": (flops.step_flops, "layers hidden"),
    "tensor_traffic": (training.tensor_traffic, "layers ranks"),
    "token_cost": (serving.token_cost, "tokens_per_second useful"),
    "young": (operation.young, "save mtbf"),
}
"""What computes each, and the values that must be above zero."""

FORMULAS = {
    name: Formula(name, compute, frozenset(above_zero.split()))
    for name, (compute, above_zero) in _COMPUTED.items()
}
"""By the name that texts call them by."""
