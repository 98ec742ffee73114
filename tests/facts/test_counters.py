"""Counters that were read twice, and counters beside those of other hosts."""

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Clock, Nature
from diagnose.parsers.fabric.counter_table import meaning_of

from .build import event, reading

HOUR = 3600.0


def named(name, *records):
    return [one for one in build(reading(*records)).events if one.name == name]


def read(
    values, line=1, host="node-07", file=None, device="mlx5_0", tool="rdma", fields=(), **more
):
    """One reading of a port; values by counter, a bare number is of ``packet_seq_err``."""
    values = values if isinstance(values, dict) else {"packet_seq_err": values}
    whole = {
        "device": device, "port": 1, "name": f"{device}/1", "tool": tool,
        "counters": [*values], "values": [*values.values()], "lines": [0] * len(values),
        "ended": [n for n, v in values.items() if v >= (meaning_of(n).maximum or v + 1)],
        **dict(fields),
    }  # fmt: skip
    return event(
        "ib.counters", Nature.MEASUREMENT, file=file or f"{host}.txt", line=line, host=host,
        nic=device, fields=whole, **more
    )  # fmt: skip


def date(time, line, file="node-07.txt"):
    return event("shell.date", Nature.MEASUREMENT, file=file, line=line, time=time)


def growth(*records):
    return [(one.fields["growth"], one.line) for one in named("ib.counter_grew", *records)]


def judged(counter, amount, seconds=None):
    """What is said of a counter that grew by some amount."""
    times = [{}, {}] if seconds is None else [{"time": 1e9}, {"time": 1e9 + seconds}]
    found = named(
        "ib.counter_grew", read({counter: 0}, **times[0]), read({counter: amount}, 9, **times[1])
    )
    return found[0].fields["judged"] if found else None


def test_a_counter_grows_between_two_readings():
    assert growth(read(5), read(5, 9)) == []
    assert growth(read(5), read(7, 9), read(12, 20)) == [(7, 20)]
    assert growth(read(5)) == []


def test_growth_counts_from_the_reset():
    assert growth(read(500), read(2, 9), read(6, 20)) == [(4, 20)]
    assert growth(read(500), read(2, 9)) == []


def test_a_reset_takes_all_counters_back():
    first, second = (
        {"symbol_error": 5, "packet_seq_err": 90},
        {"symbol_error": 900, "packet_seq_err": 3},
    )
    assert growth(read(first), read(second, 9)) == []


def test_ranks_of_one_file_are_not_one_port():
    readings = [
        read(value, line, host=None, file="srun.txt", rank=line)
        for line, value in enumerate((5, 90))
    ]
    assert growth(*readings) == []


def test_readings_in_two_files_need_stamps_or_names():
    assert growth(read(5, file="b.txt"), read(50, file="a.txt")) == []
    stamped = read(5, file="b.txt", time=100.0), read(50, file="a.txt", time=160.0)
    (found,) = named("ib.counter_grew", *stamped)
    assert (found.fields["growth"], found.fields["seconds"]) == (45, 60.0)
    assert growth(read(5, file="before.txt"), read(50, file="after.txt")) == [(45, 1)]
    assert growth(read(5, file="snap10.txt"), read(50, file="snap9.txt")) == []
    assert growth(read(5, file="b/after/x"), read(50, file="a/after/x")) == []


def test_a_reading_may_lie_in_several_files():
    records = [
        read({name: value}, file=f"{when}/{name}")
        for when, value in (("before", 5), ("after", 900))
        for name in ("symbol_error", "packet_seq_err")
    ]
    assert growth(*records) == [(895, 1), (895, 1)]


def test_names_of_files_state_the_time():
    first = read(5, file="node-07-20260114-0300.txt")
    second = read(50, file="node-07-20260114-0430.txt")
    (found,) = named("ib.counter_grew", first, second)
    assert found.fields["seconds"] == 1.5 * HOUR


def test_files_without_a_host_are_one_host_by_their_names():
    assert growth(
        read(5, host=None, file="counters-before.txt"),
        read(9, host=None, file="counters-after.txt"),
    ) == [(4, 1)]
    assert growth(read(5, host=None, file="a-t0.txt"), read(9, host=None, file="b-t1.txt")) == []


def test_a_date_holds_for_what_stands_behind_it():
    records = date(1000.0, 1), read(5, 2), date(1000.0 + HOUR, 8), read(50, 9)
    (found,) = named("ib.counter_grew", *records)
    assert (found.fields["seconds"], found.fields["per_hour"]) == (HOUR, 45.0)


def test_each_host_has_its_own_dates():
    def of(host, date_line, line, time, value):
        stamp = event("shell.date", Nature.MEASUREMENT, file="all.txt", line=date_line, host=host,
                      time=time)  # fmt: skip
        return stamp, read(value, line, host, file="all.txt")

    records = [
        *of("node-07", 1, 3, 0.0, 5), *of("node-08", 2, 4, 10.0, 5),
        *of("node-07", 5, 7, 100.0, 50), *of("node-08", 6, 8, 200.0, 50),
    ]  # fmt: skip
    found = named("ib.counter_grew", *records)
    assert [(one.host, one.fields["seconds"]) for one in found] == [
        ("node-07", 100.0),
        ("node-08", 190.0),
    ]


def test_two_tools_are_not_two_readings():
    assert growth(read(5, tool="rdma"), read(50, 9, tool="sysfs")) == []


def test_a_counter_that_stopped_has_no_rate():
    (found,) = named(
        "ib.counter_grew",
        read({"link_downed": 250}, time=0.0),
        read({"link_downed": 255}, 9, time=HOUR),
    )
    assert found.fields["saturated"] and found.fields["per_hour"] is None
    assert growth(read({"link_downed": 255}), read({"link_downed": 255}, 9)) == []


@pytest.mark.parametrize(
    ("counter", "amount", "seconds", "expected"),
    [
        ("symbol_error", 500, HOUR, "fail"),
        ("symbol_error", 100, HOUR, "warn"),
        ("symbol_error", 3, HOUR, None),
        ("symbol_error", 3, 60.0, None),  # 180 an hour, but of three
        ("symbol_error", 30, 60.0, "fail"),
        ("symbol_error", 500, 30 * 24 * HOUR, None),
        ("symbol_error", 500, None, "fail"),
        ("link_downed", 1, HOUR, "fail"),
        ("link_downed", 1, 30 * 24 * HOUR, "warn"),
        ("link_error_recovery", 1, HOUR, "warn"),
        ("link_error_recovery", 400, HOUR, "fail"),
        ("port_xmit_discards", 100, HOUR, "warn"),
        ("local_ack_timeout_err", 7200, HOUR, "fail"),
        ("carrier_changes", 2, 24 * HOUR, "warn"),
        ("carrier_changes", 3, 24 * HOUR, "fail"),
        ("port_xmit_wait", 10**9, HOUR, None),
        ("req_cqe_flush_error", 400, HOUR, None),
        ("port_rcv_switch_relay_errors", 400, HOUR, None),
    ],
)
def test_limits_of_the_table(counter, amount, seconds, expected):
    assert judged(counter, amount, seconds) == expected


def test_a_reading_that_says_since_when_is_a_pair():
    (found,) = named("ib.counter_grew", read({"symbol_error": 500}, fields={"since": HOUR}))
    assert (found.fields["growth"], found.fields["per_hour"]) == (500, 500.0)
    assert growth(read({"symbol_error": 500}, fields={"since": 300 * HOUR})) == []


def test_flushed_work_is_taken_off_the_failed():
    flushed = {"req_cqe_error": 90, "req_cqe_flush_error": 90}
    nothing = dict.fromkeys(flushed, 0)
    assert growth(read(nothing), read(flushed, 9)) == []
    assert growth(read(nothing), read({**flushed, "req_cqe_error": 97}, 9)) == [(7, 9)]


def test_a_lid_becomes_a_port_where_a_tool_shows_who_has_it():
    known = {"device": "mlx5_3", "port": 1, "lid": 131, "state": "ACTIVE"}
    port = event("ib.port", Nature.MEASUREMENT, file="node-09.txt", host="node-09", nic="mlx5_3",
                 fields=known)  # fmt: skip
    asked = {"lid": 131}
    readings = [
        read(value, line, host=None, file="fabric.txt", device="lid 131", tool="perfquery",
             fields=asked) for value, line in ((5, 1), (50, 9))
    ]  # fmt: skip
    (found,) = named("ib.counter_grew", port, *readings)
    assert (found.host, found.nic, found.fields["device"]) == ("node-09", "mlx5_3", "mlx5_3")


def test_a_look_at_the_fabric_does_not_blame_the_host_that_took_it():
    readings = [
        read(value, line + lid * 100, host="head-01", device=f"lid {lid}", tool="perfquery",
             fields={"lid": lid}) for lid in range(1, 30) for value, line in ((5, 1), (50, 9))
    ]  # fmt: skip
    assert {one.host for one in named("ib.counter_grew", *readings)} == {None}


def standing_out(*records):
    return [(one.host, one.fields["basis"]) for one in named("ib.counter_stands_out", *records)]


def hosts(values, counter="tx_prio3_pause", line=1):
    return [
        read({counter: value}, line, host=f"node-{number:02}")
        for number, value in enumerate(values)
    ]


def shares(*records):
    return [(one.fields["share"], one.fields["basis"]) for one in named("ib.drop_share", *records)]


def test_drops_are_held_against_the_packets_of_their_time():
    now = {"rx_prio3_discards": 1000, "rx_prio3_packets": 999_000}
    assert shares(read(now)) == [(0.001, "reading")]
    later = {"rx_prio3_discards": 1400, "rx_prio3_packets": 999_000 + 399_600}
    assert shares(read(now), read(later, 9)) == [(0.001, "growth")]
    assert shares(read({**now, "rx_prio3_packets": 10**12})) == []
    assert shares(read({"rx_prio3_discards": 1000})) == []


def test_one_host_stands_out():
    assert standing_out(*hosts([10, 12, 9, 90000, 11])) == [("node-03", "reading")]
    assert standing_out(*hosts([10, 90000, 9])) == []
    assert standing_out(*hosts([80000, 90000, 85000, 91000, 82000])) == []
    assert standing_out(*hosts([0, 0, 0, 5, 0])) == []


def test_growth_outweighs_totals():
    before, after = hosts([5, 900000, 7, 2, 3]), hosts([9, 900001, 9, 8, 90000], line=9)
    assert standing_out(*before, *after) == [("node-04", "growth")]


def test_what_says_nothing_is_not_compared():
    assert standing_out(*hosts([10, 12, 9, 90000, 11], "rx_write_requests")) == []


def test_the_few_ports_that_a_whole_fabric_lists_stand_out():
    def listed(ports, bad):
        port = read({"symbol_error": 9000}, host=None, file="errors.txt", tool="ibqueryerrors",
                    device="leaf-03", fields={"peer_host": "node-07"})  # fmt: skip
        summary = event("ib.errors_summary", Nature.MEASUREMENT, file="errors.txt", line=9,
                        fields={"ports": ports, "bad_ports": bad})  # fmt: skip
        found = named("ib.counter_stands_out", port, summary)
        return [(one.fields["basis"], one.fields["peer_host"]) for one in found]

    assert listed(1184, 3) == [("list", "node-07")]
    assert listed(1184, 300) == [] and listed(40, 1) == []


def idle(*written, device="mlx5_0"):
    records = [
        read({"rx_write_requests": value}, host=f"node-{n:02}", device=device)
        for n, value in enumerate(written)
    ]
    return [one.host for one in named("ib.adapter_idle", *records)]


def test_an_adapter_that_works_elsewhere():
    assert idle(90000, 80000, 0, 70000) == ["node-02"]
    assert idle(0, 0, 0, 0) == [] and idle(0, 9000, 0, 9000) == [] and idle(90000, 0) == []


def silent(*growths):
    """Hosts with the growth of their counters between two readings."""
    records = [
        read({name: value * place for name, value in grown.items()}, 1 + 8 * place, f"node-{n:02}")
        for n, grown in enumerate(growths)
        for place in (0, 1)
    ]
    return [
        (one.fields["waiting"], one.fields["silent"]) for one in named("ib.peer_silent", *records)
    ]


def test_all_wait_for_one():
    waits, still = {"local_ack_timeout_err": 500}, {"local_ack_timeout_err": 0}
    waiting = ["node-00", "node-01", "node-02"]
    assert silent(waits, waits, waits, still) == [(waiting, "node-03")]
    assert silent(waits, waits, waits) == [(waiting, None)]
    assert silent(waits, waits, still) == []


def test_gaps_are_a_path_that_loses():
    waits = {"local_ack_timeout_err": 500, "packet_seq_err": 90}
    assert silent(waits, waits, waits, {"local_ack_timeout_err": 0}) == []


def test_a_priority_that_is_paused():
    counters = [{"rx_prio3_pause_duration": value} for value in (0, 360_000_000)]
    readings = [
        read(values, 1 + 8 * n, time=n * HOUR, clock=Clock.LOCAL)
        for n, values in enumerate(counters)
    ]
    (found,) = named("roce.paused", *readings)
    assert (found.fields["share"], found.fields["direction"]) == (0.1, "received")


def test_the_class_that_packets_travel_in():
    pfc = event("roce.pfc", Nature.SETTING, file="node-07.txt", host="node-07", fact="roce.pfc",
                fields={"device": "ens1", "value": "3"})  # fmt: skip
    values = {"rx_prio0_bytes": 9000, "rx_prio3_bytes": 10, "rx_vport_rdma_unicast_bytes": 8800}
    (found,) = named("roce.class", pfc, read(values, device="ens1"))
    assert (found.fields["bytes"], found.fields["protected_bytes"]) == (9000, 10)
    assert found.fields["rdma_bytes"] == 8800
    assert not named("roce.class", read(values, device="ens1"))


def unheeded(*growths):
    records = [
        read(
            {"np_cnp_sent": sent * place, "rp_cnp_handled": handled * place},
            1 + 8 * place,
            f"n-{n}",
        )
        for n, (sent, handled) in enumerate(growths)
        for place in (0, 1)
    ]
    return [one.host for one in named("roce.unheeded", *records)]


def test_a_sender_that_does_not_slow_down():
    assert unheeded((5000, 4000), (5000, 4000), (5000, 0)) == ["n-2"]
    assert unheeded((5000, 0), (5000, 0), (5000, 0)) == []
    assert unheeded((5, 4), (5, 4), (5, 0)) == []
