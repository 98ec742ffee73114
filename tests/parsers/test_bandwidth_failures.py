import pytest
from communication import read

from diagnose.parsers.bandwidth import failures


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("node-07: Test timeout (300s) common.cu:512\n", {"program": "nccl-tests", "reason": "timeout", "seconds": 300}),
        ("Invalid number of GPUs: 16 requested but only 8 were found.\n", {"reason": "too-few-gpus", "requested": 16, "found": 8}),
        (" Failed status-transport retry counter exceeded (12): wr_id 0 syndrom 0x81\n", {"reason": "retry-exceeded", "status": 12, "syndrome": "0x81"}),
        (" Failed status 12: wr_id 0 syndrom 0x81\n", {"reason": "retry-exceeded", "status": 12}),
        (" Failed status-remote access error (10): wr_id 0 syndrom 0x88\n", {"reason": "remote-access", "status": 10}),
        (" Failed status-local protection error (4): wr_id 0 syndrom 0x51\n", {"reason": "completion", "status": 4}),
        ("Couldn't connect to node-08:18515\n", {"reason": "not-connected", "peer": "node-08", "port": 18515}),
        ("Failed to modify QP 1234 to RTR\n", {"reason": "queue-pair", "step": "RTR"}),
        (" Unable to create QP.\n", {"reason": "queue-pair"}),
        ("Couldn't allocate MR\n", {"reason": "memory"}),
        ("IB device mlx5_9 not found\n", {"reason": "no-device", "device": "mlx5_9"}),
        ("iperf3: error - unable to connect to server: Connection refused\n", {"program": "iperf3", "reason": "not-connected", "why": "refused"}),
        ("iperf3: error - the server is busy running a test. try again later\n", {"reason": "other"}),
    ],
)  # fmt: skip
def test_what_failed(text, expected):
    (event,) = read(failures, text)
    assert event.name == "bench.failed"
    assert {name: event.fields[name] for name in expected} == expected


def test_the_adapter_that_is_not_there_is_no_other_lookup():
    assert read(failures, "device mlx5_9 not found in the cache\nTest failure common.cu:12\n") == []
