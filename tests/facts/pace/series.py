"""Made series of step times."""

import math
import random
from itertools import accumulate


def noisy(count, *, level=6.2, noise=0.01, carry=0.0, seed=1):
    """Return step times about a level, each deviation carrying over to the next."""
    random_, last, found = random.Random(seed), 0.0, []
    for _ in range(count):
        last = carry * last + math.sqrt(1 - carry**2) * random_.gauss(0, 1)
        found.append(level * (1 + noise * last))
    return found


def stamps(seconds, pauses=None):
    """Return the stamps of lines, with pauses (by place) before them."""
    pauses = pauses or {}
    return list(accumulate(one + pauses.get(at, 0.0) for at, one in enumerate(seconds)))
