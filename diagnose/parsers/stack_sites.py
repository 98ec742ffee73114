"""What a process does, told by the frames of its stack.

A frame that tells much (``all_reduce`` of torch.distributed) counts before one that tells little
(a lock), and of equals the innermost. A wait for the device inside a collective is the collective's.

================= ================================================================================
``collective``    In a collective of torch.distributed, NCCL or MPI, or in its set-up
``p2p``           In a send or receive between pipeline stages
``device``        Waits for a GPU, or is in a call of its driver
``backward``      Waits for the autograd engine
``queue``         An inference worker waits for its next command
``loader``        Waits for a batch, or makes one
``storage``       In a read, write, open or flush, in the program or in the kernel
``network``       In the kernel's driver of a network adapter, or in its RDMA layer
``save``          Writes or reads a checkpoint
``preprocess``    Tokenises or builds an index
``eval``          Evaluates or generates
``download``      Waits for an answer over HTTP
``compile``       Compiles kernels or extensions
``subprocess``    Waits for a program it started
``gil``           Waits for the interpreter's lock
``lock``          Waits for a lock, a thread or a process
``sleep``         Sleeps
``compute``       In layers of the model or in the optimizer
``python``        In other Python code
``unknown``       In native code that tells nothing
================= ================================================================================
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from diagnose.ingest.lazy import LazyPattern

MUCH, SOME, LITTLE = 2, 1, 0
"""How much a frame tells."""

MESSAGES = ("collective", "p2p")
"""Kinds of work in which processes talk to each other."""


class Call(Protocol):
    """A frame, as far as it is looked at here."""

    @property
    def function(self) -> str:
        """Its name without class or namespace."""

    @property
    def path(self) -> str:
        """File from the package on, or native library."""

    @property
    def native(self) -> bool:
        """It is no Python."""

    @property
    def source(self) -> str:
        """Text of the line, empty where the tool prints none."""


@dataclass(frozen=True, slots=True)
class Site:
    """A place in code that says what a process does.

    Args:
        doing: As in the table above.
        path: Searched for in the path of the frame, or in the name of its library.
        function: Matches the whole name of the function.
        tells: ``MUCH``, ``SOME`` or ``LITTLE``.
        native: It is no Python.
    """

    doing: str
    path: LazyPattern[str]
    function: LazyPattern[str]
    tells: int = MUCH
    native: bool = False


def _python(doing: str, path: str, function: str = r".*", tells: int = MUCH) -> Site:
    return Site(doing, LazyPattern(path), LazyPattern(rf"(?:{function})$"), tells)


def _native(doing: str, function: str, tells: int = MUCH, library: str = "") -> Site:
    return Site(doing, LazyPattern(library), LazyPattern(rf"(?:{function})$"), tells, native=True)


SITES = (
    # torch 1.13 to 2.9, torch/distributed/distributed_c10d.py
    _python("p2p", r"distributed_c10d\.py$", r"i?send|i?recv|batch_isend_irecv|(?:send|recv)_object_list"),
    _python("collective", r"distributed_c10d\.py$",
            r"_?(?:all_)?(?:reduce|gather)\w*|broadcast\w*|reduce_scatter\w*|scatter\w*|all_to_all\w*"
            r"|(?:monitored_)?barrier|_store_based_barrier|init_process_group|new_group\w*"
            r"|_new_process_group_helper|split_group|_coalescing_manager"),
    _python("collective", r"torch/distributed/utils\.py$", r"_verify_param_shape_across_processes|_sync_(?:module_states|params_and_buffers)"),
    _python("collective", r"torch/distributed/(?:rendezvous|nn/functional|_functional_collectives)\.py$"),
    _python("collective", r"(?:deepspeed/comm|megatron/core/tensor_parallel|horovod)/\w+\.py$",
            r"(?:inference_)?(?:all_)?(?:reduce|gather)\w*|broadcast\w*|barrier|reduce_scatter\w*|all_to_all\w*|synchronize"),
    _native("collective", r"c10d::ProcessGroup\w*::.*|c10d::TCPStore::.*|nccl(?:All|Reduce|Broadcast|Bcast|Group|CommInit)\w*"
            r"|(?:P?MPI_)(?:All|Barrier|Bcast|Reduce|Gather)\w*"),
    _native("p2p", r"nccl(?:Send|Recv)|P?MPI_I?(?:Send|Recv|Wait)\w*"),
    # megatron/core/pipeline_parallel/p2p_communication.py; deepspeed/runtime/pipe/p2p.py
    _python("p2p", r"(?:p2p_communication|pipe/p2p)\.py$"),
    _python("device", r"torch/(?:cuda|xpu|npu|hpu)/(?:__init__|streams)\.py$", r"synchronize|wait|query"),
    _native("device", r"(?:cuda|hip)[A-Z]\w*|cu[A-Z]\w*|hsa_\w+|THPVariable_(?:item|cpu|tolist|numpy)"
            r"|_local_scalar_dense\w*|nvidia_\w+|nv_\w+|_nv\d+\w*|os_acquire_\w+|uvm_\w+|rm_ioctl|amdgpu_\w+|kfd_\w+"),
    _native("device", r".*", SOME, r"^lib(?:cuda|cudart|amdhip64|hsa-runtime64)\.so"),
    _native("collective", r".*", SOME, r"^lib(?:nccl|rccl)\.so"),
    _python("backward", r"torch/autograd/(?:__init__|graph)\.py$", r"backward|grad|_engine_run_backward", SOME),
    # vllm/distributed/device_communicators/shm_broadcast.py
    _python("queue", r"shm_broadcast\.py$", r"acquire_read|dequeue"),
    # torch/utils/data/dataloader.py and _utils/fetch.py
    _python("loader", r"utils/data/(?:dataloader|_utils/\w+)\.py$"),
    _python("loader", r"(?:^|/)(?:data_?loaders?|data_?pipe\w*|dali|webdataset)(?:/\w+)*(?:\.py)?$",
            r"__next__|next|fetch|get_batch\w*", SOME),
    _python("loader", r"nvidia/dali/|(?:^|/)webdataset/|streaming/base/"),
    _python("loader", r"", r"get_batch\w*|next_batch|_?load_batch|_?get_next_batch|get_batch_samples", SOME),
    _python("loader", r"^(?:multiprocessing/queues|queue)\.py$", r"get", SOME),
    _native("storage", r"(?:__GI_+|__libc_|_+)?(?:p?read(?:v|64)?|p?write(?:v|64)?|open(?:at)?(?:64)?|f(?:data)?sync|fflush"
            r"|close|statx?(?:64)?|fstat\w*|flock|fcntl|readdir(?:64)?|getdents(?:64)?|rename|unlink)"),
    _native("storage", r"(?:nfs4?|rpc|lustre|ll|cl|osc|ldlm|ptlrpc|gpfs|mmfs|cxi|ceph|fuse|xfs|ext4|jbd2|btrfs|beegfs)_\w+"
            r"|io_schedule\w*|wait_on_page_\w+|folio_wait_\w+|filemap_\w+|blk_\w+|request_wait_answer"),
    _native("network", r"(?:mlx[45]|ib|rdma|irdma|bnxt|ice)_\w+"),
    _python("storage", r"^(?:fsspec|s3fs|gcsfs|adlfs|botocore|boto3|s3transfer|h5py|zarr|lmdb)/"),
    _python("storage", r"^(?:shutil|tarfile|zipfile|gzip|glob|pathlib)(?:/\w+)?\.py$"),
    _python("storage", r"filelock/\w+\.py$", r"acquire|_acquire"),
    _python("save", r"torch/serialization\.py$|torch/distributed/checkpoint/|safetensors/|^tensorstore/"
            r"|(?:checkpoint(?:ing|_engine)?|dist_checkpointing)(?:/\w+)*\.py$",
            r"_?(?:a?sync_)?(?:save|load|read|write)\w*|_legacy_(?:save|load)|_load|_save"),
    _python("save", r"", r"_?save_(?:checkpoint|pretrained|model|state)\w*|_?load_(?:checkpoint|state)\w*", SOME),
    _python("preprocess", r"^datasets/\w+\.py$|^tokenizers/|transformers/tokenization_\w+\.py$"),
    _python("preprocess", r"", r"_?tokeni[sz]e\w*|_?preprocess\w*|_?build_(?:\w+_)?(?:index|indices|mappings|idx|vocab)\w*", SOME),
    _python("eval", r"", r"_?eval(?:uate|uation)?(?:_\w+)?|validate|validation_(?:loop|step|epoch)|_?validate_\w+|generate\w*", SOME),
    _python("download", r"^huggingface_hub/"),
    _python("download", r"^(?:requests|urllib3|urllib|http|httpx|httpcore)/", r".*", SOME),
    _python("compile", r"torch/_inductor/(?:codecache|async_compile|compile_fx|runtime/triton_heuristics)\.py$",
            r"_?compile\w*|load\w*|wait|precompile\w*|autotune\w*|benchmark\w*|fx_codegen\w*|write_and_get"),
    _python("compile", r"torch/_dynamo/(?:convert_frame|output_graph|symbolic_convert)\.py$|^triton/compiler/|torch/utils/cpp_extension\.py$"),
    _python("compile", r"^ninja/|^torch/_functorch/_aot_autograd/(?:jit_compile_runtime_wrappers|dispatch_and_compile_graph)\.py$"),
    _python("subprocess", r"^subprocess\.py$", r"wait|_wait|_try_wait|communicate|_communicate|call|run|check_\w+", SOME),
    _native("gil", r"take_gil|drop_gil|PyGILState_Ensure|PyEval_(?:Acquire|Restore)Thread"),
    _python("lock", r"^(?:threading|multiprocessing/\w+|concurrent/futures/\w+|asyncio/\w+|selectors)\.py$",
            r"wait|join|acquire|get|result|poll|select|_wait_for_tstate_lock|run_until_complete|run_forever|_run_once", LITTLE),
    _native("lock", r"(?:__)?(?:pthread_(?:mutex_lock|cond_wait|cond_timedwait|join)|futex_\w+|lll_lock_wait)\w*", LITTLE),
    _native("sleep", r"(?:__)?(?:clock_|hrtimer_|do_|u)?(?:nano)?sleep\w*|pysleep|time_sleep", LITTLE),
    _python("compute", r"torch/(?:nn|optim|_ops|functional|amp)\b|^(?:transformer_engine|flash_attn|apex|xformers)/", r".*", LITTLE),
)  # fmt: skip
"""All places, in no order."""

WAITS_IN_SOURCE = (
    ("device", LazyPattern(r"\.(?:item|cpu|tolist|numpy)\(\)|\bsynchronize\(|\.to\(['\"]cpu")),
    ("sleep", LazyPattern(r"\bsleep\(")),
    ("storage", LazyPattern(r"\b(?:open|os\.(?:fsync|stat|listdir|rename|remove))\(|\.(?:fsync|flush)\(")),
)  # fmt: skip
"""Calls into native code that only the text of the innermost Python line shows (pystack)."""

HELPERS = (
    _python("loader", r"utils/data/_utils/worker\.py$", r"_worker_loop"),
    _python("launcher", r"torch/distributed/(?:run|launch)\.py$|torch/distributed/(?:elastic|launcher)/",
            r"main|run|launch_agent|_invoke_run|_monitor_workers|launch|elastic_launch|__call__"),
    _python("launcher", r"^(?:deepspeed/launcher|accelerate/commands)/|horovod/runner/"),
    _python("tracker", r"^multiprocessing/(?:resource_tracker|forkserver|managers)\.py$", r"main|serve_forever|serve_client"),
    _python("pool", r"^multiprocessing/pool\.py$|^concurrent/futures/process\.py$", r"worker|_process_worker"),
    _python("logger", r"^(?:wandb|tensorboard|mlflow|gunicorn|uvicorn|jupyter\w*|ipykernel|dask|distributed)/", r"main|serve\w*|run\w*|start"),
    _python("ray", r"^ray/_private/workers/default_worker\.py$|^ray/(?:dashboard|autoscaler)/|^ray/_private/worker\.py$", r"main_loop|main"),
)  # fmt: skip
"""Frames of processes that belong to no rank, anywhere in the stack."""

HELPER_COMMANDS = LazyPattern(
    r"^VLLM::(?!Worker)\w+|^sglang::(?!scheduler)\w+|resource_tracker|semaphore_tracker|forkserver|wandb[-_](?:service|core)|tensorboard|torchrun"
    r"|torch\.distributed\.(?:run|launch)\b|deepspeed\.launcher|accelerate(?:\s+|[\w./]*\s)launch"
    r"|\b(?:srun|mpirun|mpiexec|nvidia-smi|dcgm)\b|-m\s+ray\b|raylet"
)
"""Command lines of such processes."""

_INTERNAL = LazyPattern(
    r"^(?:torch|multiprocessing|concurrent|asyncio|importlib|json|logging|collections|ctypes|urllib|http"
    r"|email|encodings|xml|unittest|numpy|scipy|pandas|pyarrow|zmq|urllib3|requests|triton|PIL|cv2|filelock)/"
    r"|^(?:threading|queue|selectors|subprocess|socket|ssl|runpy|contextlib|functools|shutil|tarfile"
    r"|zipfile|gzip|pickle|copy|os|posixpath|genericpath|pathlib|glob|tempfile|random|typing|abc|enum"
    r"|dataclasses|inspect|io|codecs|re|time|signal|weakref|traceback|warnings|_bootstrap|bdb|pdb"
    r"|six|tokenize|ast|statistics|heapq|bisect|argparse)\.py$"
    r"|^<frozen"
)
"""Code below any training loop: torch, the standard library, arrays, files and the network."""

_FRAMEWORK = LazyPattern(
    r"^(?:datasets|tokenizers|transformers|accelerate|deepspeed|megatron|apex|lightning|lightning_fabric"
    r"|pytorch_lightning|safetensors|huggingface_hub|fsspec|s3fs|gcsfs|boto3|botocore|s3transfer|wandb"
    r"|transformer_engine|flash_attn|vllm|sglang|ray|horovod|colossalai|h5py|zarr|tqdm)/"
)
"""Packages that hold training loops or are called from them."""

_PIPES = LazyPattern(r"^(?:multiprocessing/|(?:socket|ssl|subprocess|selectors)\.py$)")
"""Python callers whose reads and writes reach no file."""


@dataclass(frozen=True, slots=True)
class Located:
    """What a stack says.

    Args:
        doing: As in the table above.
        frame: The one that tells it.
    """

    doing: str
    frame: Call


def locate(frames: Sequence[Call]) -> Located:
    """Return what a thread does.

    Args:
        frames: At least one, innermost first.
    """
    best: tuple[int, int, str] | None = None
    entered: int | None = None
    for place, frame in enumerate(frames):
        site = _site(frame)
        if site is None or (site.doing == "storage" and _is_pipe(frames, place)):
            continue
        if best is None or site.tells > best[0]:
            best = site.tells, place, site.doing
        if entered is None and site.doing in MESSAGES:
            entered = place
    if best is not None and best[2] in ("device", *MESSAGES) and entered is not None:
        return _outermost(frames, entered)
    python = next((frame for frame in frames if not frame.native), None)
    if best is None or best[0] == LITTLE:
        for doing, pattern in WAITS_IN_SOURCE:
            if python is not None and pattern.search(python.source):
                return Located(doing, python)
    if best is not None:
        return Located(best[2], frames[best[1]])
    return Located("unknown", frames[0]) if python is None else Located("python", python)


def _is_pipe(frames: Sequence[Call], place: int) -> bool:
    """Return whether a native read or write is that of a pipe or socket."""
    if not frames[place].native:
        return False
    caller = next((frame for frame in frames[place:] if not frame.native), None)
    return caller is not None and _PIPES.search(caller.path) is not None


def _outermost(frames: Sequence[Call], place: int) -> Located:
    """Return the call by which the program sends or collects: ``barrier``, not what is below it."""
    found = frames[place]
    for frame in frames[place + 1 :]:
        site = _site(frame)
        if site is not None and site.doing in MESSAGES and not frame.native:
            found = frame
        elif is_loop(frame):
            break
    site = _site(found)
    assert site is not None
    return Located(site.doing, found)


def is_loop(frame: Call) -> bool:
    """Return whether a frame is of the program or its framework, not of what is below them."""
    return not (frame.native or _INTERNAL.search(frame.path))


def is_users(frame: Call) -> bool:
    """Return whether a frame is of the user's own code."""
    return is_loop(frame) and not _FRAMEWORK.search(frame.path)


def is_helper(frames: Sequence[Call], command: str | None) -> bool:
    """Return whether a process is a launcher, a loader worker or another helper of a rank."""
    if command and HELPER_COMMANDS.search(command):
        return True
    return any(_fits(site, frame) for frame in frames for site in HELPERS)


def _site(frame: Call) -> Site | None:
    found = [site for site in SITES if _fits(site, frame)]
    return max(found, key=lambda site: site.tells, default=None)


def _fits(site: Site, frame: Call) -> bool:
    if site.native != frame.native or not site.path.search(frame.path):
        return False
    return site.function.match(frame.function) is not None
