"""An analysis is asked only where what it starts from was read, and nothing is lost by that."""

import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import pytest

from diagnose import api
from diagnose.facts import derivations
from diagnose.facts.analyses import AFTER_PROGRESS, COMPLETING, OF_RECORDS, OF_THE_JOB
from diagnose.facts.case import build
from diagnose.scanning.inputs import read_paths

from .build import event, points, reading

SAMPLES = sorted((Path(__file__).parents[2] / "samples").glob("*/*/logs"))


def told(made):
    """Return what an event says; sums over many steps differ in their last digits."""
    fields = {
        name: f"{value:.9g}" if isinstance(value, float) else str(value)
        for name, value in made.fields.items()
    }
    return made.name, made.file, made.line, made.nature, made.rank, made.host, made.text, fields


ALL = (*COMPLETING, *OF_RECORDS, *OF_THE_JOB, *AFTER_PROGRESS)


@pytest.mark.parametrize("logs", SAMPLES, ids=lambda logs: f"{logs.parts[-3]}/{logs.parts[-2]}")
def test_all_analyses_find_no_more_than_those_with_input(logs, monkeypatch):
    read, _ = read_paths([str(logs)], api.load_knowledge().reader)
    chosen, every = read, deepcopy(read)
    build(chosen)
    monkeypatch.setattr(derivations.Analysis, "has_input", lambda analysis, given: True)
    build(every)
    assert list(map(told, chosen.events)) == list(map(told, every.events))
    assert [(one.metric, one.writer) for one in chosen.points] == [
        (one.metric, one.writer) for one in every.points
    ]


@pytest.mark.parametrize("analysis", ALL, ids=lambda analysis: analysis.module)
def test_every_analysis_can_be_loaded_and_has_input(analysis):
    assert analysis.load().__doc__
    assert analysis.events or analysis.series or analysis.runs


@pytest.mark.parametrize(
    ("record", "asked"),
    [
        (event("inference.metrics"), "serving"),
        (event("ib.port"), "fabric"),
        (points("step_time", [1.0] * 30), "pace"),
        (points("step_time", [1.0] * 29), None),
    ],
)
def test_what_analyses_start_from(record, asked):
    given = build(reading(record))
    optional = [one for one in OF_RECORDS if one.module in ("serving", "fabric", "pace")]
    found = [
        one.module
        for one in optional
        if one.has_input(
            derivations.Given(
                records=given.records, attempts=given.attempts, job=given.job, clocks=given.clocks,
                by_file=given.file_clocks,
            )
        )
    ]  # fmt: skip
    assert found == ([asked] if asked else [])


def test_a_snippet_of_nccl_imports_no_analysis_of_anything_else():
    code = (
        "import sys; from diagnose.facts.case import build; from diagnose.model.reading import *\n"
        "from diagnose.model.event import *\n"
        "build(Reading(events=[Event(name='nccl.version', nature=Nature.SETTING, file='a', line=1,"
        " end_line=1, text='', fact='nccl.version', fields={'value': '2.27.6'})]))\n"
        "print(*[name for name in sys.modules if name.startswith('diagnose.facts.')])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(ran.stdout.split())
    others = ("serving", "fabric", "pace", "losses", "bandwidth", "collectives", "gpu_memory")
    assert "diagnose.facts.differences" in loaded
    assert loaded.isdisjoint(f"diagnose.facts.{name}" for name in others)
