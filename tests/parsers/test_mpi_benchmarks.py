import pytest
from communication import read

from diagnose.parsers.bandwidth import mpi_benchmarks as dialect

OSU = """# OSU MPI-CUDA Allreduce Latency Test v7.5
# Size       Avg Latency(us)
{rows}"""


@pytest.mark.parametrize(
    "text, program",
    [
        (OSU.format(rows="4                       8.91\n8                       8.95\n"), "OSU"),
        ("# All processes entering MPI_Finalize\n", "IMB"),
        ("# Out of bounds values : 0 OK\n", "nccl-tests"),
    ],
)
def test_a_benchmark_with_results_has_finished(text, program):
    (event,) = read(dialect, text)
    assert (event.fields["program"], event.fields["reason"]) == (program, "done")


@pytest.mark.parametrize("text", [OSU.format(rows=""), OSU.format(rows="Abort(1) on node 0\n"),
                                  "# Out of bounds values : 12 FAILED\n"])  # fmt: skip
def test_one_without_results_or_with_wrong_ones_has_not(text):
    assert read(dialect, text) == []
