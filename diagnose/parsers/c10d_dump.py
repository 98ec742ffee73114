"""ProcessGroupNCCL's flight recorder: who asked for a dump, who saw it, and where it was written.

Samples::

    [rank3]:[E321 02:07:08.512379535 ProcessGroupNCCL.cpp:1682] [PG ID 0 PG GUID 0(default_pg) Rank 3] Broadcasting flight recorder dump signal to other processes via TCPStore.
    [rank2]:[E321 02:07:10.001234567 ProcessGroupNCCL.cpp:1670] [PG ID 0 PG GUID 0(default_pg) Rank 2] Received a dump signal due to a collective timeout from  rank 3 and we will try our best to dump the debug info. Last enqueued NCCL work: 1579, last completed NCCL work: 1579.

``by_rank`` is the rank that timed out first: it waited, and others were late. Of the ranks that only
observed the signal, one with nothing pending was not in the collective at all; ``c10d.progress`` has
its counters.

Empty: no dump was asked for. Cut off: a path may be cut short.
"""

from diagnose.model.event import Event, Line, Nature
from diagnose.parsers.base import LineParser, Pattern
from diagnose.parsers.c10d_group import place_in_group


def refine(event: Event, line: Line) -> Event | None:
    """Say whose group and rank it is; who sends a signal is its own first observer."""
    place_in_group(event, line.text)
    if event.name == "c10d.dump_signal_sent":
        event.fields["by_rank"] = event.fields.get("pg_rank", event.rank)
    return event


PATTERNS = (
    Pattern(
        event="c10d.dump_signal_observed",
        regex=r"Received a (?:global dump signal|dump signal due to a collective timeout) from {1,2}rank (?P<by_rank>\d+)",
        nature=Nature.EFFECT,
        source="PyTorch 2.4 (global), 2.5 to 2.12, ProcessGroupNCCL.cpp",
        sample="[rank2]:[E321 02:07:10.001234567 ProcessGroupNCCL.cpp:1670] [PG ID 0 PG GUID 0(default_pg) Rank 2] Received a dump signal due to a collective timeout from  rank 3 and we will try our best to dump the debug info. Last enqueued NCCL work: 1579, last completed NCCL work: 1579.",
        types={"by_rank": int},
    ),
    Pattern(
        event="c10d.dump_signal_observed",
        regex=r"Observed flight recorder dump signal from another rank",
        nature=Nature.EFFECT,
        source="PyTorch 2.5 to 2.12, ProcessGroupNCCL.cpp",
        sample="[rank2]:[E321 02:07:10.001234567 ProcessGroupNCCL.cpp:1650] [PG ID 0 PG GUID 0(default_pg) Rank 2] Observed flight recorder dump signal from another rank via TCPStore.",
    ),
    Pattern(
        event="c10d.dump_signal_sent",
        regex=r"Received a dump signal (?:due to a collective timeout )?from this local rank|Broadcasting flight recorder dump signal to other processes|First PG on this rank to signal dumping",
        nature=Nature.EFFECT,
        source="PyTorch 2.4 to 2.12, ProcessGroupNCCL.cpp",
        sample="[rank3]:[E321 02:07:08.512379535 ProcessGroupNCCL.cpp:1682] [PG ID 0 PG GUID 0(default_pg) Rank 3] Broadcasting flight recorder dump signal to other processes via TCPStore.",
    ),
    Pattern(
        event="c10d.dump_written",
        regex=r"(?:ProcessGroupNCCL dumping nccl trace to|Finished writing NCCLPG debug info to|Finished writing FlightRecorder debug info to) (?P<path>\S+)",
        nature=Nature.MEASUREMENT,
        source="PyTorch 2.2 to 2.12, ProcessGroupNCCL.cpp and NCCLUtils.cpp",
        sample="[rank3]:[E321 02:07:09.432379535 NCCLUtils.cpp:330] Finished writing NCCLPG debug info to /tmp/nccl_trace_rank_3",
    ),
    Pattern(
        event="c10d.dump_failed",
        regex=r"Error opening file for writing (?:NCCLPG|FlightRecorder) debug info: (?P<path>\S+)",
        nature=Nature.EFFECT,
        source="PyTorch 2.2 to 2.12, NCCLUtils.cpp",
        sample="[rank3]:[E321 02:07:09.432379535 NCCLUtils.cpp:330] Error opening file for writing NCCLPG debug info: /var/nccl_trace_rank_3",
    ),
    Pattern(
        event="c10d.desync_report_failed",
        regex=r"Failed to retrieve \w*NCCL_DESYNC_DEBUG report\.(?: Please file an issue\. Error: (?P<error>[^\r\n]+))?",
        nature=Nature.EFFECT,
        source="PyTorch 1.13 to 2.12, ProcessGroupNCCL.cpp",
        sample="[rank3]:[E321 02:07:09.432379535 ProcessGroupNCCL.cpp:650] [PG ID 0 PG GUID 0(default_pg) Rank 3] Failed to retrieve TORCH_NCCL_DESYNC_DEBUG report. Please file an issue. Error: Broken pipe",
    ),
)

PARSERS = (
    LineParser(
        name="c10d-dump",
        title="PyTorch's flight recorder: dump signals and where dumps were written",
        patterns=PATTERNS,
        refine=refine,
    ),
)
