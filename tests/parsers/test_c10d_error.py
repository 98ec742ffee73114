import pytest
from communication import check_table, cut_anywhere, holds, one

from diagnose.model.event import Nature
from diagnose.parsers import c10d_error as module

NEW = "[rank3]:[E321 02:07:08.432379535 ProcessGroupNCCL.cpp:607] "
PG = "[PG ID 0 PG GUID 0(default_pg) Rank 3] "


def test_pattern_table():
    check_table(module)


ERROR = """[rank3]: torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:268, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5
[rank3]: ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.
[rank3]: Last error:
[rank3]: Error: failed to extend /dev/shm/nccl-WU88OE to 9637892 bytes, error: No space left on device (28)
[rank3]: and then something else"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ERROR, {"kind": "ncclSystemError", "nccl_version": "2.21.5", "last_error": "Error: failed to extend /dev/shm/nccl-WU88OE to 9637892 bytes, error: No space left on device (28)", "rank": 3, "end_line": 4}),
        (ERROR.replace("\n", "\r\n"), {"kind": "ncclSystemError", "end_line": 4}),
        ("RuntimeError: NCCL error in: /opt/torch/lib/c10d/ProcessGroupNCCL.cpp:784, unhandled cuda error, NCCL version 2.7.8", {"kind": "ncclUnhandledCudaError", "message": "unhandled cuda error", "last_error": None}),
        (NEW + PG + "Process group watchdog thread terminated with exception: NCCL error: remote process exited or there was a network error, NCCL version 2.20.5\nncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\nLast error: NET/IB: Got completion\n", {"kind": "ncclRemoteError", "last_error": "NET/IB: Got completion"}),
    ],
)  # fmt: skip
def test_nccl_errors_are_one_event_with_the_last_warning(text, expected):
    event = one(module, text, "c10d.nccl_error")
    assert event.nature is Nature.EFFECT
    assert holds(event, expected) == {}


@pytest.mark.parametrize(
    ("text", "kind", "last"),
    [
        (
            "ncclSystemError: System call (socket, malloc, munmap, etc) failed.",
            "ncclSystemError",
            None,
        ),
        (
            "ncclRemoteError: A call failed\nLast error:\nNET/IB : boom\nnext",
            "ncclRemoteError",
            "NET/IB : boom",
        ),
        ("Last error:\nCuda failure 'out of memory'", None, "Cuda failure 'out of memory'"),
    ],
)
def test_errors_pasted_without_their_first_line(text, kind, last):
    event = one(module, text, "c10d.nccl_error")
    assert (event.fields["kind"], event.fields["last_error"]) == (kind, last)


def test_cut_records():
    cut_anywhere(module, ERROR)
