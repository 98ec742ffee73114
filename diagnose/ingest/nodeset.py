"""Lists of hosts as Slurm, clush and dshbak fold them: ``node-[01-04,07],login1``."""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern

MOST = 20_000
"""Hosts of one list; a longer one is no list of hosts."""

_NAME = r"(?:[\w.-]|\[[\d,-]+\])+"
_LIST = LazyPattern(rf"{_NAME}(?:,{_NAME})*")
_PART = LazyPattern(_NAME)
_RANGES = LazyPattern(r"\[([\d,-]+)\]")


def expand(text: str) -> list[str]:
    """Return the hosts of a folded list in its order.

    Args:
        text: One or more names with commas, each with at most two ranges in brackets.

    Returns:
        None of them where the text is no such list, or stands for more than ``MOST`` hosts.
    """
    hosts: list[str] = []
    if _LIST.fullmatch(text) is None:
        return hosts
    for part in _PART.findall(text):
        for host in _unfolded(part):
            hosts.append(host)
            if len(hosts) > MOST:
                return []
    return hosts


def _unfolded(name: str) -> Iterator[str]:
    found = _RANGES.search(name)
    if found is None:
        yield name
        return
    for span in found[1].split(","):
        low, _, high = span.partition("-")
        if not low.isdigit() or (high and not high.isdigit()):
            return
        for number in range(int(low), min(int(high or low), int(low) + MOST) + 1):
            whole = f"{name[: found.start()]}{number:0{len(low)}d}{name[found.end() :]}"
            yield from _unfolded(whole)
