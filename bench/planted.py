"""Logs of training runs with a fault planted in their numbers, and of runs without one.

Every run has ``STEPS`` steps. Step time and loss carry relative noise with first-order
autocorrelation ``CARRY``; the same seed gives the same logs.
"""

import json
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

STEPS = 500
CARRY = 0.3
STEP_TIME = 6.2
RANKS = 16
START = datetime(2026, 1, 5, 10, 0, 0)

Logs = dict[str, str]


@dataclass(frozen=True)
class Fault:
    """A kind of run.

    Args:
        make: Gives the logs for a source of randomness and a noise (share of the value).
        causes: What a root finding may say; none for a run without a fault.
        ranks: Whether the rank that was planted has to be named, and no other.
    """

    make: Callable[[random.Random, float], tuple[Logs, list[int]]]
    causes: frozenset[str] = frozenset()
    ranks: bool = False


def noise(random_: random.Random, size: float) -> Iterator[float]:
    """Yield factors about 1 whose deviations have the standard deviation ``size``."""
    fresh = math.sqrt(1 - CARRY**2)
    last = random_.gauss(0, 1)
    while True:
        yield max(0.05, 1 + size * last)
        last = CARRY * last + fresh * random_.gauss(0, 1)


@dataclass
class Megatron:
    """The log of the last rank of a Megatron job, written step by step.

    Args:
        random_: Where chance comes from.
        noise: Of step time and loss, as a share.
        interval: Steps for which a line stands.
        time: Of the last line.
        lines: Written so far.
    """

    random_: random.Random
    noise: float
    interval: int = 1
    time: datetime = START
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.pace = noise(self.random_, self.noise)
        self.wobble = noise(self.random_, self.noise)

    def say(self, text: str, seconds: float = 0.0) -> None:
        """Print a line after some seconds."""
        self.time += timedelta(seconds=seconds)
        self.lines.append(text)

    @property
    def stamp(self) -> str:
        """The time as Megatron prints it."""
        return self.time.strftime("%Y-%m-%d %H:%M:%S.%f")

    def step(
        self,
        number: int,
        *,
        factor: float = 1.0,
        extra: float = 0.0,
        loss: float | None = None,
        scale: float = 1.0,
        skipped: bool = False,
        norm: float = 0.4,
        rate: float = 3e-4,
    ) -> float:
        """Print one iteration line and return its loss.

        Args:
            number: Of the step.
            factor: By which the step is slower than usual.
            extra: Seconds that the step takes on top.
            loss: As printed, the usual one by default.
            scale: Loss scale.
            skipped: The step was skipped for an overflow.
            norm: Gradient norm before its noise.
            rate: Learning rate.
        """
        taken = STEP_TIME * factor * next(self.pace) + extra
        value = curve(number) * next(self.wobble) if loss is None else loss
        column = "" if skipped else f" lm loss: {value:.6E} |"
        self.time += timedelta(seconds=taken * self.interval)
        self.say(
            f" [{self.stamp}] iteration {number:8d}/{STEPS:8d} | consumed samples: "
            f"{number * 1024:12d} | elapsed time per iteration (ms): {taken * 1000:.1f} | "
            f"learning rate: {rate:.6E} | global batch size:  1024 |{column} loss scale: "
            f"{scale:.1f} | grad norm: {norm * self.random_.uniform(0.9, 1.15):.3f} | number of "
            f"skipped iterations: {int(skipped):3d} | number of nan iterations:   0 |"
        )
        return value

    def save(self, number: int, seconds: float, *, said: bool = True) -> None:
        """Save a checkpoint, which takes some seconds."""
        if said:
            self.say(f"saving checkpoint at iteration {number:7d} to /ckpt in torch_dist format")
        self.time += timedelta(seconds=seconds)
        if said:
            self.say(f"  successfully saved checkpoint from iteration {number:7d} to /ckpt")

    def load(self, number: int) -> None:
        """Begin again from a checkpoint."""
        self.say(f" loading distributed checkpoint from /ckpt at iteration {number}", 180)
        self.say(f"  successfully loaded checkpoint from /ckpt at iteration {number}", 40)

    def logs(self, rank: int = 63) -> Logs:
        """Return the file."""
        return {f"rank{rank}.log": "\n".join(self.lines) + "\n"}


def curve(step: float) -> float:
    """Return the loss of a step without noise."""
    return 2.4 + 8.0 / (1 + step / 20)


def level_shift(random_: random.Random, size: float) -> tuple[Logs, list[int]]:
    """One GPU becomes slower and all steps take 5 % longer from then on."""
    log, at = Megatron(random_, size), random_.randint(150, 350)
    for number in range(1, STEPS + 1):
        log.step(number, factor=1.05 if number >= at else 1.0)
    return log.logs(), []


def straggler(random_: random.Random, size: float) -> tuple[Logs, list[int]]:
    """One of the ranks computes 10 % longer in half of the stretches of the run."""
    guilty, factors, slow = random_.randrange(RANKS), [], True
    while len(factors) < STEPS:
        factors += [1.1 if slow else 1.0] * random_.randint(20, 50)
        slow = not slow
    return _per_rank(random_, size, guilty, factors), [guilty]


def _per_rank(
    random_: random.Random, size: float, guilty: int, factors: list[float], ranks: int = RANKS
) -> Logs:
    """Return step records of all ranks, who wait for the slowest in the collective."""
    paces = [noise(random_, size) for _ in range(ranks)]
    logs: dict[str, list[str]] = {f"rank{rank}.jsonl": [] for rank in range(ranks)}
    wobble, time = noise(random_, size), START.timestamp()
    for number in range(1, STEPS + 1):
        own = [4.0 * next(pace) for pace in paces]
        own[guilty] *= factors[number - 1]
        loss, transfer = curve(number) * next(wobble), 0.5 * random_.uniform(0.97, 1.03)
        whole = max(own) + transfer
        time += whole
        for rank, lines in enumerate(logs.values()):
            record = {
                "step": number, "timestamp": round(time, 3), "rank": rank,
                "host": f"node-{rank // 8:02d}", "loss": round(loss, 5),
                "step_time": round(whole, 4), "compute_time": round(own[rank], 4),
                "comm_time": round(whole - own[rank], 4),
                "data_time": round(0.02 * random_.uniform(0.8, 1.2), 4),
            }  # fmt: skip
            lines.append(json.dumps(record))
    return {name: "\n".join(lines) + "\n" for name, lines in logs.items()}


def save_stall(random_: random.Random, size: float) -> tuple[Logs, list[int]]:
    """Every save holds up the training for five to ten steps."""
    log, every = Megatron(random_, size), random_.choice([25, 40, 50, 100])
    long, inside = random_.uniform(30, 60), random_.random() < 0.5
    log.say(f"  save_interval ................................... {every}")
    for number in range(1, STEPS + 1):
        late = number > every and number % every == 1
        log.step(number, extra=long * random_.uniform(0.9, 1.1) if late and inside else 0.0)
        if number % every == 0:
            log.save(number, 0.2 if inside else long * random_.uniform(0.9, 1.1), said=not inside)
    return log.logs(), []


def overflow(random_: random.Random, size: float) -> tuple[Logs, list[int]]:
    """The loss scale collapses in a streak of skipped steps."""
    log, at, scale = Megatron(random_, size), random_.randint(200, 400), 65536.0
    streak = random_.randint(7, 12)
    for number in range(1, STEPS + 1):
        skipped = at <= number < at + streak
        scale /= 2 if skipped else 1
        log.step(number, scale=scale, skipped=skipped)
    return log.logs(), []


def resume_without_optimizer(random_: random.Random, size: float) -> tuple[Logs, list[int]]:
    """The loss jumps behind a load and comes back over a hundred steps; data and RNG are right."""
    log, at = Megatron(random_, size), random_.randint(200, 300)
    for number in range(1, at + 1):
        log.step(number)
    log.save(at, 8)
    log.load(at)
    for number in range(at + 1, STEPS + 1):
        lost = 0.12 * math.exp(-(number - at) / 80)
        log.step(number, loss=curve(number) * next(log.wobble) * (1 + lost), norm=0.4 + 4 * lost)
    return log.logs(), []


def resume_without_rng(random_: random.Random, size: float) -> tuple[Logs, list[int]]:
    """Thirty steps are done again after a crash, and their losses are others than before."""
    log, at = Megatron(random_, size), random_.randint(200, 300)
    for number in range(1, at + 31):
        log.step(number)
        if number == at:
            log.save(at, 8)
    log.load(at)
    for number in range(at + 1, STEPS + 1):
        log.step(number)
    return log.logs(), []


def healthy(random_: random.Random, size: float) -> tuple[Logs, list[int]]:
    """One of the runs that hold nothing to find."""
    kinds = (_plain, _evaluated, _fp16, _resumed, _ramp, _outliers, _healthy_ranks)
    return random_.choice(kinds)(random_, size), []


def _plain(random_: random.Random, size: float) -> Logs:
    log = Megatron(random_, size)
    for number in range(1, STEPS + 1):
        log.step(number, rate=3e-4 * min(1.0, number / 100))
    return log.logs()


def _evaluated(random_: random.Random, size: float) -> Logs:
    log = Megatron(random_, size)
    for number in range(1, STEPS + 1):
        log.step(number)
        if number % 100 == 0:
            log.say(
                f" validation loss at iteration {number} | lm loss value: "
                f"{curve(number) * 1.02:.6E} | lm loss PPL: 1.360000E+01 | ",
                random_.uniform(40, 60),
            )
        if number % 200 == 0:
            log.save(number, random_.uniform(5, 9))
    return log.logs()


def _fp16(random_: random.Random, size: float) -> Logs:
    log, scale = Megatron(random_, size), 2.0**32
    search, once = random_.randint(10, 18), random_.randint(200, 480)
    for number in range(1, STEPS + 1):
        skipped = number <= search or number == once
        scale /= 2 if skipped else 1
        log.step(number, scale=scale, skipped=skipped)
    return log.logs()


def _resumed(random_: random.Random, size: float) -> Logs:
    log, at = Megatron(random_, size), random_.randint(200, 300)
    losses = {number: log.step(number) for number in range(1, at + 21)}
    log.load(at)
    for number in range(at + 1, STEPS + 1):
        log.step(number, loss=losses.get(number))
    return log.logs()


def _ramp(random_: random.Random, size: float) -> Logs:
    """The learning rate ends its warm-up and decays; every tenth step is printed."""
    log = Megatron(random_, size, interval=10)
    for number in range(10, 10 * STEPS + 1, 10):
        rate = 3e-4 * min(1.0, number / 1000) * (1 - 0.8 * number / (10 * STEPS))
        log.step(number, rate=rate)
    return log.logs()


def _outliers(random_: random.Random, size: float) -> Logs:
    log = Megatron(random_, size)
    for number in range(1, STEPS + 1):
        rare = random_.random() < 0.01
        log.step(number, extra=random_.uniform(0.3, 3.0) if rare else 0.0)
    return log.logs()


def _healthy_ranks(random_: random.Random, size: float) -> Logs:
    return _per_rank(random_, size, 0, [1.0] * STEPS)


KINDS = {
    "level-shift": Fault(level_shift, frozenset({"resources.slow-node"})),
    "straggler": Fault(straggler, frozenset({"resources.slow-node"}), ranks=True),
    "save-stall": Fault(save_stall, frozenset({"dataflow.checkpoint-save-stall"})),
    "overflow": Fault(overflow, frozenset({"parameters.precision-overflow"})),
    "resume-without-optimizer": Fault(
        resume_without_optimizer, frozenset({"dataflow.checkpoint-state-missing"})
    ),
    "resume-without-rng": Fault(
        resume_without_rng, frozenset({"dataflow.checkpoint-state-missing"})
    ),
    "healthy": Fault(healthy),
}
"""By name; the last one has no fault."""
