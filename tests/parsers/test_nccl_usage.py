from communication import check_table

from diagnose.parsers import nccl_usage as module


def test_pattern_table():
    check_table(module)
