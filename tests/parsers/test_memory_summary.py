import pytest
from test_cuda_oom import MIB, read

from diagnose.model.event import Event, Measurement
from diagnose.parsers.base import Note
from diagnose.parsers.memory_summary import MEMORY_SUMMARY

FULL = """\
|===========================================================================|
|                  PyTorch CUDA memory summary, device ID 1                 |
|---------------------------------------------------------------------------|
|            CUDA OOMs: 0            |        cudaMalloc retries: 5         |
|===========================================================================|
|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |
|---------------------------------------------------------------------------|
| Allocated memory      |  11264 KiB |     21 MiB |     90 GiB |     89 GiB |
|       from large pool |  10240 KiB |     20 MiB |     88 GiB |     88 GiB |
|---------------------------------------------------------------------------|
| Active memory         |  13312 KiB |     21 MiB |     90 GiB |     89 GiB |
|---------------------------------------------------------------------------|
| Requested memory      |  11000 KiB |     20 MiB |     88 GiB |     87 GiB |
|---------------------------------------------------------------------------|
| GPU reserved memory   |     22 MiB |     24 MiB |     24 MiB |   2048 KiB |
|---------------------------------------------------------------------------|
| Non-releasable memory |   5632 KiB |      9 MiB |     41 GiB |     41 GiB |
|---------------------------------------------------------------------------|
| Allocations           |     101    |     190    |    9415 K  |    9397 K  |
|===========================================================================|
"""


def parts(text):
    found = read(MEMORY_SUMMARY, text)
    (event,) = [one for one in found if isinstance(one, Event)]
    return event, [one for one in found if isinstance(one, Measurement)]


def test_the_table():
    event, (measured,) = parts(FULL + "step 3\n")
    assert event.fields["allocated"] == 11 * MIB
    assert event.fields["reserved"] == 22 * MIB
    assert event.fields["reserved_peak"] == 24 * MIB
    assert event.fields["held_by_streams"] == 2 * MIB
    assert event.fields["non_releasable_share"] == 0.25
    assert (event.fields["ooms"], event.fields["retries"]) == (0, 5)
    assert event.fields["gpu_index"] == 1
    assert event.end_line == 20
    assert measured.values == {"memory_allocated": 11 * MIB, "memory_reserved": 22 * MIB}


def test_the_table_cut_off():
    event, _ = parts("\n".join(MEMORY_SUMMARY.sample.splitlines()[:7]))
    assert event.fields["reserved"] is None
    with pytest.raises(Note):
        read(MEMORY_SUMMARY, MEMORY_SUMMARY.sample.splitlines()[0])


def test_two_tables_are_two_events():
    found = [one for one in read(MEMORY_SUMMARY, FULL + FULL) if isinstance(one, Event)]
    assert [one.line for one in found] == [2, 22]
