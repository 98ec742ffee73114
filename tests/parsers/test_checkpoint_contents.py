"""Parts of the state by files and by what is in them; pointers; steps and sizes stated inside."""

import pytest

from diagnose.ingest.source import Entry
from diagnose.parsers.checkpoint import judge as judging
from diagnose.parsers.checkpoint.contents import parts_of, world_inside
from diagnose.parsers.checkpoint.inside import Contents
from diagnose.parsers.checkpoint.layouts import layout_of
from diagnose.parsers.checkpoint.mixed import steps_inside
from diagnose.parsers.checkpoint.pointers import pointers
from diagnose.parsers.checkpoint.tree import checkpoints

MEGATRON = ["ckpt/iter_0000500/mp_rank_00/model_optim_rng.pt"]


def parts(names, keys=None):
    (point,) = checkpoints("in", [Entry(name, 100) for name in names])
    return parts_of(point, layout_of(point), keys)


def has(names, keys=None):
    return {part: known for part, known in parts(names, keys).has.items() if known is not None}


def test_files_show_the_parts_of_hugging_face():
    out = "out/checkpoint-5/"
    whole = [out + name for name in ("model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state.pth", "trainer_state.json")]  # fmt: skip
    assert has(whole) == {"optimizer": True, "scheduler": True, "rng": True}
    assert has([name for name in whole if "scheduler" not in name])["scheduler"] is False
    assert parts([whole[0], whole[-1]]).weights_only
    assert not parts(whole).weights_only


def test_what_a_framework_leaves_to_the_program_is_no_absence():
    zero = ["ckpt/global_step5/mp_rank_00_model_states.pt", "ckpt/global_step5/zero_pp_rank_0_mp_rank_00_optim_states.pt"]  # fmt: skip
    found = parts(zero)
    assert (found.never, found.has["rng"], found.has["optimizer"]) == (
        ["rng", "dataloader"],
        None,
        True,
    )


@pytest.mark.parametrize(
    "keys, absent",
    [
        (("model", "optimizer", "opt_param_scheduler", "rng_state", "iteration", "args", "consumed_train_samples"), []),
        (("model", "iteration", "rng_state", "consumed_train_samples"), ["optimizer", "scheduler"]),
        (("model", "optimizer", "lr_scheduler", "iteration", "dataloader"), ["rng"]),
    ],
)  # fmt: skip
def test_a_file_that_is_the_whole_state_lacks_what_it_does_not_name(keys, absent):
    found = has(MEGATRON, {"mp_rank_00/model_optim_rng.pt": keys})
    assert [part for part, known in found.items() if not known] == absent


def test_a_file_of_weights_alone_lacks_nothing():
    keys = {"mp_rank_00/model_optim_rng.pt": ("embed.weight", "lm_head.weight")}
    assert has(MEGATRON, keys) == {}


def test_steps_and_world_size_are_read_from_the_values():
    values = {
        "a.pt": {"iteration": 500, "args.world_size": 16},
        "b.pt": {"global_steps": 400, "global_step": True},
        "c.pt": {"lr": 0.1},
    }
    assert steps_inside(values) == {
        "iteration of a.pt": {"a.pt": 500},
        "global_steps of b.pt": {"b.pt": 400},
    }
    assert world_inside(values) == 16
    assert world_inside({"c.pt": {"world_size": True}}) is None


def judged(monkeypatch, inside):
    """Judge files by what is said to be in them."""
    monkeypatch.setattr(judging.look, "look", lambda entries: judging.look.Look([], {}, inside))
    return list(judging.judge(judging.Tree("in", [Entry(name, 100, b"PK") for name in inside])))


def named(events, name):
    return [event for event in events if event.name == name]


def test_a_checkpoint_with_a_file_of_another_save_is_not_the_one_to_resume_from(monkeypatch):
    stated = {400: (400, 400), 500: (500, 400)}
    inside = {
        f"ckpt/iter_0000{step}/mp_rank_0{n}/model_optim_rng.pt": Contents(("model",), {"iteration": one})
        for step, two in stated.items() for n, one in enumerate(two)
    }  # fmt: skip
    found = judged(monkeypatch, inside)
    assert [event["step"] for event in named(found, "ckpt.newest_complete")] == [400]


@pytest.mark.parametrize("steps, mixed", [((99, 199, 299), []), ((100, 200, 200), [300])])
def test_a_lone_step_inside_counts_where_the_others_of_the_run_have_their_own(
    monkeypatch, steps, mixed
):
    inside = {
        f"out/step_{n}00/trainer.pt": Contents(("global_step",), {"global_step": step})
        for n, step in enumerate(steps, 1)
    }
    found = named(judged(monkeypatch, inside), "ckpt.mixed_steps")
    assert [event["step"] for event in found] == mixed


def test_files_of_two_kinds_may_count_in_two_ways(monkeypatch):
    inside = {
        "out/step_500/custom_checkpoint_0.pkl": Contents(("step",), {"step": 500}),
        "out/step_500/random_states_0.pkl": Contents(("step",), {"step": 0}),
    }
    assert named(judged(monkeypatch, inside), "ckpt.mixed_steps") == []


def test_a_size_stated_inside_shows_that_the_last_files_are_missing(monkeypatch):
    base = "ckpt/global_step5/"
    names = [f"{base}zero_pp_rank_{n}_mp_rank_00_optim_states.pt" for n in range(2)]
    inside = {name: Contents((), {"optimizer_state_dict.partition_count": 4}) for name in names}
    inside[f"{base}mp_rank_00_model_states.pt"] = Contents()
    (missing,) = named(judged(monkeypatch, inside), "ckpt.missing_shards")
    assert missing["missing"] == [
        f"zero_pp_rank_{n}_mp_rank_00_optim_states.pt" for n in (2, 3)
    ]  # fmt: skip
    args = {"args.tensor_model_parallel_size": 2, "args.pipeline_model_parallel_size": 1}
    inside = {"ckpt/iter_0000005/mp_rank_00/model_optim_rng.pt": Contents((), args)}
    (missing,) = named(judged(monkeypatch, inside), "ckpt.missing_shards")
    assert missing["missing"] == ["mp_rank_01/model_optim_rng.pt"]


def test_names_of_settings_are_no_state():
    names = [f"out/checkpoint-5/{name}" for name in ("model.safetensors", "rng_state.pth", "trainer_state.json", "training_args.bin")]  # fmt: skip
    found = has(names, {"training_args.bin": ("optim", "lr_scheduler_type", "half_precision")})
    assert found == {"optimizer": False, "scheduler": False, "rng": True}


def test_files_that_state_another_step_make_a_mixed_checkpoint(monkeypatch):
    names = [f"ckpt/iter_0000500/mp_rank_0{n}/model_optim_rng.pt" for n in range(4)]
    inside = {name: Contents(("model", "iteration"), {"iteration": 400 if "_02/" in name else 500}) for name in names}  # fmt: skip
    monkeypatch.setattr(judging.look, "look", lambda entries: judging.look.Look([], {}, inside))
    found = list(judging.judge(judging.Tree("in", [Entry(name, 100) for name in names])))
    (mixed,) = [event for event in found if event.name == "ckpt.mixed_steps"]
    assert (mixed["by"], mixed["steps"], mixed["paths"]) == (
        "content",
        [400, 500],
        ["mp_rank_02/model_optim_rng.pt"],
    )


@pytest.mark.parametrize(
    "name, data, target, garbled",
    [
        ("latest", b"global_step500\n", "global_step500", None),
        ("latest", b"global_step500 \r\n", "global_step500", None),
        ("latest_checkpointed_iteration.txt", b"500\n", "500", None),
        ("latest_checkpointed_iteration.txt", b"release", "release", None),
        ("latest", b"", "", "it is empty"),
        ("latest", b"\n", "", "it is empty"),
        ("latest", bytes(14), "", "it holds zeros"),
        ("latest_checkpointed_iteration.txt", b"\xef\xbb\xbf500", "500", "it begins with a byte-order mark"),
        ("latest_checkpointed_iteration.txt", b"iter_0000500", "iter_0000500", "it is no whole number"),
        ("latest_checkpointed_iteration.txt", b"500\n600\n", "500\n600", "text follows the name"),
    ],
)  # fmt: skip
def test_a_pointer_is_read_and_its_text_judged(name, data, target, garbled):
    (pointer,) = pointers([Entry(f"ckpt/{name}", len(data), data)])
    assert (pointer.target, pointer.garbled) == (target, garbled)


def test_a_pointer_behind_the_newest_step_is_told_and_the_newer_step_is_unknown():
    files = [Entry(f"ckpt/iter_0000{n}00/mp_rank_00/model_optim_rng.pt", 100) for n in (5, 6)]
    tracker = Entry("ckpt/latest_checkpointed_iteration.txt", 3, b"500")
    found = list(judging.judge(judging.Tree("in", [*files, tracker])))
    (behind,) = [event for event in found if event.name == "ckpt.latest_behind"]
    assert (behind["step"], behind["newest"], behind["newest_path"]) == (500, 600, "ckpt/iter_0000600")  # fmt: skip
    assert [e["step"] for e in found if e.name == "ckpt.newest_complete"] == [500]


def test_a_pointer_inside_a_folder_of_hugging_face_leads_to_the_folder_beside_it():
    base = "out/checkpoint-500/"
    files = [Entry(base + name, 100) for name in
             ("trainer_state.json", "global_step500/mp_rank_00_model_states.pt")]  # fmt: skip
    right, wrong = (Entry(f"{base}latest", 14, b"global_step%d" % step) for step in (500, 400))
    for pointer, why in ((right, []), (wrong, ["no such checkpoint is there"])):
        found = judging.judge(judging.Tree("in", [*files, pointer]))
        assert [e["why"] for e in found if e.name == "ckpt.latest_dangling"] == why


def test_weights_alone_are_no_place_to_resume_from_beside_whole_checkpoints():
    whole = ("model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state.pth")
    saved = {5: whole, 6: whole[:1]}
    files = [
        Entry(f"out/checkpoint-{step}/{name}", 100)
        for step, names in saved.items() for name in (*names, "trainer_state.json")
    ]  # fmt: skip
    found = list(judging.judge(judging.Tree("in", files)))
    assert [event["step"] for event in named(found, "ckpt.newest_complete")] == [5]
