"""A row of bars, one character a value."""

from collections.abc import Sequence

BARS = "▁▂▃▄▅▆▇█"
PLAIN = "_.-~=+*#"
"""For output that has no bars."""

NOT_A_NUMBER = "x"

LEAST_RANGE = 0.1
"""Share of the middle value that the height of the bars spans at least, so that noise stays low."""


def sparkline(values: Sequence[float | None], width: int, *, plain: bool = False) -> str:
    """Return the bars of values; one that is no number is an ``x``.

    They do not begin at zero, but span a tenth of the value at least.

    >>> sparkline([1, 1, 2, None, 8], 80), sparkline([1, 1, 2, None, 8], 80, plain=True)
    ('▁▁▂x█', '__.x#')

    Args:
        values: In order.
        width: Characters at most; of values that share one, the farthest from the middle is drawn.
        plain: In ASCII.
    """
    bars = PLAIN if plain else BARS
    known = sorted(value for value in values if value is not None)
    if not known:
        return NOT_A_NUMBER * min(len(values), width)
    middle = known[len(known) // 2]
    low, span = known[0], known[-1] - known[0]
    if span < LEAST_RANGE * abs(middle):
        spare = LEAST_RANGE * abs(middle) - span
        low, span = low - spare / 2, span + spare
    shares = -(-len(values) // width)
    drawn = []
    for place in range(0, len(values), shares):
        part = [value for value in values[place : place + shares] if value is not None]
        if not part:
            drawn.append(NOT_A_NUMBER)
            continue
        value = max(part, key=lambda one: abs(one - middle))
        level = (value - low) / span if span else 0.5
        drawn.append(bars[min(int(level * len(bars)), len(bars) - 1)])
    return "".join(drawn)
