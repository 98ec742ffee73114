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
    "nccl_usage",
    "nccl_proxy",
    "nccl_plugin",
    "nccl_ras",
    "nccl_bulk",
    "nccl_graph",
    "c10d",
    "c10d_error",
    "c10d_dump",
    "flight_recorder",
    "fr_verdict",
    "c10d_barrier",
    "c10d_desync",
    "c10d_store",
    "torchrun",
    "error_file",
    "launcher",
    "packages",
    "error_lines",
    "traceback",
    "stack_pyspy",
    "stack_faulthandler",
    "stack_native",
    "cuda_oom",
    "cuda_oom_other",
    "memory_summary",
    "memory_snapshot",
    "memory_lines",
    "cuda_error",
    "kernel",
    "kernel_memory",
    "kernel_stalls",
    "kernel_storage",
    "kernel_network",
    "kernel_nvidia",
    "kernel_amd",
    "fabric_manager",
    "ibstatus",
    "scheduler",
    "kubernetes",
    "slurm_nodes",
    "host_lifecycle",
    "dataloader",
    "bad_sample",
    "steps_megatron",
    "steps_deepspeed",
    "steps_trainer",
    "steps_plain",
    "steps_unnumbered",
    "steps_meters",
    "metrics_jsonl",
    "metrics_csv",
    "tensorboard",
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
    "nvidia_smi_topo",
    "dcgm",
    "nccl_tests",
    "ib_devinfo",
    "ib_counters",
    "lspci",
)
"""Names of the modules of this package that declare parsers."""


FAMILIES = {
    "c10d": "PyTorch distributed errors",
    "ckpt": "checkpoint messages",
    "collective": "collective timeouts and dumps",
    "cuda": "CUDA errors",
    "dataloader": "data loader messages",
    "dcgm": "DCGM output",
    "fabric": "fabric manager log",
    "fr": "flight-recorder dumps",
    "gloo": "Gloo errors",
    "hip": "AMD GPU runtime errors",
    "host": "boots, shutdowns and notices of hosts",
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
    "stack": "stack dumps",
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
