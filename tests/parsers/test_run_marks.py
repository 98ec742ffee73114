import pytest
from communication import check_table, read

from diagnose.facts.settings import marks
from diagnose.parsers import run_marks as module


def stated(text):
    return {event.fields["name"]: event.fields["value"] for event in read(module, text)}


def test_table():
    check_table(module)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("wandb: 🚀 View run at https://tracker.example/t/p/runs/ab12cd34", {"wandb_id": "ab12cd34"}),
        (
            "wandb: View run calm-lake-3 at: https://tracker.example/t/p/runs/ab12cd34",
            {"run_name": "calm-lake-3", "wandb_id": "ab12cd34"},
        ),
        ('{"labels": {"model_version": "v7", "data_version": "d-3"}}', {"model_version": "v7", "data_version": "d-3"}),
        ("dataset_version = 2026-01", {"data_version": "2026-01"}),
        ("**** Git info for Megatron: git_hash=unknown git_branch=main ****", {}),
        ("commit hash of the image is not known", {}),
        ("the data_version is checked at start", {}),
        ("wandb: Syncing files", {}),
    ],
)  # fmt: skip
def test_what_a_line_states(text, found):
    assert stated(text) == found


def test_marks_of_the_report_in_their_order():
    arguments = {
        "seed": 1234, "lr": 1.5e-4, "wandb_exp_name": "base-7b", "git_commit": "3f2a9c1d",
        "WANDB_RUN_ID": "k3x9q2ab", "deepspeed.version": "0.16.5", "data_path": "/data/x",
        "model_version": "m" * 200, "num_layers": None,
    }  # fmt: skip
    assert marks(arguments) == {
        "run_name": "base-7b", "wandb_id": "k3x9q2ab", "git_commit": "3f2a9c1d",
        "model_version": "m" * 80, "deepspeed_version": "0.16.5", "lr": "0.00015", "seed": "1234",
    }  # fmt: skip


def test_a_hash_of_the_hyper_parameters_tells_runs_apart():
    same = {"lr": 1e-4, "seed": 1, "num_layers": 32, "hidden_size": 4096, "seq_length": 4096}
    first = marks(same)["config_hash"]
    assert first == marks({**dict(reversed(same.items())), "save": "/elsewhere"})["config_hash"]
    assert first != marks({**same, "lr": 2e-4})["config_hash"]
    assert "config_hash" not in marks({"lr": 1e-4, "seed": 1})
    assert marks({**same, "config_hash": "abc"})["config_hash"] == "abc"
