"""Reads the causes that rules name out of YAML data."""

from collections.abc import Mapping

from diagnose.engine.reader import Reader
from diagnose.engine.schema import Key
from diagnose.model.report import STAGES
from diagnose.model.taxonomy import Cause

SYMPTOMS = range(1, 14)

CAUSE_KEYS: Mapping[str, Key] = {
    "id": Key("STAGE.NAME", "required", "permanent"),
    "stage": Key(" | ".join(STAGES), "required", "order of diagnosis"),
    "owner": Key("text", "required", "who has to act"),
    "symptoms": Key("list of 1-13", "[]", "founding symptoms"),
    "title": Key("text", "required", "what it is, in one line"),
    "open": Key("true | false", "false", "the cause behind it is not known"),
}


def read_cause(data: object, place: int, reader: Reader) -> Cause | None:
    """Return a cause, or None after noting what is wrong with it.

    Args:
        data: As YAML gives it.
        place: Its number in the list of its file, from 0.
        reader: Collects the mistakes.
    """
    before = len(reader.mistakes)
    values = reader.mapping(data, (place,), CAUSE_KEYS)
    if values is None or len(reader.mistakes) > before:
        return None
    texts = {key: reader.text(values[key], (place, key)) for key in ("id", "owner", "title")}
    stage = reader.choice(values["stage"], (place, "stage"), STAGES)
    symptoms = reader.sequence(values.get("symptoms"), (place, "symptoms"))
    if any(number not in SYMPTOMS for number in symptoms):
        reader.wrong((place, "symptoms"), "expected symptoms from 1 to 13")
    if stage and texts["id"] and not texts["id"].startswith(f"{stage}."):
        reader.wrong((place, "id"), f"the id of a cause begins with its stage: '{stage}.'")
    if len(reader.mistakes) > before:
        return None
    return Cause(
        id=str(texts["id"]),
        stage=str(stage),
        owner=str(texts["owner"]),
        symptoms=tuple(symptoms),
        title=str(texts["title"]),
        open=values.get("open") is True,
    )
