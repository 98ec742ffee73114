"""NCCL's errors as PyTorch raises them, with the explanation and NCCL's last warning below them.

Sample::

    torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:268, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5
    ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.
    Last error:
    Error: failed to extend /dev/shm/nccl-WU88OE to 9637892 bytes, error: No space left on device (28)

``kind`` is the name of NCCL's result, from the explanation (1.13 and later) or from its text. The last
warning says what happened; the result alone seldom does.

Empty: no call of NCCL failed. Cut off: what stands below the cut is null.
"""

from collections.abc import Iterable

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Line, Nature, Value
from diagnose.parsers.base import BlockParser, Record, make_event
from diagnose.parsers.c10d_group import place_in_group

RESULTS = {
    "unhandled cuda error": "ncclUnhandledCudaError",
    "unhandled system error": "ncclSystemError",
    "internal error": "ncclInternalError",
    "invalid argument": "ncclInvalidArgument",
    "invalid usage": "ncclInvalidUsage",
    "remote process exited": "ncclRemoteError",
}
"""``ncclGetErrorString`` to the name of the result, NCCL init.cc."""

NCCL_ERROR = LazyPattern(
    r"NCCL error(?: in)?: (?:(?P<place>\S+:\d+), )?(?P<message>[^\r\n]*?)"
    r"(?:, NCCL ?version (?P<version>\d+\.\d+\.\d+)|$)"
)
EXPLANATION = LazyPattern(r"\b(nccl(?:\w+Error|InvalidArgument|InvalidUsage))\b|Unknown NCCL error")
LAST_ERROR = LazyPattern(r"^\s*Last error:\s*(?P<text>.*)$")


def _error_starts(line: Line) -> bool:
    text = line.text.lstrip()
    begins = EXPLANATION.match(text) or LAST_ERROR.match(text) or NCCL_ERROR.search(text)
    return begins is not None


def _error_ends(lines: list[Line], following: Line) -> bool:
    text, before = following.text, lines[-1].text
    waits = (found := LAST_ERROR.match(before)) is not None and not found["text"]
    return not (waits or EXPLANATION.search(text) or LAST_ERROR.match(text))


def read_nccl_error(lines: list[Line]) -> Iterable[Record]:
    """Return the event of a ``NCCL error`` text with its explanation and NCCL's last warning.

    People paste the explanation or the last warning without the line above it.
    """
    found = NCCL_ERROR.search(lines[0].text)
    message = found["message"] if found else lines[0].text.strip()
    last = None
    for number, line in enumerate(lines):
        if match := LAST_ERROR.match(line.text):
            last = match["text"] or next((one.text for one in lines[number + 1 :]), None)
    named = next((one[1] for line in lines if (one := EXPLANATION.search(line.text))), None)
    by_text = (name for words, name in RESULTS.items() if words in message)
    fields: dict[str, Value] = {
        "kind": named or next(by_text, None),
        "message": message,
        "nccl_version": found["version"] if found else None,
        "last_error": last.strip() if last else None,
    }
    event = make_event(
        "c10d.nccl_error", Nature.EFFECT, lines[0], fields, end_line=lines[-1].number
    )
    place_in_group(event, lines[0].text)
    yield event


PARSERS = (
    BlockParser(
        name="c10d-nccl-error",
        title="NCCL errors as PyTorch raises them, with NCCL's last warning",
        opens=(
            "NCCL error in: ",
            "NCCL error: ",
            "Last error:",
            "ncclUnhandledCudaError: ",
            "ncclSystemError: ",
            "ncclInternalError: ",
            "ncclInvalidArgument: ",
            "ncclInvalidUsage: ",
            "ncclRemoteError: ",
        ),
        starts=_error_starts,
        ends=_error_ends,
        read=read_nccl_error,
        emits=("c10d.nccl_error",),
        sample="torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:268, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5\nncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.\nLast error:\nError: failed to extend /dev/shm/nccl-WU88OE to 9637892 bytes, error: No space left on device (28)",
        maximum=6,
    ),
)
