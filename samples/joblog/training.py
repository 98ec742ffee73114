"""Lines of the training program: steps, and how it fails."""

from collections.abc import Sequence

from joblog.job import Job

LOADER_LINES = (
    "site-packages/torch/utils/data/dataloader.py",
    "site-packages/torch/utils/data/_utils/fetch.py",
)


def step(job: Job, rank: int, moment: float, number: int, of: int, seconds: float) -> str:
    """Return one step as a plain loop logs it.

    Args:
        job: Facts.
        rank: Who prints.
        moment: Seconds since the start.
        number: Of the step.
        of: Steps in all.
        seconds: How long it took.
    """
    loss = 1.6 + 900 / (number + 700) + 0.006 * job.chance("loss", number).random()
    took = seconds * (1 + 0.004 * job.chance("step", rank, number).random())
    return (
        f"{job.stamp(job.host(rank), moment)} INFO train: step {number}/{of} loss {loss:.4f} "
        f"step_time {took:.2f} s\n"
    )


def megatron_step(job: Job, rank: int, moment: float, number: int, of: int, seconds: float) -> str:
    """Return one step as Megatron's last rank logs it."""
    took = 1000 * seconds * (1 + 0.004 * job.chance("step", rank, number).random())
    loss = 1.6 + 900 / (number + 700)
    return (
        f" [{job.stamp(job.host(rank), moment)}] iteration {number:8d}/{of:8d} | consumed samples: "
        f"{number * 1024:12d} | elapsed time per iteration (ms): {took:.1f} | learning rate: "
        f"1.500000E-04 | global batch size:  1024 | lm loss: {loss:.6E} | loss scale: 1.0 | "
        f"grad norm: {0.4 + 0.1 * job.chance('norm', number).random():.3f} | number of skipped "
        "iterations:   0 | number of nan iterations:   0 |\n"
    )


def message(job: Job, rank: int, moment: float, text: str, level: str = "INFO") -> str:
    """Return a line of the program's logger."""
    return f"{job.stamp(job.host(rank), moment)} {level} {text}\n"


def traceback(rank: int, frames: Sequence[tuple[str, int, str, str]], error: str) -> str:
    """Return a traceback as the hook of PyTorch 2.4 and newer prefixes it.

    Args:
        rank: Global rank.
        frames: File, line, function and source line of each, the outermost first.
        error: Class and text.
    """
    lines = ["Traceback (most recent call last):"]
    for file, number, function, source in frames:
        lines += [f'  File "{file}", line {number}, in {function}', f"    {source}"]
    return "".join(f"[rank{rank}]: {text}\n" for text in [*lines, *error.split("\n")])


def out_of_memory(rank: int, gpu: int) -> str:
    """Return the traceback of a GPU that is full with what the model needs."""
    return traceback(
        rank,
        [
            ("/app/train.py", 231, "<module>", "main()"),
            ("/app/train.py", 187, "main", "loss = model(batch)"),
            ("/app/model.py", 144, "forward", "scores = torch.matmul(q, k.transpose(-1, -2))"),
        ],
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. "
        f"GPU {gpu} has a total capacity of 79.11 GiB of which 611.69 MiB is free. "
        "Including non-PyTorch memory, this process has 78.51 GiB memory in use. Of the allocated "
        "memory 76.02 GiB is allocated by PyTorch, and 812.40 MiB is reserved by PyTorch but "
        "unallocated. If reserved but unallocated memory is large try setting "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See "
        "documentation for Memory Management  "
        "(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)",
    )


def cuda_error(rank: int, text: str, name: str) -> str:
    """Return the traceback of an error that the GPU reported.

    Args:
        rank: Global rank.
        text: Such as ``unspecified launch failure``.
        name: Of the error in the CUDA runtime.
    """
    return traceback(
        rank,
        [
            ("/app/train.py", 231, "<module>", "main()"),
            ("/app/train.py", 193, "main", "loss_value = loss.item()"),
        ],
        f"torch.AcceleratorError: CUDA error: {text}\nSearch for `{name}' in https://docs.nvidia.com"
        "/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more information.\nCUDA kernel errors "
        "might be asynchronously reported at some other API call, so the stacktrace below might be "
        "incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1",
    )


def distributed_error(rank: int, job: Job, last: str) -> str:
    """Return the traceback of a collective that failed for a reason elsewhere."""
    return traceback(
        rank,
        [
            ("/app/train.py", 231, "<module>", "main()"),
            ("/app/train.py", 190, "main", "loss.backward()"),
        ],
        "torch.distributed.DistBackendError: NCCL error in: "
        "/pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:3356, remote process exited or "
        f"there was a network error, NCCL version {job.nccl}\nncclRemoteError: A call failed "
        f"possibly due to a network error or a remote process exiting prematurely.\nLast error:\n{last}",
    )
