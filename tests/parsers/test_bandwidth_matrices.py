import pytest
from communication import read

from diagnose.parsers.bandwidth import matrices

NVBANDWIDTH = """Running device_to_device_memcpy_read_ce.
memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)
           0         1         2
 0       N/A    393.15    393.61
 1    393.08       N/A    120.50
 2    393.15    393.08       N/A

SUM device_to_device_memcpy_read_ce 2086.57

Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0         1         2
 0     55.33     55.35     26.90

SUM host_to_device_memcpy_ce 137.58
"""
SAMPLE = """P2P Connectivity Matrix
     D\\D     0     1
     0\t     1     1
     1\t     1     1
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1
     0 2612.12 370.22
     1 370.98 2614.80
Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)
   D\\D     0      1
     0 2612.12 741.22
     1 740.98 2614.80
P2P=Enabled Latency (P2P Writes) Matrix (us)
   GPU     0      1
     0   2.11   2.60
     1   2.61   2.10
"""
HOSTS = """ib_write_bw bandwidth, sender in rows (Gb/s)
         node-01 node-02 node-03
node-01        -   392.0   391.2
node-02    391.2       -   195.2
node-03    390.4   389.6       -
"""


def test_nvbandwidth():
    first, second = (event.fields for event in read(matrices, NVBANDWIDTH))
    assert first["cells"] == [[None, 393.15, 393.61], [393.08, None, 120.5], [393.15, 393.08, None]]
    assert (first["tool"], first["members"], first["row_sends"]) == ("nvbandwidth", "gpu", False)
    assert (second["cells"], second["row_sends"]) == ([[55.33, 55.35, 26.9]], True)
    assert (second["rows"], second["columns"]) == (["0"], ["0", "1", "2"])


def test_the_sample_of_cuda():
    first, second = (event.fields for event in read(matrices, SAMPLE))
    assert (first["cells"], first["row_sends"]) == ([[None, 370.22], [370.98, None]], True)
    assert (second["cells"], second["row_sends"]) == ([[None, 370.61], [370.49, None]], None)


def test_hosts():
    (event,) = read(matrices, HOSTS)
    assert event.fields["cells"] == [
        [None, 392.0, 391.2],
        [391.2, None, 195.2],
        [390.4, 389.6, None],
    ]
    assert event.fields["unit"] == "Gb/s"
    assert (event.fields["members"], event.fields["row_sends"]) == ("host", True)
    assert event.fields["rows"] == ["node-01", "node-02", "node-03"]


def test_bars_between_the_cells():
    (event,) = read(matrices, HOSTS.replace("   ", " | "))
    assert event.fields["cells"][0] == [None, 392.0, 391.2]


def test_a_table_of_markdown():
    title, *rows = HOSTS.splitlines()
    rows = [f"| {' | '.join(row.split())} |" for row in rows]
    rows[0] = "| " + rows[0]
    (event,) = read(
        matrices, "\n".join([title, "", rows[0], "|---|:--|--:|---|", *rows[1:]]) + "\n"
    )
    assert event.fields["rows"] == ["node-01", "node-02", "node-03"]
    assert event.fields["cells"][0] == [None, 392.0, 391.2]


@pytest.mark.parametrize("cut", [len(HOSTS) - 12, HOSTS.index("node-03    ")])
def test_a_row_that_is_cut_off_does_not_count(cut):
    (event,) = read(matrices, HOSTS[:cut])
    assert event.fields["rows"] == ["node-01", "node-02"]


@pytest.mark.parametrize(
    "text",
    [
        HOSTS.split("node-01   ")[0],
        "memory bandwidth (GB/s)\n one two three\n",
        "peak bandwidth (GB/s) 12\n 1 2 3\n",
        SAMPLE.split("Unidirectional")[0],
    ],
)
def test_no_matrix_of_bandwidth(text):
    assert read(matrices, text) == []
