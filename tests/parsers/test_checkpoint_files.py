import io
import json
import struct
import zipfile

import pytest
from checkpoint_files import MADE, Desk, entries, made, named, wrong

from diagnose.parsers.checkpoint import files
from diagnose.parsers.checkpoint import folder as dialect

ZIPS = ("torch/new.pt", "torch/protocol4.pt", "torch/stream.pt", "torch/no_crc.pt")
PRESENT = ("ckpt.folder", "ckpt.newest_complete", "ckpt.index")


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def members(data):
    with zipfile.ZipFile(io.BytesIO(data)) as zipped:
        return zipped.infolist()


def zeroed(data, start, size):
    return data[:start] + bytes(size) + data[start + size :]


def headered(table, data=b"", length=None):
    text = json.dumps(table).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def row(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.mark.parametrize("folder", sorted(path.name for path in MADE.iterdir() if path.is_dir() and path.name != "__pycache__"))  # fmt: skip
def test_whole_files_of_real_libraries_are_silent(folder):
    found = dialect.read("in", entries(MADE / folder))
    assert [event.text for event in found if event.name not in PRESENT] == []


@pytest.mark.parametrize("name", [*ZIPS, "torch/legacy.pt", "torch/script.pt", "accelerate/random_states_0.pkl", "safetensors/types.safetensors", "dcp/step-500/.metadata"])  # fmt: skip
def test_a_file_cut_off_anywhere_is_found(desk, name):
    data = made(name)
    name = name.rpartition("/")[2]
    cuts = [*range(0, 200), *range(200, len(data) - 200, 7), *range(max(200, len(data) - 200), len(data))]  # fmt: skip
    missed = [size for size in cuts if wrong(desk.entry(name, data[:size])) is None]
    assert missed == []


@pytest.mark.parametrize("size", [0, 1])
def test_an_empty_file_differs_from_a_cut_one(desk, size):
    found = files.damage(desk.entry("model.pt", made("torch/new.pt")[:size]))
    assert (found.kind, found.found) == (("zero", 0) if size == 0 else ("truncated", 1))


@pytest.mark.parametrize("name", [*ZIPS, "torch/script.pt"])
def test_a_member_whose_header_is_lost_is_found(desk, name):
    data = made(name)
    for member in members(data)[1:]:
        found = files.damage(desk.entry("model.pt", zeroed(data, member.header_offset, 30)))
        assert (found.kind, "zeros stand where its member" in found.reason) == ("member", True)
        assert member.filename in found.reason


def test_a_damaged_object_graph_is_found_by_its_checksum_or_by_reading_it(desk):
    for name in ("torch/new.pt", "torch/no_crc.pt"):
        data = made(name)
        found = wrong(desk.entry("model.pt", zeroed(data, 200, 40)))
        assert (found.kind, "data.pkl" in found.reason) == ("member", True)


def test_checksums_that_a_job_switched_off_are_no_damage(desk):
    assert {member.CRC for member in members(made("torch/no_crc.pt"))} == {0}
    assert wrong(desk.entry("model.pt", made("torch/no_crc.pt"))) is None


@pytest.mark.parametrize(
    "change, kind, reason",
    [
        (lambda data: zeroed(data, len(data) - 98, 98), "zeros", "ends in zeros"),
        (lambda data: data + b"\n\n", "size-mismatch", "2 bytes too many behind its end"),
        (lambda data: data[:3000] + data[3100:], "size-mismatch", "100 bytes missing before"),
        (lambda data: data[:3000] + bytes(50) + data[3000:], "size-mismatch", "50 bytes too many"),
        (lambda data: b"x" * 4 + data[4:], "header", "first bytes"),
        (lambda data: bytes(64) + data[64:], "zeros", "begins with zeros"),
        (lambda data: zeroed(data, data.index(b"PK\x01\x02") + 60, 8), "header", "directory"),
        (lambda data: zeroed(data, data.index(b"PK\x06\x06"), 4), "header", "zip64 record"),
    ],
)
def test_each_damage_of_a_zip_is_told_in_words(desk, change, kind, reason):
    found = files.damage(desk.entry("model.pt", change(made("torch/new.pt"))))
    assert found.kind == kind
    assert reason in found.reason


def test_missing_bytes_are_counted(desk):
    data = made("torch/new.pt")
    found = files.damage(desk.entry("model.pt", data[:3000] + data[3100:]))
    assert (found.expected, found.found) == (len(data), len(data) - 100)


def rezipped(change, comment=b"", method=zipfile.ZIP_STORED):
    made_anew = io.BytesIO()
    with zipfile.ZipFile(made_anew, "w", method) as out:
        out.comment = comment
        with zipfile.ZipFile(io.BytesIO(made("torch/new.pt"))) as old:
            for member in old.infolist():
                for name in change(member.filename):
                    out.writestr(name, old.read(member))
    return made_anew.getvalue()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_zip_packed_again_is_whole_with_its_members_and_damaged_without(desk):
    for comment in (b"", b"packed by hand " * 100):
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            whole = desk.entry("model.pt", rezipped(lambda name: [name], comment, method))
            assert wrong(whole) is None
            assert files.contents(whole).values["iteration"] == 500
    lost = desk.entry(
        "model.pt", rezipped(lambda name: [] if name.endswith("data.pkl") else [name])
    )
    assert files.damage(lost).reason == "no data.pkl is in it"
    twice = desk.entry("model.pt", rezipped(lambda name: [name] * (1 + name.endswith("data.pkl"))))
    assert files.damage(twice).reason == "more than one data.pkl is in it"
    old = desk.entry("model.pt", rezipped(lambda name: [] if name.endswith("/version") else [name]))
    assert files.damage(old).reason == "no version is in it"
    fewer = desk.entry("model.pt", rezipped(lambda name: [] if name.endswith("data/3") else [name]))
    assert wrong(fewer).reason == "its member data/3 is missing"


def test_members_of_older_versions_suffice(desk):
    def kept(name):
        return [] if "/." in name or name.endswith("/byteorder") else [name]

    assert wrong(desk.entry("model.pt", rezipped(kept))) is None


def test_places_behind_4_gib_stand_in_an_extra_field(desk, monkeypatch):
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 10)
    data = rezipped(lambda name: [name])
    assert data.count(b"\xff" * 8) > 20
    entry = desk.entry("model.pt", data)
    assert wrong(entry) is None
    assert files.contents(entry).members["data/0"][0] == 64
    assert files.damage(desk.entry("model.pt", data[:-30])).kind == "truncated"


def test_a_tensor_of_the_wrong_size_is_found(desk):
    packed = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(made("torch/new.pt"))) as old,
        zipfile.ZipFile(packed, "w") as out,
    ):
        for member in old.infolist():
            data = old.read(member)
            out.writestr(member.filename, data[:-4] if member.filename.endswith("data/0") else data)
    found = wrong(desk.entry("model.pt", packed.getvalue()))
    assert found.reason == "its member data/0 has 60 bytes, data.pkl calls for 64"


def test_a_zip_that_torch_did_not_write_is_left_alone(desk):
    assert wrong(desk.entry("arrays.pt", made("torch/arrays.npz"))) is None
    assert files.contents(desk.entry("arrays.pt", made("torch/arrays.npz"))) is None


def test_a_zip_over_4_gib_states_its_sizes_in_64_bits(desk):
    whole = made("torch/new.pt")
    at = whole.index(b"PK\x05\x06")
    wide = whole[: at + 8] + b"\xff" * 12 + whole[at + 20 :]
    assert files.damage(desk.entry("model.pt", wide)) is None
    lost = wide[: at - 20] + bytes(20) + wide[at:]
    assert (
        files.damage(desk.entry("model.pt", lost)).reason
        == "the zip64 record at its end is missing"
    )


def test_many_members_are_looked_at_here_and_there(desk):
    data = made("torch/new.pt")
    third = members(data)[2].header_offset
    entry = desk.entry("model.pt", zeroed(data, third, 30))
    assert files.damage(entry, headers=2) is None
    assert files.damage(entry).kind == "member"


def test_scripts_are_programs_and_have_no_contents(desk):
    assert files.contents(desk.entry("script.pt", made("torch/script.pt"))) is None


@pytest.mark.parametrize("count, words", [(5, "5 bytes short"), (1, "1 byte short")])
def test_a_cut_file_of_safetensors_says_how_much_is_missing(desk, count, words):
    data = made("safetensors/types.safetensors")
    found = files.damage(desk.entry("model.safetensors", data[:-count]))
    assert (found.kind, found.expected, found.found) == ("truncated", len(data), len(data) - count)
    assert found.reason == f"{words}: its header calls for {len(data):,}"


@pytest.mark.parametrize(
    "data, kind, reason",
    [
        (made("safetensors/types.safetensors") + b"\n\n", "size-mismatch", "2 bytes too many"),
        (made("safetensors/types.safetensors")[:500], "truncated", "it ends inside its header"),
        (made("torch/new.pt"), "header", "it is a file of torch.save"),
        (made("torch/legacy.pt"), "header", "it is a pickle"),
        (b"abcdefgh" * 40, "header", "not those of safetensors"),
        (headered({"a": row()}, bytes(8), length=30), "header", "no JSON object"),
        (headered([]), "header", "no JSON object"),
        (headered({"a": {"dtype": "F32"}}), "header", "does not describe a"),
        (headered({"a": row(offsets=(8, 0))}), "header", "does not describe a"),
        (headered({"a": row(shape=(-1,))}), "header", "does not describe a"),
        (headered({"a": row(shape=(3,))}, bytes(8)), "header", "tensor a has 8 bytes, its shape [3] of F32 calls for 12"),
        (headered({"a": row(), "b": row(offsets=(4, 12))}, bytes(12)), "header", "its tensors overlap at byte 4"),
        (headered({"a": row(), "b": row(offsets=(12, 20))}, bytes(20)), "header", "its tensors leave a gap at byte 8"),
        (b"\x00" * 200, "zeros", "begins with zeros"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 4\n", "lfs", "git-lfs pointer"),
        (b"<!DOCTYPE html><html>", "webpage", "web page"),
        (b'<?xml version="1.0"?><Error><Code>NoSuchKey', "webpage", "web page"),
        (b'{"error":"Repository not found"}', "webpage", "web page"),
        (b"Entry not found", "webpage", "error message"),
        (b"Access to model org/m is restricted.", "webpage", "error message"),
    ],
)  # fmt: skip
def test_each_damage_of_safetensors_is_told_in_words(desk, data, kind, reason):
    found = files.damage(desk.entry("model.safetensors", data))
    assert found.kind == kind
    assert reason in found.reason


@pytest.mark.parametrize(
    "table, data",
    [
        ({}, b""),
        ({"__metadata__": {"format": "pt"}}, b""),
        ({"a": row(dtype="F4", shape=(3, 2), offsets=(0, 3))}, bytes(3)),
        ({"a": row(dtype="F6_E2M3", shape=(4,), offsets=(0, 3))}, bytes(3)),
        ({"a": row(dtype="F8_NEXT", offsets=(0, 7))}, bytes(7)),
        ({"b": row(offsets=(8, 16)), "a": row(), "e": row(shape=(0,), offsets=(8, 8))}, bytes(16)),
    ],
)
def test_rare_files_of_safetensors_are_whole(desk, table, data):
    assert files.damage(desk.entry("model.safetensors", headered(table, data))) is None


def test_safetensors_have_names_types_and_notes():
    [entry] = entries(MADE / "safetensors")
    found = files.contents(entry)
    assert len(found.keys) == 21
    assert (found.tensors["bfloat16"].dtype, found.tensors["bfloat16"].bytes) == ("BF16", 12)
    assert (found.tensors["scalar"].shape, found.tensors["empty"].shape) == ((), (0, 5))
    assert found.values == {"format": "pt", "step": "500"}


def test_a_cut_legacy_file_says_how_much_is_missing(desk):
    data = made("torch/legacy.pt")
    found = files.damage(desk.entry("model.pt", data[:-7]))
    assert (found.kind, found.expected) == ("truncated", len(data))
    assert found.reason == f"7 bytes short: its pickles call for {len(data):,}"
    assert files.damage(desk.entry("model.pt", data + b"!")).kind == "size-mismatch"


@pytest.mark.parametrize(
    "name, keys, values",
    [
        ("torch/new.pt", {"model", "optimizer", "lr_scheduler"}, {"iteration": 500, "lr_scheduler.last_epoch": 500}),
        ("torch/protocol4.pt", {"model"}, {"epoch": 1.5}),
        ("torch/legacy.pt", {"model"}, {"iteration": 500}),
        ("torch/rng_state_0.pth", {"python", "numpy", "cpu"}, {}),
        ("torch/training_args.bin", {"seed"}, {"seed": 42, "per_device_train_batch_size": 3, "lr_scheduler_type": "linear"}),
        ("deepspeed/global_step500/mp_rank_00_model_states.pt", {"module", "lr_scheduler"},
         {"global_steps": 500, "dp_world_size": 2, "ds_config.zero_optimization.stage": 1}),
        ("deepspeed/global_step500/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt", {"optimizer_state_dict"},
         {"optimizer_state_dict.partition_count": 2}),
        ("megatron/iter_0000500/mp_rank_00/model_optim_rng.pt", {"args", "rng_state", "opt_param_scheduler"},
         {"iteration": 500, "args.consumed_train_samples": 512000, "args.params_dtype": "torch.bfloat16"}),
        ("lightning/last.ckpt", {"pytorch-lightning_version", "loops"}, {"global_step": 500, "hyper_parameters.layers": 2}),
        ("accelerate/random_states_0.pkl", {"random_state", "torch_manual_seed"}, {"step": 0}),
        ("hf/model.safetensors.index.json", {"lm_head.weight"}, {}),
    ],
)  # fmt: skip
def test_contents_tell_what_was_saved(desk, name, keys, values):
    found = files.contents(desk.entry(name.rpartition("/")[2], made(name)))
    assert keys <= set(found.keys)
    assert {key: found.values.get(key) for key in values} == values
    assert (found.suspicious, found.problem) == ({}, None)


def test_equal_random_states_of_ranks_have_equal_members(desk):
    states = [
        files.contents(
            desk.entry(f"rng_state_{rank}.pth", made(f"torch/rng_state_{rank}.pth"))
        ).members
        for rank in range(3)
    ]
    assert states[0]["data/0"] == states[1]["data/0"] != states[2]["data/0"]
    assert states[0]["data/0"][0] == 5056
    unchecked = files.contents(desk.entry("no_crc.pt", made("torch/no_crc.pt"))).members
    assert unchecked["data/0"] == (64, None)


def rng(desk, *ranks):
    for rank, source in enumerate(ranks):
        desk.entry(f"checkpoint-5/rng_state_{rank}.pth", made(f"torch/rng_state_{source}.pth"))
    return named(desk.read(), "ckpt.rng_same")


def test_equal_random_states_of_all_ranks_are_an_event(desk):
    (event,) = rng(desk, 0, 1)
    assert (event["path"], event["step"], event["files"]) == ("checkpoint-5", 5, 2)
    assert rng(desk, 0, 1, 2) == []


def test_a_single_random_state_is_not_compared(desk):
    assert rng(desk, 0) == []


def test_a_file_in_an_archive_is_judged_by_its_size_and_first_bytes():
    data = made("torch/new.pt")
    assert files.damage(files.Entry("model.pt", 5000, data[:64])) is None
    assert files.contents(files.Entry("model.pt", 5000, data[:64])) is None
    assert files.damage(files.Entry("model.pt", 5000)) is None
    head = made("safetensors/types.safetensors")[:64]
    assert files.damage(files.Entry("m.safetensors", 500, head)).expected == 8 + int.from_bytes(head[:8], "little")  # fmt: skip
    assert files.damage(files.Entry("m.safetensors", 5000, head)) is None


def test_a_file_that_vanishes_is_silent(desk):
    for name in ("torch/new.pt", "torch/legacy.pt", "safetensors/types.safetensors", "dcp/step-500/.metadata"):  # fmt: skip
        entry = desk.entry(name.rpartition("/")[2], made(name))
        (desk.path / entry.name).unlink()
        assert (files.damage(entry), files.contents(entry)) == (None, None)


def test_an_event_of_damage_has_the_bytes_and_the_hint_of_holes(desk):
    data = made("torch/new.pt")
    whole = desk.entry("step-5/model.pt", data[:100])
    holed = files.Entry(whole.name, 100, whole.head, whole.path, None, 50)
    for entry, stored in ((whole, None), (holed, 50)):
        (event,) = named(list(dialect.read("in", [entry])), "ckpt.truncated")
        assert (event["size"], event["step"], event["kind"], event["stored"]) == (100, 5, "truncated", stored)  # fmt: skip
