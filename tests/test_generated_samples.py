"""The samples that come from stated facts: they are what the facts give, and keep their answer."""

from collections.abc import Callable
from pathlib import Path

import generate
import pytest
from joblog import book, delivery

from diagnose import api

ROOT = Path(__file__).parent.parent / "samples"


def shipped(name: str) -> book.Files:
    logs = ROOT / name / "logs"
    return {
        path.relative_to(logs).as_posix(): path.read_bytes()
        for path in logs.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("name", generate.SAMPLES)
def test_the_shipped_logs_are_what_the_facts_give(name):
    assert shipped(name) == generate.SAMPLES[name].files(), "run python samples/generate.py"


def answer(report: api.Report) -> tuple:
    """Return what must not depend on the layout of the logs."""
    roots = (finding for finding in report.findings if finding.role == "root")
    return report.verdict, sorted(
        (one.cause, tuple(one.culprit.ranks), tuple(one.culprit.hosts)) for one in roots
    )


def judged(files: book.Files, folder: Path) -> api.Report:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return api.run([folder])


LAYOUTS: tuple[Callable[[book.Book], book.Files], ...] = (
    book.by_rank,
    delivery.renamed,
    delivery.srun_labels,
    delivery.torchrun_tee,
)
"""Those that leave nothing out of what a line of a rank says of it."""


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
@pytest.mark.parametrize("name", generate.SAMPLES)
def test_another_layout_gets_the_same_answer(name, layout, tmp_path):
    files = layout(generate.SAMPLES[name].tell())
    assert answer(judged(files, tmp_path)) == answer(api.run([ROOT / name / "logs"]))
