"""What the class and the message of a Python exception say: its nature, and values in its text."""

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Nature, Value

MESSAGE_LIMIT = 500
"""Characters of a message that an event keeps."""

EFFECTS = frozenset(
    {
        "ActorDiedError", "ActorUnavailableError", "AsyncEngineDeadError", "BrokenPipeError",
        "BrokenProcessPool", "ChildFailedError", "ConnectionAbortedError", "ConnectionResetError",
        "DistBackendError", "DistNetworkError", "DistStoreError", "EngineDeadError",
        "HorovodInternalError", "MQEngineDeadError", "ProcessExitedException",
        "ProcessRaisedException", "RayActorError", "RendezvousClosedError",
        "RendezvousConnectionError", "RendezvousGracefulExitError", "RendezvousTimeoutError",
        "SignalException", "WorkerCrashedError",
    }
)  # fmt: skip
"""Classes that report the end of another process or of the connection to it."""

TEARDOWNS = frozenset({"KeyboardInterrupt", "SystemExit", "CancelledError"})

_EFFECT_MESSAGES = LazyPattern(
    r"NCCL communicator (?:was aborted|encountered error)|[Cc]onnection (?:closed|reset) by (?:remote )?peer|Broken pipe"
    r"|ncclRemoteError|(?:Watchdog c|C)aught collective|Monitored Barrier encountered|cannot schedule new futures"
    r"|Worker failed with error|Background loop has errored already|Engine process failed to start"
    r"|Worker \w+ pid \d+ died, exit code"
    r"|Engine core initialization failed|RPC call to \w+ timed out|can only test a child process"
)
_LAUNCHERS = LazyPattern(r"torchrun|torch\.distributed|deepspeed|accelerate|python|srun|mpirun")
_ERRNO = LazyPattern(r"\[Errno (\d+)\]|\(os error (\d+)\)|error: [A-Z][a-z ]+ \((\d+)\)")
_PATH = LazyPattern(r"'(/[^']*|[^']*[/.][^']*)'|\"(/[^\"]*)\"")
_MODULE = LazyPattern(r"No module named '?([\w.]+)'?")
_CAUGHT = LazyPattern(r"Caught (\w+) in ")


def error_nature(kind: str | None, message: str) -> Nature:
    """Return what kind of statement an exception of a class makes."""
    name = (kind or "").rpartition(".")[2]
    if name in TEARDOWNS:
        return Nature.TEARDOWN
    if name == "CalledProcessError":
        return Nature.EFFECT if _LAUNCHERS.search(message) else Nature.ERROR
    if name in EFFECTS or (name == "EOFError" and not message):
        return Nature.EFFECT
    return Nature.EFFECT if _EFFECT_MESSAGES.search(message) else Nature.ERROR


def error_details(message: str) -> dict[str, Value]:
    """Return the values in a message: error number, path, module, the class it passes on."""
    errno = _ERRNO.search(message)
    path = _PATH.search(message) if errno else None
    module = _MODULE.search(message)
    caught = _CAUGHT.search(message)
    return {
        "message": message,
        "errno": int(next(filter(None, errno.groups()))) if errno else None,
        "path": next(filter(None, path.groups())) if path else None,
        "module": module[1] if module else None,
        "caught": caught[1] if caught else None,
    }
