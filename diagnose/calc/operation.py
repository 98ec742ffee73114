"""Failures, checkpoints, lost time and timeouts of long runs."""

from math import sqrt

from diagnose.calc.quantity import Unit, show

ACK_TICK = 4.096e-6
"""Seconds; a queue pair waits this times 2**exponent (InfiniBand specification, 9.7.6.1)."""

CHECKPOINT_BYTES = 14
"""Of one parameter: a bf16 weight, its fp32 master copy and two fp32 moments."""

DAY = 86_400.0

NEVER_AHEAD = "such a run never gets ahead; save faster, or at another interval"

MOST_EXPONENT, MOST_RETRIES = 31, 7
"""What five and three bits hold."""


def failure_chance(rate: float, nodes: float) -> float:
    """Return the chance that at least one of several nodes fails.

    Args:
        rate: Chance that one node fails in the span of time, from 0 to 1.
        nodes: How many there are.
    """
    return float(1 - (1 - rate) ** nodes)


def mtbf(failures: float, nodes: float) -> float:
    """Return the mean seconds between failures of a job: 1 / (N r).

    Args:
        failures: Of 1,000 nodes in a day.
        nodes: Of the job.
    """
    return DAY / (failures / 1000 * nodes)


def checkpoint_size(parameters: float, each: float = CHECKPOINT_BYTES) -> float:
    """Return the bytes of a checkpoint, 14 a parameter or 16 with fp32 gradients."""
    return parameters * each


def checkpoint_waste(save: float, interval: float, restart: float, mtbf: float) -> float:
    """Return the share of time that goes into saving and into work lost to failures.

    Args:
        save: Seconds that a save blocks training.
        interval: Seconds between two saves.
        restart: Seconds from a failure to the next step.
        mtbf: Mean seconds between failures of the job.

    Raises:
        ValueError: Nothing is left of the time, so such a run never gets ahead.
    """
    if save >= interval:
        spans = f"{_time(save)} for an interval of {_time(interval)}"
        raise ValueError(f"a save takes as long as the interval ({spans}): {NEVER_AHEAD}")
    waste = save / interval + (interval / 2 + restart) / mtbf
    if waste >= 1:
        lost = f"saves and failures take all of the time at an interval of {_time(interval)}"
        raise ValueError(f"{lost}: {NEVER_AHEAD}")
    return waste


def save_overhead(save: float, interval: float, step_time: float) -> float:
    """Return what saving adds to the time of training.

    Args:
        save: Seconds that a save blocks training.
        interval: Steps between two saves.
        step_time: Seconds of a step.

    Raises:
        ValueError: A save takes longer than the steps between two.
    """
    if save > interval * step_time:
        spans = f"{_time(save)} after {_time(interval * step_time)} of steps"
        raise ValueError(f"saves take longer than the training between ({spans}); save less often")
    return save / (interval * step_time)


def ettr(restart: float, interval: float, save: float, mtbf: float) -> float:
    """Return the share of the time that trains, to first order: 1 - (u0 + T / 2) / M - C / T.

    Args:
        restart: Seconds u0 from a failure to the next step.
        interval: Seconds T between two saves.
        save: Seconds C that a save blocks training.
        mtbf: Mean seconds M between failures of the job.
    """
    return 1 - checkpoint_waste(save, interval, restart, mtbf)


def lost_work(last: float, resumed: float, step_time: float) -> float:
    """Return the seconds of training that a restart throws away.

    Args:
        last: Step that was reached.
        resumed: Step from which training went on.
        step_time: Seconds of a step.

    Raises:
        ValueError: Training went on behind the last step.
    """
    if resumed > last:
        raise ValueError(f"the resumed step {resumed:g} is behind the last {last:g}: none was lost")
    return (last - resumed) * step_time


def young(save: float, mtbf: float) -> float:
    """Return the interval of least waste in seconds, to first order (Young 1974)."""
    return sqrt(2 * save * mtbf)


def daly(save: float, mtbf: float) -> float:
    """Return the interval of least waste in seconds, to higher order (Daly 2006)."""
    if save >= 2 * mtbf:
        return mtbf
    part = save / (2 * mtbf)
    return sqrt(2 * save * mtbf) * (1 + sqrt(part) / 3 + part / 9) - save


def retry_time(exponent: float, retries: float) -> float:
    """Return the seconds after which an InfiniBand connection gives up; 0 means never.

    Adapters may stretch each wait up to four times.

    Args:
        exponent: ``NCCL_IB_TIMEOUT``.
        retries: ``NCCL_IB_RETRY_CNT``.

    Raises:
        ValueError: An adapter has no such setting.
    """
    if exponent > MOST_EXPONENT or retries > MOST_RETRIES:
        raise ValueError("the timeout goes up to 31 and the retries up to 7: five and three bits")
    return float(ACK_TICK * 2**exponent * retries) if exponent else 0.0


def _time(seconds: float) -> str:
    return show(seconds, Unit.SECONDS)
