"""Which parts of the state of a run a checkpoint holds, by its files and by what is in them.

Not a parser: the judge of checkpoints asks it. True and False are known, None is not: a part that the
framework keeps inside another file, or leaves to the program. ``NEVER`` says what a framework does not
save on its own, which is no fault of a checkpoint.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Value
from diagnose.parsers.checkpoint.layouts import Framework, Layout
from diagnose.parsers.checkpoint.mixed import STEP_KEYS, Values
from diagnose.parsers.checkpoint.names import placed_names, zero_names
from diagnose.parsers.checkpoint.tree import Checkpoint

PARTS = ("optimizer", "scheduler", "scaler", "rng", "dataloader")

NEVER: Mapping[Framework, tuple[str, ...]] = {
    "deepspeed": ("rng", "dataloader"),
    "openrlhf": ("rng", "dataloader"),
    "lightning": ("rng",),
    "torchtitan": ("rng",),
}
"""Parts that a framework leaves to the program."""

FILES: Mapping[Framework, Mapping[str, LazyPattern[str]]] = {
    "hf": {
        "optimizer": LazyPattern(r"(?:^|/)optimizer(?:_\d+/|\.)|optim_states|^global_step"),
        "scheduler": LazyPattern(r"(?:^|/)scheduler\.|^global_step"),
        "rng": LazyPattern(r"(?:^|/)rng_state"),
    },
    "accelerate": {
        "optimizer": LazyPattern(r"(?:^|/)optimizer(?:_\d+[/_]|\.)"),
        "rng": LazyPattern(r"(?:^|/)random_states_"),
    },
    "verl": {
        "optimizer": LazyPattern(r"(?:^|/)optim_world_size"),
        "scheduler": LazyPattern(r"(?:^|/)extra_state_world_size"),
        "rng": LazyPattern(r"(?:^|/)extra_state_world_size"),
        "dataloader": LazyPattern(r"(?:^|/)data\.pt$"),
    },
}
"""Files that hold a part, of the frameworks that give it one; none of them means that it is absent."""

SEEN: Mapping[str, LazyPattern[str]] = {
    "optimizer": LazyPattern(r"optim_states|distrib_optim\.pt|(?:^|/)exp_avg\.pt$"),
    "scaler": LazyPattern(r"(?:^|/)scaler\.pt$"),
    "dataloader": LazyPattern(r"(?:^|/)(?:sampler\w*\.bin|dl_state_dict\w*\.bin|train_dataloader_dprank\d+\.pt)$"),
    "scheduler": LazyPattern(r"(?:^|/)scheduler\w*\.bin$"),
}  # fmt: skip
"""Files that show a part in any framework; that they are absent says nothing."""

KEYS: Mapping[str, LazyPattern[str]] = {
    "optimizer": LazyPattern(r"^(?:optimi[sz]er|optim|base_optimizer|fp32_groups|exp_avg|last_optim|param_groups$)"),
    "scheduler": LazyPattern(r"scheduler|^lr_sched|^opt_param_sched|^(?:last_epoch|base_lrs)$"),
    "scaler": LazyPattern(r"scaler|^loss_scale|precision"),
    "rng": LazyPattern(r"^(?:\w*rng|random_state|rng_tracker|numpy_random|torch_manual)"),
    "dataloader": LazyPattern(r"^(?:\w*dataloader|data_sampler|sampler|dl_state|consumed_\w*samples)"),
}  # fmt: skip
"""Names in the state of a file that hold a part."""

SETTINGS = LazyPattern(r"(?:^|/)training_args\S*\.bin$")
"""Files of settings, whose names (``optim``, ``lr_scheduler_type``) are no state."""

WORLD_KEYS = ("world_size", "args.world_size", "dp_world_size")

SIZE_KEYS = (
    "optimizer_state_dict.partition_count",
    "args.tensor_model_parallel_size",
    "args.pipeline_model_parallel_size",
)
"""Data-parallel size of ZeRO's files; sizes that folders of Megatron-LM's ranks are named after."""

COUNTERS = (*STEP_KEYS, "epoch", "iter_num")
EXPORTED = ("optimizer", "scheduler", "rng")


@dataclass(frozen=True, slots=True)
class Parts:
    """What a checkpoint holds.

    Args:
        has: By part: there, absent or unknown.
        never: Parts that the framework leaves to the program and that were not seen.
        weights_only: It holds no state to resume with, as ``save_only_model`` and exports do.
    """

    has: dict[str, bool | None]
    never: list[str]
    weights_only: bool


def parts_of(
    point: Checkpoint, layout: Layout, keys: Mapping[str, Collection[str]] | None = None
) -> Parts:
    """Return which parts of the state a checkpoint holds.

    Args:
        point: The checkpoint.
        layout: Of it.
        keys: Names at the top of the state of files, by file, where they were read. A file that
            is the whole state of a run, with its counter, lacks what it does not name.
    """
    own = FILES.get(layout.framework, {})
    states = [known for file, known in (keys or {}).items() if not SETTINGS.search(file)]
    names = {key for known in states for key in known}
    whole = layout.form in ("legacy", "file") and any(key in names for key in COUNTERS)
    has: dict[str, bool | None] = {}
    for part in PARTS:
        patterns = [one for one in (own.get(part), SEEN.get(part)) if one is not None]
        there = any(pattern.search(name) for pattern in patterns for name in point.files)
        if there or any(map(KEYS[part].search, names)):
            has[part] = True
        else:
            has[part] = False if part in own or (whole and part != "scaler") else None
    never = [part for part in NEVER.get(layout.framework, ()) if not has[part]]
    has |= dict.fromkeys(never)
    told = layout.framework in FILES or whole or layout.form == "sharded"
    bare = told and not any(has[part] for part in EXPORTED)
    bare = bare and bool(point.data)
    return Parts(has, never, bare)


def stated_names(point: Checkpoint, values: Values) -> set[str]:
    """Return the files that the sizes stated in others call for; names alone show no missing last one.

    Args:
        point: The checkpoint.
        values: In its files.
    """
    data, tensor, pipeline = (
        max((_whole(known.get(key)) or 0 for known in values.values()), default=0)
        for key in SIZE_KEYS
    )
    expected = zero_names(point.files, data) if data else set()
    return expected | (placed_names(point.files, tensor, pipeline) if tensor else set())


def _whole(value: Value) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def world_inside(values: Values) -> int | None:
    """Return the world size that the files of a checkpoint state, None where they state none."""
    for key in WORLD_KEYS:
        for known in values.values():
            if (size := _whole(known.get(key))) is not None:
                return size
    return None
