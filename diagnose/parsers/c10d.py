r"""PyTorch's ProcessGroupNCCL: watchdog, progress counters, aborts, wrong uses.

Sample::

    [rank3]:[E321 02:07:08.432379535 ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, NumelIn=1048576, NumelOut=1048576, Timeout(ms)=600000) ran for 600060 milliseconds before timing out.
    [rank3]:[E321 02:07:08.432379535 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank 3]  failure detected by watchdog at work sequence id: 1580 PG status: last enqueued work: 1582, last completed work: 1579

Every rank that waits prints the timeout; the rank they wait for prints something else or nothing.
``[Rank N]`` and ``[PG ... Rank N]`` count within the group: the field ``pg_rank``. It is taken for the
global rank where the group is the default one, or where no group is named and neither a prefix nor
the file name states a rank. ``communicator`` is the group's GUID, or its number before 2.5.
``by_rank`` of a remote error counts within the group as well; ``first_rank``, added from the job model,
is the global one.

Empty: no collective timed out here, which is no proof of health: the process may be gone. Cut off:
the fields behind the cut are missing; a timeout without its length has no onset.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers import convert
from diagnose.parsers.base import BlockParser, LineParser, Pattern, Record, make_event
from diagnose.parsers.c10d_group import place_in_group

SEQUENCE = LazyPattern(r"(?:work sequence id|at work|at NCCL work): (\d+)")

WORK = (
    r"(?:SeqNum=(?P<seq>\d+), )?OpType=(?P<op>\w+)(?:, TensorShape=\[(?P<shape>[^\]\r\n]*)\])?"
    r"(?:, NumelIn=(?P<numel_in>\d+), NumelOut=(?P<numel_out>\d+))?"
    r"(?:, Timeout\(ms\)=(?P<timeout>\d+)\))?"
)
"""1.8 has no SeqNum, 1.13 to 2.0 a TensorShape, 2.1 and later element counts."""

WORK_TYPES: dict[str, Callable[[str], Value]] = {
    "seq": int,
    "numel_in": int,
    "numel_out": int,
    "timeout": convert.milliseconds,
    "lasted": convert.milliseconds,
}

SITE = LazyPattern(
    r"^\s*#(?P<depth>\d+) (?P<function>\S+) from (?P<path>[^\r\n]+):(?P<source_line>\d+)"
)

LIBRARY = LazyPattern(r"/(?:site|dist)-packages/|/torch/")
"""Paths of frames that are the same whatever the program does."""


def refine(event: Event, line: Line) -> Event | None:
    """Say whose group and rank it is, and complete events from the rest of their line."""
    place_in_group(event, line.text)
    complete = COMPLETE.get(event.name)
    if complete:
        complete(event, line.text)
    return event


def _progress(event: Event, text: str) -> None:
    enqueued, completed = event.fields["last_enqueued"], event.fields["last_completed"]
    if isinstance(enqueued, int) and isinstance(completed, int):
        event.fields["pending"] = enqueued - completed
    if found := SEQUENCE.search(text):
        event.fields["seq"] = int(found[1])


COMPLETE: dict[str, Callable[[Event, str], None]] = {
    "c10d.progress": _progress,
}


def _site_starts(line: Line) -> bool:
    return "not found" not in line.text


def _site_ends(lines: list[Line], following: Line) -> bool:
    return SITE.match(following.text) is None


def read_site(lines: list[Line]) -> Iterable[Record]:
    """Return where in the program the stuck collective was called.

    ``site`` is the innermost frame outside of libraries, else the innermost one.
    """
    frames = [found for line in lines[1:] if (found := SITE.match(line.text))]
    if not frames:
        return
    places: list[Value] = [
        f"{one['function']} {one['path']}:{one['source_line']}" for one in frames
    ]
    own = (
        place for place, one in zip(places, frames, strict=True) if not LIBRARY.search(one["path"])
    )
    fields: dict[str, Value] = {"site": next(own, places[0]), "frames": places}
    event = make_event(
        "c10d.collective_site", Nature.MEASUREMENT, lines[0], fields, end_line=lines[-1].number
    )
    place_in_group(event, lines[0].text)
    yield event


PATTERNS = (
    Pattern(
        event="c10d.watchdog_timeout",
        regex=r"Watchdog caught collective operation timeout: Work\w*\("
        + WORK
        + r"(?: ran for (?P<lasted>\d+) milliseconds)?",
        nature=Nature.EFFECT,
        source="PyTorch 1.8 to 2.12, ProcessGroupNCCL.cpp",
        sample="[rank3]:[E321 02:07:08.432379535 ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, NumelIn=1048576, NumelOut=1048576, Timeout(ms)=600000) ran for 600060 milliseconds before timing out.",
        types=WORK_TYPES,
    ),
    Pattern(
        event="c10d.watchdog_timeout",
        regex=r"Work Work\w*\("
        + WORK
        + r" timed out in (?P<waited_in>blocking wait|call to wait\(\))",
        nature=Nature.EFFECT,
        source="PyTorch 1.8 to 2.12, ProcessGroupNCCL.cpp, where the caller waits",
        sample="RuntimeError: Work WorkNCCL(SeqNum=12, OpType=BROADCAST, NumelIn=4, NumelOut=4, Timeout(ms)=60000) timed out in blocking wait (TORCH_NCCL_BLOCKING_WAIT=1).",
        types=WORK_TYPES,
    ),
    Pattern(
        event="c10d.watchdog_timeout",
        regex=r"Caught collective operation timeout: Work\w*\("
        + WORK
        + r"(?: ran for (?P<lasted>\d+) milliseconds)?",
        nature=Nature.EFFECT,
        source="PyTorch 1.8 to 2.0, ProcessGroupNCCL.cpp, where the caller waits",
        sample="RuntimeError: [Rank 3] Caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE, TensorShape=[1024], Timeout(ms)=1800000) ran for 1800308 milliseconds before timing out.",
        types=WORK_TYPES,
    ),
    Pattern(
        event="c10d.progress",
        regex=r"[Ll]ast enqueued (?:NCCL )?work: (?P<last_enqueued>-?\d+)(?:, last started (?:NCCL )?work: (?P<last_started>-?\d+))?, last completed (?:NCCL )?work: (?P<last_completed>-?\d+)",
        nature=Nature.MEASUREMENT,
        source="PyTorch 2.3 to 2.12, ProcessGroupNCCL.cpp",
        sample="[rank3]:[E321 02:07:08.432379535 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank 3]  failure detected by watchdog at work sequence id: 1580 PG status: last enqueued work: 1582, last completed work: 1579",
        types=dict.fromkeys(("last_enqueued", "last_started", "last_completed"), int),
    ),
    Pattern(
        event="c10d.heartbeat_timeout",
        regex=r"watchdog got stuck for (?P<lasted>\d+) seconds without making progress|Heartbeat monitor timed out!",
        nature=Nature.ERROR,
        source="PyTorch 2.2 to 2.12, ProcessGroupNCCL.cpp",
        sample="[rank3]:[F321 02:17:08.432379535 ProcessGroupNCCL.cpp:1550] [PG ID 0 PG GUID 0(default_pg) Rank 3] ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in monitoring enqueued collectives.",
        types={"lasted": float},
    ),
    Pattern(
        event="c10d.gil_stuck",
        regex=r"Could not acquire GIL within (?P<waited>\d+) ms on exit",
        nature=Nature.ERROR,
        source="PyTorch 2.3 to 2.12, ProcessGroupNCCL.cpp",
        sample="[rank3]:[E321 02:17:09.432379535 ProcessGroupNCCL.cpp:1500] Could not acquire GIL within 300 ms on exit, possible GIL induced hang",
        types={"waited": convert.milliseconds},
    ),
    Pattern(
        event="c10d.watchdog_terminated",
        regex=r"(?:watchdog thread terminated|Event query failed) with exception: (?P<error>[^\r\n]+)",
        nature=Nature.EFFECT,
        source="PyTorch 1.8 to 2.12, ProcessGroupNCCL.cpp",
        sample="[rank3]:[E321 02:07:08.632379535 ProcessGroupNCCL.cpp:1414] [PG ID 0 PG GUID 0(default_pg) Rank 3] Process group watchdog thread terminated with exception: CUDA error: an illegal memory access was encountered",
    ),
    Pattern(
        event="c10d.teardown",
        regex=r"To avoid data inconsistency, we are taking the entire process down|Some NCCL operations have failed or timed out\. Due to the asynchronous nature|Terminating the process after attempting to dump debug info",
        nature=Nature.TEARDOWN,
        source="PyTorch 1.8 to 2.12, ProcessGroupNCCL.cpp",
        sample="[rank3]:[E321 02:07:08.532379535 ProcessGroupNCCL.cpp:700] [Rank 3] To avoid data inconsistency, we are taking the entire process down.",
    ),
    Pattern(
        event="c10d.comm_aborted",
        regex=r"NCCL communicator was aborted on rank (?P<pg_rank>\d+)\.(?: +Original reason for failure was: (?P<reason>[^\r\n]*))?",
        nature=Nature.EFFECT,
        source="PyTorch 1.10 to 2.12, NCCLUtils.hpp",
        sample="torch.distributed.DistBackendError: NCCL communicator was aborted on rank 3.  Original reason for failure was: NCCL error: unhandled system error",
        types={"pg_rank": int},
        constants={"announced": False},
    ),
    Pattern(
        event="c10d.comm_aborted",
        regex=r"Wrote aborted communicator id to store: NCCLABORTEDCOMM",
        nature=Nature.EFFECT,
        source="PyTorch 1.8 to 2.0, ProcessGroupNCCL.cpp",
        sample="[E ProcessGroupNCCL.cpp:1003] [Rank 3] Wrote aborted communicator id to store: NCCLABORTEDCOMM:0a1b",
        constants={"announced": True},
    ),
    Pattern(
        event="c10d.remote_error",
        regex=r"remote error detected from rank: (?P<by_rank>\d+)",
        nature=Nature.EFFECT,
        source="PyTorch 2.7 to 2.12, ProcessGroupNCCL.cpp, with TORCH_NCCL_PROPAGATE_ERROR",
        sample="[rank3]:[E321 02:07:08.632379535 ProcessGroupNCCL.cpp:2020] [PG ID 0 PG GUID 0(default_pg) Rank 3]  remote error detected from rank: 5",
        types={"by_rank": int},
    ),
    Pattern(
        event="c10d.remote_error",
        regex=r"from rank: (?P<by_rank>\d+)\. This means that rank has aborted its NCCL communicators",
        nature=Nature.EFFECT,
        source="PyTorch 1.8 to 2.0, ProcessGroupNCCL.cpp",
        sample="[E ProcessGroupNCCL.cpp:1010] [Rank 3] found key in store: NCCLABORTEDCOMM:0a1b, from rank: 5. This means that rank has aborted its NCCL communicators previously and is not in a healthy state.. Aborting appropriate communicators",
        types={"by_rank": int},
    ),
    Pattern(
        event="c10d.init_failed",
        regex=r"Health check failure: Failed to initialize NCCL communicator on rank (?P<pg_rank>\d+)",
        nature=Nature.EFFECT,
        source="PyTorch 1.10 to 2.2, ProcessGroupNCCL.cpp",
        sample="RuntimeError: ProcessGroupNCCL: Health check failure: Failed to initialize NCCL communicator on rank 3",
        types={"pg_rank": int},
    ),
    Pattern(
        event="c10d.device_unknown",
        regex=r"using GPU (?P<device>\d+) (?:as device used by this process is|to perform barrier as devices used by this process are) currently unknown|Guessing device ID based on global rank",
        nature=Nature.SETTING,
        source="PyTorch 1.8 to 2.12, ProcessGroupNCCL.cpp and distributed_c10d.py",
        sample="[rank3]:[W321 02:00:08.432379535 ProcessGroupNCCL.cpp:4115] [PG ID 0 PG GUID 0 Rank 3]  using GPU 3 as device used by this process is currently unknown. This can potentially cause a hang if this rank to GPU mapping is incorrect.",
        types={"device": int},
    ),
    Pattern(
        event="c10d.monitor_off",
        regex=r"ProcessGroupNCCL monitor thread is disabled, but would have (?P<instead>terminated the process)|PGNCCL Monitor Thread is disabled|BLOCKING_WAIT is enabled, NO watchdog thread is created|Only (?:TORCH_)?NCCL_BLOCKING_WAIT is being used",
        nature=Nature.SETTING,
        source="PyTorch 1.8 to 2.12, ProcessGroupNCCL.cpp: nothing ends a job that hangs",
        sample="[rank3]:[W321 02:00:08.432379535 ProcessGroupNCCL.cpp:900] [PG ID 0 PG GUID 0(default_pg) Rank 3] TORCH_NCCL_BLOCKING_WAIT is enabled, NO watchdog thread is created.",
    ),
    Pattern(
        event="c10d.not_destroyed",
        regex=r"destroy_process_group\(\) was not called before program exit|process group has NOT been destroyed before",
        nature=Nature.TEARDOWN,
        source="PyTorch 2.4 to 2.12, ProcessGroupNCCL.cpp",
        sample="[rank3]:[W321 02:00:08.432379535 ProcessGroupNCCL.cpp:1250] Warning: WARNING: destroy_process_group() was not called before program exit, which can leak resources.",
    ),
    Pattern(
        event="c10d.unbatched_p2p",
        regex=r"An unbatched P2P op \(send/recv\) was called on this ProcessGroup",
        nature=Nature.SETTING,
        source="PyTorch 2.8 to 2.12, ProcessGroupNCCL.cpp",
        sample="[rank3]:[W321 02:00:08.432379535 ProcessGroupNCCL.cpp:3550] Warning: An unbatched P2P op (send/recv) was called on this ProcessGroup with size 8.",
    ),
    Pattern(
        event="c10d.usage_error",
        regex=r"(?P<error>Attempt to perform collective on tensor not on device passed to init_process_group|Tensors must be CUDA and dense|Detected non-contiguous tensor|output tensor size must be equal to world_size times input tensor size|Split sizes doesn't match total dim 0 size|Tensors must have identical type)",
        nature=Nature.ERROR,
        source="PyTorch 1.8 to 2.12, ProcessGroupNCCL.cpp and Utils.hpp",
        sample="RuntimeError: output tensor size must be equal to world_size times input tensor size",
    ),
)


def _timeout_cut(line: Line) -> bool:
    return line.text.rstrip().endswith("ollective operation timeout:")


def read_wrapped(lines: list[Line]) -> Iterable[Record]:
    """Return the timeout whose work stands on the next line."""
    text = " ".join(line.text.strip() for line in lines)
    whole = replace(lines[0], text=text, raw=" ".join(line.raw.strip() for line in lines))
    for pattern in PATTERNS:
        if pattern.event == "c10d.watchdog_timeout" and (event := pattern.match(whole)):
            refined = refine(event, whole)
            if refined is not None:
                yield replace(refined, end_line=lines[-1].number)


PARSERS = (
    LineParser(
        name="c10d",
        title="PyTorch process groups: timeouts, progress counters, aborts, wrong uses",
        patterns=PATTERNS,
        refine=refine,
    ),
    BlockParser(
        name="c10d-wrapped-timeout",
        title="PyTorch's timeout of a collective, broken in front of the collective",
        opens=("ollective operation timeout:",),
        starts=_timeout_cut,
        ends=lambda lines, following: not following.text.lstrip().startswith("Work"),
        read=read_wrapped,
        emits=("c10d.watchdog_timeout",),
        sample="[Rank 3] Watchdog caught collective operation timeout:\nWorkNCCL(SeqNum=15, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000)",
        maximum=2,
    ),
    BlockParser(
        name="c10d-collective-site",
        title="Python call of the collective that timed out",
        opens=("Stack trace of the failed collective",),
        starts=_site_starts,
        ends=_site_ends,
        read=read_site,
        emits=("c10d.collective_site",),
        sample="[PG ID 0 PG GUID 0(default_pg) Rank 3] Stack trace of the failed collective: \n#0 all_reduce from /opt/venv/torch/distributed/distributed_c10d.py:2501\n#1 step from /srv/train.py:88",
        maximum=100,
    ),
)
