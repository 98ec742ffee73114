"""Calculators of failures, checkpoints, lost time and timeouts."""

from diagnose.calc import operation
from diagnose.calc.calculator import (
    Calculator,
    Input,
    Result,
    Values,
    apart,
    given,
    positive,
    with_its_own,
)
from diagnose.calc.quantity import Unit, show

HOUR = 3600.0


def _failure(values: Values) -> list[Result]:
    chance = operation.failure_chance(given(values, "rate"), given(values, "nodes"))
    return [Result("chance that at least one fails", chance, Unit.SHARE)]


def _mtbf(values: Values) -> list[Result]:
    positive(values, "rate", "nodes", "span", "failures")
    apart(values, "nodes", "failures")
    with_its_own(values, "span", "failures")
    if values["failures"] is not None:
        between = given(values, "span") / values["failures"]
    else:
        between = operation.mtbf(given(values, "rate"), given(values, "nodes"))
    return [
        Result("mean time between failures of the job", between, Unit.SECONDS),
        Result("failures a day", operation.DAY / between, Unit.NUMBER),
    ]


def _checkpoint(values: Values) -> list[Result]:
    positive(values, "save", "interval", "mtbf", "bandwidth", "steps", "step_time", "each")
    for key in ("steps", "step_time"):
        apart(values, key, "interval")
    apart(values, "save", "parameters", "bandwidth")
    with_its_own(values, "step_time", "steps")
    with_its_own(values, "bandwidth", "parameters")
    save, mtbf = values["save"], given(values, "mtbf")
    found = []
    if values["parameters"] is not None:
        size = operation.checkpoint_size(values["parameters"], given(values, "each"))
        found.append(Result("size of the checkpoint", size, Unit.BYTES))
        if values["bandwidth"] is not None:
            found.append(Result("time to write it", size / values["bandwidth"], Unit.SECONDS))
            save = size / values["bandwidth"]
    if save is None:
        raise ValueError("--save is missing; --parameters and --bandwidth give it too")
    restart, interval = given(values, "restart"), values["interval"]
    best = operation.daly(save, mtbf)
    least = operation.checkpoint_waste(save, best, restart, mtbf)
    if values["steps"] is not None:
        overhead = operation.save_overhead(save, values["steps"], given(values, "step_time"))
        found.append(Result("saves over training", overhead, Unit.SHARE))
        interval = values["steps"] * given(values, "step_time") + save
    if interval is not None:
        try:
            waste = operation.checkpoint_waste(save, interval, restart, mtbf)
        except ValueError as error:
            raise ValueError(f"{error}; the best one is {show(best, Unit.SECONDS)}") from error
        found.append(Result("time lost to saves and failures", waste, Unit.SHARE))
        found.append(Result("interval over the best one", interval / best, Unit.NUMBER))
    return [
        *found,
        Result("best interval, first order (Young)", operation.young(save, mtbf), Unit.SECONDS),
        Result("best interval, higher order (Daly)", best, Unit.SECONDS),
        Result("time lost at the best interval", least, Unit.SHARE),
    ]


def _goodput(values: Values) -> list[Result]:
    positive(values, "interval", "mtbf", "wall")
    with_its_own(values, "interval", "mtbf")
    with_its_own(values, "wall", "productive")
    found = []
    if values["productive"] is not None:
        share = values["productive"] / given(values, "wall")
        if share > 1:
            raise ValueError("--productive is longer than --wall; it is a part of it")
        found.append(Result("measured share of the time that trains", share, Unit.SHARE))
    if values["mtbf"] is not None:
        expected = operation.ettr(
            given(values, "restart"), given(values, "interval"), given(values, "save"),
            values["mtbf"],
        )  # fmt: skip
        found.append(Result("expected share of the time that trains", expected, Unit.SHARE))
    if not found:
        raise ValueError("--mtbf is missing, or --productive and --wall for a measured share")
    return found


def _lost_work(values: Values) -> list[Result]:
    last, resumed = given(values, "last_step"), given(values, "resumed_step")
    if resumed > last:
        raise ValueError("--resumed-step is behind --last-step; nothing was lost")
    replay = operation.lost_work(last, resumed, given(values, "step_time"))
    lost = replay + given(values, "detection") + given(values, "restart")
    return [
        Result("steps to do again", last - resumed, Unit.COUNT),
        Result("time to do them again", replay, Unit.SECONDS),
        Result("time lost in all", lost, Unit.SECONDS),
        Result("GPU hours lost", lost * given(values, "gpus") / HOUR, Unit.NUMBER),
    ]


def _ib_timeout(values: Values) -> list[Result]:
    exponent, retries = given(values, "timeout"), given(values, "retries")
    if exponent > operation.MOST_EXPONENT or retries > operation.MOST_RETRIES:
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
        "mtbf",
        "Mean time between failures of a job",
        "1 / (N r), or span / failures",
        (
            Input("nodes", Unit.COUNT, "nodes N", optional=True),
            Input("rate", Unit.NUMBER, "failures r of 1,000 nodes in a day", "6.5"),
            Input("failures", Unit.COUNT, "failures that were counted", optional=True),
            Input("span", Unit.SECONDS, "time in which they were counted", optional=True),
        ),
        _mtbf,
        "Meta counted 6.5 and 2.3 failures of 1,000 nodes in a day on its two research clusters, "
        "and 419 in 54 days on 16,384 GPUs for Llama 3.",
    ),
    Calculator(
        "checkpoint",
        "Time lost to saves and failures, and the best interval",
        "waste = C / T + (T / 2 + R) / M; T = sqrt(2 C M); C = bytes / bandwidth; "
        "saves over training = C / (steps x step time)",
        (
            Input("save", Unit.SECONDS, "time C that a save blocks training", optional=True),
            Input("mtbf", Unit.SECONDS, "mean time M between failures of the job"),
            Input("interval", Unit.SECONDS, "time T between saves today", optional=True),
            Input("steps", Unit.COUNT, "the interval in steps", optional=True),
            Input("step-time", Unit.SECONDS, "time of a step", optional=True),
            Input("restart", Unit.SECONDS, "time R from a failure to the next step", "0"),
            Input("parameters", Unit.COUNT, "parameters, to compute C", optional=True),
            Input("each", Unit.NUMBER, "bytes of one parameter, 16 with fp32 gradients", "14"),
            Input("bandwidth", Unit.RATE, "write bandwidth of the storage", optional=True),
        ),
        _checkpoint,
        "Saves over 5 % of training are worth a look, over 20 % severe; so is an interval that is "
        "off by a factor of three or more.",
    ),
    Calculator(
        "goodput",
        "Share of the time of a run that trains",
        "1 - (R + T / 2) / M - C / T; measured: productive / wall",
        (
            Input("mtbf", Unit.SECONDS, "mean time M between failures of the job", optional=True),
            Input("save", Unit.SECONDS, "time C that a save blocks training", "0"),
            Input("interval", Unit.SECONDS, "time T between saves", optional=True),
            Input("restart", Unit.SECONDS, "time R from a failure to the next step", "0"),
            Input("productive", Unit.SECONDS, "time in steps that count", optional=True),
            Input("wall", Unit.SECONDS, "time of the run", optional=True),
        ),
        _goodput,
        "Over 90 % is what the best large runs reach; under 80 % deserves action.",
    ),
    Calculator(
        "lost-work",
        "What a restart throws away",
        "(last step - resumed step) x step time, and the time until the job trains again",
        (
            Input("last-step", Unit.COUNT, "step that was reached"),
            Input("resumed-step", Unit.COUNT, "step of the checkpoint"),
            Input("step-time", Unit.SECONDS, "time of a step"),
            Input("detection", Unit.SECONDS, "from the last step to the end of the job", "0"),
            Input("restart", Unit.SECONDS, "from the end of the job to the next step", "0"),
            Input("gpus", Unit.COUNT, "GPUs of the job", "1"),
        ),
        _lost_work,
        "A hang lasts until a timeout ends it: ten minutes by default in PyTorch and Megatron-LM.",
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
