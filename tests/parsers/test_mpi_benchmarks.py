import pytest
from communication import read

from diagnose.parsers.bandwidth import mpi_benchmarks as dialect


@pytest.mark.parametrize(
    "text, program",
    [
        ("# All processes entering MPI_Finalize\n", "IMB"),
        ("# Out of bounds values : 0 OK\n", "nccl-tests"),
    ],
)
def test_a_benchmark_with_results_has_finished(text, program):
    (event,) = read(dialect, text)
    assert (event.fields["program"], event.fields["reason"]) == (program, "done")


def test_one_with_wrong_results_has_not():
    assert read(dialect, "# Out of bounds values : 12 FAILED\n") == []
