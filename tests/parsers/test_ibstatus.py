import pytest

from diagnose.ingest.pattern import problems
from diagnose.model.event import Line
from diagnose.parsers.base import Note
from diagnose.parsers.fabric.ibstat import IBSTAT
from diagnose.parsers.fabric.ibstatus import IBSTATUS
from diagnose.parsers.fabric.rdma_link import RDMA_LINK


def read(parser, text):
    lines = [
        Line("ibstatus.txt", n, raw, raw, host="node-07")
        for n, raw in enumerate(text.splitlines(), 1)
    ]
    found = []
    while lines:
        line = lines.pop(0)
        if not parser.starts(line):
            continue
        record = [line]
        while lines and len(record) < parser.maximum and not parser.ends(record, lines[0]):
            record.append(lines.pop(0))
        found.extend(parser.read(record))
    return found


def link(text):
    line = Line("a", 1, text, text)
    found = [pattern.match(line) for pattern in RDMA_LINK.patterns]
    return [RDMA_LINK.refine(event, line) for event in found if event]


@pytest.mark.parametrize("pattern", RDMA_LINK.patterns, ids=lambda one: one.event)
def test_samples_match_and_patterns_are_safe(pattern):
    assert problems(pattern.regex) == []
    assert any(literal in pattern.sample for literal in pattern.required)
    assert [event.name for event in link(pattern.sample)] == [pattern.event]


DOWN = (
    IBSTATUS.sample.replace("mlx5_0", "mlx5_3")
    .replace("4: ACTIVE", "1: DOWN")
    .replace("5: LinkUp", "2: Polling")
)


def test_each_port_is_one_event():
    up, down = read(IBSTATUS, f"{IBSTATUS.sample}\n{DOWN}\nnode-07$\n")
    assert (up.nic, up.host, up.line, up.end_line) == ("mlx5_0", "node-07", 1, 8)
    assert {name: value for name, value in up.fields.items() if value is not None} == {
        "device": "mlx5_0", "port": 1, "state": "ACTIVE", "phys_state": "LinkUp", "rate_gbps": 400.0,
        "lanes": 4, "speed": "NDR", "link_layer": "InfiniBand", "lid": 131, "sm_lid": 1, "tool": "ibstatus",
        "gid": "fe80:0000:0000:0000:a088:c203:00ab:12c0",
    }  # fmt: skip
    assert (down.nic, down.fields["state"], down.fields["phys_state"]) == (
        "mlx5_3",
        "DOWN",
        "Polling",
    )


def test_without_blank_lines_and_with_windows_ends():
    text = (IBSTATUS.sample + DOWN).replace("\n", "\r\n")
    assert [event.nic for event in read(IBSTATUS, text)] == ["mlx5_0", "mlx5_3"]


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        ("2.5 Gb/sec (1X SDR)", (2.5, 1, "SDR")),
        ("10 Gb/sec (4X)", (10.0, 4, None)),
        ("unknown", (None, None, None)),
    ],
)
def test_rate(rate, expected):
    (event,) = read(IBSTATUS, IBSTATUS.sample.replace("400 Gb/sec (4X NDR)", rate))
    assert tuple(event.fields[name] for name in ("rate_gbps", "lanes", "speed")) == expected


def test_cut_off():
    with pytest.raises(Note):
        read(IBSTATUS, "\n".join(IBSTATUS.sample.splitlines()[:3]))
    (event,) = read(IBSTATUS, "\n".join(IBSTATUS.sample.splitlines()[:5]))
    assert (event.fields["state"], event.fields["rate_gbps"]) == ("ACTIVE", None)


def test_ibstat_says_the_same_in_other_words():
    two = IBSTAT.sample + IBSTAT.sample.replace("mlx5_0", "mlx5_1").replace(
        "Active", "Initializing"
    )
    first, second = read(IBSTAT, two)
    assert (first.nic, first.fields["state"], first.fields["lid"]) == ("mlx5_0", "ACTIVE", 131)
    assert (second.nic, second.fields["state"]) == ("mlx5_1", "INIT")
    assert first.line == 5


def test_an_adapter_with_two_ports():
    sample = IBSTAT.sample.splitlines()
    ports = "\n".join(sample + [sample[4].replace("1", "2"), *sample[5:]])
    assert [event.fields["port"] for event in read(IBSTAT, ports)] == [1, 2]


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("link mlx5_3/1 subnet_prefix fe80:0000:0000:0000 lid 65535 sm_lid 0 lmc 0 state DOWN physical_state POLLING ", {"state": "DOWN", "phys_state": "Polling", "link_layer": "InfiniBand", "sm_lid": 0}),
        ("1/1: link rocep1s0f0/1 state ACTIVE physical_state LINK_UP netdev enp1s0f0np0 ", {"device": "rocep1s0f0", "phys_state": "LinkUp", "netdev": "enp1s0f0np0", "link_layer": "Ethernet"}),
    ],
)  # fmt: skip
def test_rdma_link(text, fields):
    (event,) = link(text)
    assert {name: event.fields[name] for name in fields} == fields
    assert event.nic == event.fields["device"]


@pytest.mark.parametrize(
    "text", ["", "link mlx5_0/1 rx_write_requests 1883 out_of_buffer 0", "state: 4: ACTIVE"]
)
def test_near_misses(text):
    assert link(text) == []
    assert read(IBSTATUS, text) == read(IBSTAT, text) == []
