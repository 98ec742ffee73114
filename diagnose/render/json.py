"""The report as JSON: the keys of ``diagnose.model.report``, in their order."""

import json
import math
import re
from dataclasses import fields, is_dataclass
from typing import Any

from diagnose.model.report import ReportData

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def render(report: ReportData) -> str:
    """Return the JSON text of a report, with a line end behind it.

    The same report gives the same text. Numbers that JSON cannot hold become null, halves of
    surrogate pairs (bytes of a log that were no UTF-8) the replacement character.
    """
    shape = {field.name: _plain(getattr(report, field.name)) for field in fields(ReportData)}
    return json.dumps(shape, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {_plain(str(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\ufffd", value)
    return value
