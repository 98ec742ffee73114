from communication import check_table, cut_anywhere, holds, names, one, read

from diagnose.parsers import nccl_ras as module

REPORT = """\
Errors
------

#0-0 (a1b2c3d4e5f60718) INCOMPLETE
  Missing communicator data from 1 rank
  The missing rank: 21

DEAD
  1 job process is considered dead (unreachable via the RAS network)
  Process 4125 on node 10.0.0.9 managing GPU 5

Warnings
--------

#0-1 (27a079b828ff1a75) MISMATCH
  Communicator ranks have different AllReduce operation counts
  6 ranks have launched up to operation 6650
  2 ranks have launched up to operation 6648
  Rank 2 -- GPU 2 managed by process 4122 on node 10.0.0.9
  Rank 5 -- GPU 5 managed by process 4125 on node 10.0.0.9

#0-2 (27a079b828ff1a76) MISMATCH
  Communicator ranks have different status
  Rank 2 has status INIT
  7 ranks have status RUNNING
"""


def test_pattern_table():
    check_table(module)


def test_a_report_says_who_is_missing_behind_and_dead():
    missing, dead, behind, status = read(module, REPORT)
    assert holds(missing, {"kind": "INCOMPLETE", "missing": [21], "comm": "a1b2c3d4e5f60718"}) == {}
    assert holds(dead, {"host": "10.0.0.9", "process": 4125}) == {}
    expected = {"highest": 6650, "lowest": 6648, "behind": [2, 5], "operation": "AllReduce"}
    assert holds(behind, {**expected, "host": "10.0.0.9"}) == {}
    assert status.fields["statuses"] == ["INIT"]


def test_where_the_listed_ranks_are_ahead_nobody_is_behind():
    text = REPORT.replace(
        "6 ranks have launched up to operation 6650", "2 ranks have launched up to operation 6650"
    ).replace(
        "2 ranks have launched up to operation 6648", "6 ranks have launched up to operation 6648"
    )
    event = [one for one in read(module, text) if "behind" in one.fields][0]
    assert holds(event, {"behind": [], "listed": [2, 5]}) == {}


def test_a_list_of_missing_ranks_may_have_ranges():
    event = one(
        module,
        "#0-0 (a1b2c3) INCOMPLETE\n  Missing communicator data from 4 ranks\n  The missing ranks: 3,8-10\n",
    )
    assert event.fields["missing"] == [3, 8, 9, 10]


def test_a_report_of_health():
    assert (
        names(
            module,
            "Group # Comms Nodes Ranks Status Errors\n  0  1  2  8  RUNNING  OK\n\nErrors\n------\n\nWarnings\n--------\n",
        )
        == []
    )


def test_cut_off_reports():
    cut_anywhere(module, REPORT[:400])
