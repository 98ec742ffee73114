"""A row of bars, one character a value."""

from collections.abc import Sequence

BARS = "▁▂▃▄▅▆▇█"
PLAIN = "_.-~=+*#"
"""For output that has no bars."""

NOT_A_NUMBER = "x"


def sparkline(values: Sequence[float | None], width: int, *, plain: bool = False) -> str:
    """Return the bars of values; one that is no number is an ``x``.

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
    low, middle, high = known[0], known[len(known) // 2], known[-1]
    shares = -(-len(values) // width)
    drawn = []
    for place in range(0, len(values), shares):
        part = [value for value in values[place : place + shares] if value is not None]
        if not part:
            drawn.append(NOT_A_NUMBER)
            continue
        value = max(part, key=lambda one: abs(one - middle))
        level = (value - low) / (high - low) if high > low else 0.5
        drawn.append(bars[min(int(level * len(bars)), len(bars) - 1)])
    return "".join(drawn)
