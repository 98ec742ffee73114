"""Converters from the text of a captured group to a value in base units."""

import ipaddress
import re
from collections.abc import Iterable

SIZES = {
    "": 1, "b": 1, "bytes": 1,
    "k": 1 << 10, "kb": 1 << 10, "kib": 1 << 10,
    "m": 1 << 20, "mb": 1 << 20, "mib": 1 << 20,
    "g": 1 << 30, "gb": 1 << 30, "gib": 1 << 30,
    "t": 1 << 40, "tb": 1 << 40, "tib": 1 << 40,
}  # fmt: skip
"""Allocators, kernels and tools print powers of two under either spelling."""

SECONDS = {
    "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "": 1.0, "s": 1.0, "sec": 1.0, "secs": 1.0, "seconds": 1.0,
    "m": 60.0, "min": 60.0, "minutes": 60.0, "h": 3600.0, "hours": 3600.0, "d": 86400.0,
}  # fmt: skip

_QUANTITY = re.compile(r"\s*(-?\d+(?:[.,]\d+)*(?:[eE][+-]?\d+)?)\s*([A-Za-z]*)\s*$")


def _quantity(text: str, units: dict[str, int] | dict[str, float]) -> float:
    found = _QUANTITY.match(text)
    if found is None or found[2].lower() not in units:
        raise ValueError(f"not a quantity: {text!r}")
    return float(found[1].replace(",", "")) * units[found[2].lower()]


def size(text: str) -> int:
    """Return bytes from ``2.50 GiB``, ``1024 kB`` or ``17179869184``.

    Raises:
        ValueError: The text is not a size.
    """
    return round(_quantity(text, SIZES))


def gib(text: str) -> int:
    """Return bytes from a number of GiB; ``GB`` of serving engines means the same."""
    return size(f"{text} GiB")


def grouped(text: str) -> int:
    """Return a whole number from ``188,640``."""
    return int(text.replace(",", ""))


def seconds(text: str) -> float:
    """Return seconds from ``90s``, ``1.5 ms`` or ``30``.

    Raises:
        ValueError: The text is not a duration.
    """
    return _quantity(text, SECONDS)


_PART = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|μs|ms|s|m|h)")


def duration(text: str) -> float:
    """Return seconds from a duration as Go and Rust print it: ``1m2.5s``, ``350.2ms``, ``80.1µs``.

    Raises:
        ValueError: The text is none.
    """
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"not a duration: {text!r}")
    return sum(
        float(number) * SECONDS[unit.replace("µ", "u").replace("μ", "u")] for number, unit in parts
    )


def milliseconds(text: str) -> float:
    """Return seconds from a number of milliseconds."""
    return float(text) / 1000


def short_host(text: str) -> str:
    """Return a host name up to its first dot; an address stays whole."""
    return text if re.fullmatch(r"[\d.]+|.*:.*", text) else text.split(".")[0]


def address(text: str) -> str:
    """Return the address of NCCL's ``10.0.0.1<45231>``, of ``10.0.0.1:29500`` or ``[::1]:29500``."""
    text = text.split("<")[0]
    if text.startswith("["):
        return text[1:].split("]")[0]
    return text.split(":")[0] if text.count(":") == 1 else text


def gid_kind(text: str) -> str | None:
    """Return what a GID is: ``link-local``, ``ipv4`` or ``ipv6``; None of an empty entry."""
    try:
        found = ipaddress.IPv6Address(text)
    except ValueError:
        return None
    if found.is_unspecified:
        return None
    if (found.ipv4_mapped or found).is_link_local:
        return "link-local"
    return "ipv4" if found.ipv4_mapped else "ipv6"


def pci(text: str) -> str:
    """Return ``0000:5d:00.0`` from any spelling of a PCI address.

    ``00000000:5D:00.0`` (nvidia-smi), ``0000:5d:00`` (kernel) and NCCL's ``5d000``, which is
    domain * 2**20 + bus * 2**12 + device * 2**4 + function, all name the same GPU.

    Raises:
        ValueError: The text is none of these.
    """
    if ":" not in text:
        number = int(text, 16)
        packed = (number >> 20, number >> 12 & 0xFF, number >> 4 & 0xFF, number & 0xF)
        return "{:04x}:{:02x}:{:02x}.{:x}".format(*packed)
    found = re.fullmatch(
        r"(?:([0-9A-Fa-f]+):)?([0-9A-Fa-f]{1,2}):([0-9A-Fa-f]{1,2})(?:\.([0-7]))?", text
    )
    if found is None:
        raise ValueError(f"not a PCI address: {text!r}")
    parts = tuple(int(part or "0", 16) for part in found.groups())
    return "{:04x}:{:02x}:{:02x}.{:x}".format(*parts)


SIGNALS = {
    1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS",
    8: "SIGFPE", 9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE",
    14: "SIGALRM", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ",
}  # fmt: skip
"""Linux numbers on x86 and Arm: the logs come from there, wherever this program runs."""


def signal_of_exit(code: int) -> str | None:
    """Return the signal that an exit status stands for, None if the process ended by itself.

    Args:
        code: ``-9`` as Python's subprocess and torchrun print it, ``137`` as a shell does.
    """
    return SIGNALS.get(-code if code < 0 else code - 128)


def network_reason(text: str) -> str:
    """Return why a connection failed, from the error text of the C library.

    One of ``refused``, ``timeout``, ``no-route``, ``unreachable``, ``reset``, ``broken-pipe``
    and ``other``.
    """
    lower = text.lower()
    for words, reason in (
        ("refused", "refused"),
        ("timed out", "timeout"),
        ("timeout", "timeout"),
        ("no route", "no-route"),
        ("unreachable", "unreachable"),
        ("reset by peer", "reset"),
        ("broken pipe", "broken-pipe"),
    ):
        if words in lower:
            return reason
    return "other"


def spans(numbers: Iterable[int]) -> str:
    """Return whole numbers as ``0-7,12``, so that thousands of ranks stay one short text."""
    found: list[list[int]] = []
    for number in sorted(set(numbers)):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in found)


def numbers_in(text: str) -> list[int]:
    """Return the numbers that ``spans`` wrote."""
    pairs = (part.partition("-") for part in text.split(",") if part)
    return [n for low, _, high in pairs for n in range(int(low), int(high or low) + 1)]
