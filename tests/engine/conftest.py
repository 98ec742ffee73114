"""Folders of rules: two shipped ones, and one of a team that is empty."""

import pytest

from .rule_files import CAUSES, rule_text


@pytest.fixture
def shipped(tmp_path):
    root = tmp_path / "shipped"
    (root / "comms").mkdir(parents=True)
    (root / "dataflow").mkdir()
    (root / "causes.yaml").write_text(CAUSES)
    (root / "comms" / "alpha.yaml").write_text(
        rule_text("alpha", aliases="[old-alpha]", match="{series: loss, stat: cv, gte: 2}")
    )
    (root / "dataflow" / "beta.yaml").write_text(rule_text("beta", cause="dataflow.test"))
    return root


@pytest.fixture
def team(tmp_path):
    folder = tmp_path / "team"
    folder.mkdir()
    return folder
