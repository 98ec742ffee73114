"""Calculators of failures, checkpoints and timeouts."""

from diagnose.calc import operation
from diagnose.calc.calculator import Calculator, Input, Result, Values, given, positive
from diagnose.calc.quantity import Unit


def _failure(values: Values) -> list[Result]:
    chance = operation.failure_chance(given(values, "rate"), int(given(values, "nodes")))
    return [Result("chance that at least one fails", chance, Unit.SHARE)]


def _checkpoint(values: Values) -> list[Result]:
    positive(values, "interval", "mtbf", "bandwidth")
    save, mtbf = values["save"], given(values, "mtbf")
    found = []
    if values["parameters"] is not None:
        size = values["parameters"] * operation.CHECKPOINT_BYTES
        found.append(Result("size of the checkpoint", size, Unit.BYTES))
        if values["bandwidth"] is not None:
            found.append(Result("time to write it", size / values["bandwidth"], Unit.SECONDS))
            save = size / values["bandwidth"] if save is None else save
    if save is None:
        raise ValueError("--save is missing; --parameters and --bandwidth give it too")
    restart = given(values, "restart")
    if values["interval"] is not None:
        waste = operation.checkpoint_waste(save, values["interval"], restart, mtbf)
        found.append(Result("time lost to saves and failures", waste, Unit.SHARE))
    best = operation.daly(save, mtbf)
    least = operation.checkpoint_waste(save, best, restart, mtbf)
    return [
        *found,
        Result("best interval, first order (Young)", operation.young(save, mtbf), Unit.SECONDS),
        Result("best interval, higher order (Daly)", best, Unit.SECONDS),
        Result("time lost at the best interval", least, Unit.SHARE),
    ]


def _ib_timeout(values: Values) -> list[Result]:
    exponent, retries = int(given(values, "timeout")), int(given(values, "retries"))
    if exponent > 31 or retries > 7:
        raise ValueError("--timeout goes up to 31 and --retries up to 7: five and three bits")
    if not exponent:
        raise ValueError("--timeout 0 waits for ever")
    return [
        Result("one wait", operation.retry_time(exponent, 1), Unit.SECONDS),
        Result(
            "until the connection gives up", operation.retry_time(exponent, retries), Unit.SECONDS
        ),
    ]


CALCULATORS = (
    Calculator(
        "failure",
        "Chance that at least one of many nodes fails",
        "1 - (1 - q)^n",
        (
            Input("rate", Unit.SHARE, "chance q that one node fails in the span of time"),
            Input("nodes", Unit.COUNT, "nodes n"),
        ),
        _failure,
        "The span of time is that of the rate: with a rate a day, a day.",
    ),
    Calculator(
        "checkpoint",
        "Time lost to saves and failures, and the best interval",
        "waste = C / T + (T / 2 + R) / M; T = sqrt(2 C M)",
        (
            Input("save", Unit.SECONDS, "time C that a save blocks training", optional=True),
            Input("mtbf", Unit.SECONDS, "mean time M between failures of the job"),
            Input("interval", Unit.SECONDS, "time T between saves today", optional=True),
            Input("restart", Unit.SECONDS, "time R from a failure to the next step", "0"),
            Input("parameters", Unit.COUNT, "parameters, 14 bytes each", optional=True),
            Input("bandwidth", Unit.RATE, "write bandwidth of the storage", optional=True),
        ),
        _checkpoint,
        "An interval that is off by a factor of three or more costs noticeably.",
    ),
    Calculator(
        "ib-timeout",
        "When an InfiniBand connection gives up",
        "4.096 us x 2^NCCL_IB_TIMEOUT x NCCL_IB_RETRY_CNT",
        (
            Input("timeout", Unit.COUNT, "NCCL_IB_TIMEOUT", "20"),
            Input("retries", Unit.COUNT, "NCCL_IB_RETRY_CNT", "7"),
        ),
        _ib_timeout,
        "Keep it under the timeout of the collectives, or the watchdog hides the error. "
        "Adapters may take four times as long.",
    ),
)
