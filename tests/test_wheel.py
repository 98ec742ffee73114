"""What is shipped: both archives are built, listed and used outside the checkout."""

import json
import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from diagnose.version import VERSION

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = {
    path.relative_to(ROOT).as_posix()
    for kind in ("rules", "playbooks")
    for path in (ROOT / kind).rglob("*")
    if path.is_file()
}
RULES = {Path(name).stem for name in SHIPPED if name.startswith("rules/") and name.count("/") == 2}
PLAYBOOKS = {Path(name).stem for name in SHIPPED if name.startswith("playbooks/")}


def call(*command, folder, **options):
    """Run a program as a stranger would: nothing of this checkout is on its path."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "DIAGNOSE_")) and name != "VIRTUAL_ENV"
    }
    return subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        **options,
    )


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """Return the wheel and the source archive; the wheel is built from the latter."""
    folder = tmp_path_factory.mktemp("dist")
    done = call(sys.executable, "-m", "build", "--outdir", folder, ROOT, folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    [wheel] = folder.glob("*.whl")
    [source] = folder.glob("*.tar.gz")
    return wheel, source


@pytest.fixture(scope="module")
def installed(archives, tmp_path_factory):
    """Return a function that runs the installed program."""
    folder = tmp_path_factory.mktemp("elsewhere")
    venv.create(folder / "env", with_pip=True)
    programs = folder / "env" / "bin"
    done = call(programs / "pip", "install", "--quiet", archives[0], folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return lambda *words, **options: call(programs / "diagnose", *words, folder=folder, **options)


def test_the_wheel_holds_the_rules_and_playbooks_of_the_checkout(archives):
    names = zipfile.ZipFile(archives[0]).namelist()
    inside = "diagnose/_data/"

    assert {name.removeprefix(inside) for name in names if name.startswith(inside)} == SHIPPED


def test_the_wheel_is_typed_licensed_and_holds_nothing_else(archives):
    names = zipfile.ZipFile(archives[0]).namelist()
    notes = f"diagnose_ai-{VERSION}.dist-info/"

    assert "diagnose/py.typed" in names
    assert f"{notes}licenses/LICENSE" in names
    assert [name for name in names if not name.startswith(("diagnose/", notes))] == []
    assert [name for name in names if "__pycache__" in name] == []


def test_the_source_archive_holds_what_the_tests_need(archives):
    with tarfile.open(archives[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert names >= SHIPPED
    assert names >= {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml"}
    assert {"diagnose", "docs", "samples", "tests"} <= {name.split("/")[0] for name in names}


def test_an_installed_program_knows_its_version(installed):
    done = installed("--version")

    assert done.returncode == 0, done.stderr
    assert VERSION in done.stdout


@pytest.mark.parametrize(("kind", "ids"), [("rules", RULES), ("playbooks", PLAYBOOKS)])
def test_an_installed_program_finds_what_was_shipped(installed, kind, ids):
    done = installed(kind, "list", "--format", "json")

    assert done.returncode == 0, done.stderr
    assert {name for name in ids if json.dumps(name) not in done.stdout} == set()


def test_an_installed_program_makes_a_report(installed):
    done = installed("stdin", "--format", "json", input="nothing to see here\n")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"] == "no-evidence"
