import pytest
from stacks import collected, dumps

DUMP = """\
Thread 0x00007f30e79646c0 (most recent call first):
  File "/opt/venv/lib/python3.11/site-packages/torch/utils/data/_utils/pin_memory.py", line 51 in _pin_memory_loop
  File "/usr/lib/python3.11/threading.py", line 982 in run
  File "/usr/lib/python3.11/threading.py", line 1002 in _bootstrap

Current thread 0x00007f30e8dcbb80 (most recent call first):
  File "/opt/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 2501 in all_reduce
  File "/opt/venv/lib/python3.11/site-packages/torch/distributed/c10d_logger.py", line 83 in wrapper
  File "/app/metrics.py", line 40 in reduce_metrics
  File "/app/train.py", line 312 in main
  File "/app/train.py", line 340 in <module>
"""


def test_the_main_thread_is_the_one_that_began_the_program():
    (event,) = dumps(DUMP, "rank5.log")
    assert (event.rank, event.line, event.end_line, event["threads"]) == (5, 6, 11, 2)
    assert (event["doing"], event["call"], event["site"]) == (
        "collective", "all_reduce", "all_reduce (distributed_c10d.py:2501)",
    )  # fmt: skip
    assert event["code"] == "reduce_metrics (metrics.py:40)"
    assert event["way"] == ["<module>", "main", "reduce_metrics"]


@pytest.mark.parametrize(
    ("heading", "fault"),
    [
        ("Fatal Python error: Aborted\n\n", "Aborted"),
        ("Fatal Python error: Segmentation fault\n\n", "Segmentation fault"),
        ("Timeout (0:05:00)!\n", None),
        ("Timeout (1 day, 0:00:00.500000)!\n", None),
        ("", None),
    ],
)
def test_what_the_dump_was_printed_for(heading, fault):
    (event,) = dumps(heading + DUMP)
    assert (event["fault"], event["doing"]) == (fault, "collective")


def test_python_3_14_names_the_thread():
    text = DUMP.replace("8dcbb80 (", "8dcbb80 [python3] (")
    assert [event["thread"] for event in dumps(text)] == ["python3"]


def test_only_the_current_thread():
    text = DUMP.partition("\n\n")[2].replace("Current thread 0x00007f30e8dcbb80", "Stack")
    assert [event["call"] for event in dumps(text)] == ["all_reduce"]


def test_a_dump_every_few_minutes_is_several_events():
    later = DUMP.replace("line 312", "line 320")
    text = f"Timeout (0:05:00)!\n{DUMP}step 10 loss 2.5\nTimeout (0:05:00)!\n{later}"
    assert [event["frames"][-2] for event in dumps(text)] == [
        "main (train.py:312)", "main (train.py:320)",
    ]  # fmt: skip
    assert len(dumps(DUMP + later)) == 2


def test_a_dump_in_the_merged_log_of_two_ranks():
    ours = [f"[rank3]: {line}" for line in DUMP.splitlines()]
    other = DUMP.replace("all_reduce", "barrier")
    theirs = [f"[rank4]: {line}" for line in other.splitlines()]
    mixed = "\n".join(line for pair in zip(ours, theirs, strict=True) for line in pair)
    assert {event.rank: event["call"] for event in dumps(mixed)} == {3: "all_reduce", 4: "barrier"}


def test_gdb_with_pythons_own_command():
    text = (
        "Traceback (most recent call first):\n"
        '  File "/usr/lib/python3.11/queue.py", line 171, in get\n'
        "    self.not_empty.wait()\n"
        '  File "/app/train.py", line 15, in <module>\n'
        "    main(10)\n"
    )
    assert [event["doing"] for event in dumps(text)] == ["loader"]


def test_a_stack_of_another_thread_alone_is_noted():
    text = DUMP.partition("\n\n")[0]
    assert dumps(text) == []
    assert list(collected(text).notes) == [
        "faulthandler: the stack of the main thread is not there"
    ]


def test_a_fatal_error_without_a_stack_is_no_dump():
    text = "Fatal Python error: init_fs_encoding: failed to get the Python codec\n"
    assert (dumps(text), collected(text).notes) == ([], {})


def test_the_deepest_stack_that_is_printed_is_cut_at_its_outer_end():
    frames = '  File "/app/model.py", line 7 in walk\n' * 100
    text = f"Current thread 0x00007f30e8dcbb80 (most recent call first):\n{frames}  ...\n"
    assert [event["site"] for event in dumps(text)] == ["walk (model.py:7)"]
