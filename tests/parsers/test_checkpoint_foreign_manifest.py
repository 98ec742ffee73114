import json

import pytest
from dialects import Document

from diagnose.parsers.base import Note
from diagnose.parsers.checkpoint import foreign_manifest as dialect

NAMES = ["mp_rank_00_model_states.pt", *(f"zero_pp_rank_{n}_mp_rank_00_optim_states.pt" for n in (0, 1, 3))]  # fmt: skip
PATHS = [f"ckpt/global_step500/{name}" for name in NAMES]

FORMS = {
    "wandb": {"version": 1, "contents": {path: {"digest": "x", "size": 9} for path in PATHS}},
    "list": [{"path": path, "size": 9} for path in PATHS],
    "list, other words": [{"Key": f"./{path}", "Size": 9} for path in PATHS],
    "sizes by path": {"files": dict.fromkeys(PATHS, 9)},
    "files": {"files": [{"name": path, "bytes": 9} for path in PATHS]},
}


def read(data, indent=None):
    text = json.dumps(data, indent=indent)
    assert dialect.accepts("m.json", text.encode())
    return list(dialect.read(Document(text)))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("indent", [None, 1])
def test_every_form_shows_the_file_that_is_missing(form, indent):
    found = read(FORMS[form], indent)
    (missing,) = [event for event in found if event.name == "ckpt.missing_shards"]
    assert missing["missing"] == ["zero_pp_rank_2_mp_rank_00_optim_states.pt"]
    assert missing.line == 1 if indent is None else missing.line > 1


@pytest.mark.parametrize(
    "text",
    [
        '{"manifest_version": 1, "framework": "dcp", "files": [{"path": "__0_0.distcp"}]}',
        '{"metadata": {}, "weight_map": {"a": "model-00001-of-00002.safetensors"}}',
        '[{"step": 1, "loss": 2.4}]',
        '{"contents": {"notes.txt": {"size": 3}}}',
        "[1, 2]",
        "",
    ],
)
def test_other_json_is_left_alone(text):
    assert not dialect.accepts("m.json", text.encode())


def test_a_manifest_that_is_cut_off_is_left_out():
    with pytest.raises(Note):
        list(dialect.read(Document(json.dumps(FORMS["list"])[:-20])))


@pytest.mark.parametrize("data", [[], {}, {"files": 3}, [{"path": 3, "size": "x"}], [[]], 5])
def test_any_json_is_harmless(data):
    assert list(dialect.read(Document(json.dumps(data)))) == []
