import shutil

import pytest
from checkpoint_files import MADE

import diagnose
from diagnose.ingest.source import Entry
from diagnose.model.event import Nature
from diagnose.parsers.checkpoint import folder as dialect

ZIP = b"PK\x03\x04" + bytes(60)
MIB = 1 << 20


def torch(name, size=4 * MIB):
    return Entry(name, size, ZIP)


def safetensors(name, size=4 * MIB, header=1000):
    return Entry(name, size, header.to_bytes(8, "little") + b'{"__metadata__"')


def dcp(step, ranks=(0, 1, 2), size=4 * MIB):
    files = [torch(f"checkpoint/step-{step}/__{rank}_0.distcp", size) for rank in ranks]
    return [*files, Entry(f"checkpoint/step-{step}/.metadata", 5000, b"\x80\x02")]


def deepspeed(step, data=4, skip=()):
    base = f"ckpt/global_step{step}"
    optim = [f"{base}/zero_pp_rank_{n}_mp_rank_00_optim_states.pt" for n in range(data)]
    return [torch(f"{base}/mp_rank_00_model_states.pt")] + [
        torch(name) for n, name in enumerate(optim) if n not in skip
    ]


def megatron(step, skip=()):
    places = [f"{tp:02d}_{pp:03d}" for tp in range(2) for pp in range(2)]
    return [
        torch(f"ckpt/iter_{step:07d}/mp_rank_{place}/model_optim_rng.pt")
        for place in places
        if place not in skip
    ]


def hf(step, skip=(), shards=2, ranks=2):
    names = [
        *(f"model-{n:05d}-of-{shards:05d}.safetensors" for n in range(1, shards + 1)),
        *(f"rng_state_{rank}.pth" for rank in range(ranks)),
        "optimizer.pt", "scheduler.pt", "trainer_state.json",
    ]  # fmt: skip
    return [
        safetensors(f"out/checkpoint-{step}/{name}") if "safe" in name else torch(f"out/checkpoint-{step}/{name}")
        for name in names
        if name not in skip
    ]  # fmt: skip


def read(*groups):
    return list(dialect.read("in", [entry for group in groups for entry in group]))


def named(events, name):
    return [event for event in events if event.name == name]


@pytest.mark.parametrize(
    "entries, layout, step, path",
    [
        (dcp(500), "torchtitan", 500, "checkpoint/step-500"),
        (deepspeed(500), "deepspeed", 500, "ckpt/global_step500"),
        (megatron(500), "megatron", 500, "ckpt/iter_0000500"),
        (hf(500), "hf", 500, "out/checkpoint-500"),
        ([torch(f"global_step_50/actor/model_world_size_2_rank_{n}.pt") for n in (0, 1)], "verl", 50, "global_step_50"),
    ],
)  # fmt: skip
def test_a_whole_checkpoint_of_each_layout_is_complete(entries, layout, step, path):
    folder, newest = read(entries)
    assert (folder.name, folder.file, folder.line, folder.nature) == (
        "ckpt.folder",
        path,
        0,
        Nature.MEASUREMENT,
    )
    assert (folder["layout"], folder["step"], folder["complete"]) == (layout, step, True)
    assert (newest.name, newest["step"], newest["path"]) == ("ckpt.newest_complete", step, path)


@pytest.mark.parametrize(
    "entries, missing",
    [
        (deepspeed(500, skip=(2,)), "zero_pp_rank_2_mp_rank_00_optim_states.pt"),
        (megatron(500, skip=("01_000",)), "mp_rank_01_000/model_optim_rng.pt"),
        (hf(500, skip=("model-00002-of-00002.safetensors",)), "model-00002-of-00002.safetensors"),
        (hf(500, ranks=3, skip=("rng_state_1.pth",)), "rng_state_1.pth"),
        ([torch(f"global_step_50/actor/optim_world_size_3_rank_{n}.pt") for n in (0, 1)], "actor/optim_world_size_3_rank_2.pt"),
    ],
)  # fmt: skip
def test_a_missing_shard_is_named_and_the_step_is_not_complete(entries, missing):
    found = read(entries)
    (event,) = named(found, "ckpt.missing_shards")
    assert (event["missing"], event["count"], event["expected"]) == ([missing], 1, len(entries) + 1)
    assert named(found, "ckpt.folder")[0]["complete"] is False
    assert named(found, "ckpt.newest_complete") == []


def test_the_input_folder_may_be_the_checkpoint_itself():
    files = [Entry(e.name.removeprefix("out/checkpoint-500/"), e.size, e.head) for e in hf(500)]
    folder, newest = dialect.read("runs/a/checkpoint-500", files)
    assert (folder.file, folder["layout"], folder["step"], folder["complete"]) == (
        ".",
        "hf",
        500,
        True,
    )
    assert newest["step"] == 500


def test_a_missing_weight_file_of_a_model_folder_is_named():
    found = read([safetensors(f"model/model-0000{n}-of-00003.safetensors") for n in (1, 3)])
    (event,) = named(found, "ckpt.missing_shards")
    assert (event.file, event["missing"]) == ("model", ["model-00002-of-00003.safetensors"])
    assert named(found, "ckpt.newest_complete") == []


def test_a_hole_in_dcp_ranks_counts_only_against_other_steps():
    assert named(read(dcp(3, ranks=(0, 2))), "ckpt.missing_shards") == []
    found = read(dcp(1), dcp(2), dcp(3, ranks=(0, 2)))
    (event,) = named(found, "ckpt.missing_shards")
    assert (event["step"], event["missing"]) == (3, ["__1_0.distcp"])
    assert named(found, "ckpt.newest_complete")[0]["step"] == 2


def test_a_missing_last_rank_shows_against_other_steps():
    found = read(deepspeed(1), deepspeed(2), deepspeed(3, skip=(3,)))
    assert [event["step"] for event in named(found, "ckpt.missing_shards")] == [3]


@pytest.mark.parametrize(
    "entries, marker",
    [
        (dcp(500)[:-1], "no .metadata"),
        ([*dcp(500)[:-1], Entry("checkpoint/step-500/.metadata.tmp", 10)], ".metadata.tmp"),
        (hf(500, skip=("trainer_state.json",)), "no trainer_state.json"),
    ],
)
def test_a_save_that_died_lacks_its_completion_marker(entries, marker):
    found = read(dcp(400), hf(400), entries)
    (event,) = named(found, "ckpt.marker_incomplete")
    assert (event["step"], event["marker"]) == (500, marker)
    assert {event["step"] for event in named(found, "ckpt.newest_complete")} == {400}


def test_the_marker_of_nemo_stands_beside_its_checkpoint():
    (event,) = read([Entry("run/m--step=1000-unfinished", 0)])
    assert (event.name, event["path"]) == ("ckpt.marker_incomplete", "run/m--step=1000")


def test_state_files_are_told_only_where_the_layout_has_them():
    folder = read(hf(500, skip=("scheduler.pt", "rng_state_0.pth", "rng_state_1.pth")))[0]
    assert (folder["has_optimizer"], folder["has_scheduler"], folder["has_rng"]) == (
        True,
        False,
        False,
    )
    folder = read(megatron(500))[0]
    assert (folder["has_optimizer"], folder["has_rng"]) == (None, None)


@pytest.mark.parametrize(
    "entry, reason",
    [
        (Entry("a/model.pt", 5000, bytes(64)), "begins with zeros"),
        (safetensors("a/m.safetensors", size=500, header=1000), "508 bytes short: it ends inside its header"),
        (Entry("a/m.safetensors", 130, b"version https://git-lfs.github.com/spec/v1\n"), "a git-lfs pointer, not the data"),
        (Entry("a/model.pt", 900, b"<!DOCTYPE html>"), "a web page or error message, not the data"),
    ],
)  # fmt: skip
def test_first_bytes_show_damage(entry, reason):
    (event,) = read([entry])
    assert (event.name, event["path"], event["reason"], event.line) == (
        "ckpt.truncated",
        entry.name,
        reason,
        1,
    )


@pytest.mark.parametrize(
    "entry",
    [
        torch("a/model.pt"),
        safetensors("a/m.safetensors"),
        Entry("a/old.pt", 900, b"\x80\x02\x8a\x0alegacy"),
        Entry("a/unread.pt", 900),
    ],
)
def test_good_and_unread_files_are_silent(entry):
    assert read([entry]) == []


def test_an_empty_file_is_named_and_breaks_its_step():
    broken = [Entry(e.name, 0) if "rank_1_" in e.name else e for e in deepspeed(500)]
    found = read(broken, deepspeed(400))
    assert (
        named(found, "ckpt.zero_size")[0].file
        == "ckpt/global_step500/zero_pp_rank_1_mp_rank_00_optim_states.pt"
    )
    assert named(found, "ckpt.newest_complete")[0]["step"] == 400


def test_a_file_smaller_than_in_the_other_steps_is_an_outlier():
    found = read(
        dcp(1), dcp(2), dcp(3, ranks=(0, 1)), [torch("checkpoint/step-3/__2_0.distcp", 3 * MIB)]
    )
    (event,) = named(found, "ckpt.size_outlier")
    assert (event["path"], event["size"], event["median"]) == (
        "checkpoint/step-3/__2_0.distcp",
        3 * MIB,
        4 * MIB,
    )


@pytest.mark.parametrize(
    "pointer, why",
    [
        (Entry("ckpt/latest", 15, b"global_step600"), "no such checkpoint is there"),
        (Entry("ckpt/latest", 0, b""), "it is empty"),
        (Entry("ckpt/latest", 15, b"global_step500\n"), "that checkpoint is not complete"),
        (Entry("ckpt/latest", 15, b"global_step400 \n"), None),
        (Entry("ckpt/latest", 15), None),
        (Entry("elsewhere/latest", 15, b"global_step600"), None),
    ],
)
def test_a_pointer_must_lead_to_a_complete_checkpoint(pointer, why):
    found = read(deepspeed(400), deepspeed(500, skip=(1,)), [pointer])
    assert [event["why"] for event in named(found, "ckpt.latest_dangling")] == (
        [why] if why else []
    )


def test_megatron_points_with_a_number_or_release():
    pointer = "ckpt/latest_checkpointed_iteration.txt"
    assert named(read(megatron(500), [Entry(pointer, 3, b"500")]), "ckpt.latest_dangling") == []
    assert named(read(megatron(500), [Entry(pointer, 7, b"release")]), "ckpt.latest_dangling") == []
    (event,) = named(read(megatron(500), [Entry(pointer, 3, b"600")]), "ckpt.latest_dangling")
    assert event["points_to"] == "600"


def test_a_step_newer_than_the_pointer_was_not_finished():
    pointer = Entry("ckpt/latest_checkpointed_iteration.txt", 3, b"400")
    found = read(megatron(400), megatron(500), [pointer])
    assert named(found, "ckpt.newest_complete")[0]["step"] == 400


@pytest.mark.parametrize(
    "name",
    ["train.log", "step-500/readme.md", "latest.log", "metrics.csv", "config.json", "core.12"],
)
def test_other_files_are_not_wanted(name):
    assert not dialect.wants(name)
    assert read([Entry(name, 0)]) == []


@pytest.mark.parametrize(
    "name",
    [
        "checkpoint-1/rng_state_99999999999.pth",
        "checkpoint-1/m-00001-of-99999.safetensors",
        "global_step1/zero_pp_rank_999999999_mp_rank_99_optim_states.pt",
        "iter_0000001/mp_rank_99_999_999/model_optim_rng.pt",
        "global_step_1/model_world_size_999999999999_rank_0.pt",
    ],
)
def test_a_name_with_a_huge_number_does_no_harm(name):
    missing = named(read([torch(name)]), "ckpt.missing_shards")
    assert all(len(event["missing"]) <= 50 for event in missing)


def test_a_folder_on_disk_is_judged_and_the_report_says_what_to_resume_from(tmp_path):
    for step in (400, 500):
        folder = tmp_path / f"ckpt/iter_{step:07d}"
        for place in ("mp_rank_00", "mp_rank_01"):
            if (step, place) != (500, "mp_rank_00"):
                (folder / place).mkdir(parents=True)
                shutil.copy(MADE / "torch/module.pth", folder / place / "model_optim_rng.pt")
    (tmp_path / "ckpt/latest_checkpointed_iteration.txt").write_text("500")
    report = diagnose.run([tmp_path])
    (root,) = [finding for finding in report.findings if finding.role == "root"]
    assert root.id == "checkpoint-shards-missing"
    assert "ckpt/iter_0000400, step 400" in root.explanation
    assert any("ckpt/iter_0000400" in step.text for step in root.playbook.steps)
    assert report.job.checkpoint["newer"] == [
        "ckpt/iter_0000500: mp_rank_00/model_optim_rng.pt missing"
    ]
