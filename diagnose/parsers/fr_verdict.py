r"""What PyTorch's analyser of flight-recorder dumps found (``torchfrtrace``, ``fr_trace``).

Sample::

    Not all ranks joining collective, sequence number: 183
    internal record id: 182
    group info: 0:default_pg
    collective: nccl:all_reduce
    missing ranks: {7}
    world size: 8
    collective state: scheduled

Each verdict is one ``fr.verdict`` with ``kind`` (``missing``, ``type``, ``size``, ``dtype``, ``state``), the number of the
collective (``seq``), ``op``, ``group``, ``world_size`` and the ``ranks`` it blames, which count within the group.
The tool takes the first rank for right. Where it blames half of the ranks or more, the first one is as
likely the odd one: then ``ranks`` is empty, and ``named`` still counts them. The ``detail`` of an error compares
what was expected with what was found. A difference of state alone means slow or stopped ranks and no
error of the program.

Empty: the tool found no mismatch. Cut off: a verdict without its ranks has none.
"""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, make_event
from diagnose.parsers.c10d_group import integers

HEAD = LazyPattern(
    r"^\W*(?:(?P<missing>Not all ranks joining collective)|(?P<size>Input/output mismatch in the collective)|Collective)"
    r"(?:,? sequence number:)? (?P<seq>\d+)(?: at entry (?P<entry>\d+))?(?P<errors>(?: has)? errors)?\s*$"
)
KEY = LazyPattern(
    r"^\W*(internal record id|group info|collective|missing ranks|input sizes|output sizes|input_numel"
    r"|output_numel|world size|expected ranks|collective state|error msg): ?(.*?)\s*$"
)
CULPRIT = LazyPattern(r"(?P<rank>\d+); Error type: (?P<type>[A-Z_]+)(?:, (?P<detail>.*?))?[, ]*$")
KINDS = {
    "COLLECTIVE_TYPE_MISMATCH": "type",
    "SIZE_OR_SYNTAX_MISMATCH": "size",
    "COLLECTIVE_DTYPE_MISMATCH": "dtype",
    "COLLECTIVE_STATE_MISMATCH": "state",
}


def _starts(line: Line) -> bool:
    found = HEAD.match(line.text)
    return found is not None and bool(found["missing"] or found["size"] or found["errors"])


def _ends(lines: list[Line], following: Line) -> bool:
    return KEY.match(following.text) is None


def _read(lines: list[Line]) -> Iterator[Event]:
    head = HEAD.match(lines[0].text)
    assert head is not None
    found = {key[1]: key[2] for line in lines[1:] if (key := KEY.match(line.text))}
    fields: dict[str, Value] = {
        "seq": int(head["seq"]),
        "op": found.get("collective"),
        "group": found.get("group info"),
        "world_size": _size(found),
    }
    if head["missing"]:
        yield _verdict(lines, fields, "missing", integers(found.get("missing ranks", "")))
    elif head["size"]:
        yield _verdict(lines, fields, "size", [])
    blamed: dict[str, list[Value]] = {}
    details: dict[str, str | None] = {}
    for piece in found.get("error msg", "").split("Culprit rank ")[1:]:
        culprit = CULPRIT.match(piece)
        if culprit is None:
            continue
        kind = KINDS.get(culprit["type"], culprit["type"].lower())
        blamed.setdefault(kind, []).append(int(culprit["rank"]))
        details.setdefault(kind, culprit["detail"])
    for kind, ranks in blamed.items():
        yield _verdict(lines, {**fields, "detail": details[kind]}, kind, ranks)


def _size(found: dict[str, str]) -> int | None:
    """Return the size of the group; early releases print it as the number of expected ranks."""
    stated = found.get("world size") or found.get("expected ranks", "")
    if stated.isdecimal():
        return int(stated)
    ranks = integers(stated)
    return len(ranks) if isinstance(ranks, list) and ranks else None


def _verdict(lines: list[Line], fields: dict[str, Value], kind: str, ranks: Value) -> Event:
    named = ranks if isinstance(ranks, list) else []
    size = fields["world_size"]
    doubtful = kind != "missing" and isinstance(size, int) and 2 * len(named) >= size
    own: dict[str, Value] = {
        "detail": None, **fields, "kind": kind, "named": len(named), "ranks": [] if doubtful else named
    }  # fmt: skip
    return make_event("fr.verdict", Nature.ERROR, lines[0], own, end_line=lines[-1].number)


PARSERS = (
    BlockParser(
        name="fr-verdict",
        title="PyTorch's analyser of flight-recorder dumps: which ranks it blames",
        opens=(
            "Not all ranks joining collective",
            "Input/output mismatch in the collective",
            "Collective sequence number: ",
            " at entry ",
        ),
        starts=_starts,
        ends=_ends,
        read=_read,
        emits=("fr.verdict",),
        sample=(
            "Not all ranks joining collective, sequence number: 183\n"
            "internal record id: 182\n"
            "group info: 0:default_pg\n"
            "collective: nccl:all_reduce\n"
            "missing ranks: {7}\n"
            "input sizes: [[1024]]\n"
            "output sizes: [[1024]]\n"
            "world size: 8\n"
            "expected ranks: {0, 1, 2, 3, 4, 5, 6, 7}\n"
            "collective state: scheduled\n"
        ),
        maximum=14,
    ),
)
