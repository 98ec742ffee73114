"""What the program can read: one module a dialect, independent of each other.

The list is explicit; importing a module registers nothing.
"""

from functools import cache
from importlib import import_module

from diagnose.parsers.base import Parser

MODULES = (
    "nccl_init",
    "nccl_env",
    "nccl_ib",
    "nccl_socket",
    "nccl_device",
    "nccl_warn",
    "nccl_bulk",
    "c10d",
    "c10d_desync",
    "c10d_store",
    "torchrun",
    "launcher",
    "packages",
    "error_lines",
    "traceback",
    "cuda_oom",
    "cuda_error",
    "kernel",
    "ibstatus",
    "scheduler",
    "dataloader",
    "steps_megatron",
    "steps_deepspeed",
    "steps_trainer",
    "steps_plain",
    "steps_meters",
    "metrics_jsonl",
    "metrics_csv",
    "train_events",
    "checkpoint_messages",
    "checkpoint_manifest",
    "checkpoint_folder",
    "vllm_stats",
    "vllm",
    "sglang",
    "serving_other",
    "serving_metrics",
    "generated_text",
    "nvidia_smi_table",
    "nvidia_smi_query",
    "nvidia_smi_nvlink",
    "nvidia_smi_monitor",
    "nccl_tests",
    "ib_devinfo",
    "lspci",
)
"""Names of the modules of this package that declare parsers."""


FAMILIES = {
    "c10d": "PyTorch distributed errors",
    "ckpt": "checkpoint messages",
    "cuda": "CUDA errors",
    "dataloader": "data loader messages",
    "gloo": "Gloo errors",
    "hip": "AMD GPU runtime errors",
    "ib": "ibstatus",
    "inference": "serving log",
    "job": "printed settings",
    "k8s": "Kubernetes events",
    "kernel": "kernel log",
    "launcher": "launcher output",
    "nccl": "NCCL log",
    "nccl_tests": "nccl-tests tables",
    "nvidia_smi": "nvidia-smi output",
    "nvml": "nvidia-smi errors",
    "os": "limits and disk errors",
    "package": "package lists",
    "pci": "lspci output",
    "python": "Python exceptions",
    "rendezvous": "rendezvous messages",
    "shm": "shared-memory errors",
    "slurm": "Slurm messages",
    "torch": "PyTorch memory errors",
    "torchrun": "torchrun output",
    "train": "training log",
}
"""What the first part of an event's name stands for, in words for people."""


@cache
def parsers() -> tuple[Parser, ...]:
    """Return all parsers in the order of ``MODULES``."""
    found: list[Parser] = []
    for name in MODULES:
        found.extend(import_module(f"{__name__}.{name}").PARSERS)
    return tuple(found)
