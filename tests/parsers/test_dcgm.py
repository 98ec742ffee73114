import pytest
from communication import read

from diagnose.parsers import dcgm

DIAG = """\
Successfully ran diagnostic for group.
+---------------------------+------------------------------------------------+
| Diagnostic                | Result                                         |
+===========================+================================================+
|-----  Metadata  ----------+------------------------------------------------|
| DCGM Version              | 4.2.3                                          |
|-----  Deployment  --------+------------------------------------------------|
| software                  | Fail                                           |
|                           | GPU0: Pass                                     |
|                           | GPU3: Fail                                     |
| Warning: GPU3             | GPU 3 had uncorrectable memory errors and row  |
|                           |  remapping failed. Run a field diagnostic on   |
|                           | the GPU.                                       |
+-----  Hardware  ----------+------------------------------------------------+
| memory                    | Skip                                           |
+-----  Integration  -------+------------------------------------------------+
| pcie                      | Pass                                           |
|                           | GPU0: Pass                                     |
+---------------------------+------------------------------------------------+
"""


def findings(text):
    return [event for event in read(dcgm, text) if event.name == "dcgm.finding"]


def results_of(text):
    return {e.fields["test"]: e.fields for e in read(dcgm, text) if e.name == "dcgm.test"}


def test_a_message_cut_over_three_rows_is_one_finding():
    (event,) = findings(DIAG)
    assert (event.fields["what"], event.gpu, event.line) == ("memory", "3", 11)


def test_results_name_the_gpus_that_failed():
    results = results_of(DIAG)
    assert results["software"] == {"test": "software", "result": "Fail", "gpus": [3]}
    assert (results["memory"]["result"], results["pcie"]["gpus"]) == ("Skip", [])


def test_results_of_older_releases():
    text = (
        "| Diagnostic                | Result                                         |\n"
        "| PCIe                      | Fail - GPUs: 3, 5                              |\n"
        "| Memory Bandwidth          | Pass - All                                     |\n"
    )
    assert results_of(text)["PCIe"]["gpus"] == [3, 5]
    assert results_of(text)["Memory Bandwidth"]["result"] == "Pass"


def test_a_cut_that_falls_on_a_space():
    row = "| Warning: GPU3             | {:<46} |\n"
    more = "|                           | {:<46} |\n"
    text = "GPU 3 is running at PCI link width 8X, which is below the minimum allowed link width of 16 (parameter 'min_pci_width')"
    parts = [text[at : at + 45] for at in range(0, len(text), 45)]
    table = "| Diagnostic                | Result                                         |\n"
    table += row.format(parts[0]) + "".join(more.format(part) for part in parts[1:])
    (event,) = findings(table)
    assert (event.fields["what"], event.fields["value"], event.fields["limit"]) == ("pcie", 8, 16)


def test_a_short_message_is_found_once():
    table = (
        "| Diagnostic                | Result                                         |\n"
        "| nvlink                    | Fail                                           |\n"
        "| Warning: GPU3             | GPU 3's NvLink link 7 is currently down        |\n"
    )
    (event,) = findings(table)
    assert (event.fields["what"], event.fields["link"]) == ("nvlink", "7")


def test_a_health_report():
    text = (
        "| Health Monitor Report                                                                |\n"
        "|       -> NVLINK system    | Failure                                                  |\n"
        "|                           | GPU 3's NvLink link 7 is currently down                  |\n"
    )
    (event,) = findings(text)
    assert (event.fields["what"], event.gpu) == ("nvlink", "3")


@pytest.mark.parametrize("pattern", dcgm.MESSAGES, ids=lambda one: one.sample[:40])
def test_each_message_alone(pattern):
    kinds = [event.fields["what"] for event in findings(pattern.sample + "\n")]
    assert pattern.constants["what"] in kinds


def test_a_table_cut_off_in_a_message():
    table = DIAG.partition(" remapping failed")[0]
    assert findings(table) == []
    assert results_of(table)["software"]["result"] == "Fail"


def test_healthy_words_are_no_finding():
    assert findings("| Overall Health            | Healthy    |\n") == []
    assert findings("Error: Health watches not enabled. Please enable watches.\n") == []
