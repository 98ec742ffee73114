import pytest
from communication import read

from diagnose.parsers.bandwidth import perftest

RULE = "-" * 87 + "\n"


def run(
    title="RDMA_Write BW Test",
    rows=" 65536      5000             391.12             390.87 \t\t     0.745525\n",
    unit="Gb/sec",
    link="IB",
    gids="",
    device="mlx5_0",
):
    return (
        RULE + f"                    {title}\n"
        f" Dual-port       : OFF\t\tDevice         : {device}\n"
        " Number of qps   : 4\t\tTransport type : IB\n"
        " Connection type : RC\t\tUsing SRQ      : OFF\n"
        " WARNING: CPU is not PCIe relaxed ordering compliant.\n"
        " Mtu             : 4096[B]\n"
        f" Link type       : {link}\n" + (" GID index       : 3\n" if gids else "") + RULE
        + f" local address: LID {'0x83' if not gids else '0000'} QPN 0x0049 PSN 0x2a1f4e RKey 0x1fff00 VAddr 0x007f2c5c000000\n"
        + (" GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:00:00:07\n" if gids else "")
        + f" remote address: LID {'0x97' if not gids else '0000'} QPN 0x0051 PSN 0x91ab22 RKey 0x1fff00 VAddr 0x007f9b1a000000\n"
        + (" GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:00:00:08\n" if gids else "")
        + RULE
        + f" #bytes     #iterations    BW peak[{unit}]    BW average[{unit}]   MsgRate[Mpps]\n"
        + "Conflicting CPU frequency values detected: 2000.000000 != 3500.000000.\n"
        + rows + RULE
    )  # fmt: skip


def result(text):
    (event,) = read(perftest, text)
    return event


def test_a_run():
    event = result(run())
    assert event.nic == "mlx5_0"
    assert {name: value for name, value in event.fields.items() if value is not None} == {
        "tool": "ib_write_bw", "operation": "write", "local": "LID 131", "remote": "LID 151",
        "outbound": True, "device": "mlx5_0", "link_layer": "IB", "mtu": 4096, "streams": 4,
        "bidirectional": False, "size": 65536, "gbps": 390.87,
    }  # fmt: skip
    assert "390.87" in event.text


@pytest.mark.parametrize("unit", ["MiB/sec", "MB/sec"])
def test_both_spellings_of_the_other_unit_are_powers_of_two(unit):
    rows = " 65536      5000             46560.10            46560.10 \t\t     0.744962\n"
    assert result(run(unit=unit, rows=rows)).fields["gbps"] == pytest.approx(390.57, abs=0.01)


def test_the_largest_message_counts():
    rows = " 2          5000           0.05               0.05   \t\t     3.012\n" + (
        " 8388608    5000             389.00             388.50 \t\t     0.005789\n"
    )
    assert result(run(rows=rows)).fields["gbps"] == 388.5


def test_both_directions_are_halved():
    fields = result(run("Send Bidirectional BW Test")).fields
    assert (fields["gbps"], fields["bidirectional"], fields["tool"]) == (
        195.435, True, "ib_send_bw",
    )  # fmt: skip


def test_addresses_of_ethernet():
    fields = result(run(link="Ethernet", gids="yes")).fields
    assert (fields["local"], fields["remote"], fields["gid_index"]) == ("10.0.0.7", "10.0.0.8", 3)


def test_who_sends():
    assert result(run("RDMA_Read BW Test")).fields["outbound"] is False
    server = "* Waiting for client to connect... *\n"
    assert result(server + run()).fields["outbound"] is False
    assert result(server + run("RDMA_Read BW Test")).fields["outbound"] is True


def test_the_ends_that_a_command_line_names():
    text = "$ ssh -q node-03 ib_write_bw -d mlx5_0 -q 4 --report_gbits node-04\n" + run()
    fields = result(text).fields
    assert (fields["local"], fields["remote"]) == ("node-03", "node-04")


@pytest.mark.parametrize(
    "command",
    [
        "root@node-03:/workspace# ib_write_bw -d mlx5_0 -x 3 node-04.example.org -zR\n",
        "[me@node-03 bin]$ ./ib_write_bw node-04 -d mlx5_0 --report_gbits\n",
    ],
)
def test_a_prompt_and_options_behind_the_server(command):
    fields = result(command + run()).fields
    assert (fields["local"], fields["remote"]) == ("node-03", "node-04")


def test_many_queue_pairs():
    line = " local address: LID 0x83 QPN 0x0049 PSN 0x2a1f4e RKey 0x1fff00 VAddr 0x007f2c5c000000\n"
    assert result(run().replace(line, line * 300)).fields["gbps"] == 390.87


def test_latency():
    text = run("RDMA_Write Latency Test").replace(
        " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]",
        " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]"
        "   99% percentile[usec]   99.9% percentile[usec] ",
    )
    rows = " 65536      5000             391.12             390.87 \t\t     0.745525\n"
    latency = " 2       1000          1.02           3.61         1.09  \t       1.10     \t0.05\t\t1.27 \t\t3.61\n"
    fields = result(text.replace(rows, latency)).fields
    assert (fields["tool"], fields["latency"], fields["gbps"]) == (
        "ib_write_lat", pytest.approx(1.09e-6), None,
    )  # fmt: skip


def test_runs_one_behind_the_other():
    assert [event.nic for event in read(perftest, run() + run(device="mlx5_1"))] == [
        "mlx5_0",
        "mlx5_1",
    ]


def test_windows_ends_and_lost_tabs():
    assert result(run().replace("\t", " ").replace("\n", "\r\n")).fields["gbps"] == 390.87


@pytest.mark.parametrize(
    "text",
    [
        run(rows=""),
        run().split(" #bytes")[0],
        run().split("RDMA_Write BW Test")[1].split(" #bytes")[0] + " 65536      5000  391.12  390.87  0.745\n",
        "run ib_write_bw between all pairs of nodes\n",
    ],
    ids=["no rows", "no heading", "no beginning", "advice"],
)  # fmt: skip
def test_nothing_is_said(text):
    assert read(perftest, text) == []


def test_the_file_tells_the_rate_by_its_messages():
    text = (
        '{\n"test_info": {\n"test": "RDMA_Write_Bidirectional_BW_Test",\n"Device": "mlx5_2",\n"Number_of_qps": 1,\n'
        '"Connection_type": "RC",\n"Mtu": 4096,\n"Link_type": "IB"\n},\n"results": {\n"MsgSize": 65536,\n'
        '"n_iterations": 5000,\n"BW_peak": 93000.1,\n"BW_average": 92900.2,\n"MsgRate": 1.491050\n}\n}\n'
    )
    fields = result(text).fields
    assert (fields["device"], fields["gbps"]) == ("mlx5_2", pytest.approx(390.87, abs=0.01))
