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
