import json
from dataclasses import fields, is_dataclass

import pytest

from diagnose.model.report import ReportData
from diagnose.render import json as render_json
from diagnose.render import schemas


def keys_match(value, shape):
    """Assert that a JSON value has just the keys of a dataclass, in order."""
    assert list(value) == [field.name for field in fields(shape)]
    for name in value:
        inner = getattr(shape, name)
        if is_dataclass(inner):
            keys_match(value[name], inner)
        elif isinstance(inner, list):
            for one, other in zip(value[name], inner, strict=True):
                if is_dataclass(other):
                    keys_match(one, other)


@pytest.mark.parametrize(
    "name", ["one_root", "two_roots", "symptoms_only", "healthy", "no_evidence"]
)
def test_keys_are_those_of_the_model_in_its_order(name, request):
    report = request.getfixturevalue(name)
    keys_match(json.loads(render_json.render(report)), report)


def test_golden(one_root, golden):
    golden("one_root.json", render_json.render(one_root))


def test_the_same_report_gives_the_same_bytes(one_root):
    assert render_json.render(one_root) == render_json.render(one_root)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_json_lacks_are_null(one_root, number):
    one_root.job.last_progress = {"step": number, "time": None}
    assert json.loads(render_json.render(one_root))["job"]["last_progress"]["step"] is None


def test_text_is_readable_and_encodable(one_root):
    one_root.summary = "节点 é \udc80 \ud83d"
    drawn = render_json.render(one_root)
    drawn.encode("utf-8")
    assert "节点 é \ufffd \ufffd" in drawn


def test_a_subclass_adds_no_keys(one_root):
    class Report(ReportData):
        def to_json(self):
            return render_json.render(self)

    report = Report(**{field.name: getattr(one_root, field.name) for field in fields(one_root)})
    assert report.to_json() == render_json.render(one_root)


# ------------------------------------------------------------------ the schema


def conforms(value, schema, top):
    """Return whether a value fits a schema, for the keywords that the report's schema uses."""
    if "$ref" in schema:
        return conforms(value, top["$defs"][schema["$ref"].rpartition("/")[2]], top)
    if "anyOf" in schema:
        return any(conforms(value, one, top) for one in schema["anyOf"])
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "const" in schema and value != schema["const"]:
        return False
    kinds = {
        "object": dict,
        "array": list,
        "string": str,
        "integer": int,
        "number": (int, float),
        "null": type(None),
    }
    if "type" in schema and not isinstance(value, kinds[schema["type"]]):
        return False
    if isinstance(value, dict):
        inner = schema.get("properties", {})
        rest = schema.get("additionalProperties", {})
        return all(name in value for name in schema.get("required", [])) and all(
            conforms(item, inner.get(name, rest), top) for name, item in value.items()
        )
    if isinstance(value, list):
        return all(conforms(item, schema.get("items", {}), top) for item in value)
    return True


@pytest.mark.parametrize(
    "name", ["one_root", "two_roots", "symptoms_only", "healthy", "no_evidence"]
)
def test_reports_fit_their_schema(name, request):
    report = json.loads(render_json.render(request.getfixturevalue(name)))
    schema = schemas.report_schema()
    assert conforms(report, schema, schema)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda report: report.update(verdict="fine"),
        lambda report: report.pop("stages"),
        lambda report: report["findings"][0].update(role="cause"),
        lambda report: report["findings"][0].pop("key"),
        lambda report: report["findings"][0]["culprit"].update(ranks=["1"]),
        lambda report: report["job"].update(world_size="8"),
        lambda report: report["stages"]["comms"].update(state="ok"),
    ],
)
def test_other_things_do_not(one_root, spoil):
    report = json.loads(render_json.render(one_root))
    spoil(report)
    schema = schemas.report_schema()
    assert not conforms(report, schema, schema)


def references(schema):
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key == "$ref":
                yield value.rpartition("/")[2]
            else:
                yield from references(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from references(item)


@pytest.mark.parametrize(
    "make", [schemas.report_schema, schemas.rule_schema, schemas.playbook_schema]
)
def test_every_reference_leads_somewhere(make):
    schema = make()
    assert set(references(schema)) <= set(schema["$defs"])


def test_the_schema_of_a_rule_has_every_key():
    from diagnose.engine.schema import CONDITION_KEYS, RULE_KEYS

    schema = schemas.rule_schema()
    assert list(schema["properties"]) == list(RULE_KEYS)
    assert "id" in schema["required"] and "level" not in schema["required"]
    for form, keys in CONDITION_KEYS.items():
        assert list(schema["$defs"][f"{form}-condition"]["properties"]) == list(keys)
