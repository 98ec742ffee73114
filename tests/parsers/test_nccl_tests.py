import pytest
from communication import read

from diagnose.parsers.bandwidth import nccl_tests

MIB, GIB = 1 << 20, 1 << 30


def ranks(hosts=("node-17",), each=8, model="NVIDIA H100 80GB HBM3"):
    places = [(host, device) for host in hosts for device in range(each)]
    return "".join(
        f"#  Rank {rank:2} Group  0 Pid  81234 on    {host} device {device:2} [0000:1b:00] {model}\n"
        for rank, (host, device) in enumerate(places)
    )


HEADING = (
    "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time"
    "   algbw   busbw  #wrong \n"
)


def row(size, busbw, wrong="0", factor=1.75):
    algbw = busbw / factor
    half = f"{size / algbw / 1e3:9.1f} {algbw:7.2f} {busbw:7.2f}  {wrong:>5} "
    return f"{size:12} {size // 4:13}     float     sum      -1 {half} {half}\n"


RUN = (
    "# nThread 1 nGpus 8 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 1 iters: 20\n#\n"
    + ranks() + "#\n" + HEADING
    + row(MIB, 40.1) + row(512 * MIB, 455.0) + row(GIB, 471.5) + row(8 * GIB, 478.2)
    + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 52.97\n#\n"
)  # fmt: skip


def result(text):
    (event,) = read(nccl_tests, text)
    return event


def test_a_run():
    event = result(RUN)
    assert event.host == "node-17"
    assert event.fields == {
        "headed": True, "tool": "nccl-tests", "collective": "all_reduce", "ranks": 8, "nodes": 1, "hosts": ["node-17"], "gpus_per_node": 8,
        "gpu_model": "NVIDIA H100 80GB HBM3", "rows": 4, "largest_size": 8 * GIB, "peak_busbw": 478.2,
        "plateau_busbw": 478.2, "plateau_size": GIB, "avg_busbw": 52.97, "wrong": 0,
        "sizes": [MIB, 512 * MIB, GIB, 8 * GIB], "busbws": [40.1, 455.0, 471.5, 478.2],
        "verdict": None, "reduced_to": None, "alone": 1,
    }  # fmt: skip
    assert "478.20" in event.text


@pytest.mark.parametrize(
    ("rows", "plateau"),
    [
        (row(MIB, 40.0) + row(64 * MIB, 300.0), (None, None)),
        (row(256 * MIB, 400.0) + row(512 * MIB, 420.0), (420.0, 256 * MIB)),
        (row(GIB, 410.0) + row(512 * MIB, 470.0), (410.0, GIB)),
    ],
)
def test_only_large_messages_make_a_plateau(rows, plateau):
    fields = result(HEADING + rows).fields
    assert (fields["plateau_busbw"], fields["plateau_size"]) == plateau


def test_the_layout_without_root_and_with_a_float_error():
    text = (
        "#       size         count      type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
        "  8589934592    2147483648     float     sum    63896  134.44  235.26  5e-07    63959  134.30  235.03    N/A\n"
    )
    fields = result(text).fields
    assert (fields["plateau_busbw"], fields["wrong"]) == (235.26, None)


def test_more_columns():
    text = (
        "#       size         count      type   redop    root  cputime   algbw   busbw  #wrong   i_min   i_max  cputime   algbw   busbw  #wrong   i_min   i_max\n"
        "  1073741824     268435456     float     sum      -1  4051.6  265.02  463.78       3   40.1   41.2   4049.2  265.17  464.05       1   40.1   41.2\n"
    )
    fields = result(text).fields
    assert (fields["plateau_busbw"], fields["wrong"]) == (463.78, 4)


def test_the_event_stands_at_the_row_that_decides():
    wrong = RUN.replace(row(512 * MIB, 455.0), row(512 * MIB, 455.0, wrong="7"))
    assert "455.00" in result(wrong).text
    assert (
        "455.00" in result(RUN.replace(row(8 * GIB, 478.2), "").replace(row(GIB, 471.5), "")).text
    )


def test_the_name_of_the_test_counts_more_than_the_ratio():
    named = "# Collective test starting: reduce_scatter_perf\n" + RUN
    assert result(named).fields["collective"] == "reduce_scatter"


def test_two_nodes():
    text = RUN.replace(ranks(), ranks(("node-17", "node-18.example.org")))
    event = result(text.replace(row(8 * GIB, 478.2), row(8 * GIB, 478.2, factor=1.875)))
    assert (event.host, event.fields["nodes"], event.fields["hosts"]) == (
        None, 2, ["node-17", "node-18"],
    )  # fmt: skip


def test_runs_one_behind_the_other():
    assert len(read(nccl_tests, RUN + RUN)) == 2
    assert len(read(nccl_tests, (RUN + RUN).replace("# Avg", "# avg"))) == 2


def test_lines_of_nccl_in_between():
    noisy = RUN.replace("\n", "\nnode-17:812:901 [0] NCCL INFO Launch mode Parallel\n")
    assert result(noisy).fields["rows"] == 4


@pytest.mark.parametrize(
    ("cut", "plateau"),
    [(RUN.index("# Out"), 478.2), (RUN.index("  8589934592    ") + 70, 471.5)],
)
def test_a_row_that_is_cut_off_does_not_count(cut, plateau):
    assert result(RUN[:cut]).fields["plateau_busbw"] == plateau


def test_a_test_that_hangs_has_no_rows():
    assert result(RUN.split("     1048576")[0]).fields["rows"] == 0


def test_the_program_that_was_built_with_mpi():
    named = "# Collective test starting: all_gather_perf_mpi\n" + RUN
    assert result(named).fields["collective"] == "all_gather"


def test_the_verdict_and_the_limit_that_it_prints():
    text = RUN.replace("52.97", "46.1 FAILED").replace(
        "#\n" + HEADING, "#\n# Reducing maxBytes to 8589934592 due to memory limitation\n" + HEADING
    )
    fields = result(text).fields
    assert (fields["verdict"], fields["reduced_to"], fields["avg_busbw"]) == (
        "FAILED",
        8 * GIB,
        46.1,
    )


def test_the_layout_of_single_iterations_with_time_stamps():
    half = "  4051.6  265.02  463.78       0   4040.1   4060.2   4059.9     0.12"
    text = (
        "#       size         count      type   redop    root     time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%"
        "     time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%           timestamp\n"
        f"  1073741824     268435456     float     sum      -1 {half} {half}  2026-01-14 03:04:07\n"
    )
    fields = result(text).fields
    assert (fields["plateau_busbw"], fields["wrong"]) == (463.78, 0)


def test_results_that_nothing_was_compared_with():
    unchecked = RUN.replace("    0 ", "  N/A ").replace("# Out of bounds values : 0 OK\n", "")
    assert result(unchecked).fields["wrong"] is None
    assert result(RUN.replace("    0 ", "1e+06 ").replace("# Out", "# out")).fields["wrong"] == 8e6


def test_processes_that_each_test_themselves():
    alone = "".join(
        f"#  Rank  0 Group  0 Pid  {81234 + gpu} on    node-17 device  0 [0000:1b:00] NVIDIA H100\n"
        for gpu in range(8)
    )
    text = RUN.split("#\n")[0] * 3 + "#\n" + alone + HEADING + row(GIB, 0.001)
    (event,) = read(nccl_tests, text)
    assert (event.fields["ranks"], event.fields["alone"]) == (1, 8)


def test_windows_ends():
    assert result(RUN.replace("\n", "\r\n")).fields["peak_busbw"] == 478.2


@pytest.mark.parametrize("text", ["algbw   busbw\n", "size 1073741824 count 12\n"])
def test_other_text(text):
    assert read(nccl_tests, text) == []


def test_a_beginning_that_is_cut_off_keeps_the_ranks():
    event = result("# Using devices\n" + RUN.split("#\n", 1)[1])
    assert (event.host, event.fields["ranks"], event.fields["plateau_busbw"]) == (
        "node-17",
        8,
        478.2,
    )
