"""What a report says of checkpoints that are whole, damaged or unsafe."""

import os
import pickle
import shutil
from pathlib import Path

import pytest

from diagnose import api

MADE = Path(__file__).resolve().parent / "fixtures" / "checkpoints"
FAILED = """[rank1]: Traceback (most recent call last):
[rank1]:   File "/app/train.py", line 212, in main
[rank1]:     dist_cp.load(state, checkpoint_id=path)
[rank1]: RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory
"""


class Trap:
    def __reduce__(self):
        return os.system, ("touch pwned",)


@pytest.fixture
def folder(tmp_path):
    for path in MADE.iterdir():
        if path.is_dir() and path.name != "__pycache__":
            shutil.copytree(path, tmp_path / path.name)
    return tmp_path


def cut(path, size):
    before = path.stat()
    os.truncate(path, before.st_size - size)
    os.utime(path, (before.st_mtime, before.st_mtime))  # The cut came before the save ended.


def test_whole_checkpoints_of_all_libraries_are_healthy(folder):
    report = api.run([folder])
    assert report.verdict == "healthy"
    assert {finding.role for finding in report.findings} <= {"context"}


def test_a_cut_shard_explains_why_the_load_failed(folder):
    cut(folder / "dcp/step-500/__2_0.distcp", 5)
    (folder / "dcp/train.log").write_text(FAILED)
    report = api.run([folder / "dcp"])
    root = report.findings[0]
    assert (root.id, root.role) == ("checkpoint-file-damaged", "root")
    assert root.culprit.files == ["step-500/__2_0.distcp"]
    assert "5 bytes short: .metadata calls for 7,253" in root.title
    assert {finding.role for finding in report.findings[1:]} <= {"cascade", "context"}


def test_many_damaged_files_are_one_finding(folder):
    for path in (folder / "torch").glob("*.pt*"):
        cut(path, 1)
    [finding] = [one for one in api.run([folder]).findings if one.role == "root"]
    assert finding.title.startswith("11 checkpoint files are damaged, first ")
    assert "and 8 more cannot be what was saved" in finding.explanation


def test_an_unsafe_pickle_is_shown_and_no_root(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "unsafe.pth").write_bytes(pickle.dumps({"step": Trap()}))
    report = api.run([folder])
    [finding] = [one for one in report.findings if one.id == "checkpoint-suspicious-pickle"]
    assert finding.role == "context"
    assert f"{os.system.__module__}.system" in finding.title
    assert report.verdict == "healthy"
    assert not (folder / "pwned").exists()


def test_a_paste_may_hold_a_checkpoint(folder):
    paste = '==> latest <==\nglobal_step9\n==> m.index.json <==\n{"weight_map": 1}\n'
    assert api.run_text(paste).findings[0].id == "checkpoint-file-damaged"


def test_files_that_are_only_looked_at_are_counted(folder):
    report = api.run([folder / "dcp"])
    assert report.inputs.files == len([one for one in (folder / "dcp").rglob("*") if one.is_file()])
    assert report.inputs.lines == 0
