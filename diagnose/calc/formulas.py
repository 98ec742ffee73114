"""The formulas that texts of rules and playbooks may call: ``{{ calc.bubble(8, 16) }}``."""

import inspect
import math
from collections.abc import Callable, Iterable
from functools import cached_property

from diagnose.calc import collectives, flops, operation, serving, training

Number = int | float


class Formula:
    """One formula as texts see it: numbers in, one number out.

    A value that is not known (null, or a placeholder of a playbook) makes the result unknown; a
    list of one number is that number, as playbooks get their values.

    Args:
        name: As texts call it.
        compute: Takes numbers in base units.
    """

    def __init__(self, name: str, compute: Callable[..., float]) -> None:
        self._name = name
        self._compute = compute

    def __call__(self, *values: object, **named: object) -> Number | None:
        """Return the result, None where a value is not known.

        Raises:
            ValueError: A value is missing, is one too many, or makes no sense.
        """
        if (problem := self.problem(len(values), named)) is not None:
            raise ValueError(problem)
        given = {**dict(zip(self._parameters, values, strict=False)), **named}
        numbers = {name: self._number(name, value) for name, value in given.items()}
        if None in numbers.values():
            return None
        try:
            found = self._compute(**numbers)
            return found if math.isfinite(found) else None
        except (ArithmeticError, TypeError, ValueError) as error:
            shown = ", ".join(f"{name}={value:g}" for name, value in numbers.items())
            raise ValueError(f"{self} has no value for {shown}") from error

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


_COMPUTED: dict[str, Callable[..., float]] = {
    "bubble": training.bubble,
    "bus_bandwidth": collectives.bus_bandwidth,
    "checkpoint_size": operation.checkpoint_size,
    "checkpoint_waste": operation.checkpoint_waste,
    "communication_ratio": training.communication_ratio,
    "daly": operation.daly,
    "efficiency": training.efficiency,
    "ettr": operation.ettr,
    "failure_chance": operation.failure_chance,
    "flops_per_token": training.flops_per_token,
    "gradient_traffic": training.gradient_traffic,
    "hfu": flops.hfu,
    "kv_budget": serving.kv_budget,
    "kv_bytes_per_token": serving.kv_bytes_per_token,
    "latent_bytes_per_token": serving.latent_bytes_per_token,
    "lost_work": operation.lost_work,
    "mfu": flops.mfu,
    "micro_batches_for": training.micro_batches_for,
    "model_states": training.model_states,
    "mtbf": operation.mtbf,
    "request_time": serving.request_time,
    "retry_time": operation.retry_time,
    "ring_all_reduce": training.ring_all_reduce,
    "save_overhead": operation.save_overhead,
    "speed_up": training.speed_up,
    "step_flops": flops.step_flops,
    "tensor_traffic": training.tensor_traffic,
    "token_cost": serving.token_cost,
    "young": operation.young,
}

FORMULAS = {name: Formula(name, compute) for name, compute in _COMPUTED.items()}
"""By the name that texts call them by."""
