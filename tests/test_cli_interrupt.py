"""Ctrl-C at any moment of the program."""

import io
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from diagnose import api
from diagnose.cli import main
from diagnose.cli.interrupt import SO_FAR, interruptible

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "samples/comms/ib-port-down/logs"


@pytest.fixture(autouse=True)
def handler():
    """As Python starts, also where a shell has let these tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield signal.default_int_handler
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


def ctrl_c(*_):
    signal.raise_signal(signal.SIGINT)


def test_before_anything_is_read_it_ends_the_run(capsys):
    with pytest.raises(KeyboardInterrupt), interruptible():
        ctrl_c()
    assert capsys.readouterr().err == ""


def test_while_logs_are_read_it_ends_the_reading(capsys):
    with interruptible() as interrupts:
        told = interrupts.during(lambda done, total: None)
        told(1, 3)
        with pytest.raises(KeyboardInterrupt):
            ctrl_c()
        with pytest.raises(KeyboardInterrupt):  # the second one
            ctrl_c()
    assert interrupts.came
    assert capsys.readouterr().err == f"{SO_FAR}\n"


def test_once_all_is_read_it_ends_nothing(capsys):
    with interruptible() as interrupts:
        interrupts.during(lambda done, total: None)(3, 3)
        ctrl_c()
    assert interrupts.came
    assert capsys.readouterr().err == f"{SO_FAR}\n"


def test_one_that_python_lost_ends_the_reading_later(monkeypatch):
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)

    class Discarded:
        def __del__(self):
            ctrl_c()

    with interruptible() as interrupts:
        told = interrupts.during(lambda done, total: None)
        told(1, 3)
        Discarded()
        with pytest.raises(KeyboardInterrupt):
            told(2, 3)
        told(3, 3)


def test_one_that_the_shell_keeps_from_a_program_in_the_background_does_nothing():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interruptible() as interrupts:
        ctrl_c()
    assert not interrupts.came
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_a_run_that_is_interrupted_while_it_judges_gives_its_report_and_status_130(monkeypatch):
    build = api.build
    monkeypatch.setattr(api, "build", lambda *given: (ctrl_c(), build(*given))[1])
    result = CliRunner().invoke(main, [str(SAMPLE)])
    assert result.exit_code == 130
    assert result.stdout.startswith("Root cause: ")
    assert SO_FAR in result.stderr


class Pipe(io.BytesIO):
    """Standard input that is interrupted once all it has is read."""

    def __next__(self):
        return self.readline() or ctrl_c()


def test_what_came_through_a_pipe_until_then_is_judged():
    log = (SAMPLE / "rank0.log").read_bytes()
    result = CliRunner().invoke(main, ["stdin", "--format", "json"], input=Pipe(log))
    assert (result.exit_code, result.stderr) == (130, f"{SO_FAR}\n")
    report = json.loads(result.stdout)
    assert report["inputs"]["partial"] == {"read": len(log), "found": None}
    assert report["summary"].startswith("Partial, ")
    result = CliRunner().invoke(main, ["stdin"], input=Pipe(log))
    assert "the reading was interrupted after " in " ".join(result.stdout.split())


def test_a_pipe_of_which_nothing_came_yet_is_given_up():
    result = CliRunner().invoke(main, ["stdin"], input=Pipe())
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "Interrupted.\n")


def program(before, *arguments):
    """Run the program behind some preparation, and return its status and its messages."""
    prepare = "import os, signal, sys\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    run = f"sys.argv = {['diagnose', *arguments]!r}\nfrom diagnose.__main__ import main\nmain()\n"
    process = subprocess.run(
        [sys.executable, "-c", prepare + before + run], capture_output=True, text=True, cwd=ROOT
    )
    return process.returncode, process.stderr


def test_while_modules_are_loaded_it_ends_the_program_with_a_message():
    before = """
class Finder:
    def find_spec(self, name, *_):
        if name == "diagnose.cli.options":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Finder())
"""
    assert program(before, "--version") == (130, "Interrupted.\n")


def test_while_python_ends_it_changes_nothing():
    before = "import atexit\natexit.register(signal.raise_signal, signal.SIGINT)\n"
    assert program(before, "--version") == (0, "")
