"""Time stamps of every program whose logs are read; no other module parses one.

A stamp without a zone is read as it stands; one without a year is put into 1972, one without a
date on 1972-01-01 (``Line.time`` in the model). What is no valid date or time is no stamp.

>>> find_stamp("[2025-06-17 09:12:01] node-a:12:34 [0] NCCL INFO x")
(1750151521.0, <Clock.LOCAL: 'local'>, 21)
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Clock

Stamp = tuple[float, Clock, int]
"""Seconds, what they are measured against, and the length of the stamp in characters."""

MONTHS = {
    "Jan": 1, "Feb": 2, "Mar": 3, "Apr": 4, "May": 5, "Jun": 6,
    "Jul": 7, "Aug": 8, "Sep": 9, "Oct": 10, "Nov": 11, "Dec": 12,
}  # fmt: skip
MONTH = "(" + "|".join(MONTHS) + ")"
WEEKDAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
CLOCK = r"(\d\d):(\d\d):(\d\d)"
FRACTION = r"(?:[.,](\d{1,9}))?"
END = r"(?![\w])"

YEARLESS = "1972"
"""A leap year, so that 29 February is a date."""

# ISO, slurm, NCCL 2.26, loguru, Python's logging, torchtitan, SGLang, kubelet, nvidia-smi
DATED = LazyPattern(
    rf"(\[)?(\d{{4}})[-/](\d\d)[-/](\d\d)(?:[T _]| {{2}}){CLOCK}{FRACTION}"
    r"(Z| UTC| ?[+-]\d\d:?\d\d)?(?(1)\]|(?!\w))"
)
DATE = LazyPattern(r"(\d{4})[-/](\d\d)[-/](\d\d)")
PLAIN = LazyPattern(rf"(\d{{4}})[-/](\d\d)[-/](\d\d)[T ]{CLOCK}{FRACTION}")
"""The part of ``DATED`` that changes from line to line."""
PLAIN_BYTES = rb"(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)"
"""The same in bytes, as one group."""

# TensorRT-LLM: [01/05/2026-10:00:00]
AMERICAN = LazyPattern(rf"(\[)?(\d\d)/(\d\d)/(\d{{4}})[- ]{CLOCK}{FRACTION}(?(1)\]|(?!\w))")
# vLLM 08-25 09:12:34, detectron2 [01/05 10:00:00]
MONTH_DAY = LazyPattern(rf"(\[)?(\d\d)[-/](\d\d) {CLOCK}{FRACTION}(?(1)\]|(?!\w))")
DAYTIME = LazyPattern(rf"(\[)?{CLOCK}{FRACTION}(?(1)\]|(?![\w:]))")
# dmesg, and the kernel's lines in a syslog
UPTIME = LazyPattern(r"\[ *(\d{1,10}\.\d{6})\]")
# NCCL_DEBUG_TIMESTAMP_FORMAT=%s, collectors; a bare number only before NCCL's host:pid:tid
EPOCH = LazyPattern(
    r"(\[)?(1[4-9]\d{8})(?:\.(\d{1,9})(?(1)\]|(?!\w))|(?(1)\]|(?= [\w.-]+:\d+:\d+ )))"
)
SYSLOG = LazyPattern(rf"{MONTH} ([ \d]?\d) {CLOCK}{FRACTION}{END}")
# ctime, dmesg -T, date
CTIME = LazyPattern(
    rf"(\[)?{WEEKDAY} {MONTH} ([ \d]?\d) {CLOCK}{FRACTION}( [AP]M)?"
    r"(?: (UTC|GMT|[A-Z]{3,4}))? (\d{4})(?(1)\]|(?!\w))"
)
# date in en_US of glibc since 2.29: Wed 14 Jan 2026 03:00:00 PM UTC
DAY_FIRST = LazyPattern(
    rf"{WEEKDAY} (\d\d?) {MONTH} (\d{{4}}) {CLOCK}( [AP]M)?(?: (UTC|GMT|[A-Z]{{3,4}}))?{END}"
)
# glog E0704, its newer form E20250704, and c10d's [E321, which pads neither month nor day
GLOG = LazyPattern(
    rf"(\[)?[VDIWEF](?:(\d{{4}})(\d{{4}})|(\d{{3,4}})) {CLOCK}(?:\.(\d{{1,9}}))?{END}"
)


AS_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
IN_EVERY_STAMP = (b"00:00:00", b"0.000000]", b"0" * 10)
"""A time of day, an uptime or seconds since 1970, with zeros for all digits."""


def may_hold_stamp(text: bytes) -> bool:
    """Return whether there may be a stamp in a text; finding it costs a hundred times as much."""
    zeros = text.translate(AS_ZEROS)
    return any(shape in zeros for shape in IN_EVERY_STAMP)


def find_stamp(text: str, start: int = 0) -> Stamp | None:
    """Return the stamp that stands at a place of a text.

    Args:
        text: Searched at ``start`` only.
        start: Where the stamp must begin.

    Returns:
        Seconds, their clock, and the length of the stamp with its brackets; for ``[E321 …`` the
        bracket stays open, since a file name follows.
    """
    first = text[start : start + 1]
    if first == "[":
        first = text[start + 1 : start + 2]
        if first == " ":
            first = "0"
    for pattern, read in _READERS.get(first, ()):
        found = pattern.match(text, start)
        if found is not None:
            stamp = read(found)
            if stamp is not None:
                return stamp[0], stamp[1], found.end() - start
    return None


def plain_time(found: re.Match[str]) -> float | None:
    """Return the seconds of what ``PLAIN`` found, no zone applied; None where it is no time."""
    year, month, day, hour, minute, second, fraction = found.groups()
    return _sum(_day(year, month, day), _seconds(hour, minute, second), fraction)


def plain_seconds(text: str) -> float | None:
    """Return what ``plain_time`` does for a whole text that ``PLAIN`` matches, without a search."""
    minute, second = _minute(text[:16]), text[17:19]
    if minute is None or second > "60":
        return None
    return _sum(minute, float(second), text[20:] or None)


def parse_stamp(text: str) -> tuple[float, Clock] | None:
    """Return the stamp that a text consists of, a date alone included; None for anything else."""
    text = text.strip()
    found = find_stamp(text)
    if found is not None:
        return found[:2] if found[2] == len(text) else None
    date = DATE.fullmatch(text)
    day = _day(*date.groups()) if date else None
    return None if day is None else (day, Clock.LOCAL)


def iso(seconds: float | None, clock: Clock) -> str | None:
    """Return ISO 8601 text for reports, with ``Z`` for UTC; None where the date is not known.

    Args:
        seconds: As in ``Line.time``.
        clock: What they are measured against.
    """
    if seconds is None or clock not in (Clock.UTC, Clock.LOCAL):
        return None
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=round(seconds * 1000))
    except (OverflowError, ValueError):
        return None
    precision = "milliseconds" if moment.microsecond else "seconds"
    text = moment.replace(tzinfo=None).isoformat(timespec=precision)
    return text + "Z" if clock is Clock.UTC else text


@lru_cache(maxsize=4096)
def _day(year: str, month: str, day: str) -> float | None:
    try:
        return datetime(int(year), int(month), int(day), tzinfo=UTC).timestamp()
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def _seconds(hour: str, minute: str, second: str) -> float | None:
    # A leap second is 60.
    if hour > "23" or minute > "59" or second > "60":
        return None
    return int(hour) * 3600.0 + int(minute) * 60.0 + int(second)


def _sum(day: float | None, seconds: float | None, fraction: str | None) -> float | None:
    if day is None or seconds is None:
        return None
    return day + seconds + (float("0." + fraction) if fraction else 0.0)


@lru_cache(maxsize=4096)
def _minute(text: str) -> float | None:
    day = _day(text[:4], text[5:7], text[8:10])
    return _sum(day, _seconds(text[11:13], text[14:16], "00"), None)


@lru_cache(maxsize=64)
def _offset(zone: str) -> float | None:
    digits = zone.strip(" Z").replace(":", "").replace("UTC", "")
    if not digits:
        return 0.0
    hours, minutes = int(digits[1:3]), int(digits[3:5])
    if hours > 14 or minutes > 59:
        return None
    return (hours * 3600.0 + minutes * 60.0) * (-1 if digits[0] == "-" else 1)


def _at(time: float | None, clock: Clock) -> tuple[float, Clock] | None:
    return None if time is None else (time, clock)


def _dated(found: re.Match[str]) -> tuple[float, Clock] | None:
    _, year, month, day, hour, minute, second, fraction, zone = found.groups()
    time = _sum(_day(year, month, day), _seconds(hour, minute, second), fraction)
    if zone is None:
        return _at(time, Clock.LOCAL)
    offset = _offset(zone)
    return None if time is None or offset is None else (time - offset, Clock.UTC)


def _american(found: re.Match[str]) -> tuple[float, Clock] | None:
    _, month, day, year, hour, minute, second, fraction = found.groups()
    return _at(_sum(_day(year, month, day), _seconds(hour, minute, second), fraction), Clock.LOCAL)


def _month_day(found: re.Match[str]) -> tuple[float, Clock] | None:
    _, month, day, hour, minute, second, fraction = found.groups()
    time = _sum(_day(YEARLESS, month, day), _seconds(hour, minute, second), fraction)
    return _at(time, Clock.YEARLESS)


def _daytime(found: re.Match[str]) -> tuple[float, Clock] | None:
    _, hour, minute, second, fraction = found.groups()
    time = _sum(_day(YEARLESS, "1", "1"), _seconds(hour, minute, second), fraction)
    return _at(time, Clock.DAYTIME)


def _uptime(found: re.Match[str]) -> tuple[float, Clock] | None:
    return float(found[1]), Clock.UPTIME


def _epoch(found: re.Match[str]) -> tuple[float, Clock] | None:
    return float(f"{found[2]}.{found[3] or 0}"), Clock.UTC


def _syslog(found: re.Match[str]) -> tuple[float, Clock] | None:
    month, day, hour, minute, second, fraction = found.groups()
    date = _day(YEARLESS, str(MONTHS[month]), day.strip())
    return _at(_sum(date, _seconds(hour, minute, second), fraction), Clock.YEARLESS)


def _ctime(found: re.Match[str]) -> tuple[float, Clock] | None:
    _, month, day, hour, minute, second, fraction, half, zone, year = found.groups()
    date = _day(year, str(MONTHS[month]), day.strip())
    time = _sum(date, _seconds(_hour(hour, half), minute, second), fraction)
    return _at(time, Clock.UTC if zone in ("UTC", "GMT") else Clock.LOCAL)


def _day_first(found: re.Match[str]) -> tuple[float, Clock] | None:
    day, month, year, hour, minute, second, half, zone = found.groups()
    date = _day(year, str(MONTHS[month]), day)
    time = _sum(date, _seconds(_hour(hour, half), minute, second), None)
    return _at(time, Clock.UTC if zone in ("UTC", "GMT") else Clock.LOCAL)


def _hour(text: str, half: str | None) -> str:
    """Return the hour of 24 from one of 12 with its half of the day."""
    if half is None or not "01" <= text <= "12":
        return text
    return f"{int(text) % 12 + (12 if half == ' PM' else 0):02}"


def _glog(found: re.Match[str]) -> tuple[float, Clock] | None:
    bracket, year, padded, digits, hour, minute, second, fraction = found.groups()
    month, day = divmod(int(padded or digits), 100)
    date = _day(year or YEARLESS, str(month), str(day))
    # c10d glues nanoseconds of the monotonic clock to the second (c10/util/Logging.cpp); glog and
    # Python's elastic logger print true microseconds, always six digits and no bracket.
    true = fraction if bracket is None and fraction and len(fraction) == 6 else None
    time = _sum(date, _seconds(hour, minute, second), true)
    return _at(time, Clock.LOCAL if year else Clock.YEARLESS)


Reader = Callable[[re.Match[str]], tuple[float, Clock] | None]
_DIGITS: tuple[tuple[LazyPattern[str], Reader], ...] = (
    (DATED, _dated),
    (DAYTIME, _daytime),
    (MONTH_DAY, _month_day),
    (UPTIME, _uptime),
    (AMERICAN, _american),
    (EPOCH, _epoch),
)
_READERS: dict[str, tuple[tuple[LazyPattern[str], Reader], ...]] = (
    dict.fromkeys("0123456789", _DIGITS)
    | dict.fromkeys("VDIWEF", ((GLOG, _glog),))
    | dict.fromkeys("JAMSONMTW", ((CTIME, _ctime), (SYSLOG, _syslog), (DAY_FIRST, _day_first)))
    | dict.fromkeys(
        "DFW", ((GLOG, _glog), (CTIME, _ctime), (SYSLOG, _syslog), (DAY_FIRST, _day_first))
    )
)
"""Shapes by the first character inside the bracket."""
