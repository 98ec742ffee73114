import json

import pytest
from communication import read

from diagnose.parsers.bandwidth import iperf3
from diagnose.parsers.base import Note

HEAD = """Connecting to host node-08, port 5201
[  5] local 10.0.0.7 port 40112 connected to 10.0.0.8 port 5201
{more}[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec  1.10 GBytes  9.42 Gbits/sec    0   1.37 MBytes
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Retr
"""
TAIL = """[  5]   0.00-10.00  sec  11.0 GBytes  9.42 Gbits/sec   12             sender
[  5]   0.00-10.04  sec  11.0 GBytes  9.38 Gbits/sec                  receiver

iperf Done.
"""
RUN = HEAD.format(more="") + TAIL
PARALLEL = (
    HEAD.format(more="[  7] local 10.0.0.7 port 40114 connected to 10.0.0.8 port 5201\n")
    + """\
[  5]   0.00-10.00  sec  50.0 GBytes  43.0 Gbits/sec    5             sender
[  5]   0.00-10.00  sec  50.0 GBytes  43.0 Gbits/sec                  receiver
[  7]   0.00-10.00  sec  50.0 GBytes  43.0 Gbits/sec    6             sender
[  7]   0.00-10.00  sec  50.0 GBytes  43.0 Gbits/sec                  receiver
[SUM]   0.00-10.00  sec   100 GBytes  86.0 Gbits/sec   11             sender
[SUM]   0.00-10.00  sec   100 GBytes  85.9 Gbits/sec                  receiver
"""
)


def fields(text):
    (event,) = read(iperf3, text)
    return {name: value for name, value in event.fields.items() if value is not None}


def test_a_run():
    assert fields(RUN) == {
        "tool": "iperf3", "operation": "tcp", "local": "10.0.0.7", "remote": "node-08",
        "outbound": True, "streams": 1, "gbps": 9.38, "bytes": round(11.0 * (1 << 30)), "retransmits": 12,
    }  # fmt: skip


def test_streams_are_summed():
    found = fields(PARALLEL)
    assert (found["streams"], found["gbps"], found["retransmits"]) == (2, 85.9, 11)


def test_several_streams_without_their_sum_say_nothing():
    assert read(iperf3, PARALLEL.split("[SUM]")[0]) == []


def test_reverse():
    more = "Reverse mode, remote host node-08 is sending\n"
    assert fields(RUN.replace("[ ID]", more + "[ ID]", 1))["outbound"] is False


def test_datagrams():
    text = (
        "Connecting to host 10.0.0.8, port 5201\n"
        "[  5] local 10.0.0.7 port 40112 connected to 10.0.0.8 port 5201\n"
        "[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n"
        "[  5]   0.00-10.00  sec  1.16 GBytes   998 Mbits/sec  0.000 ms  0/862000 (0%)  sender\n"
        "[  5]   0.00-10.00  sec  1.15 GBytes   990 Mbits/sec  0.003 ms  8620/862000 (1%)  receiver\n"
    )
    found = fields(text)
    assert (found["operation"], found["gbps"], found["lost"]) == ("udp", 0.99, 0.01)


def test_a_test_that_was_cut_off_says_nothing():
    assert read(iperf3, RUN.split("- - -")[0]) == []


def as_json(**more):
    return json.dumps(
        {
            "start": {
                "connected": [{"local_host": "10.0.0.7", "remote_host": "10.0.0.8"}] * 4,
                "connecting_to": {"host": "node-08", "port": 5201},
                "test_start": {"protocol": "TCP", "num_streams": 4, "reverse": 1},
            },
            "end": {
                "sum_sent": {"retransmits": 7, "bits_per_second": 9.1e10, "bytes": 1000},
                "sum_received": {"bits_per_second": 9.0e10, "bytes": 990},
            },
            **more,
        }
    )


def test_json():
    assert fields(as_json()) == {
        "tool": "iperf3", "operation": "tcp", "local": "10.0.0.7", "remote": "node-08",
        "outbound": False, "streams": 4, "gbps": pytest.approx(90.0), "bytes": 990, "retransmits": 7,
    }  # fmt: skip


@pytest.mark.parametrize("text", [as_json()[:-9], as_json(end={})])
def test_json_without_a_result(text):
    with pytest.raises(Note):
        read(iperf3, text)


def test_json_of_a_test_that_failed():
    (event,) = read(
        iperf3, as_json(end={}, error="error - unable to connect to server: Connection refused")
    )
    assert event.name == "bench.failed"
    assert (event.fields["reason"], event.fields["why"]) == ("not-connected", "refused")
