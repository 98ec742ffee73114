"""The rules of the house that a tool can check."""

import ast
import os
import re
import shutil
import statistics
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from diagnose.parsers import MODULES as DIALECTS

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "diagnose"
GENERATED = {PACKAGE / "parsers" / name for name in ("derived.py", "index.py")}
MODULES = sorted(
    path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if path not in GENERATED
)

MOST_LINES = 600
MEDIAN_LINES = 200

NOT_OURS = {"build", "dist", "__pycache__", "node_modules"}
REGISTRY = re.compile(
    rb"pypi[.]org|pythonhosted[.]org|(?:conda\.)?anaconda[.](?:org|com)|npmjs[.](?:org|com)"
    rb"|crates[.]io|rubygems[.]org|proxy[.]golang[.]org"
)
WORKPLACE = re.compile(rb"(?<![\w.~-])/wor[k]/")


def is_cli(module):
    return module in ("cli.py", "__main__.py") or module.startswith("cli/")


LIBRARY = [module for module in MODULES if not is_cli(module)]


@cache
def tree(module):
    return ast.parse((PACKAGE / module).read_text(encoding="utf-8"))


def imported(module):
    """Return the names of all modules that a module imports, anywhere in it."""
    names = set()
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def files_of_the_tree():
    """Return all files under version control, or all files where git cannot say."""
    git = shutil.which("git")
    if git and (ROOT / ".git").exists():
        listed = subprocess.run(
            [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
        )
        if listed.returncode == 0:
            names = listed.stdout.decode("utf-8", "surrogateescape").split("\0")
            return [path for name in names if name and (path := ROOT / name).is_file()]
    found = []
    for folder, below, names in os.walk(ROOT):
        below[:] = [name for name in below if name not in NOT_OURS and not name.startswith(".")]
        found.extend(Path(folder, name) for name in names)
    return [*found, *(ROOT / ".ci").glob("*")]


def test_no_module_is_too_long():
    lengths = {module: len((PACKAGE / module).read_bytes().splitlines()) for module in MODULES}

    assert {module: size for module, size in lengths.items() if size > MOST_LINES} == {}
    assert statistics.median(lengths.values()) <= MEDIAN_LINES


@pytest.mark.parametrize("module", MODULES)
def test_a_module_says_what_it_is_for(module):
    assert ast.get_docstring(tree(module))


@pytest.mark.parametrize("module", LIBRARY)
def test_a_library_module_neither_prints_nor_exits(module):
    banned = {"print", "input", "exit", "quit", "SystemExit"}
    streams = {"stdin", "stdout", "stderr", "exit"}
    found = []
    for node in ast.walk(tree(module)):
        match node:
            case ast.Name(id=name) if name in banned:
                found.append((node.lineno, name))
            case ast.Attribute(value=ast.Name(id="sys"), attr=name) if name in streams:
                found.append((node.lineno, f"sys.{name}"))
            case ast.Attribute(value=ast.Name(id="os"), attr="_exit" | "abort" as name):
                found.append((node.lineno, f"os.{name}"))
    assert found == []


@pytest.mark.parametrize("module", LIBRARY)
def test_click_is_imported_by_the_command_line_alone(module):
    assert {name for name in imported(module) if name.split(".")[0] == "click"} == set()


def test_no_module_is_a_drawer_for_odds_and_ends():
    odd = {"util", "utils", "helpers", "common", "misc"}

    assert [module for module in MODULES if odd & set(Path(module).with_suffix("").parts)] == []


@pytest.mark.parametrize("module", MODULES)
def test_exports_are_sorted_constants_first(module):
    for node in tree(module).body:
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets
        ):
            names = list(ast.literal_eval(node.value))
            assert names == sorted(names, key=lambda name: (not name.isupper(), name))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_parser_knows_no_other_parser(dialect):
    others = {f"diagnose.parsers.{name}" for name in DIALECTS if name != dialect}

    assert imported(f"parsers/{dialect.replace('.', '/')}.py") & others == set()


def test_a_lower_layer_never_imports_a_higher_one():
    command = Path(sys.executable).with_name("lint-imports")

    done = subprocess.run([command, "--no-cache"], cwd=ROOT, capture_output=True, text=True)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("banned", [REGISTRY, WORKPLACE], ids=["registry", "workplace"])
def test_no_file_names_a_registry_or_the_place_it_was_written_at(banned):
    here = str(ROOT).encode() + b"/"
    found = []
    for path in files_of_the_tree():
        data = path.read_bytes()
        if banned.search(data) or here in data:
            found.append(path.relative_to(ROOT).as_posix())
    assert found == []
