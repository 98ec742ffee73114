"""How loud NCCL was: the same text warns where it is fatal and informs where it was tolerated."""

from diagnose.model.event import Event, Line, Nature

ERRNO = {
    "Operation not permitted": 1, "No such file or directory": 2, "Input/output error": 5,
    "Resource temporarily unavailable": 11, "Cannot allocate memory": 12, "Permission denied": 13,
    "Bad address": 14, "No such device": 19, "Invalid argument": 22, "Too many open files": 24,
    "No space left on device": 28, "Operation not supported": 95, "Address already in use": 98,
    "Cannot assign requested address": 99, "Network is unreachable": 101,
    "Connection timed out": 110, "Connection refused": 111, "No route to host": 113,
}  # fmt: skip
"""Linux; most messages print the words alone."""


def judge_by_level(event: Event, line: Line) -> Event:
    """Give an event the field ``level``, and call no error what NCCL printed as information."""
    event.fields.setdefault("level", "INFO" if "NCCL INFO" in line.text else "WARN")
    if event.nature is Nature.ERROR and event.fields["level"] == "INFO":
        event.nature = Nature.MEASUREMENT
    return event


def add_errno(event: Event) -> None:
    """Give an event the number of the error that its words name."""
    error = event.fields.get("error")
    if isinstance(error, str):
        event.fields["error"] = error = error.strip()
        if error in ERRNO:
            event.fields.setdefault("errno", ERRNO[error])
