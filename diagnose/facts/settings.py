"""What the logs state of the job as a whole: versions, arguments, layout, world size."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import prod

from diagnose.model.event import Event, Value

PARALLEL = {
    "tp": ("tp", "tensor_model_parallel_size", "tensor_parallel_size", "tp_size"),
    "pp": ("pp", "pipeline_model_parallel_size", "pipeline_parallel_size", "pp_size"),
    "dp": ("dp", "data_parallel_size", "dp_size"),
    "cp": ("cp", "context_parallel_size", "cp_size"),
    "ep": ("ep", "expert_model_parallel_size", "expert_parallel_size", "ep_size"),
    "micro_batches": ("micro_batches", "num_microbatches", "gradient_accumulation_steps"),
}
"""Report key to the argument names of the frameworks."""

MARKS = {
    "run_name": ("run_name", "wandb_exp_name", "WANDB_NAME", "SLURM_JOB_NAME"),
    "wandb_id": ("wandb_id", "WANDB_RUN_ID"),
    "git_commit": ("git_commit", "GIT_COMMIT", "GIT_SHA"),
    "data_version": ("data_version",),
    "model_version": ("model_version",),
    "parameters": ("parameters",),
    "engine_version": ("engine_version",),
    "deepspeed_version": ("deepspeed.version",),
    "config_hash": ("config_hash",),
    "global_batch_size": ("global_batch_size",),
    "micro_batch_size": ("micro_batch_size",),
    "seq_length": ("seq_length",),
    "num_layers": ("num_layers",),
    "hidden_size": ("hidden_size",),
    "lr": ("lr",),
    "seed": ("seed",),
}
"""Mark of the report to the names under which programs state it."""

HYPER_PARAMETERS = (
    "adam_beta1", "adam_beta2", "adam_eps", "bf16", "clip_grad", "fp16", "fp8",
    "global_batch_size", "hidden_size", "init_method_std", "loss_scale", "lr", "lr_decay_iters",
    "lr_decay_style", "lr_warmup_fraction", "lr_warmup_iters", "micro_batch_size", "min_lr",
    "num_attention_heads", "num_experts", "num_layers", "optimizer", "padded_vocab_size", "seed",
    "seq_length", "train_iters", "weight_decay",
)  # fmt: skip
"""Arguments that shape the training, from which the hash is made where no log states one."""

FEWEST_HASHED = 5
"""Stated hyper-parameters from which on their hash tells runs apart."""

LONGEST_MARK = 80
"""Characters of a mark."""

SIZES = frozenset({"world_size", "global_world_size", "global_world_sizes"})
"""Fields that state the size of the world, the last one a list of them."""

MOST_RANKS = 1_000_000
"""A larger world size is a number that means something else."""

LONGEST_NUMBER = 19
"""Digits of a number that is taken for one, at most."""

VERSIONS = {
    "nccl": ("nccl.version",),
    "torch": ("torch.version",),
    "cuda": ("cuda.version",),
    "driver": ("driver.version",),
}
"""Report key to the facts that state it."""


def arguments(events: Iterable[Event]) -> dict[str, Value]:
    """Return arguments and variables by name, the first statement of each."""
    found: dict[str, Value] = {}
    for event in events:
        if event.fact is not None and "value" in event.fields:
            name = str(event.fields.get("name") or event.fact)
            found.setdefault(name.removeprefix("arg.").replace("-", "_"), event.fields["value"])
    return found


def stated_world_size(events: Sequence[Event], arguments: Mapping[str, Value]) -> int | None:
    """Return the world size that a program states, the largest where it changed.

    Where none is stated it is the product of the mesh of devices that is printed.
    """
    sizes = [whole(arguments.get(name)) for name in ("world_size", "WORLD_SIZE", "job.world_size")]
    for event in events:
        if not SIZES.isdisjoint(event.fields):
            listed = event.fields.get("global_world_sizes")
            found = [event.fields.get("world_size"), event.fields.get("global_world_size")]
            sizes += map(whole, [*found, *(listed if isinstance(listed, list) else [])])
    nodes, local = whole(arguments.get("nnodes")), whole(arguments.get("nproc_per_node"))
    if nodes and local:
        sizes.append(nodes * local)
    sizes = [size for size in sizes if size] or [_mesh(arguments)]
    return max((size for size in sizes if size and size <= MOST_RANKS), default=None)


def _mesh(arguments: Mapping[str, Value]) -> int | None:
    """Return the devices of a mesh, None where the sharded dimension is not printed."""
    if not whole(arguments.get("data_parallel_shard_size")):
        return None
    sizes = parallel_layout(arguments)
    return prod(sizes[key] or 1 for key in ("dp", "tp", "pp", "cp"))


def versions(events: Sequence[Event]) -> dict[str, str | None]:
    """Return the versions by report key, the commonest where they differ."""
    by_fact: dict[str, list[Value]] = {}
    for event in events:
        if event.fact is not None:
            by_fact.setdefault(event.fact, []).append(event.fields.get("value"))
    found = {
        key: commonest(value for name in names for value in by_fact.get(name, []))
        for key, names in VERSIONS.items()
    }
    built_for = (event.fields.get("cuda") for event in events if event.fact == "nccl.version")
    found["cuda"] = found["cuda"] or commonest(built_for)
    return found


def adapters(events: Iterable[Event]) -> dict[str, list[str]]:
    """Return the RDMA adapters of each host, as the first ``nccl.ib.devices`` lists them."""
    found: dict[str, list[str]] = {}
    for event in events:
        listed = event.fields.get("hcas")
        if event.host and event.host not in found and listed:
            names = listed if isinstance(listed, list) else str(listed).split(",")
            short = [str(name).split(":")[0].split("/")[0] for name in names]
            found[event.host] = short
    return found


def stated(events: Iterable[Event], fact: str) -> str | None:
    """Return the value most often stated for a fact."""
    return commonest(event.fields.get("value") for event in events if event.fact == fact)


def commonest(values: Iterable[Value]) -> str | None:
    """Return the value that comes most often, the first of equals; None is not counted."""
    counted = Counter(str(value) for value in values if value is not None)
    return counted.most_common(1)[0][0] if counted else None


def whole(value: Value) -> int | None:
    """Return a whole number, also from its text; None for anything else."""
    if isinstance(value, str) and value.isdecimal() and len(value) < LONGEST_NUMBER:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def parallel_layout(arguments: Mapping[str, Value]) -> dict[str, int | None]:
    """Return the parallel sizes by report key.

    Replicas are what the other sizes leave of the world, or the product of both kinds of data
    parallelism; micro-batches are the global batch over what all replicas take at once.
    """
    sizes = {
        key: next((size for name in names if (size := whole(arguments.get(name)))), None)
        for key, names in PARALLEL.items()
    }
    sizes["dp"] = sizes["dp"] or _replicas(arguments, sizes)
    batch = whole(arguments.get("global_batch_size"))
    at_once = (whole(arguments.get("micro_batch_size")) or 0) * (sizes["dp"] or 0)
    if sizes["micro_batches"] is None and batch and at_once and batch % at_once == 0:
        sizes["micro_batches"] = batch // at_once
    return sizes


def _replicas(arguments: Mapping[str, Value], sizes: Mapping[str, int | None]) -> int | None:
    """Return the data-parallel replicas, None where neither they nor the world are stated."""
    sharded, copied = (
        whole(arguments.get(f"data_parallel_{kind}_size")) for kind in ("shard", "replicate")
    )
    if sharded or copied:
        return (sharded or 1) * (copied or 1)
    world, tensor = whole(arguments.get("world_size")), sizes["tp"]
    taken = (tensor or 1) * (sizes["pp"] or 1) * (sizes["cp"] or 1)
    return world // taken if world and tensor and world % taken == 0 else None


def marks(arguments: Mapping[str, Value]) -> dict[str, str]:
    """Return what tells this run from others: name, commit, versions, batch, schedule and seed."""
    found: dict[str, str] = {}
    for mark, names in MARKS.items():
        stated = (arguments[name] for name in names if arguments.get(name) is not None)
        value = next(stated, _hashed(arguments) if mark == "config_hash" else None)
        if value is not None:
            found[mark] = str(value)[:LONGEST_MARK]
    return found


def _hashed(arguments: Mapping[str, Value]) -> str | None:
    """Return a short hash of the hyper-parameters, None where few are stated."""
    import hashlib

    stated = [f"{name}={arguments[name]}" for name in HYPER_PARAMETERS if name in arguments]
    if len(stated) < FEWEST_HASHED:
        return None
    return hashlib.sha256("\n".join(stated).encode()).hexdigest()[:12]
