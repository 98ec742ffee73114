"""What docstrings show is what comes."""

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

import diagnose

PACKAGE = Path(diagnose.__file__).parent

EXAMPLE = re.compile(r"^ *>>> ", re.MULTILINE)

SHOWING = [
    ".".join(["diagnose", *path.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(
        ".__init__"
    )
    for path in sorted(PACKAGE.rglob("*.py"))
    if EXAMPLE.search(path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("name", SHOWING)
def test_examples_give_what_they_show(name):
    failed, tried = doctest.testmod(import_module(name))
    assert (failed, tried > 0) == (0, True)
