from dialects import Document

import diagnose
from diagnose.parsers import wandb_config as module

CONFIG = """\
wandb_version: 1

_wandb:
    desc: null
    value:
        cli_version: 0.17.0
_name_or_path:
    desc: null
    value: team/a-7b
fp16:
    value: true
learning_rate:
    desc: null
    value: 0.0001
max_steps:
    value: null
seed:
    value: 42
tags:
    value:
        - a
unheard_of:
    value: 3
"""


def test_parameters_under_the_names_of_arguments():
    found = {
        event.fact: event.fields["value"] for event in module.read(Document(CONFIG, "config.yaml"))
    }
    assert found == {
        "run.model_version": "team/a-7b",
        "arg.fp16": True,
        "arg.lr": 0.0001,
        "arg.seed": 42,
    }


def test_only_the_file_of_a_tracker_is_read():
    assert module.accepts("run/files/config.yaml", CONFIG.encode())
    assert not module.accepts("run/files/config.yaml", b"learning_rate:\n    value: 1\n")
    assert not module.accepts("model.yaml", CONFIG.encode())


def test_they_are_marks_of_the_report(tmp_path):
    folder = tmp_path / "wandb" / "run-20260105_100000-k3x9q2ab" / "files"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(CONFIG)
    (folder / "wandb-metadata.json").write_text(
        '{\n    "git": {\n        "commit": "3f2a9c1d3f2a9c1d"\n    }\n}\n'
    )
    marks = diagnose.run([tmp_path]).job.marks
    assert marks == {
        "git_commit": "3f2a9c1d3f2a9c1d", "model_version": "team/a-7b", "lr": "0.0001", "seed": "42"
    }  # fmt: skip
