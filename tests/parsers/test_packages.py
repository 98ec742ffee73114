import pytest
from communication import check_table, names, read

from diagnose.parsers import packages as module

LISTS = """\
# node-07
numpy==1.26.4
nvidia-nccl-cu12==2.21.5
torch==2.6.0
==> node-08.cluster <==
nvidia-nccl-cu12==2.18.1
node-09:
nvidia-nccl-cu12     2.21.5
"""


def test_table():
    check_table(module)


def test_versions_belong_to_the_heading_above():
    found = [(event.host, event.name, event.fields["value"]) for event in read(module, LISTS)]
    assert found == [
        ("node-07", "nccl.version", "2.21.5"),
        ("node-07", "package.version", "2.6.0"),
        ("node-08", "nccl.version", "2.18.1"),
        ("node-09", "nccl.version", "2.21.5"),
    ]
    assert [event.fact for event in read(module, LISTS)][:2] == ["nccl.version", "torch.version"]
    assert len(read(module, LISTS.replace("\n", "\r\n"))) == 4


@pytest.mark.parametrize(
    "text", ["", "numpy==1.26.4\n", "requires torch>=2.4\n", "torch 2 is needed\n"]
)
def test_other_texts(text):
    assert names(module, text) == []


@pytest.mark.parametrize(
    "heading", ["# node-08", "[node-08]", "== node-08 ==", "---- node-08 ----", "node-08:"]
)
def test_headings(heading):
    (event,) = read(module, f"{heading}\nnvidia-nccl-cu12==2.18.1\n")
    assert event.host == "node-08"


def test_a_launcher_names_the_node_before_each_line():
    text = "node-07: torch==2.6.0\nnode-08: nvidia-cuda-runtime-cu12==12.4.127\n"
    found = [(event.host, event.fact, event.fields["value"]) for event in read(module, text)]
    assert found == [("node-07", "torch.version", "2.6.0"), ("node-08", "cuda.runtime", "12.4.127")]


def test_the_rule_below_the_columns_of_pip_list_is_no_heading():
    text = "# node-07\nPackage  Version\n-------- -------\ntorch    2.6.0\n"
    assert [event.host for event in read(module, text)] == ["node-07"]
