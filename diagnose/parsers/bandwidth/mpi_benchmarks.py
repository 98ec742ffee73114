"""Benchmarks of communication that came to their end: Intel MPI and nccl-tests.

::

    # All processes entering MPI_Finalize

A benchmark that ends well has communicated, so what its libraries complained of before was
overcome. ``bench.finished`` says which ``program`` it was, with ``reason`` always ``done``; figures of
nccl-tests are events of their own. A check of results that failed is no success.

*Empty*: no benchmark, or one that did not end. *Cut off*: the same.
"""

from diagnose.model.event import Nature
from diagnose.parsers.base import LineParser, Pattern

ENDS = LineParser(
    name="benchmark-ends",
    title="Intel MPI benchmarks and nccl-tests that ended well",
    patterns=(
        Pattern(
            event="bench.finished",
            regex=r"^# All processes entering MPI_Finalize",
            nature=Nature.PROGRESS,
            source="Intel MPI Benchmarks 2018 to 2021",
            sample="# All processes entering MPI_Finalize",
            constants={"program": "IMB", "reason": "done"},
        ),
        Pattern(
            event="bench.finished",
            regex=r"^# Out of bounds values : 0 OK",
            nature=Nature.PROGRESS,
            source="nccl-tests 2.0 to 2.19, common.cu and util.cu",
            sample="# Out of bounds values : 0 OK",
            constants={"program": "nccl-tests", "reason": "done"},
        ),
    ),
)

PARSERS = (ENDS,)
