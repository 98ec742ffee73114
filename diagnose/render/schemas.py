"""JSON Schema (draft 2020-12) of the report, of rules, playbooks, baselines and topologies.

The schema of the report is derived from the dataclasses, the others from the tables of keys that
the loaders check against, so that neither can differ from what the program does.
"""

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from diagnose import shipped
from diagnose.engine.read_baseline import BASELINE_KEYS, RUN_KEYS, TEST_KEYS, WAYS
from diagnose.engine.read_topology import (
    CLASS_KEYS,
    MTUS,
    NIC_KEYS,
    PARTITION_KEYS,
    ROUTING_KEYS,
    TOPOLOGY_KEYS,
)
from diagnose.engine.read_topology_hosts import HOST_KEYS
from diagnose.engine.schema import CONDITION_KEYS, CULPRITS, EXPLAIN_KEYS, GROUPS, RULE_KEYS, Key
from diagnose.model.report import LEVELS, STAGES, ReportData
from diagnose.model.topology import Layer, Reach, Role
from diagnose.playbooks import KINDS, PLAYBOOK_KEYS, STEP_KEYS

Schema = dict[str, Any]

DRAFT = "https://json-schema.org/draft/2020-12/schema"

_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
_AT_LEAST_ONE: Schema = {"type": "integer", "minimum": 1}
_NAME: Schema = {"type": ["string", "integer"]}
_PATTERN: Schema = {"anyOf": [_NAME, {"type": "array", "items": _NAME}]}
_PATTERNS: Schema = {"type": "object", "additionalProperties": _PATTERN}


def report_schema() -> Schema:
    """Return the schema of the JSON report."""
    return {
        "$schema": DRAFT,
        "title": "diagnose report",
        **_of_dataclass(ReportData),
        "$defs": dict(sorted(_definitions().items())),
    }


def rule_schema() -> Schema:
    """Return the schema of a rule file."""
    return {
        "$schema": DRAFT,
        "title": "diagnose rule",
        **_of_keys(RULE_KEYS, _RULE_VALUES),
        "$defs": {
            "condition": {
                "oneOf": [{"$ref": f"#/$defs/{form}-condition"} for form in CONDITION_KEYS]
            },
            "explain": _of_keys(EXPLAIN_KEYS, {}),
            **{
                f"{form}-condition": _of_keys(keys, _CONDITION_VALUES)
                for form, keys in CONDITION_KEYS.items()
            },
        },
    }


def baseline_schema() -> Schema:
    """Return the schema of a baseline file."""
    known = shipped.table("baseline")
    tests = _of_keys(
        TEST_KEYS,
        {
            **dict.fromkeys(("name", "test", "gpu", "unit"), _TEXT),
            **dict.fromkeys(("gpus", "nodes"), _AT_LEAST_ONE),
            **dict.fromkeys(("ok", "warning"), _SHARE),
            "metric": {"enum": list(known["metrics"])},
            "bench": {"enum": list(known["benchmarks"])},
            "size": {"anyOf": [_TEXT, _AT_LEAST_ONE]},
            "expected": {"type": "number", "exclusiveMinimum": 0},
            "measured": {"type": "number", "minimum": 0},
            "better": {"enum": ["larger", "smaller"]},
        },
    )
    return {
        "$schema": DRAFT,
        "title": "diagnose baseline",
        **_of_keys(
            BASELINE_KEYS,
            {
                "gpu": _TEXT,
                "ok": _SHARE,
                "warning": _SHARE,
                "run": {"$ref": "#/$defs/run"},
                "tests": {"type": "array", "items": {"$ref": "#/$defs/test"}, "minItems": 1},
            },
        ),
        "$defs": {
            "test": {**tests, "oneOf": [{"required": [way]} for way in WAYS]},
            "run": _of_keys(RUN_KEYS, dict.fromkeys(RUN_KEYS, _EXPRESSIONS)),
        },
    }


def topology_schema() -> Schema:
    """Return the schema of a topology file."""

    def listed(name: str) -> Schema:
        return {"type": "array", "items": {"$ref": f"#/$defs/{name}"}}

    nic = dict.fromkeys(NIC_KEYS, _PATTERN) | {
        "role": {"enum": list(get_args(Role))},
        "rate": {"type": "number", "exclusiveMinimum": 0},
        "link_layer": {"enum": list(get_args(Layer))},
    }
    host = dict.fromkeys(HOST_KEYS, _PATTERN) | {
        "class": _TEXT,
        "addresses": _PATTERNS,
        "guids": _PATTERNS,
        "leaf": {"anyOf": [_PATTERN, _PATTERNS]},
    }
    routing: dict[str, Schema] = {
        "reach": {"enum": list(get_args(Reach))},
        "gid_index": _COUNT,
        "mtu": {"enum": list(MTUS)},
        "traffic_class": {**_COUNT, "maximum": 255},
        "subnets": {"type": "object", "additionalProperties": _TEXT},
    }
    classes = {"type": "object", "additionalProperties": {"$ref": "#/$defs/class"}}
    return {
        "$schema": DRAFT,
        "title": "diagnose topology",
        **_of_keys(
            TOPOLOGY_KEYS,
            {
                "rails": _PATTERN,
                "classes": classes,
                "hosts": {**listed("host"), "minItems": 1},
                "partitions": listed("partition"),
                "routing": {"$ref": "#/$defs/routing"},
            },
        ),
        "$defs": {
            "class": _of_keys(CLASS_KEYS, {"gpu": _TEXT, "gpus": _COUNT, "nics": listed("nic")}),
            "nic": _of_keys(NIC_KEYS, nic),
            "host": _of_keys(HOST_KEYS, host),
            "partition": _of_keys(
                PARTITION_KEYS,
                {"name": _TEXT, "pkey": _AT_LEAST_ONE, "hosts": _PATTERN},
            ),
            "routing": _of_keys(ROUTING_KEYS, routing),
        },
    }


def playbook_schema() -> Schema:
    """Return the schema of a playbook file."""
    return {
        "$schema": DRAFT,
        "title": "diagnose playbook",
        **_of_keys(PLAYBOOK_KEYS, _PLAYBOOK_VALUES),
        "$defs": {"step": _of_keys(STEP_KEYS, _STEP_VALUES), "text": _BILINGUAL},
    }


# ------------------------------------------------------------------ from dataclasses

_FIELDS: Mapping[tuple[str, str], Schema] = {
    ("ReportData", "schema"): {"const": "diagnose.report/1"},
    ("ReportData", "tool"): {
        "type": "object",
        "properties": {
            "name": _TEXT,
            "version": _TEXT,
            "rules": {
                "type": "object",
                "properties": {"shipped": _TEXT, "packs": {"type": "array"}},
                "required": ["shipped", "packs"],
            },
        },
        "required": ["name", "version", "rules"],
    },
    ("ReportData", "stages"): {
        "type": "object",
        "properties": {stage: {"$ref": "#/$defs/Stage"} for stage in STAGES},
        "required": list(STAGES),
    },
    ("Finding", "confidence"): _SHARE,
    ("Finding", "symptoms"): {
        "type": "array",
        "items": {"type": "integer", "minimum": 1, "maximum": 13},
    },
    ("Alternative", "confidence"): _SHARE,
}
"""What the types of the dataclasses leave open."""


@cache
def _definitions() -> dict[str, Schema]:
    found: dict[str, Schema] = {}
    waiting: list[type] = [ReportData]
    while waiting:
        owner = waiting.pop()
        for part in (part for hint in get_type_hints(owner).values() for part in _parts(hint)):
            if is_dataclass(part) and part.__name__ not in found:
                found[part.__name__] = _of_dataclass(part)
                waiting.append(part)
    return found


def _parts(hint: Any) -> list[type]:
    """Return the classes a type is made of."""
    inner = [part for argument in get_args(hint) for part in _parts(argument)]
    return [*inner, hint] if isinstance(hint, type) else inner


def _of_dataclass(owner: type) -> Schema:
    hints = get_type_hints(owner)
    names = [field.name for field in fields(owner)]
    return {
        "type": "object",
        "description": (owner.__doc__ or "").split("\n")[0],
        "properties": {
            name: _FIELDS.get((owner.__name__, name)) or _of_type(hints[name]) for name in names
        },
        "required": names,
    }


def _of_type(hint: Any) -> Schema:
    """Return the schema of a type of the report.

    Raises:
        TypeError: The type has no place in a report.
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_of_type(argument) for argument in arguments]}
    if origin is list:
        return {"type": "array", "items": _of_type(arguments[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": _of_type(arguments[1])}
    if is_dataclass(hint) and isinstance(hint, type):
        return {"$ref": f"#/$defs/{hint.__name__}"}
    if hint is Any:
        return {}
    simple = {str: "string", int: "integer", float: "number", bool: "boolean"}
    if hint is types.NoneType:
        return {"type": "null"}
    if hint in simple:
        return {"type": simple[hint]}
    raise TypeError(f"no JSON Schema for {hint!r}")


# ------------------------------------------------------------------ from tables of keys

_CONDITION: Schema = {"$ref": "#/$defs/condition"}
_CONDITIONS: Schema = {"type": "array", "items": _CONDITION}
_KEBAB: Schema = {"type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$"}
_BILINGUAL: Schema = {
    "type": "object",
    "properties": {"en": _TEXT, "zh": _TEXT},
    "required": ["en", "zh"],
    "additionalProperties": False,
}
_ADJUSTMENTS: Schema = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"when": _CONDITION, "by": _SHARE},
        "required": ["when", "by"],
        "additionalProperties": False,
    },
}
_EDGES: Schema = {"type": "array", "items": {"anyOf": [_TEXT, {"$ref": "#/$defs/explain"}]}}
_EXPRESSIONS: Schema = {"type": "object", "additionalProperties": True}

_RULE_VALUES: Mapping[str, Schema] = {
    "id": _KEBAB,
    "aliases": {"type": "array", "items": _KEBAB},
    "title": _TEXT,
    "cause": _TEXT,
    "symptoms": {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 13}},
    "level": {"enum": list(LEVELS)},
    "role": {"enum": ["root", "symptom", "context"]},
    "applies": {"type": "object", "additionalProperties": _TEXT},
    "match": _CONDITION,
    "unless": {"anyOf": [_CONDITION, _CONDITIONS]},
    "by": {"enum": list(GROUPS)},
    "culprit": {
        "type": "object",
        "properties": {name: _TEXT for name in CULPRITS},
        "additionalProperties": False,
    },
    "explains": _EDGES,
    "explained_by": _EDGES,
    "cleared_by": {"anyOf": [_CONDITION, {"const": "progress"}]},
    "confidence": _SHARE,
    "raise": _ADJUSTMENTS,
    "lower": _ADJUSTMENTS,
    "explanation": _TEXT,
    "missing": {"type": "array", "items": _TEXT},
    "playbook": _KEBAB,
    "with": _EXPRESSIONS,
    "references": {"type": "array", "items": _TEXT},
    "tests": {"type": "array", "items": {"type": "object"}},
}
_CONDITION_VALUES: Mapping[str, Schema] = {
    "event": _TEXT,
    "fact": _TEXT,
    "env": _TEXT,
    "series": _TEXT,
    "regex": _TEXT,
    "rule": _KEBAB,
    "text": {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]},
    "all": _CONDITIONS,
    "any": _CONDITIONS,
    "sequence": _CONDITIONS,
    "as": _TEXT,
    "at": _CONDITION,
    "window": {"type": "integer", "minimum": 1},
    "literals": {"type": "array", "items": _TEXT},
}
_STEPS: Schema = {"type": "array", "items": {"$ref": "#/$defs/step"}}
_PLAYBOOK_VALUES: Mapping[str, Schema] = {
    "id": _KEBAB,
    "title": {"$ref": "#/$defs/text"},
    "when": {"$ref": "#/$defs/text"},
    "confirm": _STEPS,
    "fix": _STEPS,
    "prevent": _STEPS,
    "not_if": _STEPS,
}
_STEP_VALUES: Mapping[str, Schema] = {
    "text": {"$ref": "#/$defs/text"},
    "command": _TEXT,
    "kind": {"enum": list(KINDS)},
    "expect": {"$ref": "#/$defs/text"},
    "otherwise": {"$ref": "#/$defs/text"},
}


def _of_keys(keys: Mapping[str, Key], values: Mapping[str, Schema]) -> Schema:
    """Return the schema of a mapping; keys whose shape varies are described in words only."""
    return {
        "type": "object",
        "properties": {
            name: {**values.get(name, {}), "description": f"{key.meaning} ({key.type})"}
            for name, key in keys.items()
        },
        "required": [name for name, key in keys.items() if key.default == "required"],
        "additionalProperties": False,
    }
