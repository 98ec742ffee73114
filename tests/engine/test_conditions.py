import pytest

from diagnose.model.event import Nature

from .build import case, event, fact, matches, outcomes, rule, shown


def fires(text, *records, **more):
    return bool(matches(text, *records, **more))


@pytest.mark.parametrize(
    ("where", "fields", "holds"),
    [
        ("{x: 12}", {"x": 12}, True),
        ("{x: 12}", {"x": "12"}, True),
        ("{x: 12}", {"x": 13}, False),
        ("{x: 12}", {}, False),
        ("{x: [5, 12]}", {"x": 12}, True),
        ("{x: [5, 12]}", {"x": 6}, False),
        ("{x: {gte: 3}}", {"x": 3}, True),
        ("{x: {gt: 3}}", {"x": 3}, False),
        ("{x: {lte: 1GiB}}", {"x": 1 << 30}, True),
        ("{x: {lt: 30s}}", {"x": 29.5}, True),
        ("{x: {lt: 30s}}", {"x": 30}, False),
        ("{x: {gte: 20}}", {"x": "22"}, True),
        ("{x: {gte: 20}}", {"x": "auto"}, False),
        ("{x: {not: 3}}", {"x": 4}, True),
        ("{x: {not: 3}}", {"x": 3}, False),
        ("{x: {not: 3}}", {}, False),
        ("{x: {not: [3, 4]}}", {"x": 4}, False),
        ("{x: {not: {contains: ib}}}", {"x": "eth0"}, True),
        ("{x: {contains: th}}", {"x": "eth0"}, True),
        ("{x: {contains: eth1}}", {"x": ["eth0", "eth1"]}, True),
        ("{x: {contains: eth}}", {"x": ["eth0", "eth1"]}, False),
        ("{x: {startswith: eth}}", {"x": "veth0"}, False),
        ("{x: {regex: '^mlx5_[0-3]$'}}", {"x": "mlx5_2"}, True),
        ("{x: {regex: '^mlx5_[0-3]$'}}", {"x": "mlx5_9"}, False),
        ("{x: {exists: true}}", {"x": 0}, True),
        ("{x: {exists: true}}", {"x": None}, False),
        ("{x: {exists: false}}", {}, True),
        ("{x: {exists: false}}", {"x": 1}, False),
        ("{x: {cidr: 10.0.0.0/8}}", {"x": "10.3.0.9"}, True),
        ("{x: {cidr: 10.0.0.0/8}}", {"x": "192.168.0.9"}, False),
        ("{x: {cidr: 10.0.0.0/8}}", {"x": "node-07"}, False),
        ("{x: {same_as: y}}", {"x": 3, "y": 3}, True),
        ("{x: {same_as: y}}", {"x": 3, "y": 4}, False),
        ("{x: {gte: {field: y}}}", {"x": 3, "y": 3}, True),
        ("{x: {gte: {field: y, times: 2}}}", {"x": 3, "y": 2}, False),
        ("{x: {gte: {field: y}}}", {"x": 3}, False),
        ("{x: true}", {"x": True}, True),
        ("{x: true}", {"x": 1}, False),
        ("{x: {gte: 2, lt: 4}}", {"x": 3}, True),
        ("{x: {gte: 2, lt: 4}}", {"x": 5}, False),
        ("{rank: 3}", {"rank": 3}, True),
    ],
)
def test_a_comparison_holds_or_not(where, fields, holds):
    assert fires(f"match: {{event: e.x, where: {where}}}", event("e.x", **fields)) is holds


@pytest.mark.parametrize(
    ("where", "lines"),
    [
        ("{x: [ib, eth]}", [1, 2, 4]),
        ("{x: eth}", [2]),
        ("{x: 1}", [3, 5]),
        ("{x: true}", [6]),
        ("{x: [ib, eth], rank: 0}", [1]),
        ("{rank: 0, x: {not: ib}}", [5]),
    ],
)
def test_values_select_their_records_in_the_order_of_the_logs(where, lines):
    values = ("ib", "eth", 1, "ib", 1.0, True, ["ib"])
    ranks = (0, 1, 2, 3, 0, 1, 1)
    records = [
        event("e.x", line, x=value, rank=rank)
        for line, (value, rank) in enumerate(zip(values, ranks, strict=True), start=1)
    ]
    (found,) = matches(f"match: {{event: e.x, where: {where}}}", *records)
    assert shown(found) == lines


def test_advice_counts_only_where_the_rule_names_it():
    advice = event("e.x", nature=Nature.ADVICE)
    assert not fires("match: {event: e.x}", advice)
    assert fires("match: {event: e.x, nature: advice}", advice)
    assert not fires("match: {event: e.x, nature: [error, effect]}", advice)


@pytest.mark.parametrize(
    ("quantity", "holds"),
    [
        ("count: {gte: 5}", True),
        ("count: {gte: 6}", False),
        ("count: 5", True),
        ("count: {lte: 4}", False),
        ("distinct: {field: rank, gte: 2}", True),
        ("distinct: {field: rank, gte: 3}", False),
        ("distinct: {field: host, gte: 1}", False),
        ("rate: {gte: 4, per: 10s}", True),
        ("rate: {gte: 5, per: 10s}", False),
        ("rate: {gte: 5, per: 1m}", True),
    ],
)
def test_how_many(quantity, holds):
    records = [
        event("e.x", 1, at=0, rank=0),
        event("e.x", 2, at=5, rank=1, count=3),
        event("e.x", 3, at=40, rank=1),
    ]
    assert fires(f"match: {{event: e.x, {quantity}}}", *records) is holds


def test_a_count_of_nothing_is_never_evidence():
    assert not fires("match: {event: e.x, count: {lte: 3}}", event("e.y"))


def test_a_rate_needs_stamps():
    records = [event("e.x", line) for line in range(1, 9)]
    assert not fires("match: {event: e.x, rate: {gte: 2, per: 1h}}", *records)


def test_all_needs_every_member_and_any_one():
    a, b = event("e.a"), event("e.b", 2)
    assert fires("match: {all: [{event: e.a}, {event: e.b}]}", a, b)
    assert not fires("match: {all: [{event: e.a}, {event: e.c}]}", a, b)
    assert fires("match: {any: [{event: e.c}, {event: e.b}]}", a, b)
    assert not fires("match: {any: [{event: e.c}, {event: e.d}]}", a, b)


def test_names_hold_the_records_in_the_order_of_the_logs():
    [match] = matches(
        "match: {all: [{event: e.a, as: first}, {any: [{event: e.b, as: b}, {event: e.c, as: c}]}]}",
        event("e.a", 3),
        event("e.b", 1),
        event("e.b", 2),
        title="{{ b | map(attribute='line') | join(' ') }}, {{ c | length }}, {{ event.line }}",
    )
    assert match.title == "1 2, 0, 3"
    assert shown(match) == [3, 1, 2]


WITHIN = "match: {{all: [{{event: e.a}}, {{event: e.b}}], within: {}}}"


@pytest.mark.parametrize(("apart", "holds"), [(90, True), (-90, True), (91, False)])
def test_within_seconds(apart, holds):
    records = event("e.a", at=1000), event("e.b", 2, at=1000 + apart)
    assert fires(WITHIN.format("90s"), *records) is holds


def test_within_seconds_needs_stamps_that_can_be_compared():
    assert not fires(WITHIN.format("90s"), event("e.a"), event("e.b", 2))


@pytest.mark.parametrize(
    ("line", "file", "holds"), [(201, "a.log", True), (202, "a.log", False), (2, "b.log", False)]
)
def test_within_lines_of_one_file(line, file, holds):
    records = event("e.a", 1), event("e.b", line, file=file)
    assert fires(WITHIN.format("200 lines"), *records) is holds


def test_within_one_step_or_attempt():
    a, b = event("e.a", step=7), event("e.b", 2, step=8)
    assert not fires(WITHIN.format("same_step"), a, b)
    assert not fires(WITHIN.format("same_step"), event("e.a"), event("e.b", 2))
    assert fires(WITHIN.format("same_step"), a, b, event("e.b", 3, step=7))
    assert fires(WITHIN.format("same_attempt"), a, b)
    assert not fires(WITHIN.format("same_attempt"), a, event("e.b", 2, file="b.log", attempt=1))


def test_a_count_within_a_window_counts_the_window_only():
    text = "match: {all: [{event: e.a, count: {gte: 3}}, {event: e.b}], within: 10s}"
    spread = [event("e.a", line, at=line * 8) for line in range(1, 4)]
    close = [event("e.a", line, at=line) for line in range(1, 4)]
    assert not fires(text, *spread, event("e.b", 9, at=20))
    assert fires(text, *close, event("e.b", 9, at=9))


SEQUENCE = "match: {{sequence: [{{event: e.a{}}}, {{event: e.b}}], within: 90s}}"


@pytest.mark.parametrize(
    ("first", "second", "holds"), [(10, 20, True), (20, 10, False), (10, 101, False)]
)
def test_a_sequence_has_an_order(first, second, holds):
    records = event("e.b", 1, at=second), event("e.a", 2, at=first)
    assert fires(SEQUENCE.format(""), *records) is holds


def test_a_sequence_waits_for_the_count_of_its_first_member():
    text = SEQUENCE.format(", count: {gte: 2}")
    early = [event("e.a", 1, at=1), event("e.b", 2, at=2), event("e.a", 3, at=3)]
    assert not fires(text, *early)
    assert fires(text, *early, event("e.b", 4, at=4))


def test_events_of_two_hosts_are_in_order_only_beyond_the_clock_error():
    def pair(apart):
        return (
            event("e.a", at=100, file="a.log", host="node-01"),
            event("e.b", at=100 + apart, file="b.log", host="node-02"),
        )

    assert not fires(SEQUENCE.format(""), *pair(0.5))
    assert fires(SEQUENCE.format(""), *pair(30))


def test_a_sequence_tries_other_writers_when_the_first_leads_nowhere():
    assert fires(
        "match: {sequence: [{event: e.a}, {event: e.b}, {event: e.c}]}",
        event("e.a", 5, rank=0),
        event("e.b", 2, rank=0),
        event("e.a", 1, file="b.log", rank=1),
        event("e.b", 2, file="b.log", rank=1),
        event("e.c", 3, file="b.log", rank=1),
    )


def test_same_joins_a_member_to_those_before_it():
    text = "match: {all: [{event: e.a, as: a}, {event: e.b, same: host, as: b}]}"
    elsewhere = event("e.a", 1, host="node-01"), event("e.b", 2, host="node-02")
    assert not fires(text, *elsewhere)
    assert not fires(text, event("e.a", 1), event("e.b", 2))
    [match] = matches(text, *elsewhere, event("e.a", 3, host="node-02"))
    assert [one.line for one in match.names["a"]] == [3]
    assert [one.line for one in match.names["b"]] == [2]


def test_same_leaves_later_members_free():
    text = "match: {all: [{event: e.a}, {event: e.b, same: rank}, {event: e.c}]}"
    assert fires(text, event("e.a", rank=1), event("e.b", 2, rank=1), event("e.c", 3, rank=5))


def test_quantities_hold_within_each_shared_value():
    text = """
        match:
          all:
            - {event: e.wait, distinct: {field: rank, gte: 2}, as: waiting}
            - {event: e.idle, same: communicator}
    """
    spread = (
        event("e.wait", 1, rank=0, communicator="x"),
        event("e.wait", 2, rank=1, communicator="y"),
    )
    idle = event("e.idle", 3, rank=7, communicator="x")
    assert not fires(text, *spread, idle)
    [match] = matches(text, *spread, event("e.wait", 4, rank=2, communicator="x"), idle)
    assert [one.line for one in match.names["waiting"]] == [1, 4]


def test_a_record_without_communicator_joins_any():
    text = "match: {all: [{event: e.a}, {event: e.b, same: communicator}]}"
    assert fires(text, event("e.a", communicator="x"), event("e.b", 2))
    assert fires(text, event("e.a"), event("e.b", 2))
    assert not fires(text, event("e.a", communicator="x"), event("e.b", 2, communicator="y"))


def test_members_of_any_may_join_or_not():
    text = "match: {all: [{event: e.a}, {any: [{event: e.b, same: rank}, {event: e.c}]}]}"
    a = event("e.a", rank=1)
    assert fires(text, a, event("e.b", 2, rank=1))
    assert not fires(text, a, event("e.b", 2, rank=2))
    assert fires(text, a, event("e.c", 2, rank=2))
    assert fires(text, a, event("e.c", 2))


def test_same_as_compares_with_what_an_earlier_member_selected():
    text = """
        match:
          all:
            - {event: e.fail, as: fail}
            - {event: e.connect, where: {peer: {same_as: fail.host}}, as: edge}
    """
    fail = event("e.fail", 1, host="node-03")
    edges = event("e.connect", 2, peer="node-04"), event("e.connect", 3, peer="node-03")
    assert not fires(text, fail, edges[0])
    [match] = matches(text, fail, *edges)
    assert [one.line for one in match.names["edge"]] == [3]


def test_a_gpu_is_the_same_by_host_and_name():
    text = "match: {all: [{event: e.a}, {event: e.b, same: gpu}]}"
    a = event("e.a", host="node-01", gpu="0000:5d:00.0")
    assert fires(text, a, event("e.b", 2, host="node-01", gpu="0000:5d:00.0"))
    assert not fires(text, a, event("e.b", 2, host="node-02", gpu="0000:5d:00.0"))


def test_a_fact_compares_its_value():
    text = "match: {fact: nccl.net, where: {equals: Socket}}"
    assert fires(text, fact("nccl.net", "Socket"))
    assert not fires(text, fact("nccl.net", "IB"))
    assert fires("match: {fact: nccl.net, where: Socket}", fact("nccl.net", "Socket"))
    two = fact("nccl.version", "2.20", 1), fact("nccl.version", "2.21", 2)
    assert fires("match: {fact: nccl.version, distinct: {field: value, gte: 2}}", *two)
    assert not fires("match: {fact: nccl.version, distinct: {field: value, gte: 2}}", two[0])


def test_an_environment_variable_is_a_fact():
    index = event("env", fact="env", name="NCCL_IB_GID_INDEX", value="3", nature=Nature.SETTING)
    assert fires("match: {env: NCCL_IB_GID_INDEX, where: {equals: 3}}", index)
    assert not fires("match: {env: NCCL_IB_GID_INDEX, where: {equals: 0}}", index)
    assert not fires("match: {env: NCCL_IB_HCA}", index)


def versions(*values):
    return [
        fact("nccl.version", value, file=f"{number}.log", host=f"node-{number:02}")
        for number, value in enumerate(values, 1)
    ]


@pytest.mark.parametrize(
    ("values", "odd"),
    [
        ("AAAB", ["node-04"]),
        ("AAAAAABB", ["node-07", "node-08"]),
        ("AAB", []),
        ("AABB", []),
        ("AAAA", []),
        ("AAABBB", []),
        ("AAAAAAAAABBB", []),
    ],
)
def test_the_odd_ones_out_of_four_or_more(values, odd):
    found = matches(
        "match: {fact: nccl.version, across: hosts, minority: {lte: 2}, as: odd}",
        *versions(*values),
        culprit={"hosts": "{{ odd | map(attribute='host') | list }}"},
        title="{{ fact.host }} has {{ fact.value }}",
    )
    assert [match.culprit.hosts for match in found] == ([odd] if odd else [])


def test_each_odd_one_is_a_finding_of_its_own():
    found = matches(
        "match: {fact: nccl.version, across: hosts, minority: {lte: 2}, where: {equals: B}}\nby: host",
        *versions(*"AAAAAABB"),
        culprit={"hosts": "{{ fact.host }}"},
    )
    assert [(match.group, match.culprit.hosts) for match in found] == [
        ("node-07", ["node-07"]),
        ("node-08", ["node-08"]),
    ]


MISSING = "match: {event: e.x, across: ranks, missing: {lte: 1}, as: lost}"


def test_who_lacks_an_event_has_a_log_that_goes_on_past_it():
    seen = [event("e.x", 5, at=100, file=f"rank{rank}.log", rank=rank) for rank in range(3)]
    ends = [(f"rank{rank}.log", rank, None, 200) for rank in range(4)]
    [match] = matches(
        MISSING, *seen, ends=ends, culprit={"ranks": "{{ lost | map(attribute='rank') | list }}"}
    )
    assert match.culprit.ranks == [3]
    assert not matches(MISSING, *seen, ends=ends[:3])
    early = [*ends[:3], ("rank3.log", 3, None, 50)]
    assert not matches(MISSING, *seen, ends=early)
    untimed = [*ends[:3], ("rank3.log", 3, None, None)]
    assert not matches(MISSING, *seen, ends=untimed)


def test_nothing_is_missing_where_nobody_has_it_or_too_many_lack_it():
    ends = [(f"rank{rank}.log", rank, None, 200) for rank in range(4)]
    assert not matches(MISSING, ends=ends)
    two = [event("e.x", 5, at=100, file=f"rank{rank}.log", rank=rank) for rank in range(2)]
    assert not matches(MISSING, *two, ends=ends)


def test_the_onset_of_a_timeout_decides_whose_log_reaches_it():
    waited = [
        event("e.x", 5, at=1900, file=f"rank{rank}.log", rank=rank, lasted=1800)
        for rank in range(3)
    ]
    ends = [
        *((f"rank{rank}.log", rank, None, 2000) for rank in range(3)),
        ("rank3.log", 3, None, 500),
    ]
    assert matches(MISSING, *waited, ends=ends)


def test_a_rule_asks_for_another_first():
    late = rule("match: {rule: second, same: host}", id="first", cause="dataflow.test")
    joined = rule("match: {all: [{event: e.b}, {rule: second, same: host, as: other}]}", id="third")
    second = rule("match: {event: e.a}\nby: host", id="second", cause="parameters.test")
    found = outcomes(
        [joined, late, second],
        case(event("e.a", 1, host="node-01"), event("e.b", 2, host="node-01")),
    )
    assert list(found) == ["first", "third", "second"]
    assert all(len(outcome.matches) == 1 for outcome in found.values())
    found = outcomes(
        [joined, second], case(event("e.a", 1, host="node-01"), event("e.b", 2, host="node-02"))
    )
    assert not found["third"].matches


def test_rules_that_ask_for_each_other_do_not_hang():
    one = rule("match: {any: [{rule: two}, {event: e.a}]}", id="one")
    two = rule("match: {rule: one}", id="two")
    found = outcomes([one, two], case(event("e.a")))
    assert len(found["one"].matches) == 1


def test_hosts_that_lack_an_event():
    seen = [event("e.x", 5, at=100, file=f"{n}.log", host=f"node-{n}") for n in range(3)]
    ends = [(f"{n}.log", None, f"node-{n}", 200) for n in range(4)]
    found = matches(
        "match: {event: e.x, across: hosts, missing: {gte: 1}, as: lost}\nby: host",
        *seen,
        ends=ends,
    )
    assert [match.group for match in found] == ["node-3"]


def test_names_of_a_solution_do_not_leak_into_the_next():
    text = """
        match:
          all:
            - {any: [{event: e.a, as: a}, {event: e.z}]}
            - {event: e.b, same: host, where: {peer: {same_as: a.peer}}}
    """
    records = [
        event("e.a", 1, host="node-1", peer="x"),
        event("e.z", 2, host="node-2"),
        event("e.b", 3, host="node-1", peer="y"),
        event("e.b", 4, host="node-2", peer="x"),
    ]
    assert not fires(text, *records)
    assert fires(text, *records, event("e.b", 5, host="node-1", peer="x"))


def test_groups_inside_groups():
    text = """
        match:
          all:
            - {event: e.a}
            - {sequence: [{event: e.b}, {event: e.c}], within: 10s}
          within: 1m
    """
    a = event("e.a", 1, at=0)
    assert fires(text, a, event("e.b", 2, at=40), event("e.c", 3, at=45))
    assert not fires(text, a, event("e.b", 2, at=40), event("e.c", 3, at=55))
    assert not fires(text, a, event("e.b", 2, at=58), event("e.c", 3, at=65))
