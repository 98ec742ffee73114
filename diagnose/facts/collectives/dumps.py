"""The picture that flight-recorder dumps give."""

from collections.abc import Iterable

from diagnose.facts.collectives.state import Call, Group, Member, Picture, Rank, whole_number
from diagnose.model.event import Event, Value
from diagnose.parsers.convert import numbers_in


def add_dumps(events: Iterable[Event], picture: Picture) -> None:
    """Add what the dumps of one attempt say; of two dumps of a rank the newer one counts."""
    newest: dict[int, Event] = {}
    for event in events:
        if event.name != "fr.dump" or event.rank is None:
            continue
        other = newest.get(event.rank)
        if other is None or _age(event) > _age(other):
            newest[event.rank] = event
    for rank, event in newest.items():
        picture.ranks[rank] = Rank(rank, "dumps", event)
    groups: dict[tuple[str | None, frozenset[int]], Group] = {}
    known: dict[str, frozenset[int]] = {}
    for event in events:
        dump = newest.get(-1 if event.rank is None else event.rank)
        if event.name != "fr.group" or dump is None or dump.file != event.file:
            continue
        listed = str(event.fields["members"])
        ranks = known.get(listed)
        if ranks is None:
            ranks = known[listed] = frozenset(numbers_in(listed))
        key = event.communicator, ranks
        if key not in groups:
            groups[key] = Group(event.communicator, _text(event.fields["group"]), ranks)
        group = groups[key]
        group.p2p = group.p2p or event.fields["p2p"] is True
        member = _member(event, dump.rank or 0, group)
        group.members[member.rank] = member
        picture.ranks[member.rank].members.append(member)
    picture.groups.extend(groups.values())


def _age(event: Event) -> float:
    created = event.fields.get("last_created")
    return created if isinstance(created, int | float) else 0.0


def _member(event: Event, rank: int, group: Group) -> Member:
    fields = event.fields
    listed = fields["calls"] if isinstance(fields["calls"], list) else []
    calls = [_call(one) for one in listed if isinstance(one, list)]
    member = Member(
        rank, group, "dumps", event,
        enqueued=whole_number(fields["last_enqueued"]),
        completed=whole_number(fields["last_completed"]),
        calls={one.seq: one for one in calls},
    )  # fmt: skip
    seq, record = whole_number(fields.get("seq")), whole_number(fields.get("record"))
    if seq is not None:
        op, size = str(fields["op"]), whole_number(fields.get("numel_in"))
        member.oldest = Call(seq, op, size, _text(fields.get("dtype")), float(record or 0))
        member.state = _text(fields.get("state"))
        member.site = _text(fields.get("site"))
        created = fields.get("created")
        member.onset = created if isinstance(created, int | float) else None
        member.peer = _global(whole_number(fields.get("peer")), group)
    return member


def _call(listed: list[Value]) -> Call:
    seq, op, numel, _, dtype, record = listed
    return Call(
        whole_number(seq) or 0,
        str(op),
        whole_number(numel),
        _text(dtype),
        float(whole_number(record) or 0),
    )


def _global(number: int | None, group: Group) -> int | None:
    """Return the global rank of a member that counts within the group."""
    ranks = sorted(group.ranks)
    return ranks[number] if number is not None and number < len(ranks) else None


def _text(value: Value) -> str | None:
    return value if isinstance(value, str) else None
