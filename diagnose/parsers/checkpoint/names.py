"""Which files the numbers in the names of a checkpoint's files call for, and whose they are.

Not a parser: the judge of checkpoints asks it. Numbering shows holes; it cannot show that the last
ones are missing, save where the name states the total (``-00001-of-00004``,
``_world_size_8_rank_0``). The ``pp_rank`` in DeepSpeed's names is the data-parallel rank.
"""

import math
import re
from collections.abc import Collection, Iterable
from itertools import product

from diagnose.ingest.lazy import LazyPattern

ZERO_FILE = LazyPattern(
    r"zero_pp_rank_(?P<dp>\d+)_mp_rank_(?P<mp>\d+)_(?P<kind>model|optim)_states\.pt$"
)
PLACED_FILE = LazyPattern(
    r"(?:^|/)(?:mp_rank_(?P<mp>\d+(?:_\d+)*)|tp_rank_(?P<tp>\d+)_pp_rank_(?P<pp>\d+))/(?P<file>[^/]+)$"
)
TOTAL = LazyPattern(
    r"^(?P<head>(?:.*/)?(?!shard-\d+-)[^/]*?-)\d{5}(?P<end>-of-(?P<count>\d{5})\..*)$"
)
WORLD = LazyPattern(r"_world_size_(?P<world>\d+)_rank_(?P<rank>\d+)\.pt$")
UNIVERSAL = LazyPattern(r"^(?P<head>(?:.*/)?zero/.+/)(?P<kind>fp32|exp_avg|exp_avg_sq)\.pt$")

COUNTED = tuple(
    LazyPattern(regex)
    for regex in (
        r"(?:^|/)mp_rank_(?P<n>\d+)_model_states\.pt$",
        r"(?:^|/)layer_\d+-model_(?P<n>\d+)-model_states\.pt$",
        r"(?:^|/)expp_rank_(?P<n>\d+)_mp_rank_\d+_optim_states\.pt$",
        r"(?:^|/)layer_\d+_expert_(?P<n>\d+)_mp_rank_\d+_model_states\.pt$",
        r"(?:^|/)rng_state_(?P<n>\d+)\.pth$",
        r"(?:^|/)random_states_(?P<n>\d+)\.pkl$",
        r"(?:^|/)train_dataloader_dprank(?P<n>\d+)\.pt$",
        r"(?<!world_size_\d)(?<!world_size_\d\d)[-_]rank_?(?P<n>\d+)\.(?:bin|pt)$",
    )
)
"""Names with one number, counted from 0."""

RNG = LazyPattern(r"(?:^|/)(?:rng_state_\d+\.pth|random_states_\d+\.pkl)$")

RANK = LazyPattern(
    r"(?:^|/)(?:__(\d+)_\d+\.distcp|rng_state_(\d+)\.pth|random_states_(\d+)\.pkl"
    r"|train_dataloader_dprank(\d+)\.pt)$|_world_size_\d+_rank_(\d+)\.pt$|[-_]rank_?(\d+)\.(?:bin|pt)$"
)
"""Files whose number is a global rank."""

EXPECTED_LIMIT = 200_000
"""Names that numbering may call for; a file name with a huge number is no plan."""


def expected_names(names: Iterable[str]) -> set[str]:
    """Return the names that the numbers in the present ones call for."""
    present = set(names)
    ends: dict[tuple[str, int, str], tuple[int, int]] = {}
    for name in present:
        if found := WORLD.search(name):
            ends[name[: found.start("rank")], 1, name[found.end("rank") :]] = 0, int(found["world"])
        elif found := TOTAL.match(name):
            ends[found["head"], 5, found["end"]] = 1, int(found["count"]) + 1
        elif found := next((f for one in COUNTED if (f := one.search(name))), None):
            width = len(found["n"]) if found["n"].startswith("0") else 1
            key = name[: found.start("n")], width, name[found.end("n") :]
            ends[key] = 0, max(ends.get(key, (0, 0))[1], int(found["n"]) + 1)
    expected: set[str] = set()
    for (head, width, end), (first, stop) in ends.items():
        if stop <= EXPECTED_LIMIT:
            expected.update(f"{head}{n:0{width}d}{end}" for n in range(first, stop))
    return expected | zero_names(present) | placed_names(present) | _universal(present)


def rank_of(name: str) -> int | None:
    """Return the global rank that wrote a file, where its name says it."""
    found = RANK.search(name)
    return int(next(filter(None, found.groups()))) if found else None


def world_size(names: Iterable[str]) -> int | None:
    """Return the world size that names state."""
    return next((int(found["world"]) for name in names if (found := WORLD.search(name))), None)


def zero_ranks(names: Iterable[str]) -> tuple[int, int] | None:
    """Return the data-parallel and model-parallel size that the names of ZeRO's shards show."""
    found = [f for name in names if (f := ZERO_FILE.search(name)) and f["kind"] == "optim"]
    if not found:
        return None
    return max(int(f["dp"]) for f in found) + 1, max(int(f["mp"]) for f in found) + 1


def model_ranks(names: Iterable[str]) -> tuple[int, int] | None:
    """Return the tensor- and pipeline-parallel size that folders of Megatron-LM's ranks show."""
    found = [_numbers(f) for name in names if (f := PLACED_FILE.search(name))]
    if not found:
        return None
    return (
        max(int(one[0]) for one in found) + 1,
        max((int(one[1]) for one in found if len(one) > 1), default=0) + 1,
    )


def is_tail(missing: Iterable[str], present: Iterable[str]) -> bool:
    """Return whether several missing files are all of the highest ranks there.

    A smaller world size looks the same as ranks that did not write.
    """
    ranks = {rank for name in missing if (rank := _shard(name)) is not None}
    there = [rank for name in present if (rank := _shard(name)) is not None]
    return len(ranks) > 1 and bool(there) and min(ranks) > max(there)


def _shard(name: str) -> int | None:
    zero = ZERO_FILE.search(name)
    return int(zero["dp"]) if zero else rank_of(name)


def zero_names(names: Collection[str], stated: int = 0) -> set[str]:
    """Return the names of ZeRO's files that the numbers in the present ones call for.

    Args:
        names: Present.
        stated: Data-parallel size that a file states, 0 without one.
    """
    files = {name: found for name in names if (found := ZERO_FILE.search(name))}
    data = max(stated - 1, *(int(found["dp"]) for found in files.values()), -1) + 1
    model = max((int(found["mp"]) for found in files.values()), default=-1) + 1
    heads = {(name[: found.start()], found["kind"]) for name, found in files.items()}
    if data * model * len(heads) > EXPECTED_LIMIT:
        return set()
    expected = {
        f"{head}zero_pp_rank_{dp}_mp_rank_{mp:02d}_{kind}_states.pt"
        for (head, kind), dp, mp in product(heads, range(data), range(model))
    }
    for head in {head.removesuffix("bf16_") for head, kind in heads if kind == "optim"}:
        has_model = any(n.startswith(head) and n.endswith("model_states.pt") for n in names)
        if not has_model:
            expected.update(f"{head}mp_rank_{mp:02d}_model_states.pt" for mp in range(model))
    return expected


def placed_names(names: Iterable[str], tensor: int = 0, pipeline: int = 0) -> set[str]:
    """Return the files in folders of ranks that the numbers in the present ones call for.

    Args:
        names: Present.
        tensor: Tensor-parallel size that a file states, 0 without one.
        pipeline: Pipeline-parallel size likewise.
    """
    places: dict[tuple[str, str, bool], set[tuple[str, ...]]] = {}
    for name in names:
        if found := PLACED_FILE.search(name):
            head = name[: found.start("mp" if found["mp"] else "tp")]
            key = head, found["file"], found["mp"] is None
            places.setdefault(key, set()).add(_numbers(found))
    expected: set[str] = set()
    for (head, file, named), ranks in places.items():
        widths = [len(part) for part in next(iter(ranks))]
        if any(len(rank) != len(widths) for rank in ranks):
            continue
        stated = (tensor, pipeline, *[0] * len(widths))
        ends = [max(stated[i], *(int(rank[i]) + 1 for rank in ranks)) for i in range(len(widths))]
        if math.prod(ends) > EXPECTED_LIMIT:
            continue
        mark = "_pp_rank_" if named else "_"
        for numbers in product(*map(range, ends)):
            place = mark.join(f"{n:0{w}d}" for n, w in zip(numbers, widths, strict=True))
            expected.add(f"{head}{place}/{file}")
    return expected


def _numbers(found: re.Match[str]) -> tuple[str, ...]:
    return tuple(found["mp"].split("_")) if found["mp"] else (found["tp"], found["pp"])


def _universal(names: set[str]) -> set[str]:
    found = [f for name in names if (f := UNIVERSAL.match(name))]
    kinds, heads = {f["kind"] for f in found}, {f["head"] for f in found}
    return {f"{head}{kind}.pt" for head in heads for kind in kinds} if len(heads) > 1 else set()
