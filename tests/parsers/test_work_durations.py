import pytest
from dialects import events

from diagnose.parsers import work_durations as dialect


@pytest.mark.parametrize(
    "text, rank, what, elapsed",
    [
        ("Worker[rank=5]: export/gather_weights done after 1840.22s", 5, "export/gather_weights", 1840.22),
        ("Worker[rank=5]: export/move_to_cpu_done after 412.5 s ...", 5, "export/move_to_cpu", 412.5),
        ("[Rank 2] building the index map took 913 seconds", 2, "building the index map", 913),
        ("shuffling the samples finished in 640 sec", None, "shuffling the samples", 640),
    ],
)  # fmt: skip
def test_long_work_is_read_with_its_rank(text, rank, what, elapsed):
    (event,) = events(dialect, text + "\n")
    assert (event.rank, event.fields["what"], event.fields["elapsed"]) == (rank, what, elapsed)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "loading the batch took 12.5 s",
        "[Rank 2] saving the checkpoint took 913 seconds",
        "waiting for the store took 600 s",
        "the export took 1840",
    ],
)
def test_short_work_waits_and_checkpoints_are_no_long_work(text):
    assert list(events(dialect, text + "\n")) == []
