import copy
import json

import pytest
import yaml
from dialects import events

from diagnose.model.event import Nature
from diagnose.parsers.checkpoint import manifest as dialect

NAME = "ckpt/checkpoint_manifest.json"
GOOD = {
    "manifest_version": 1,
    "framework": "megatron",
    "step": 500,
    "world_size": 8,
    "parallel": {"tp": 2, "pp": 2, "dp": 2, "cp": 1, "ep": 1, "zero_stage": 1, "fsdp": False},
    "save": {"start": "2026-01-05T10:00:00Z", "end": "2026-01-05T10:03:12Z", "mode": "sync", "blocking_s": 14.2, "status": "complete"},
    "fields": {
        "model": True, "optimizer": True, "lr_scheduler": False, "grad_scaler": None,
        "rng": {"python": True, "numpy": False, "cuda": "none"},
        "dataloader": {"saved": True, "kind": "position"},
    },
    "files": [
        {"path": f"iter_0000500/mp_rank_0{tp}_00{pp}/model_optim_rng.pt", "size": 4096, "role": "both", "rank": {"tp": tp, "pp": pp}, "step": 500}
        for tp in (0, 1) for pp in (0, 1)
    ],
}  # fmt: skip


def changed(**changes):
    manifest = copy.deepcopy(GOOD)
    for key, value in changes.items():
        outer, _, inner = key.partition("__")
        if inner:
            manifest[outer][inner] = value
        else:
            manifest[outer] = value
    return manifest


def read(manifest):
    return events(dialect, json.dumps(manifest), NAME)


def test_a_good_manifest_is_summed_up_and_raises_nothing_else():
    (event,) = read(GOOD)
    assert (event.name, event.nature, event.line) == ("ckpt.manifest", Nature.MEASUREMENT, 1)
    expected = {
        "framework": "megatron", "step": 500, "world_size": 8, "tp": 2, "pp": 2, "dp": 2,
        "status": "complete", "blocking_s": 14.2, "save_s": 192.0, "files": 4, "bytes": 16384,
        "has_model": True, "has_optimizer": True, "has_lr_scheduler": False,
        "has_grad_scaler": None, "rng_python": True, "rng_numpy": False, "rng_torch": None,
        "rng_cuda": False, "has_dataloader": True,
    }  # fmt: skip
    assert {key: event[key] for key in expected} == expected


def test_yaml_says_the_same():
    text = yaml.safe_dump(GOOD)
    (event,) = events(dialect, text, "checkpoint_manifest.yaml")
    assert event.fields == read(GOOD)[0].fields


def test_per_rank_is_saved_and_rng_may_be_one_word():
    (event,) = read(changed(fields__rng={"cuda": "per_rank"}))
    assert (event["rng_cuda"], event["rng_cuda_scope"]) == (True, "per_rank")
    assert read(changed(fields__rng=False))[0]["rng_torch"] is False


@pytest.mark.parametrize(
    "manifest, problem",
    [
        (changed(manifest_version=2), "manifest_version is 2, expected 1"),
        (changed(framework=None), "framework is missing"),
        (changed(step="500"), "step is '500'"),
        (changed(files=None), "files is missing"),
        (changed(world_size=16), "tp x pp x dp x cp is 8, world_size is 16"),
        (changed(parallel__ep=3), "ep is 3"),
        (changed(parallel__ep=0), "ep is 0"),
        (changed(save__end="2026-01-05T09:59:00Z"), "save.end is 60 s before"),
        (changed(files=[{"path": "../../etc/passwd", "size": 1}]), "leaves the folder"),
        (changed(files=[{"path": "/abs", "size": 1}]), "leaves the folder"),
        (changed(files=[{"path": "a.pt", "size": -1}]), "size is -1"),
        (changed(files=[{"path": "a.pt"}]), "size is None"),
    ],
)
def test_what_breaks_the_rules_is_said(manifest, problem):
    (event,) = (e for e in read(manifest) if e.name == "ckpt.manifest_invalid")
    assert any(problem in text for text in event["problems"])


def test_files_of_another_step_are_named():
    manifest = copy.deepcopy(GOOD)
    manifest["files"][2]["step"] = 400
    (event,) = (e for e in read(manifest) if e.name == "ckpt.mixed_steps")
    assert (event["steps"], event["paths"]) == ([400, 500], [manifest["files"][2]["path"]])


def test_holes_among_the_ranks_and_empty_files_are_named():
    manifest = copy.deepcopy(GOOD)
    del manifest["files"][1]
    manifest["files"][0]["size"] = 0
    found = {event.name: event for event in read(manifest)}
    assert found["ckpt.missing_shards"]["missing"] == ["both pp1 tp0"]
    assert found["ckpt.zero_size"]["path"] == manifest["files"][0]["path"]


@pytest.mark.parametrize(
    "text",
    ["", "[1, 2]", '{"manifest_version": 1, "framework": "meg', "just text", "!!python/object/apply:os.system ['true']", "[" * 10000],
)  # fmt: skip
def test_what_is_no_manifest_is_invalid_not_fatal(text):
    assert [event.name for event in events(dialect, text, NAME)] == ["ckpt.manifest_invalid"]


@pytest.mark.parametrize("field", ["parallel", "save", "fields", "batch", "env", "files"])
@pytest.mark.parametrize("value", [None, 1, "x", [1], {"x": [1]}])
def test_fields_of_the_wrong_kind_do_no_harm(field, value):
    assert read(changed(**{field: value}))[0].name == "ckpt.manifest"


@pytest.mark.parametrize("name", ["config.json", "trainer_state.json", "a.log"])
def test_other_files_are_not_taken(name):
    assert events(dialect, '{"version": 1, "manifest": "x"}', name) == []
