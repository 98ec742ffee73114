"""Where the shipped rules and playbooks are, in a checkout or in a wheel."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

import yaml

from diagnose.errors import InstallationError

Kind = Literal["rules", "playbooks"]

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Of both safe loaders the fast one, which a PyYAML built without libyaml lacks."""


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
    text = (root("rules") / f"{name}.yaml").read_text(encoding="utf-8")
    return yaml.load(text, Loader=_LOADER)  # noqa: S506 - both loaders are safe ones
