"""Where the shipped rules and playbooks are, in a checkout or in a wheel, and how they are read."""

import json
from collections.abc import Callable
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

from diagnose.errors import InstallationError
from diagnose.kept import Kept, exact

Kind = Literal["rules", "playbooks"]

_LOADER = Path(__file__).with_name("plain_yaml.py")


def root(kind: Kind) -> Traversable:
    """Return the folder of shipped files.

    The checkout is asked first: an editable install leaves a copy in the environment that goes
    stale at the first edit.

    Raises:
        InstallationError: Neither a checkout nor an installed copy has the folder.
    """
    checkout = Path(__file__).resolve().parent.parent / kind
    if checkout.is_dir() and (checkout.parent / "pyproject.toml").is_file():
        return checkout
    packaged = files("diagnose") / "_data" / kind
    if packaged.is_dir():
        return packaged
    raise InstallationError(f"the shipped {kind} are missing; install diagnose again")


def table(name: str) -> Any:
    """Return what a shipped table beside the rules holds, like ``xid`` of ``rules/xid.yaml``.

    Raises:
        InstallationError: The shipped rules are missing.
    """
    path = root("rules") / f"{name}.yaml"

    def load() -> Any:
        from diagnose.plain_yaml import load

        return load(path.read_text(encoding="utf-8"))

    return held(path, load)


def held(path: Traversable, load: Callable[[], Any]) -> Any:
    """Return what a shipped YAML file holds, kept between runs.

    Args:
        path: Of the file.
        load: Loads it where it was not kept, or has changed since.
    """
    kept = Kept(path, _LOADER)
    if lines := kept.find():
        return json.loads(lines[0])
    data = load()
    kept.keep(map(exact, [data]))
    return data
