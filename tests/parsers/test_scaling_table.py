"""Tables of throughput by size."""

import pytest
from dialects import records

from diagnose.parsers import scaling_table as dialect


def rows(text):
    found = records(dialect, text, "scaling.csv")
    return [(one.fields["size"], one.fields["unit"], one.fields["per_gpu"]) for one in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gpus,tokens_per_s\n8,80\n64,320\n", [(8, "gpus", 10), (64, "gpus", 5)]),
        ("num_gpus\ttokens_per_s_gpu\n8\t10\n64\t5\n", [(8, "gpus", 10), (64, "gpus", 5)]),
        ("| nodes | samples/s |\n|---|---|\n| 1 | 1,200 |\n| 4 | 2,400 |\n", [(1, "nodes", 1200), (4, "nodes", 600)]),
        ("world_size;throughput\n8;80\n64;320\n", [(8, "gpus", 10), (64, "gpus", 5)]),
        ("gpus,throughput\n8,10\n64,9\n", []),
        ("gpus,tokens_per_s\n8,80\n64,n/a\n", [(8, "gpus", 10)]),
        ("gpus,tokens_per_s\n", []),
        ("gpus,tokens_per_s\n8,80\n64", [(8, "gpus", 10)]),
    ],
    ids=["of the job", "of one GPU", "Markdown", "grows", "does not tell", "no number", "empty", "cut off"],
)  # fmt: skip
def test_sizes_and_the_throughput_of_one(text, expected):
    assert rows(text) == expected


@pytest.mark.parametrize(
    "text",
    ["step,gpus,tokens_per_s\n1,8,80\n", "gpus,memory\n8,80\n", "8 gpus, tokens_per_s\n", "rank,gpu,host\n0,1,a\n"],
    ids=["a log of steps", "no throughput", "no header", "no throughput of ranks"],
)  # fmt: skip
def test_other_tables_are_left_alone(text):
    assert not dialect.accepts("t.csv", text.encode())
