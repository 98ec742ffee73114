from diagnose.engine.match import EVIDENCE_LIMIT, EVIDENCE_SHOWN
from diagnose.model.event import Nature
from diagnose.model.report import Culprit

from .build import case, event, fact, matches, outcomes, points, rule, shown


def test_one_finding_per_value_and_one_for_the_records_without():
    found = matches(
        "match: {event: e.x}\nby: host",
        event("e.x", 1, host="node-02"),
        event("e.x", 2, host="node-01"),
        event("e.x", 3),
        event("e.x", 4, host="node-02"),
    )
    assert [(match.group, shown(match)) for match in found] == [
        ("node-02", [1, 4]),
        ("node-01", [2]),
        (None, [3]),
    ]


def test_quantities_count_within_the_group():
    found = matches(
        "match: {event: e.x, count: {gte: 2}}\nby: rank",
        event("e.x", 1, rank=0),
        event("e.x", 2, rank=1),
        event("e.x", 3, rank=1),
    )
    assert [match.group for match in found] == [1]


def test_records_of_the_job_belong_to_every_group():
    found = matches(
        "match: {all: [{event: e.x}, {fact: nccl.version}]}\nby: rank",
        event("e.x", 1, rank=0),
        event("e.x", 2, rank=1),
        fact("nccl.version", "2.21", 3),
    )
    assert [match.group for match in found] == [0, 1]


def test_the_first_member_makes_the_groups_and_same_joins_others_to_it():
    down = event("e.down", 1, host="node-01"), event("e.down", 2, host="node-02")
    peer = event("e.retry", 3, host="node-02")
    free = matches("match: {all: [{event: e.down}, {event: e.retry}]}\nby: host", *down, peer)
    assert [(match.group, shown(match)) for match in free] == [
        ("node-01", [1, 3]),
        ("node-02", [2, 3]),
    ]
    joined = matches(
        "match: {all: [{event: e.down}, {event: e.retry, same: host}]}\nby: host", *down, peer
    )
    assert [(match.group, shown(match)) for match in joined] == [("node-02", [2, 3])]


def test_each_member_of_any_makes_groups():
    found = matches(
        "match: {any: [{event: e.a}, {all: [{event: e.b}, {event: e.c}]}]}\nby: host",
        event("e.a", 1, host="node-01"),
        event("e.b", 2, host="node-02"),
        event("e.c", 3, host="node-03"),
    )
    assert [(match.group, shown(match)) for match in found] == [
        ("node-01", [1]),
        ("node-02", [2, 3]),
    ]


def test_a_gpu_group_is_named_with_its_host():
    found = matches(
        "match: {event: e.x}\nby: gpu",
        event("e.x", 1, host="node-01", gpu="0000:5d:00.0"),
        event("e.x", 2, host="node-02", gpu="0000:5d:00.0"),
        culprit={"gpus": "{{ event.gpu }}"},
    )
    assert [match.group for match in found] == ["node-01/0000:5d:00.0", "node-02/0000:5d:00.0"]
    assert [match.culprit.gpus for match in found] == [["0000:5d:00.0"]] * 2


def test_expressions_keep_types_and_drop_what_is_unknown():
    [match] = matches(
        """
        match: {event: e.x, as: hit}
        culprit:
          ranks: "{{ hit | map(attribute='rank') | list }}"
          hosts: "{{ event.host }}"
          nics: "{{ event.hca }}"
        with: {speed: "{{ event.rate }}", none: "{{ event.nothing }}", wait: 30}
        """,
        event("e.x", 1, rank=9, hca="mlx5_0", rate=25.0),
        event("e.x", 2, rank=3),
        event("e.x", 3),
    )
    assert match.culprit == Culprit(ranks=[3, 9], nics=["mlx5_0"])
    assert match.with_values == {"speed": [25.0], "none": [], "wait": [30]}
    assert match.problems == ()


def test_texts_print_times_and_the_unknown():
    [match] = matches(
        "match: {event: e.x}",
        event("e.x", at=3661),
        title="{{ event.time }} on {{ event.host }}: {{ event.bytes | bytes }}",
        missing=["ibstatus of {{ event.host }}"],
    )
    assert match.title == "2026-01-02T01:01:01 on (unknown): (unknown)"
    assert match.missing == ("ibstatus of (unknown)",)


def test_a_peer_prints_as_the_host_that_has_its_address():
    [match] = matches(
        "match: {event: e.x}",
        event("nccl.bootstrap_interface", host="node-03", address="10.0.0.3"),
        event("e.x", 2, peer="10.0.0.3"),
        event("e.x", 3, peer="10.0.0.4"),
        title="{{ events | map(attribute='peer') | list | hosts }}",
        **{"with": {"peer": "{{ event.peer }}"}},
    )
    assert match.title == "node-03, 10.0.0.4"
    assert match.with_values == {"peer": ["node-03"]}


def test_what_is_missing_can_depend_on_whose_logs_are_there():
    [match] = matches(
        "match: {event: e.x}",
        event("e.x", host="node-01"),
        ends=[("rank0.log", 0, "node-01", 5)],
        missing=[
            "{% if 0 not in logs.ranks %}the log of rank 0{% endif %}",
            "{% if 1 not in logs.ranks %}the log of rank 1{% endif %}",
            "{% if 'node-01' not in logs.hosts %}the log of node-01{% endif %}",
        ],
    )
    assert match.missing == ("the log of rank 1",)


def test_a_text_that_fails_is_reported_and_harms_nothing():
    [match] = matches("match: {event: e.x}", event("e.x"), title="{{ nobody.knows }}")
    assert match.title == "test-rule"
    assert match.problems == ("title: 'nobody' is undefined",)


def test_contradicting_evidence_silences():
    text = "match: {event: e.x}\nunless: {event: e.ok}"
    assert matches(text, event("e.x"))
    assert not matches(text, event("e.x"), event("e.ok", 2))
    assert not matches(
        "match: {event: e.x}\nunless: [{event: e.no}, {event: e.ok}]",
        event("e.x"),
        event("e.ok", 2),
    )


def test_same_in_unless_joins_to_the_finding():
    found = matches(
        "match: {event: e.x}\nby: host\nunless: {event: e.ok, same: host}",
        event("e.x", 1, host="node-01"),
        event("e.x", 2, host="node-02"),
        event("e.ok", 3, host="node-02"),
        event("e.ok", 4),
    )
    assert [match.group for match in found] == ["node-01"]


def test_same_joins_to_the_culprit_rather_than_to_the_victims():
    text = """
        match: {all: [{event: e.wait}, {event: e.idle, as: idle}]}
        culprit: {ranks: "{{ idle | map(attribute='rank') | list }}"}
        confidence: 0.5
        raise: [{when: {event: e.signal, same: rank}, by: 0.2}]
    """
    evidence = event("e.wait", 1, rank=0), event("e.idle", 2, rank=7)
    [match] = matches(text, *evidence, event("e.signal", 3, rank=0))
    assert match.confidence == 0.5
    [match] = matches(text, *evidence, event("e.signal", 3, rank=7))
    assert match.confidence == 0.7
    assert [[one.line for one in entry.events] for entry in match.adjusted] == [[3]]


def test_confidence_is_raised_lowered_and_kept_between_nothing_and_certain():
    text = """
        match: {event: e.x}
        confidence: 0.9
        raise: [{when: {event: e.a}, by: 0.3}]
        lower: [{when: {event: e.b}, by: 0.6}]
    """
    assert [m.confidence for m in matches(text, event("e.x"), event("e.a", 2))] == [1.0]
    assert [m.confidence for m in matches(text, event("e.x"), event("e.b", 2))] == [0.3]
    both = matches(text, event("e.x"), event("e.a", 2), event("e.b", 3))
    assert [m.confidence for m in both] == [0.6]


def test_later_progress_makes_history():
    text = "match: {event: e.x}\ncleared_by: progress"

    def step(line, **more):
        return event("train.step", line, nature=Nature.PROGRESS, **more)

    assert [m.cleared for m in matches(text, event("e.x", 5), step(9))] == [True]
    assert [m.cleared for m in matches(text, event("e.x", 5), step(2))] == [False]
    assert [m.cleared for m in matches(text, event("e.x", 5))] == [False]


def test_only_later_evidence_clears():
    text = "match: {event: e.x}\ncleared_by: {event: e.back, same: host}"
    lost = event("e.x", 5, at=50, host="node-01")
    cases = [
        (event("e.back", 6, at=60, host="node-01"), True),
        (event("e.back", 4, at=40, host="node-01"), False),
        (event("e.back", 6, at=60, host="node-02", file="b.log"), False),
    ]
    for record, cleared in cases:
        assert [m.cleared for m in matches(text, lost, record)] == [cleared]


def test_evidence_is_capped_fairly_and_the_count_is_exact():
    flood = [event("e.a", line, count=2) for line in range(1, 201)]
    [match] = matches("match: {all: [{event: e.a}, {event: e.b}]}", *flood, event("e.b", 900))
    assert len(match.events) == EVIDENCE_LIMIT
    assert match.events[0].line == 1
    assert 900 in [one.line for one in match.events[:EVIDENCE_SHOWN]]
    assert match.count == 401


def test_the_onset_is_the_earliest_beginning():
    [match] = matches(
        "match: {event: e.x}", event("e.x", 1, at=100), event("e.x", 2, at=1900, lasted=1850)
    )
    assert match.onset.line == 2


def test_a_rule_for_another_version_has_no_input():
    old = rule("match: {event: e.x}\napplies: {nccl: '>=3'}", id="new-only")
    unknown = rule("match: {event: e.x}\napplies: {torch: '>=2'}", id="any-torch")
    found = outcomes([old, unknown], case(event("e.x"), fact("nccl.version", "2.21.5", 2)))
    assert not found["new-only"].had_input
    assert found["new-only"].missing_inputs == ("nccl >=3 (found 2.21.5)",)
    assert found["any-torch"].matches


def test_a_rule_had_input_where_its_writer_was_heard():
    one = rule("match: {event: nccl.error}", id="one")
    two = rule("match: {all: [{event: nccl.error}, {event: kernel.xid}]}", id="two")
    three = rule("match: {text: some words}", id="three")
    four = rule("match: {series: step_time, gte: 3}", id="four")
    five = rule("match: {any: [{event: nccl.error}, {event: kernel.xid}]}", id="five")
    found = outcomes(
        [one, two, three, four, five], case(event("nccl.init", nature=Nature.PROGRESS))
    )
    assert {name: outcome.missing_inputs for name, outcome in found.items()} == {
        "one": (),
        "two": ("kernel log",),
        "three": ("matching text",),
        "four": ("step_time of steps",),
        "five": (),
    }
    assert [outcome.had_input for outcome in found.values()] == [True, False, False, False, True]


def test_a_series_names_who_stands_out():
    ranks = [
        points("compute_time", [1.0 if rank != 2 else 1.3] * 40, rank=rank, file=f"rank{rank}.log")
        for rank in range(4)
    ]
    text = """
        match: {series: compute_time, by: rank, stat: ratio_to_peers, gte: 1.1, fraction: {gte: 0.8}, as: slow}
        culprit: {ranks: "{{ series.outliers }}"}
    """
    [match] = matches(text, *ranks, title="{{ series.ratio }} {{ slow[0].rank }}")
    assert match.culprit.ranks == [2]
    assert match.title == "1.3 2"
    assert [(one.file, one.nature) for one in match.events] == [("rank2.log", Nature.MEASUREMENT)]
    assert not matches(text, *ranks[:2])


def test_series_by_group_hold_only_the_group():
    ranks = [
        points("compute_time", [1.5 if rank in (2, 5) else 1.0] * 40, rank=rank, file=f"{rank}.log")
        for rank in range(8)
    ]
    found = matches(
        "match: {series: compute_time, by: rank, stat: ratio_to_peers, gte: 1.1}\nby: rank",
        *ranks,
        culprit={"ranks": "{{ series.outliers }}"},
    )
    assert [(match.group, match.culprit.ranks) for match in found] == [(2, [2]), (5, [5])]


def test_before_and_after_an_event():
    series = points("loss", [2.0 + 0.01 * (n % 3) for n in range(30)] + [3.0] * 30)
    text = "match: {series: loss, stat: before_after, at: {event: checkpoint.loaded}, gte: 4}"
    assert matches(text, series, event("checkpoint.loaded", 30))
    assert not matches(text, series, event("checkpoint.loaded", 16))
    assert not matches(text, series)


def test_the_same_input_gives_the_same_order():
    records = [
        event("e.x", line, rank=(line * 7) % 5, host=f"node-{line % 3}") for line in range(1, 40)
    ]
    text = "match: {all: [{event: e.x, as: x}, {event: e.x, same: host}]}\nby: rank"
    first = [(match.group, shown(match)) for match in matches(text, *records)]
    assert first == [(match.group, shown(match)) for match in matches(text, *records)]
    assert [group for group, _ in first] == [2, 4, 1, 3, 0]


def test_a_rule_on_rules_has_the_input_that_they_have():
    inner = rule("match: {event: nccl.error}", id="inner")
    outer = rule("match: {rule: inner}", id="outer")
    found = outcomes([outer, inner], case())
    assert found["outer"].missing_inputs == ("NCCL log",)
    assert not found["outer"].had_input


def test_a_search_that_takes_too_long_stops_and_says_so():
    records = [
        *(event("e.a", n, at=n, rank=n, file=f"{n}.log") for n in range(1, 700)),
        *(event("e.b", n, at=-n, rank=n, file=f"{n}.log") for n in range(1, 700)),
    ]
    one = rule("match: {sequence: [{event: e.a}, {event: e.b}]}")
    outcome = outcomes([one], case(*records))[one.id]
    assert outcome.matches == ()
    assert "too many combinations" in outcome.truncated
