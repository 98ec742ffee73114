"""What all tests share."""

from functools import cache

import pytest

from diagnose import api

load = api.load_knowledge


@cache
def shipped():
    return load()


@pytest.fixture(autouse=True)
def shipped_knowledge_is_loaded_once(monkeypatch):
    """Most tests ask the shipped rules; reading them anew for each would take most of the time."""

    def knowledge(rules=(), playbooks=()):
        return load(rules, playbooks) if rules or playbooks else shipped()

    monkeypatch.setattr(api, "load_knowledge", knowledge)
