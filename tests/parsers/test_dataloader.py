import pytest

from diagnose.ingest.pattern import problems
from diagnose.model.event import Line, Nature
from diagnose.parsers.dataloader import PARSERS

PATTERNS = [pattern for parser in PARSERS for pattern in parser.patterns]


def read(text):
    line = Line("rank3.log", 1, text, text)
    found = []
    for parser in PARSERS:
        for pattern in parser.patterns:
            event = pattern.match(line)
            event = event and (parser.refine(event, line) if parser.refine else event)
            if event:
                found.append(event)
    return found


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda one: one.sample[:50])
def test_samples_match_and_patterns_are_safe(pattern):
    assert problems(pattern.regex) == []
    assert any(literal in pattern.sample for literal in pattern.required)
    assert pattern.event in [event.name for event in read(pattern.sample)]


@pytest.mark.parametrize(
    ("text", "pid", "signal", "code", "nature"),
    [
        ("RuntimeError: DataLoader worker (pid 8123) is killed by signal: Killed. ", 8123, "Killed", None, Nature.ERROR),
        ("RuntimeError: DataLoader worker (pid 8123) is killed by signal: Terminated. ", 8123, "Terminated", None, Nature.EFFECT),
        ("RuntimeError: DataLoader worker (pid 8123) is killed by signal: Segmentation fault. ", 8123, "Segmentation fault", None, Nature.ERROR),
        ("DataLoader worker (pid 8123) is killed by signal: Killed", 8123, "Killed", None, Nature.ERROR),
        ("RuntimeError: DataLoader worker (pid 8) exited unexpectedly with exit code 1. Details are lost", 8, None, 1, Nature.ERROR),
        ("RuntimeError: DataLoader worker (pid(s) 8123, 8124) exited unexpectedly", None, None, None, Nature.ERROR),
    ],
)  # fmt: skip
def test_a_worker_died(text, pid, signal, code, nature):
    (event,) = read(text)
    assert event.name == "dataloader.worker_died"
    fields = event.fields
    assert (fields["worker_pid"], fields["signal"], fields["exit_code"]) == (pid, signal, code)
    assert event.nature is nature


def test_a_bus_error_is_shared_memory_as_well():
    text = (
        "RuntimeError: DataLoader worker (pid 8123) is killed by signal: Bus error. It is possible that dataloader's"
        " workers are out of shared memory. Please try to raise your shared memory limit."
    )
    assert {event.name for event in read(text)} == {"dataloader.worker_died", "shm.no_space"}


@pytest.mark.parametrize(
    ("text", "name", "path"),
    [
        ("OSError: [Errno 28] No space left on device: '/ckpt/a.bin'", "os.disk_full", "/ckpt/a.bin"),
        ("OSError: [Errno 28] No space left on device", "os.disk_full", None),
        ("OSError: [Errno 122] Error writing bytes to file. Detail: [errno 122] Disk quota exceeded", "os.disk_full", None),
        ("OSError: [Errno 28] Error writing bytes to file", "os.disk_full", None),
        ("IOError: Error writing bytes to file. Detail: [errno 28] No space left on device", "os.disk_full", None),
        ("OSError: [Errno 122] Disk quota exceeded: '/home/a/x'", "os.disk_full", "/home/a/x"),
        ("OSError: [Errno 28] No space left on device: '/dev/shm/torch_1'", "shm.no_space", "/dev/shm/torch_1"),
        ("Error: failed to extend /dev/shm/nccl-WU88OE to 9637892 bytes, error: No space left on device (28)", "shm.no_space", "/dev/shm/nccl-WU88OE"),
        ("unable to resize file </torch_8123_1873_0> to the right size: No space left on device (28)", "shm.no_space", "/torch_8123_1873_0"),
        ("safetensors_rust.SafetensorError: Error while serializing: IoError(Os { code: 28 }) No space left on device (os error 28)", "os.disk_full", None),
        ("OSError: [Errno 5] Input/output error: '/local/shards/00931.tar'", "os.io_error", "/local/shards/00931.tar"),
        ("OSError: [Errno 107] Transport endpoint is not connected", "os.io_error", None),
        ("OSError: [Errno 30] Read-only file system: '/ckpt'", "os.io_error", "/ckpt"),
    ],
)  # fmt: skip
def test_file_access(text, name, path):
    events = [event for event in read(text) if event.fields.get("path") == path]
    assert [event.name for event in events] == [name]
    assert {event.name for event in read(text)} == {name}


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("OSError: [Errno 24] Too many open files: '/data/a'", "open-files"),
        ("RuntimeError: received 0 items of ancdata", "open-files"),
        ("libgomp: Thread creation failed: Resource temporarily unavailable", "processes"),
        ("NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory", "locked-memory"),
        ("terminate called after throwing an instance of 'std::bad_alloc'", "memory"),
        (
            "numpy._ArrayMemoryError: Unable to allocate 7.45 GiB for an array with shape (1000, 1000)",
            "memory",
        ),
    ],
)
def test_limits(text, limit):
    (event,) = read(text)
    assert (event.name, event.fields["limit"]) == ("os.limit", limit)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "FileNotFoundError: [Errno 2] No such file or directory: '/a'",
        "OSError: [Errno 54] something else",
        "UserWarning: This DataLoader will create 64 worker processes in total.",
        "df: /dev/shm 64M used 0 avail 64M",
        "DataLoader worker (pid",
    ],
)
def test_near_misses(text):
    assert read(text) == []
