"""Texts that loop and texts that only repeat words by right, from the paste to the finding."""

import json
from pathlib import Path

import pytest
import yaml

from diagnose.api import load_knowledge, run_sources
from diagnose.errors import NoInputError
from diagnose.ingest.paste import split

HERE = Path(__file__).parent / "fixtures/generated"
CAUSES = (
    "parameters.sampling",
    "parameters.stop-tokens",
    "parameters.max-model-len",
    "parameters.precision-overflow",
)


def texts(name):
    return yaml.safe_load((HERE / f"{name}.yaml").read_text(encoding="utf-8"))


def whole(entry):
    units = (
        entry["unit"].replace("{n}", str(number)) if entry.get("counting") else entry["unit"]
        for number in range(1, entry["times"] + 1)
    )
    return entry["begin"] + "".join(units) + entry.get("end", "")


LOOPING = {entry["name"]: whole(entry) for entry in texts("looping")}
NORMAL = {entry["name"]: entry["text"] for entry in texts("normal")}


def pasted(text, finish):
    return f'$ mlx_lm.generate --model acme/tiny-7b --prompt "Go on" --max-tokens 512 --temp 0\n{text}\n'


def replied(text, finish):
    reply = {"choices": [{"index": 0, "text": text, "finish_reason": finish}]}
    request = {"prompt": "Go on", "temperature": 0.0, "max_tokens": 512}
    return (
        f"curl http://10.0.0.7:8000/v1/completions -d '{json.dumps(request)}'\n"
        f"{json.dumps(reply, ensure_ascii=False)}\n"
    )


ROUTES = {"pasted": pasted, "replied": replied}


@pytest.fixture(scope="module")
def knowledge():
    return load_knowledge()


def accused(log, knowledge):
    try:
        report = run_sources(split(log.encode()), knowledge)
    except NoInputError as error:
        report = error.report
    return [one.id for one in report.findings if one.role == "root" and one.cause in CAUSES]


def test_there_are_enough_of_both():
    assert len(LOOPING) >= 40
    assert len(NORMAL) >= 40


@pytest.mark.parametrize("route", ROUTES)
def test_nearly_all_looping_texts_are_found(route, knowledge):
    missed = [
        name for name, text in LOOPING.items()
        if not accused(ROUTES[route](text, "length"), knowledge)
    ]  # fmt: skip
    assert len(missed) <= 0.05 * len(LOOPING), missed


@pytest.mark.parametrize("route", ROUTES)
def test_nearly_no_normal_text_is_accused(route, knowledge):
    found = {
        name: ids for name, text in NORMAL.items()
        if (ids := accused(ROUTES[route](text, "stop"), knowledge))
    }  # fmt: skip
    assert len(found) <= 0.05 * len(NORMAL), found
