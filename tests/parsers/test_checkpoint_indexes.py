import json
import os
import pickle

import pytest
from checkpoint_files import Desk, made, named
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from diagnose.parsers.checkpoint import files, indexes

NEEDED = {"__0_0.distcp": 4415, "__1_0.distcp": 5992, "__2_0.distcp": 7253, "__3_0.distcp": 5676}


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def states(events):
    return [event["complete"] for event in named(events, "ckpt.folder")]


@pytest.fixture
def dcp(desk):
    desk.copy("dcp")
    return desk


@pytest.fixture
def hf(desk):
    desk.copy("hf")
    return desk


def test_metadata_tells_what_was_saved_and_which_files_hold_it(desk):
    found = files.contents(desk.entry(".metadata", made("dcp/step-500/.metadata")))
    assert found.keys == ("model", "optimizer", "lr_scheduler", "train_state", "dataloader")
    assert found.needs == NEEDED
    assert found.tensors["model.wide"].shape == (10, 4)
    assert found.tensors["model.wide"].dtype == "torch.float32"
    assert found.tensors["train_state.loss"].shape == ()
    assert (found.holes, found.suspicious, found.problem) == ((), {}, None)


def test_a_shard_that_metadata_calls_for_is_missing(dcp):
    (dcp.path / "step-500/__3_0.distcp").unlink()
    found = dcp.read()
    (event,) = named(found, "ckpt.missing_shards")
    assert (event["path"], event["missing"], event["step"]) == ("step-500", ["__3_0.distcp"], 500)
    assert states(found) == [False]


@pytest.mark.parametrize("short", [1, 100, 5000])
def test_a_shard_shorter_than_metadata_calls_for_is_cut(dcp, short):
    path = dcp.path / "step-500/__3_0.distcp"
    path.write_bytes(path.read_bytes()[:-short])
    found = dcp.read()
    (event,) = named(found, "ckpt.truncated")
    assert (event["path"], event["expected"], event["short"]) == ("step-500/__3_0.distcp", 5676, short)  # fmt: skip
    assert event["reason"].startswith(f"{short:,} byte")
    assert states(found) == [False]


def test_a_shard_may_be_longer_and_end_in_bytes_of_a_program(dcp):
    path = dcp.path / "step-500/__3_0.distcp"
    path.write_bytes(path.read_bytes() + b"x" * 300)
    assert states(dcp.read()) == [True]


def test_items_of_a_program_may_be_any_bytes(dcp):
    shard = made("dcp/step-500/__3_0.distcp")
    for name, data in (("__8_0.distcp", b"raw bytes" + shard), ("__9_0.distcp", b"\x80raw")):
        (dcp.path / "step-500" / name).write_bytes(data)
    assert named(dcp.read(), "ckpt.truncated") == []


def test_a_shard_of_an_earlier_save_is_left_over_and_no_damage(dcp):
    (dcp.path / "step-500/__7_0.distcp").write_bytes(made("dcp/step-500/__3_0.distcp"))
    found = dcp.read()
    (event,) = named(found, "ckpt.leftover_shards")
    assert (event["path"], event["names"], event["count"]) == ("step-500/.metadata", ["__7_0.distcp"], 1)  # fmt: skip
    assert states(found) == [True]


@pytest.mark.parametrize("name, offset", [("__1_0.distcp", 4415), ("__2_0.distcp", 2522)])
def test_a_tensor_overwritten_at_its_start_is_found(dcp, name, offset):
    path = dcp.path / "step-500" / name
    data = path.read_bytes()
    path.write_bytes(data[:offset] + b"\xff" * 8 + data[offset + 8 :])
    (event,) = named(dcp.read(), "ckpt.truncated")
    assert (event["path"], event["kind"]) == (f"step-500/{name}", "member")
    assert f"does not begin at byte {offset:,}" in event["reason"]


@pytest.mark.parametrize(
    "data, name",
    [(b"", "ckpt.zero_size"), (made("dcp/step-500/.metadata")[:1500], "ckpt.truncated"), (bytes(3000), "ckpt.truncated")],
)  # fmt: skip
def test_damaged_metadata_is_damage_of_its_own(dcp, data, name):
    (dcp.path / "step-500/.metadata").write_bytes(data)
    found = dcp.read()
    assert [event["path"] for event in named(found, name)] == ["step-500/.metadata"]
    assert states(found) == [False]
    assert named(found, "ckpt.leftover_shards") == []


def test_metadata_of_single_ranks_counts_without_a_common_one(dcp):
    whole = dcp.path / "step-500/.metadata"
    whole.rename(dcp.path / "step-500/__0.metadata")
    (dcp.path / "step-500/__3_0.distcp").unlink()
    found = indexes.read(dcp.entries())
    assert [index.missing for index in found] == [["__3_0.distcp"]]


def test_of_much_metadata_the_newest_is_read(desk, monkeypatch):
    monkeypatch.setattr(indexes, "MOST_METADATA", 7000)
    for step, modified in ((1, 300), (2, 100), (3, 200)):
        desk.copy("dcp", f"run{step}")
        os.utime(desk.path / f"run{step}/step-500/.metadata", (modified, modified))
    read = indexes.read(desk.entries())
    assert [one.entry.name for one in read] == [
        "run1/step-500/.metadata",
        "run3/step-500/.metadata",
    ]


def test_an_interrupted_save_has_no_index(dcp):
    (dcp.path / "step-500/.metadata").rename(dcp.path / "step-500/.metadata.tmp")
    found = dcp.read()
    assert [event["marker"] for event in named(found, "ckpt.marker_incomplete")] == [".metadata.tmp"]  # fmt: skip
    assert named(found, "ckpt.truncated") == []


def test_an_index_without_any_of_its_files_says_nothing(desk):
    desk.entry("m/model.safetensors.index.json", made("hf/model.safetensors.index.json"))
    desk.entry("step-500/.metadata", made("dcp/step-500/.metadata"))
    found = desk.read()
    assert [event for event in found if event["path"].startswith("m")] == []
    assert named(found, "ckpt.missing_shards") == []


def test_a_file_that_an_index_names_is_missing(hf):
    (hf.path / "model-00002-of-00003.safetensors").unlink()
    (event,) = named(hf.read(), "ckpt.missing_shards")
    assert event["missing"] == ["model-00002-of-00003.safetensors"]


def test_an_index_speaks_of_its_own_folder_alone(desk):
    desk.copy("hf", "base")
    desk.copy("dcp_hf/sharded")
    assert named(desk.read(), "ckpt.missing_shards") == []
    (desk.path / "base/model-00001-of-00003.safetensors").unlink()
    assert [event["path"] for event in named(desk.read(), "ckpt.missing_shards")] == ["base"]


def test_an_index_may_name_files_in_other_ways(desk):
    table = {"weight_map": {"a": "one.safetensors", "b": "two.safetensors", "c": "../x", "d": 3}}
    desk.entry("step-5/model.safetensors.index.json", json.dumps(table).encode())
    desk.entry("step-5/one.safetensors", made("safetensors/types.safetensors"))
    found = desk.read()
    assert named(found, "ckpt.missing_shards")[0]["missing"] == ["two.safetensors"]


def test_a_tensor_that_is_not_where_the_index_says_is_named(hf):
    path = hf.path / "model.safetensors.index.json"
    table = json.loads(path.read_text())
    tensor = next(iter(table["weight_map"]))
    home = table["weight_map"][tensor]
    table["weight_map"][tensor] = next(one for one in table["weight_map"].values() if one != home)
    path.write_text(json.dumps(table))
    (event,) = named(hf.read(), "ckpt.index_mismatch")
    assert (event["names"], event["count"]) == ([tensor], 1)
    assert event["shard"] == table["weight_map"][tensor]


def test_the_total_of_an_index_is_kept_beside_the_bytes_of_the_files(hf):
    (event,) = named(hf.read(), "ckpt.index")
    assert (event["files"], event["tensors"], event["stated"], event["stored"]) == (3, 21, 5280, 5280)  # fmt: skip
    path = hf.path / "model.safetensors.index.json"
    path.write_text(path.read_text().replace("5280", "5640"))
    (event,) = named(hf.read(), "ckpt.index")
    assert event["difference"] == 360


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"weight_map": 3}', b"\xff\xfe", b"[" * 100_000])
def test_an_index_that_cannot_be_read_is_damaged(desk, data):
    found = files.damage(desk.entry("model.safetensors.index.json", data))
    assert found.kind == "header"


def test_shards_that_another_rank_shares_need_not_exist(desk):
    desk.copy("dcp_hf/sharded", "step-5")
    assert named(desk.read(), "ckpt.missing_shards") == []


ANY = some.recursive(
    some.none() | some.integers() | some.text(max_size=4) | some.just("model"),
    lambda below: some.lists(below, max_size=3) | some.dictionaries(some.text(max_size=3), below, max_size=3) | some.tuples(below, below),
    max_leaves=8,
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    some.fixed_dictionaries({"state_dict_metadata": ANY, "planner_data": ANY, "storage_data": ANY})
    | ANY
)
def test_any_metadata_is_read_or_ignored(desk, value):
    desk.entry("step-5/.metadata", pickle.dumps(value, 4))
    desk.entry("step-5/__0_0.distcp", b"PK\x03\x04")
    desk.read()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(some.dictionaries(some.text(max_size=3), some.dictionaries(some.sampled_from(["dtype", "shape", "data_offsets"]), some.none() | some.just("F32") | some.lists(some.integers() | some.none(), max_size=3))) | ANY)  # fmt: skip
def test_any_header_is_read_or_damaged(desk, table):
    text = json.dumps(table).encode()
    files.damage(desk.entry("m.safetensors", len(text).to_bytes(8, "little") + text))
