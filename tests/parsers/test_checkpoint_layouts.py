"""Whole and broken checkpoints of every layout, by the names of their files."""

import pytest

from diagnose.ingest.source import Entry
from diagnose.parsers.checkpoint.judge import Tree, judge

MIB = 1 << 20
ZIP = b"PK\x03\x04" + bytes(60)
SAFETENSORS = (1000).to_bytes(8, "little") + b'{"__metadata__"'
NEMO = "m--val_loss=1.23-step=1000-consumed_samples=128000.0"

LAYOUTS = {
    "torchtitan": (
        ("torchtitan", "dcp", "step-500", 500),
        ["checkpoint/step-500/__0_0.distcp", "checkpoint/step-500/__1_0.distcp", "checkpoint/step-500/.metadata"],
    ),
    "diffusers, saved by accelerate": (
        ("accelerate", "full", "checkpoint-500", 500),
        [f"out/checkpoint-500/{f}" for f in ("optimizer.bin", "scheduler.bin", "random_states_0.pkl",
         "unet/diffusion_pytorch_model.safetensors")],
    ),
    "megatron legacy": (
        ("megatron", "legacy", "iter_0000500", 500),
        [f"ckpt/iter_0000500/mp_rank_{t:02d}_{p:03d}/{f}" for t in (0, 1) for p in (0, 1)
         for f in ("model_optim_rng.pt", "distrib_optim.pt")],
    ),
    "megatron legacy with experts": (
        ("megatron", "legacy", "iter_0000500", 500),
        [f"ckpt/iter_0000500/mp_rank_{t:02d}_{p:03d}_{e:03d}/model_optim_rng.pt"
         for t in (0, 1) for p in (0, 1) for e in (0, 1)],
    ),
    "megatron torch_dist": (
        ("megatron", "torch_dist", "iter_0000500", 500),
        [f"ckpt/iter_0000500/{f}" for f in ("__0_0.distcp", "__0_1.distcp", ".metadata", "metadata.json", "common.pt")],
    ),
    "megatron torch_dist without common.pt": (
        ("megatron", "torch_dist", "iter_0000500", 500),
        [f"ckpt/iter_0000500/{f}" for f in ("__0_0.distcp", "__1_0.distcp", ".metadata")],
    ),
    "megatron zarr": (
        ("megatron", "zarr", "iter_0000500", 500),
        ["ckpt/iter_0000500/model.decoder.weight/.zarray", "ckpt/iter_0000500/optimizer.state/.zarray", "ckpt/iter_0000500/common.pt"],
    ),
    "nemo 2": (
        ("nemo", "torch_dist", NEMO, 1000),
        [f"ckpt/{NEMO}/weights/__0_0.distcp", f"ckpt/{NEMO}/weights/.metadata", f"ckpt/{NEMO}/weights/common.pt"],
    ),
    "nemo 2, last": (
        ("nemo", "torch_dist", f"{NEMO}-last", 1000),
        [f"ckpt/{NEMO}-last/weights/__0_0.distcp", f"ckpt/{NEMO}-last/weights/.metadata"],
    ),
    "nemo 1": (
        ("nemo", "legacy", f"{NEMO}.ckpt", 1000),
        [f"ckpt/tp_rank_0{t}_pp_rank_00{p}/{NEMO}.ckpt" for t in (0, 1) for p in (0, 1)],
    ),
    "deepspeed zero 1": (
        ("deepspeed", "zero", "global_step500", 500),
        ["ckpt/global_step500/mp_rank_00_model_states.pt",
         *(f"ckpt/global_step500/zero_pp_rank_{n}_mp_rank_00_optim_states.pt" for n in range(4))],
    ),
    "deepspeed bf16 with tensor parallel": (
        ("deepspeed", "zero", "global_step500", 500),
        [*(f"ckpt/global_step500/mp_rank_0{m}_model_states.pt" for m in (0, 1)),
         *(f"ckpt/global_step500/bf16_zero_pp_rank_{n}_mp_rank_0{m}_optim_states.pt" for n in range(4) for m in (0, 1))],
    ),
    "deepspeed zero 3": (
        ("deepspeed", "zero", "global_step500", 500),
        [f"ckpt/global_step500/zero_pp_rank_{n}_mp_rank_00_{k}_states.pt" for n in range(12) for k in ("model", "optim")],
    ),
    "deepspeed pipeline": (
        ("deepspeed", "zero", "global_step500", 500),
        ["ckpt/global_step500/mp_rank_00_model_states.pt", "ckpt/global_step500/mp_rank_01_model_states.pt",
         *(f"ckpt/global_step500/layer_0{n}-model_0{m}-model_states.pt" for n in (0, 2, 5) for m in (0, 1))],
    ),
    "deepspeed experts": (
        ("deepspeed", "zero", "global_step500", 500),
        ["ckpt/global_step500/mp_rank_00_model_states.pt",
         *(f"ckpt/global_step500/layer_{n}_expert_{e}_mp_rank_00_model_states.pt" for n in (0, 1) for e in range(8)),
         *(f"ckpt/global_step500/expp_rank_{n}_mp_rank_00_optim_states.pt" for n in range(4))],
    ),
    "deepspeed universal": (
        ("deepspeed", "universal", "global_step500_universal", 500),
        [f"ckpt/global_step500_universal/zero/layers.{n}.weight/{k}.pt" for n in (0, 1) for k in ("fp32", "exp_avg", "exp_avg_sq")],
    ),
    "deepspeed with a name of its own": (
        ("deepspeed", "zero", "best", None),
        ["ckpt/best/mp_rank_00_model_states.pt", "ckpt/best/zero_pp_rank_0_mp_rank_00_optim_states.pt"],
    ),
    "hf": (
        ("hf", "full", "checkpoint-500", 500),
        [f"out/checkpoint-500/{f}" for f in
         ("model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state.pth", "trainer_state.json", "training_args.bin")],
    ),
    "hf sharded on two ranks": (
        ("hf", "full", "checkpoint-500", 500),
        [f"out/checkpoint-500/{f}" for f in
         ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json",
          "optimizer.pt", "scheduler.pt", "rng_state_0.pth", "rng_state_1.pth", "trainer_state.json")],
    ),
    "hf with deepspeed": (
        ("hf", "zero", "checkpoint-500", 500),
        ["out/checkpoint-500/trainer_state.json", "out/checkpoint-500/rng_state_0.pth", "out/checkpoint-500/zero_to_fp32.pt",
         "out/checkpoint-500/global_step500/mp_rank_00_model_states.pt",
         "out/checkpoint-500/global_step500/zero_pp_rank_0_mp_rank_00_optim_states.pt"],
    ),
    "hf with peft": (
        ("hf", "full", "checkpoint-500", 500),
        [f"out/checkpoint-500/{f}" for f in
         ("adapter_model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state.pth", "trainer_state.json")],
    ),
    "hf weights only": (
        ("hf", "full", "checkpoint-500", 500),
        ["out/checkpoint-500/model.safetensors", "out/checkpoint-500/trainer_state.json"],
    ),
    "hf with fsdp": (
        ("hf", "dcp", "checkpoint-500", 500),
        [f"out/checkpoint-500/{f}" for f in
         ("pytorch_model_fsdp_0/__0_0.distcp", "pytorch_model_fsdp_0/.metadata", "optimizer_0/__0_0.distcp",
          "optimizer_0/.metadata", "scheduler.pt", "rng_state_0.pth", "trainer_state.json")],
    ),
    "accelerate": (
        ("accelerate", "full", "epoch_1", None),
        [f"out/epoch_1/{f}" for f in
         ("model.safetensors", "optimizer.bin", "scheduler.bin", "sampler.bin", "random_states_0.pkl", "random_states_1.pkl")],
    ),
    "accelerate sharded": (
        ("accelerate", "dcp", "checkpoint_3", None),
        [f"out/checkpoint_3/{f}" for f in
         ("pytorch_model_fsdp_0/__0_0.distcp", "pytorch_model_fsdp_0/.metadata", "optimizer_0/__0_0.distcp",
          "optimizer_0/.metadata", "random_states_0.pkl")],
    ),
    "accelerate local": (
        ("accelerate", "local", "step_500", 500),
        [f"out/step_500/pytorch_model_fsdp_0_rank{n}.bin" for n in range(4)],
    ),
    "lightning": (
        ("lightning", "file", "epoch=1-step=500.ckpt", 500),
        ["logs/version_0/checkpoints/epoch=1-step=500.ckpt"],
    ),
    "lightning sharded": (
        ("lightning", "dcp", "epoch=1-step=500.ckpt", 500),
        [f"logs/checkpoints/epoch=1-step=500.ckpt/{f}" for f in ("__0_0.distcp", ".metadata", "meta.pt")],
    ),
    "lightning with deepspeed": (
        ("lightning", "zero", "epoch=1-step=500.ckpt", 500),
        ["logs/epoch=1-step=500.ckpt/checkpoint/mp_rank_00_model_states.pt",
         "logs/epoch=1-step=500.ckpt/checkpoint/zero_pp_rank_0_mp_rank_00_optim_states.pt"],
    ),
    "orbax": (
        ("orbax", "ocdbt", "500", 500),
        ["ckpt/500/_CHECKPOINT_METADATA", "ckpt/500/default/manifest.ocdbt", "ckpt/500/default/_METADATA"],
    ),
    "verl": (
        ("verl", "local", "global_step_50", 50),
        [*(f"ckpt/global_step_50/actor/{k}_world_size_4_rank_{n}.pt" for k in ("model", "optim", "extra_state") for n in range(4)),
         "ckpt/global_step_50/data.pt"],
    ),
    "openrlhf": (
        ("openrlhf", "zero", "global_step500", 500),
        ["ckpt/_actor/global_step500/mp_rank_00_model_states.pt",
         "ckpt/_actor/global_step500/zero_pp_rank_0_mp_rank_00_optim_states.pt"],
    ),
    "a file of a script": (("torch", "file", "ckpt_500.pt", 500), ["out/ckpt_500.pt"]),
}  # fmt: skip


def entries(names, size=4 * MIB):
    return [
        Entry(name, size, head=SAFETENSORS if name.endswith(".safetensors") else ZIP)
        for name in names
    ]


def events(names, folder="in"):
    return list(judge(Tree(folder, entries(names))))


def one(found, name):
    return [event for event in found if event.name == name]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_whole_checkpoint_is_recognised_complete_and_without_a_fault(layout):
    (framework, form, last, step), names = LAYOUTS[layout]
    found = events(names)
    (folder,) = one(found, "ckpt.folder")
    assert (folder["layout"], folder["form"], folder["step"]) == (framework, form, step)
    assert folder["path"].rpartition("/")[2] == last
    assert folder["complete"] is (None if form == "archive" else True), folder["why"]
    assert {event.name for event in found} <= {"ckpt.folder", "ckpt.newest_complete"}


@pytest.mark.parametrize(
    "layout, left_out",
    [
        ("megatron legacy", "mp_rank_01_000/model_optim_rng.pt"),
        ("megatron legacy with experts", "mp_rank_01_000_001/model_optim_rng.pt"),
        ("nemo 1", f"tp_rank_00_pp_rank_001/{NEMO}.ckpt"),
        ("deepspeed zero 1", "zero_pp_rank_2_mp_rank_00_optim_states.pt"),
        ("deepspeed zero 1", "mp_rank_00_model_states.pt"),
        ("deepspeed bf16 with tensor parallel", "bf16_zero_pp_rank_1_mp_rank_01_optim_states.pt"),
        ("deepspeed zero 3", "zero_pp_rank_10_mp_rank_00_model_states.pt"),
        ("deepspeed pipeline", "layer_02-model_00-model_states.pt"),
        ("deepspeed experts", "layer_1_expert_3_mp_rank_00_model_states.pt"),
        ("deepspeed experts", "expp_rank_1_mp_rank_00_optim_states.pt"),
        ("deepspeed universal", "zero/layers.1.weight/exp_avg.pt"),
        ("hf sharded on two ranks", "model-00002-of-00002.safetensors"),
        ("hf sharded on two ranks", "rng_state_0.pth"),
        ("accelerate", "random_states_0.pkl"),
        ("accelerate local", "pytorch_model_fsdp_0_rank2.bin"),
        ("verl", "actor/optim_world_size_4_rank_3.pt"),
    ],
)
def test_a_file_that_numbering_calls_for_is_missing(layout, left_out):
    names = [name for name in LAYOUTS[layout][1] if not name.endswith(f"/{left_out}")]
    assert len(names) == len(LAYOUTS[layout][1]) - 1
    found = events(names)
    (missing,) = one(found, "ckpt.missing_shards")
    assert missing["missing"] == [left_out]
    (folder,) = one(found, "ckpt.folder")
    assert (folder["complete"], folder["why"]) == (False, f"{left_out} missing")
    assert one(found, "ckpt.newest_complete") == []


@pytest.mark.parametrize(
    "layout, left_out, marker",
    [
        ("torchtitan", ".metadata", "no .metadata"),
        ("megatron torch_dist", ".metadata", "no .metadata"),
        ("nemo 2", "weights/.metadata", "no weights/.metadata"),
        ("hf with fsdp", "optimizer_0/.metadata", "no optimizer_0/.metadata"),
        ("hf", "trainer_state.json", "no trainer_state.json"),
        ("lightning sharded", ".metadata", "no .metadata"),
    ],
)
def test_without_its_marker_of_completion_a_save_did_not_finish(layout, left_out, marker):
    names = [name for name in LAYOUTS[layout][1] if not name.endswith(f"/{left_out}")]
    found = events(names)
    assert [event["marker"] for event in one(found, "ckpt.marker_incomplete")] == [marker]
    assert one(found, "ckpt.folder")[0]["complete"] is False


@pytest.mark.parametrize(
    "more, marker",
    [
        (f"ckpt/{NEMO}-unfinished", f"ckpt/{NEMO}-unfinished"),
        (f"ckpt/{NEMO}/weights/.metadata.tmp", "weights/.metadata.tmp"),
    ],
)
def test_a_marker_of_an_unfinished_save_outweighs_whole_files(more, marker):
    found = events([*LAYOUTS["nemo 2"][1], more])
    assert [event["marker"] for event in one(found, "ckpt.marker_incomplete")] == [marker]
    assert one(found, "ckpt.folder")[0]["complete"] is False


def test_a_temporary_folder_of_orbax_is_no_checkpoint_to_resume_from():
    whole = LAYOUTS["orbax"][1]
    running = [name.replace("500", "600.orbax-checkpoint-tmp-17") for name in whole]
    found = events([*whole, *running])
    assert [event["step"] for event in one(found, "ckpt.newest_complete")] == [500]
    assert one(found, "ckpt.marker_incomplete")[0]["step"] == 600


def test_a_store_without_rename_marks_the_commit_with_a_file():
    steps = [[name.replace("500", step) for name in LAYOUTS["orbax"][1]] for step in ("500", "600")]
    found = events([*steps[0], "ckpt/500/commit_success.txt", *steps[1]])
    assert one(found, "ckpt.marker_incomplete")[0]["marker"] == "no commit_success.txt"


def test_runs_in_one_tree_are_told_apart_and_deepspeed_inside_hf_is_not_a_run():
    names = [
        *(name.replace("out/", "runs/step-1/") for name in LAYOUTS["hf"][1]),
        *(name.replace("out/", "runs/step-2/") for name in LAYOUTS["hf with deepspeed"][1]),
        *LAYOUTS["verl"][1],
    ]
    newest = one(events(names), "ckpt.newest_complete")
    assert sorted(event["path"] for event in newest) == [
        "ckpt/global_step_50", "runs/step-1/checkpoint-500", "runs/step-2/checkpoint-500",
    ]  # fmt: skip


def test_the_output_folder_of_hugging_face_holds_weights_and_is_not_broken():
    names = ["out/trainer_state.json", "out/model.safetensors", "out/training_args.bin"]
    found = events([*names, *LAYOUTS["hf"][1]])
    (output, step) = one(found, "ckpt.folder")
    assert (output["path"], output["weights_only"], output["complete"]) == ("out", True, True)
    assert [event["step"] for event in one(found, "ckpt.newest_complete")] == [step["step"]]


def test_a_smaller_world_size_is_not_a_step_with_missing_ranks():
    def step(number, ranks):
        return [
            f"ckpt/global_step{number}/mp_rank_00_model_states.pt",
            *(f"ckpt/global_step{number}/zero_pp_rank_{n}_mp_rank_00_optim_states.pt" for n in range(ranks)),
        ]  # fmt: skip

    found = events([*step(100, 8), *step(200, 8), *step(300, 4)])
    assert one(found, "ckpt.missing_shards") == []
    assert [event["complete"] for event in one(found, "ckpt.folder")] == [True, True, None]


def test_an_export_of_weights_that_bears_the_name_of_a_step_is_unknown():
    (folder,) = events(["out/checkpoint-500/model.safetensors"])
    assert folder["complete"] is None and "export" in folder["why"]


def test_what_is_wrong_with_newer_steps_stands_beside_the_one_to_resume_from():
    names = [
        *LAYOUTS["deepspeed zero 1"][1],
        *(n.replace("500", "600") for n in LAYOUTS["deepspeed zero 1"][1] if "rank_1_" not in n),
    ]
    (newest,) = one(events(names), "ckpt.newest_complete")
    assert (newest["step"], newest["behind"]) == (500, 100)
    assert newest["newer"] == [
        "ckpt/global_step600: zero_pp_rank_1_mp_rank_00_optim_states.pt missing"
    ]


def test_a_checkpoint_of_the_trainer_needs_weights():
    def missing(*weights):
        names = ("optimizer.pt", "trainer_state.json", *weights)
        entries = [Entry(f"out/checkpoint-5/{name}", MIB) for name in names]
        found = judge(Tree("in", entries))
        return [event["missing"] for event in found if event.name == "ckpt.missing_shards"]

    assert missing() == [["model.safetensors"]]
    assert missing("adapter_model.safetensors") == missing("global_step5/x_model_states.pt") == []


def test_the_state_of_a_trainer_that_is_kept_as_a_log_is_no_checkpoint_without_weights():
    names = ["trainer_state.json", "training_args.bin"]
    found = judge(Tree("logs", [Entry(name, 400) for name in names]))
    assert [event for event in found if event.name == "ckpt.missing_shards"] == []
