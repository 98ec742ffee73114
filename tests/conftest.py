"""What all tests share."""

from functools import cache

import pytest

from diagnose import api

load = api.load_knowledge


@pytest.fixture(autouse=True, scope="session")
def cache_of_these_tests(tmp_path_factory):
    """What is kept between runs lies in a folder of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DIAGNOSE_CACHE", str(tmp_path_factory.mktemp("cache") / "diagnose"))
        yield


@cache
def shipped():
    load()
    return load()  # as every run but the first has them: out of what was kept


@pytest.fixture(autouse=True)
def shipped_knowledge_is_loaded_once(monkeypatch):
    """Most tests ask the shipped rules; reading them anew for each would take most of the time."""

    def knowledge(rules=(), playbooks=()):
        return load(rules, playbooks) if rules or playbooks else shipped()

    monkeypatch.setattr(api, "load_knowledge", knowledge)
