"""The framework-neutral checkpoint manifest, ``checkpoint_manifest.json`` or ``.yaml``, version 1.

A save hook writes it beside a checkpoint. Of a field of the state ``false`` means known to be
missing, ``null`` not applicable, absent unknown; the last two become None.

*Empty*: an empty file is invalid. *Cut off*: a file that is no whole JSON or YAML object is invalid.
"""

import json
import math
from collections.abc import Iterator
from datetime import datetime
from itertools import product
from typing import Any

import yaml

from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import Document, FileParser, Note, make_event
from diagnose.parsers.gate import Gate

NAMES = ("checkpoint_manifest.json", "checkpoint_manifest.yaml", "checkpoint_manifest.yml")
YAML_LIMIT = 4 << 20
"""Bytes; the YAML reader is a hundred times slower than that of JSON."""

MISSING_LIMIT = 50
"""Missing shards that an event names; it counts all."""


def accepts(name: str, head: bytes) -> bool:
    """Return whether the file is called a manifest, or says so in its first bytes."""
    if name.rsplit("/", 1)[-1] in NAMES:
        return True
    start = head[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    return start.startswith((b'{"manifest_version"', b"manifest_version:")) or (
        start.startswith(b"{") and b'"manifest_version"' in start
    )


def read(document: Document) -> Iterator[Event]:
    """Read and validate a manifest.

    Raises:
        Note: It is too large.
    """
    first = next(document.lines(), None) or Line(document.name, 1, "", "")
    text = document.text().lstrip("\ufeff")
    try:
        manifest = _load(text)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        problem = str(error).split("\n")[0] or type(error).__name__
        yield _event("ckpt.manifest_invalid", Nature.ERROR, first, {"problems": [problem]})
        return
    if not isinstance(manifest, dict):
        found = type(manifest).__name__
        problem = f"the file holds {found}, expected an object"
        yield _event("ckpt.manifest_invalid", Nature.ERROR, first, {"problems": [problem]})
        return
    yield _event("ckpt.manifest", Nature.MEASUREMENT, first, summary(manifest))
    if problems := list(problems_of(manifest)):
        fields: dict[str, Value] = {"problems": [*problems], "step": _whole(manifest.get("step"))}
        yield _event("ckpt.manifest_invalid", Nature.ERROR, first, fields)
    files = _files(manifest)
    yield from _file_events(first, manifest, files)


def _load(text: str) -> Any:
    if text.lstrip().startswith("{"):
        try:
            return json.loads(text)
        except ValueError:
            if len(text) > 1 << 16:
                raise
    if len(text) > YAML_LIMIT:
        raise Note(f"a YAML manifest of {len(text)} bytes, at most {YAML_LIMIT} are read; use JSON")
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def _event(name: str, nature: Nature, line: Line, fields: dict[str, Value]) -> Event:
    return make_event(name, nature, line, fields)


def summary(manifest: dict[str, Any]) -> dict[str, Value]:
    """Return what a manifest states, flat; unknown values are None."""
    parallel, save = _object(manifest, "parallel"), _object(manifest, "save")
    fields = _object(manifest, "fields")
    rng, loader = fields.get("rng"), fields.get("dataloader")
    rng_of = (
        rng if isinstance(rng, dict) else dict.fromkeys(("python", "numpy", "torch", "cuda"), rng)
    )
    files = _files(manifest)
    return {
        "framework": _text(manifest.get("framework")),
        "run_id": _text(manifest.get("run_id")),
        "step": _whole(manifest.get("step")),
        "epoch": _number(manifest.get("epoch")),
        "consumed_samples": _whole(manifest.get("consumed_samples")),
        "world_size": _whole(manifest.get("world_size")),
        **{key: _whole(parallel.get(key)) for key in ("tp", "pp", "dp", "cp", "ep", "zero_stage")},
        "fsdp": _truth(parallel.get("fsdp")),
        "global_batch": _whole(_object(manifest, "batch").get("global")),
        "precision": _text(manifest.get("precision")),
        "status": _text(save.get("status")),
        "mode": _text(save.get("mode")),
        "blocking_s": _number(save.get("blocking_s")),
        "save_s": _duration(save),
        "files": len(files),
        "bytes": sum(size for file in files if (size := _whole(file.get("size"))) is not None),
        "slowest_write_s": max(
            (s for file in files if (s := _number(file.get("write_s"))) is not None), default=None
        ),
        "has_model": _truth(fields.get("model")),
        "has_optimizer": _truth(fields.get("optimizer")),
        "has_lr_scheduler": _truth(fields.get("lr_scheduler")),
        "has_grad_scaler": _truth(fields.get("grad_scaler")),
        "rng_python": _truth(rng_of.get("python")),
        "rng_numpy": _truth(rng_of.get("numpy")),
        "rng_torch": _truth(rng_of.get("torch")),
        "rng_cuda": _truth(rng_of.get("cuda")),
        "rng_cuda_scope": _text(rng_of.get("cuda")),
        "has_dataloader": _truth(loader.get("saved") if isinstance(loader, dict) else loader),
        "dataloader_kind": _text(loader.get("kind")) if isinstance(loader, dict) else None,
        "learning_rate": _number(manifest.get("lr")),
        "loss_at_save": _number(manifest.get("loss_at_save")),
        "torch": _text(_object(manifest, "env").get("torch")),
    }


def problems_of(manifest: dict[str, Any]) -> Iterator[str]:
    """Return what breaks the rules of version 1: value found, value expected."""
    version = manifest.get("manifest_version")
    if version != 1:
        yield f"manifest_version is {version!r}, expected 1"
    if not isinstance(manifest.get("framework"), str):
        yield "framework is missing"
    if _whole(manifest.get("step")) is None:
        yield f"step is {manifest.get('step')!r}, expected a whole number"
    if not isinstance(manifest.get("files"), list):
        yield "files is missing, expected a list"
    for number, file in enumerate(_files(manifest)):
        path, size = file.get("path"), file.get("size")
        if not isinstance(path, str) or not path:
            yield f"files[{number}].path is {path!r}, expected a relative path"
        elif path.startswith(("/", "\\")) or ".." in path.replace("\\", "/").split("/"):
            yield f"files[{number}].path leaves the folder of the checkpoint"
        if (_whole(size) or 0) < 0 or _whole(size) is None:
            yield f"files[{number}].size is {size!r}, expected a number of bytes"
    save = _object(manifest, "save")
    lasted = _duration(save)
    if lasted is not None and lasted < 0:
        yield f"save.end is {-lasted:g} s before save.start"
    yield from _layout_problems(manifest)


def _layout_problems(manifest: dict[str, Any]) -> Iterator[str]:
    parallel, world = _object(manifest, "parallel"), _whole(manifest.get("world_size"))
    sizes = {key: _whole(parallel.get(key)) for key in ("tp", "pp", "dp", "cp")}
    tp, pp, dp = sizes["tp"], sizes["pp"], sizes["dp"]
    if world is not None and tp is not None and pp is not None and dp is not None:
        ranks = tp * pp * dp * (1 if sizes["cp"] is None else sizes["cp"])
        if ranks != world:
            yield f"tp x pp x dp x cp is {ranks}, world_size is {world}"
    ep = _whole(parallel.get("ep"))
    if ep is not None and dp is not None and (ep < 1 or dp % ep):
        yield f"ep is {ep}, which does not divide dp {dp}"


def _file_events(
    line: Line, manifest: dict[str, Any], files: list[dict[str, Any]]
) -> Iterator[Event]:
    step = _whole(manifest.get("step"))
    steps = {other for file in files if (other := _whole(file.get("step"))) is not None}
    if step is not None:
        steps.add(step)
    if len(steps) > 1:
        strangers = [f for f in files if _whole(f.get("step")) not in (None, step)]
        mixed: dict[str, Value] = {
            "steps": [*sorted(steps)],
            "step": step,
            "paths": [str(file.get("path")) for file in strangers[:MISSING_LIMIT]],
        }
        yield _event("ckpt.mixed_steps", Nature.ERROR, line, mixed)
    for file in files:
        if file.get("size") == 0 and not isinstance(file.get("size"), bool):
            zero: dict[str, Value] = {"path": str(file.get("path")), "step": step}
            yield _event("ckpt.zero_size", Nature.ERROR, line, zero)
    if missing := _missing(files):
        holes: dict[str, Value] = {
            "path": line.file,
            "step": step,
            "missing": [*missing[:MISSING_LIMIT]],
            "count": len(missing),
            "expected": len(files) + len(missing),
        }
        yield _event("ckpt.missing_shards", Nature.ERROR, line, holes)


def _missing(files: list[dict[str, Any]]) -> list[str]:
    """Return the places that lack a file where all ranks of a role are numbered.

    A dimension runs to the highest number seen, so a missing last rank cannot be told.
    """
    roles: dict[str, set[tuple[tuple[str, int], ...]]] = {}
    for file in files:
        rank = file.get("rank")
        if isinstance(rank, dict):
            place = {k: n for k, v in rank.items() if (n := _whole(v)) is not None and n >= 0}
            roles.setdefault(str(file.get("role")), set()).add(tuple(sorted(place.items())))
    missing: list[str] = []
    for role, places in sorted(roles.items()):
        names = {tuple(name for name, _ in place) for place in places}
        if len(names) != 1:
            continue
        dimensions = names.pop()
        ends = [max(place[i][1] for place in places) + 1 for i in range(len(dimensions))]
        if math.prod(ends) > 4 * len(places):
            continue  # so many holes mean that not every place has a file by design
        for numbers in product(*(range(end) for end in ends)):
            hole = tuple(zip(dimensions, numbers, strict=True))
            if hole not in places:
                missing.append(f"{role} " + " ".join(f"{name}{n}" for name, n in hole))
    return missing


def _files(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    files = manifest.get("files")
    return [file for file in files if isinstance(file, dict)] if isinstance(files, list) else []


def _object(manifest: dict[str, Any], key: str) -> dict[str, Any]:
    value = manifest.get(key)
    return value if isinstance(value, dict) else {}


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _truth(value: Any) -> bool | None:
    """``per_rank`` and ``rank0`` say that a state was saved, ``none`` that it was not."""
    if isinstance(value, str):
        return value.lower() not in ("none", "false", "no")
    return value if isinstance(value, bool) else None


def _duration(save: dict[str, Any]) -> float | None:
    stamps = [_stamp(save.get("start")), _stamp(save.get("end"))]
    if stamps[0] is None or stamps[1] is None:
        return None
    if (stamps[0].tzinfo is None) != (stamps[1].tzinfo is None):
        return None
    return (stamps[1] - stamps[0]).total_seconds()


def _stamp(value: Any) -> datetime | None:
    if isinstance(value, datetime):  # YAML reads stamps itself
        return value
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


PARSERS = (
    FileParser(
        name="checkpoint-manifest",
        title="Checkpoint manifest, JSON or YAML, version 1",
        accepts=accepts,
        gate=Gate(names=NAMES, holds=(b"manifest_version",)),
        read=read,
        emits=(
            "ckpt.manifest",
            "ckpt.manifest_invalid",
            "ckpt.mixed_steps",
            "ckpt.zero_size",
            "ckpt.missing_shards",
        ),
        sample='{"manifest_version": 1, "framework": "megatron", "step": 500, "world_size": 8, "parallel": {"tp": 2, "pp": 2, "dp": 2}, "fields": {"model": true, "rng": {"torch": false}}, "files": [{"path": "iter_0000500/mp_rank_00_000/model_optim_rng.pt", "size": 4096}]}',
    ),
)
