"""Words that are host names, told from words that only look like them."""

from functools import lru_cache

from diagnose.ingest.lazy import LazyPattern

WORDS = (
    "node|host|worker|server|compute|machine|dgx|hgx|pod|trainer|launcher|master|instance|vm|nid|"
    "rack|blade|cn|gn|slave|a100|h100|h200|b200|gb200|mi300x"
)
NAMED = LazyPattern(
    rf"(?:{WORDS})-?[a-z]{{0,4}}-?\d+|gpu-?[a-z]{{1,6}}-?\d+|gpu-?0\d+|gpu-?\d{{2,}}|ip-\d+"
)
"""The part of a host name that gives it away; ``gpu-3`` is a device rather than a host."""

SUFFIX = LazyPattern(r"[a-z]{0,4}\d+|[0-9a-z]{5}")
"""A further number, or the end of a pod's name."""

MAX_LENGTH = 253
"""Characters of a host name, RFC 1035."""

NUMBERED = LazyPattern(r"[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*-[A-Za-z]{0,4}\d+")
ADDRESS = LazyPattern(r"\d{1,3}(?:\.\d{1,3}){3}")
DOMAIN = LazyPattern(r"[A-Za-z0-9-]+(?:\.[A-Za-z][A-Za-z0-9-]*)*")

FILE_ENDINGS = frozenset(
    {"py", "cc", "cpp", "cu", "h", "hpp", "c", "go", "rs", "sh", "so", "log", "txt", "out", "err"}
    | {"json", "yaml", "yml", "pt", "pth", "bin", "gz"}
)

OTHER_WORDS = frozenset(
    {"rank", "step", "epoch", "iter", "iteration", "layer", "shard", "stage", "batch", "chunk"}
    | {"task", "job", "run", "test", "case", "log", "line", "part", "phase", "version", "attempt"}
    | {"thread", "process", "proc", "group", "device", "gpu", "cuda", "nic", "port", "mlx", "eth"}
    | {"tp", "pp", "dp", "ep", "gpt", "llama", "qwen", "python", "torch", "nccl", "exp", "train"}
    | {"warning", "error", "info", "debug", "stdout", "stderr", "main", "exit", "errno", "utf"}
    | {"iso", "model", "checkpoint", "ckpt", "global", "local", "seed", "sample", "try", "lib"}
)
"""Words before a number that count something else."""


@lru_cache(maxsize=4096)
def is_host(text: str) -> bool:
    """Return whether a word has the clear shape of a host name: ``node-07``, ``gpu-n37``."""
    if len(text) > MAX_LENGTH or not text.isascii():
        return False
    parts = text.lower().split("-")
    for first in range(len(parts)):
        for last in range(first + 1, min(first + 3, len(parts)) + 1):
            if NAMED.fullmatch("-".join(parts[first:last])):
                return all(SUFFIX.fullmatch(part) for part in parts[last:])
    return False


@lru_cache(maxsize=4096)
def states_host(text: str) -> bool:
    """Return whether a word before a colon, as parallel shells print it, is a host.

    Its place says more than its shape, so any name that ends in a number after a hyphen counts
    unless one of its words counts something else. ``mlx5_0``, ``eth0`` and ``train.py`` are none.
    """
    if ADDRESS.fullmatch(text):
        return True
    if DOMAIN.fullmatch(text) is None or text.rsplit(".", 1)[-1].lower() in FILE_ENDINGS:
        return False
    name = short(text)
    if is_host(name):
        return True
    words = {word.rstrip("0123456789").lower() for word in name.split("-")}
    return NUMBERED.fullmatch(name) is not None and not words & OTHER_WORDS


@lru_cache(maxsize=4096)
def short(text: str) -> str:
    """Return a host name up to its first dot; an address stays whole."""
    return text if ADDRESS.fullmatch(text) or ":" in text else text.split(".", 1)[0]
