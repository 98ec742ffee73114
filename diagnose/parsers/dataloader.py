"""Data loaders, shared memory, limits of the operating system, and failed file access.

::

    RuntimeError: DataLoader worker (pid 8123) is killed by signal: Killed.
    ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).
    OSError: [Errno 28] No space left on device: '/ckpt/step_2000/shard-0.bin'

``dataloader.worker_died``
    ``worker_pid`` (inside the container), ``signal`` as named or ``exit_code``. ``Killed`` is mostly
    the host's memory, ``Bus error`` shared memory, ``Terminated`` a consequence.
``shm.no_space``, ``os.disk_full``
    ENOSPC under ``/dev/shm`` is shared memory, anywhere else a disk or a quota. What NCCL says at
    INFO it tries again.
``os.io_error``
    EIO, ENOTCONN, ESHUTDOWN, ESTALE, EREMOTEIO or EROFS with ``errno`` and ``path``; ETIMEDOUT only
    with a path, for sockets time out as well. Shells print no number.
``dataloader.oversubscribed``
    More ``workers`` than processors (``suggested``); it slows only a job that waits for data.
``os.limit``
    ``limit``: open-files, processes, address-space, locked-memory, memory or maps.
``os.limit_set``
    ``value`` in bytes of the ``limit`` locked-memory, as ``ulimit -a`` or the kernel lists it.

*Empty*: nothing of these happened; a worker that is stuck prints nothing without a timeout.
*Cut off*: a path that is cut is left out.
"""

import re

from diagnose.model.event import Event, Line, Nature
from diagnose.parsers.base import LineParser, Pattern
from diagnose.parsers.convert import seconds

_TORCH = "PyTorch 1.x to 2.14"
_ERRNO_NAMES = {
    5: "EIO", 28: "ENOSPC", 30: "EROFS", 107: "ENOTCONN", 108: "ESHUTDOWN", 116: "ESTALE",
    110: "ETIMEDOUT", 121: "EREMOTEIO", 122: "EDQUOT",
}  # fmt: skip


def _complete_loader(event: Event, line: Line) -> Event:
    fields = event.fields
    tolerated = event.name == "shm.no_space" and "NCCL INFO" in line.text
    if tolerated or event.name == "dataloader.oversubscribed":
        event.nature = Nature.MEASUREMENT
    if event.name == "dataloader.worker_died":
        for name in ("worker_pid", "signal", "exit_code"):
            fields[name] = fields.get(name)
        if fields["signal"] == "Terminated":
            event.nature = Nature.EFFECT
    return event


def _torch(event: str, regex: str, source: str, sample: str, **constants: str) -> Pattern:
    return Pattern(
        event=event,
        regex=regex,
        nature=Nature.ERROR,
        source=f"{_TORCH}, {source}",
        sample=sample,
        types={
            "worker_pid": int,
            "exit_code": int,
            "timeout": seconds,
            "worker": int,
            "errno": int,
            "workers": int,
            "suggested": int,
        },
        constants=constants,
    )


DATALOADER = LineParser(
    name="dataloader",
    title="PyTorch's DataLoader: workers that died, timeouts, wrapped errors",
    patterns=(
        _torch("dataloader.worker_died", r"DataLoader worker \(pid (?:(?P<worker_pid>\d+)|[^)]{1,20})\) is killed by signal: (?P<signal>[A-Z][\w ]*?)(?:\.|,|$)",
               "torch/csrc/DataLoader.cpp",
               "RuntimeError: DataLoader worker (pid 8123) is killed by signal: Killed. "),
        _torch("dataloader.worker_died", r"DataLoader worker \(pid (?:(?P<worker_pid>\d+)|[^)]{1,20})\) exited unexpectedly with exit code (?P<exit_code>-?\d+)",
               "torch/csrc/DataLoader.cpp",
               "RuntimeError: DataLoader worker (pid 8123) exited unexpectedly with exit code 1. Details are lost due to multiprocessing."),
        _torch("dataloader.worker_died", r"DataLoader worker \(pid\(s\) (?P<worker_pids>[\d, ]+)\) exited unexpectedly",
               "torch/utils/data/dataloader.py",
               "RuntimeError: DataLoader worker (pid(s) 8123, 8124) exited unexpectedly"),
        _torch("dataloader.worker_died", r"ERROR: Unexpected (?P<message>segmentation fault|floating-point exception) encountered in worker",
               "torch/csrc/DataLoader.cpp", "ERROR: Unexpected segmentation fault encountered in worker."),
        _torch("dataloader.worker_died", r"Pin memory thread exited unexpectedly",
               "torch/utils/data/dataloader.py", "RuntimeError: Pin memory thread exited unexpectedly", worker="pin-memory"),
        _torch("dataloader.oversubscribed", r"This DataLoader will create (?P<workers>\d+) worker processes in total\. Our suggested max number of worker in current system is (?P<suggested>\d+)",
               "torch/utils/data/dataloader.py, _check_worker_number_rationality",
               "UserWarning: This DataLoader will create 64 worker processes in total. Our suggested max number of worker in current system is 8, which is smaller than what this DataLoader is going to create."),
        _torch("dataloader.timeout", r"DataLoader timed out after (?P<timeout>[\d.]+ ?s(?:econds)?)",
               "torch/utils/data/dataloader.py", "RuntimeError: DataLoader timed out after 120 seconds"),
        _torch("dataloader.worker_error", r"Caught (?P<type>\w+) in (?:DataLoader worker process (?P<worker>\d+)|pin memory thread for device (?P<device>\d+))",
               "torch/_utils.py, ExceptionWrapper", "FileNotFoundError: Caught FileNotFoundError in DataLoader worker process 2."),
        _torch("shm.no_space", r"Unexpected bus error encountered in worker|out of shared memory\. Please try to raise",
               "torch/csrc/DataLoader.cpp and torch/utils/data/_utils",
               "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm)."),
        _torch("shm.no_space", r"unable to (?:resize|allocate shared memory)[^<]{0,40}<(?P<path>[^>]+)>.{0,80}No space left on device",
               "aten/src/ATen/MapAllocator.cpp",
               "RuntimeError: unable to resize file </torch_8123_1873_0> to the right size: No space left on device (28)"),
        _torch("shm.no_space", r"(?P<path>/dev/shm/[^\s,:']+)[ ,:'].{0,80}No space left on device",
               "as printed by NCCL 2.10 to 2.30, src/misc/shmutils.cc",
               "Error while creating shared memory segment /dev/shm/nccl-WU88OE (size 9637888), error: No space left on device (28)"),
        _torch("shm.no_space", r"Call to posix_fallocate (?:failed|failed ): No space left on device",
               "as printed by NCCL 2.10 to 2.30, src/misc/shmutils.cc",
               "NCCL WARN Call to posix_fallocate failed: No space left on device"),
        _torch("shm.object_lost", r"unable to open shared memory object <(?P<path>[^>]+)> in read-write mode: (?P<message>[\w ]+) \((?P<errno>\d+)\)",
               "aten/src/ATen/MapAllocator.cpp",
               "RuntimeError: unable to open shared memory object </torch_8123_1873_0> in read-write mode: No such file or directory (2)"),
    ),
    refine=_complete_loader,
)  # fmt: skip


def _limit(limit: str, regex: str, source: str, sample: str) -> Pattern:
    return Pattern(
        event="os.limit",
        regex=f"(?P<message>{regex})",
        nature=Nature.ERROR,
        source=source,
        sample=sample,
        constants={"limit": limit},
    )


def _in_bytes(event: Event) -> Event | None:
    """Give a limit in bytes; where there is none, no event."""
    kilobytes = event.fields.pop("kilobytes", None)
    value = str(kilobytes or event.fields["value"])
    if value == "unlimited":
        return None
    event.fields["value"] = int(value) * (1024 if kilobytes else 1)
    return event


LIMITS = LineParser(
    name="os-limits",
    title="limits of the operating system that were reached",
    patterns=(
        _limit("open-files", r"\[Errno 24\] Too many open files|Too many open files\. Communication with the workers|received \d+ items of ancdata|Too many open files \(24\)",
               "errno EMFILE; PyTorch, torch/multiprocessing/reductions.py", "OSError: [Errno 24] Too many open files: '/data/a.bin'"),
        _limit("open-files", r"VFS: file-max limit \d+ reached", "Linux 5.4 to 6.12, fs/file_table.c", "VFS: file-max limit 1048576 reached"),
        _limit("processes", r"can't start new thread|Thread creation failed: Resource temporarily unavailable|pthread_create failed for thread \d+|BlockingIOError: \[Errno 11\]",
               "CPython, Modules/_threadmodule.c; libgomp; OpenBLAS", "RuntimeError: can't start new thread"),
        _limit("locked-memory", r"RLIMIT_MEMLOCK is \d+ bytes|ibv_(?:create_\w+|reg_\w+|alloc_\w+)(?:\([^)]{0,80}\))? failed.{0,40}Cannot allocate memory",
               "rdma-core, libibverbs/init.c; NCCL 2.10 to 2.30, src/misc/ibvwrap.cc", "libibverbs: Warning: RLIMIT_MEMLOCK is 65536 bytes."),
        _limit("locked-memory", r"(?:Couldn't|Failed to|failed to|Could not) (?:create|allocate|register) [\w ()]{2,40}: Cannot allocate memory",
               "programs on top of libibverbs: a queue or a memory region that the call did not get", "Couldn't create CQ: Cannot allocate memory"),
        Pattern(
            event="os.limit_set",
            regex=r"[Mm]ax locked memory +(?:\(kbytes, -l\) +(?P<kilobytes>\d+|unlimited)|(?P<value>\d+|unlimited) +(?:\d+|unlimited) +bytes)",
            nature=Nature.SETTING,
            source="bash, ulimit -a; Linux, /proc/PID/limits",
            sample="max locked memory           (kbytes, -l) 64",
            constants={"limit": "locked-memory"},
        ),
        _limit("memory", r"\[Errno 12\] Cannot allocate memory|DefaultCPUAllocator: can't allocate memory|std::bad_alloc'|Unable to allocate [\d.]+ [KMGT]iB for an array",
               f"errno ENOMEM; {_TORCH}, c10/core/impl/alloc_cpu.cpp; NumPy", "OSError: [Errno 12] Cannot allocate memory"),
        _limit("maps", r"unable to mmap \d+ bytes from file|unable to mmap memory: you tried to mmap",
               f"{_TORCH}, aten/src/ATen/MapAllocator.cpp", "RuntimeError: unable to mmap 4096 bytes from file </torch_8123_1873_0>: Cannot allocate memory (12)"),
    ),
    refine=lambda event, line: _in_bytes(event) if event.name == "os.limit_set" else event,
)  # fmt: skip


_SHARED = re.compile(
    r"/dev/shm|shared memory|joblib will operate in serial mode|unable to resize file <"
)


def _complete_file(event: Event, line: Line) -> Event | None:
    path = event.fields.get("path")
    if event.name == "os.disk_full":
        shared = isinstance(path, str) and path.startswith("/dev/shm")
        if shared or _SHARED.search(line.text):
            # A pattern of the data loader's table has those that name the segment.
            if not shared:
                return None
            event.name = "shm.no_space"
    errno = event.fields.get("errno")
    if isinstance(errno, int):
        event.fields["errno_name"] = _ERRNO_NAMES.get(errno)
    event.fields["path"] = path
    return event


def _file(event: str, regex: str, source: str, sample: str, **constants: int) -> Pattern:
    return Pattern(
        event=event,
        regex=regex,
        nature=Nature.ERROR,
        source=source,
        sample=sample,
        types={"errno": int},
        constants=constants,
    )


_QUOTED = "(?:: ['\"](?P<path>[^'\"]+)['\"])?"
FILES = LineParser(
    name="os-files",
    title="disk full, quota reached, storage that returns errors",
    patterns=(
        _file("os.disk_full", rf"\[Errno (?P<errno>28|122)\] (?P<message>No space left on device|Disk quota exceeded){_QUOTED}",
              "errno ENOSPC and EDQUOT as CPython prints them", "OSError: [Errno 28] No space left on device: '/ckpt/shard-0.bin'"),
        _file("os.disk_full", r"\[Errno (?P<errno>28|122)\] (?P<message>Error .*)",
              "errno ENOSPC and EDQUOT with the words of Arrow, cpp/src/arrow/util/io_util.cc", "OSError: [Errno 122] Error writing bytes to file. Detail: [errno 122] Disk quota exceeded"),
        _file("os.disk_full", r"IOError: .{0,200}Detail: \[errno (?P<errno>28|122)\] (?P<message>.*)",
              "Arrow itself, cpp/src/arrow/util/io_util.cc", "IOError: Error writing bytes to file. Detail: [errno 28] No space left on device"),
        _file("os.disk_full", r"(?P<message>No space left on device|Disk quota exceeded) \((?:os error )?(?P<errno>28|122)\)",
              "errno ENOSPC and EDQUOT as Rust and C++ print them", "SafetensorError: IoError: No space left on device (os error 28)"),
        _file("os.disk_full", r"^(?P<program>\S*(?:cp|tar|mv|rsync|dd|bash|tee|echo|git|sed|cat)): (?:.{0,200} )?'?(?P<path>/[^':]*)'?: (?P<message>No space left on device|Disk quota exceeded)$",
              "coreutils and shells", "cp: error writing '/scratch/a.tar': No space left on device", errno=28),
        _file("os.io_error", rf"\[Errno (?P<errno>5|30|107|108|116|121)\] (?P<message>[A-Z][\w /-]+){_QUOTED}",
              "errno EIO, EROFS, ENOTCONN, ESHUTDOWN, ESTALE and EREMOTEIO as CPython prints them", "OSError: [Errno 116] Stale file handle: '/mnt/data/a.bin'"),
        _file("os.io_error", r"\[Errno (?P<errno>110)\] (?P<message>Connection timed out): ['\"](?P<path>/[^'\"]+)['\"]",
              "errno ETIMEDOUT of a file, from a network file system, as CPython prints it", "OSError: [Errno 110] Connection timed out: '/mnt/data/a.bin'"),
        _file("os.io_error", r"curl_transport\.cc:\d+\] Error \[28\]=(?P<message>Timeout was reached[^\r\n]*)",
              "TensorStore, internal/http/curl_transport.cc: errno ETIMEDOUT of an object store", "W0000 00:00:1715498963.019816  583764 curl_transport.cc:444] Error [28]=Timeout was reached in curl operation", errno=110),
        _file("os.io_error", r"^(?P<program>\S*(?:ls|df|stat|cp|cat|tar|mv|rsync|mkdir|rm|bash|cd)): (?:.{0,200} )?'?(?P<path>/[^':]*)'?: (?P<message>Input/output error|Stale file handle|Transport endpoint is not connected|Read-only file system|Remote I/O error)$",
              "coreutils and shells", "ls: cannot access '/mnt/s3': Transport endpoint is not connected"),
        _file("os.io_error", r"(?P<message>Input/output error|Stale file handle|Transport endpoint is not connected|Read-only file system|Remote I/O error) \((?:os error )?(?P<errno>5|30|107|116|121)\)",
              "the same as Rust and C++ print them", "IoError: Input/output error (os error 5)"),
        _file("os.disk_full", r"(?:read|write)\(\): fd \d+ failed with (?P<message>No space left on device|Disk quota exceeded)",
              f"{_TORCH}, torch/csrc/serialization.cpp", "RuntimeError: write(): fd 7 failed with No space left on device"),
        _file("os.io_error", r"(?:read|write)\(\): fd \d+ failed with (?P<message>Input/output error|Stale file handle|Transport endpoint is not connected|Read-only file system|Remote I/O error|Cannot send after transport endpoint shutdown)",
              f"{_TORCH}, torch/csrc/serialization.cpp", "RuntimeError: write(): fd 7 failed with Stale file handle"),
        _file("os.no_socket_folder", r"torch_shm_manager at .{1,200}: (?P<message>could not generate a random directory for manager socket)",
              f"{_TORCH}, torch/lib/libshm", 'RuntimeError: torch_shm_manager at "/opt/venv/bin/torch_shm_manager": could not generate a random directory for manager socket'),
        _file("os.write_failed", r"PytorchStreamWriter failed writing file (?P<record>[^:]+): (?P<message>file write failed)|unexpected pos \d+ vs \d+",
              f"{_TORCH}, caffe2/serialize/inline_container.cc", "RuntimeError: [enforce fail at inline_container.cc:595] . PytorchStreamWriter failed writing file data/17: file write failed"),
    ),
    refine=_complete_file,
)  # fmt: skip

PARSERS = (DATALOADER, LIMITS, FILES)
