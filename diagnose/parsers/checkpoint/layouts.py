"""Which program wrote a checkpoint, in which form, and what it keeps where.

Not a parser: the judge of checkpoints asks it. Read from the names of the files alone, in the order
that tells most: DCP inside Megatron-LM, NeMo 2, torchtitan, Lightning and accelerate; DeepSpeed, alone or
inside Hugging Face and OpenRLHF; verl; Megatron-LM legacy and zarr; NeMo 1; Hugging Face; accelerate;
Orbax; Lightning; what is left is a file of torch.save or a folder of weights.
"""

import re
from dataclasses import dataclass
from typing import Literal

from diagnose.parsers.checkpoint.tree import Checkpoint

Framework = Literal[
    "megatron", "nemo", "torchtitan", "lightning", "accelerate", "dcp", "hf", "deepspeed",
    "openrlhf", "verl", "orbax", "fsdp", "torch",
]  # fmt: skip
Form = Literal[
    "dcp", "torch_dist", "zarr", "legacy", "zero", "universal", "full", "sharded", "local", "ocdbt",
    "file", "archive",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Layout:
    """How a checkpoint is laid out.

    Args:
        framework: Program that wrote it.
        form: Of its data.
    """

    framework: Framework
    form: Form

    @property
    def reshards(self) -> bool:
        """Whether weights and optimizer load into another world size as they are."""
        return self.form in ("dcp", "torch_dist", "universal", "full", "ocdbt", "file", "archive")


def layout_of(point: Checkpoint) -> Layout:
    """Return the layout that names show."""
    names = "\n".join(point.files)
    last = point.path.rpartition("/")[2]
    if ".distcp" in names or re.search(r"(?:^|/)\.metadata(?:\.tmp)?$", names, re.MULTILINE):
        return _of_dcp(point, names, last)
    if "_states.pt" in names:
        if "trainer_state.json" in point.files or last.startswith("checkpoint-"):
            return Layout("hf", "zero")
        if _is_lightning(point, last):
            return Layout("lightning", "zero")
        reinforced = re.search(r"(?:^|/)_(?:actor|critic)(?:/|$)", f"{point.path}\n{names}")
        return Layout("openrlhf" if reinforced else "deepspeed", "zero")
    if re.search(r"(?:^|/)zero/.+/(?:fp32|exp_avg)\.pt$", names, re.MULTILINE):
        return Layout("deepspeed", "universal")
    if "_world_size_" in names:
        return Layout("verl", "local")
    if ".zarray" in names:
        return Layout("megatron", "zarr")
    if re.search(r"(?:^|/)[mt]p_rank_\d+\S*/[^/]+\.ckpt$", names, re.MULTILINE):
        return Layout("nemo", "legacy")
    if re.search(r"(?:^|/)mp_rank_\d+", names, re.MULTILINE):
        return Layout("megatron", "legacy")
    return _of_files(point, names, last)


def _of_dcp(point: Checkpoint, names: str, last: str) -> Layout:
    if last.startswith("iter_") or "metadata.json" in point.files or "common.pt" in point.files:
        return Layout("megatron", "torch_dist")
    if "weights/" in names:
        return Layout("nemo", "torch_dist")
    if _is_lightning(point, last):
        return Layout("lightning", "dcp")
    if re.search(r"(?:^|/)\w+_fsdp_\d+/", names, re.MULTILINE):
        trained = last.startswith("checkpoint-") and "random_states_" not in names
        return Layout("hf" if trained else "accelerate", "dcp")
    return Layout("torchtitan" if last.startswith("step-") else "dcp", "dcp")


def _of_files(point: Checkpoint, names: str, last: str) -> Layout:
    own = re.search(r"^checkpoint-\d+$", last) and "random_states_" not in names
    if own or "trainer_state.json" in point.files:
        return Layout("hf", "full")
    if re.search(r"_rank_?\d+\.(?:bin|pt)$", names, re.MULTILINE):
        return Layout("accelerate" if "_fsdp_" in names else "fsdp", "local")
    if "random_states_" in names or re.search(r"_fsdp(?:_\d+)?\.bin$", names, re.MULTILINE):
        return Layout("accelerate", "full")
    if "_CHECKPOINT_METADATA" in names or "manifest.ocdbt" in names or "orbax" in last:
        return Layout("orbax", "ocdbt")
    if last.endswith(".nemo"):
        return Layout("nemo", "archive")
    if last.endswith(".ckpt"):
        return Layout("lightning", "file")
    return Layout("torch", "sharded" if "-of-" in names else "file")


def _is_lightning(point: Checkpoint, last: str) -> bool:
    return last.endswith(".ckpt") or "meta.pt" in point.files or "step=" in point.word
