import pytest
from communication import check_table, holds, one, read

from diagnose.parsers import nvidia_smi_table

GIB = 1 << 30

OLD = """\
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 418.87.01    Driver Version: 418.87.01    CUDA Version: 10.1     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|===============================+======================+======================|
|   0  Tesla V100-SXM2...  On   | 00000000:1A:00.0 Off |                    0 |
| N/A   34C    P0    55W / 300W |   2048MiB / 16160MiB |      7%      Default |
+-------------------------------+----------------------+----------------------+
|   1  Tesla V100-SXM2...  On   | 00000000:1C:00.0 Off |                    3 |
| N/A   41C    P0    61W / 300W |      0MiB / 16160MiB |      0%      Default |
+-------------------------------+----------------------+----------------------+

+-----------------------------------------------------------------------------+
| Processes:                                                       GPU Memory |
|  GPU       PID   Type   Process name                             Usage      |
|=============================================================================|
|    0      4711      C   /opt/venv/bin/python                        2037MiB |
+-----------------------------------------------------------------------------+
"""

NEW = """\
| NVIDIA-SMI 565.57.01              Driver Version: 565.57.01      CUDA Version: 12.7     |
|   3  NVIDIA H100 80GB HBM3          On  |   00000000:5D:00.0 Off |                    2 |
| N/A   86C    P0            312W /  700W |   78110MiB /  81559MiB |    100%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
|   4  ERR!                           Off |   00000000:9A:00.0 Off |                 ERR! |
|ERR!  ERR! ERR!           ERR!   /  ERR! |       1MiB /  81559MiB |    ERR!      Default |
|                                         |                        |                 ERR! |
+-----------------------------------------+------------------------+----------------------+
| Processes:                                                                              |
|  GPU   GI   CI        PID   Type   Process name                              GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    3   N/A  N/A   2210457      C   /opt/conda/bin/python                        70000MiB |
|    3   N/A  N/A   2210458    M+C   python train.py                                96MiB |
"""


def gpus(text):
    return [event for event in read(nvidia_smi_table, text) if event.name == "nvidia_smi.gpu"]


def test_patterns():
    check_table(nvidia_smi_table)


def test_the_narrow_table():
    first, second = gpus(OLD)
    assert (first.gpu, first.line, first.fields["name"]) == (
        "0000:1a:00.0",
        7,
        "Tesla V100-SXM2...",
    )
    assert first.fields["memory_used"] == 2 * GIB
    assert (first.fields["power"], first.fields["power_cap"], first.fields["perf"]) == (55, 300, 0)
    assert first.fields["processes"] == ["4711 /opt/venv/bin/python"]
    assert (second.fields["ecc_volatile"], second.fields["process_count"]) == (3, 0)


def test_the_wide_table_with_a_gpu_that_does_not_answer():
    good, bad = gpus(NEW)
    assert (good.fields["temperature"], good.fields["utilisation"], good.fields["mig"]) == (
        86, 100, False,
    )  # fmt: skip
    assert good.fields["process_memory"] == 70096 * 2**20
    assert sum(good.fields["process_sizes"]) == 70096 * 2**20
    assert (good.fields["process_count"], good.fields["bad_cells"]) == (2, 0)
    assert bad.fields["bad_cells"] >= 5
    assert bad.fields["temperature"] is None and bad.fields["utilisation"] is None


def test_versions_are_facts():
    facts = {
        event.fact: event.fields["value"] for event in read(nvidia_smi_table, OLD) if event.fact
    }
    assert facts == {"driver.version": "418.87.01", "cuda.driver": "10.1"}


@pytest.mark.parametrize(
    "text",
    [
        OLD.replace("\n", "\r\n"),
        "".join(f"    {line}\n" for line in OLD.splitlines()),
        OLD.split("===|\n", 1)[1],
    ],
)
def test_windows_ends_margins_and_a_table_without_its_head(text):
    assert [event.fields["index"] for event in gpus(text)] == [0, 1]


def test_a_table_that_ends_behind_the_first_line_of_a_gpu():
    (event,) = gpus(OLD.split("| N/A   34C")[0])
    assert event.fields["memory_used"] is None and event.fields["processes"] is None


def test_two_tables_do_not_share_processes():
    again = OLD.replace("4711", "4712").replace("|    0      47", "|    1      47")
    first, second, third, fourth = gpus(f"{OLD}node-07$ nvidia-smi\n{again}")
    assert [one.fields["process_count"] for one in (first, second, third, fourth)] == [1, 0, 0, 1]


def test_no_running_processes_is_an_empty_list():
    text = OLD.replace(
        "|    0      4711      C   /opt/venv/bin/python                        2037MiB |",
        "|  No running processes found                                                 |",
    )
    assert gpus(text)[0].fields["processes"] == []


@pytest.mark.parametrize(
    "text",
    [
        "| Name | Size |\n| a | 12MiB / 14MiB |\n",
        "|  0    1   0   0  |     12MiB / 40192MiB | 98      0 |  7   0    5    1    1 |\n",
        "echo '| NVIDIA-SMI '\n",
    ],
)
def test_other_tables(text):
    assert gpus(text) == []


CROWD = """\
| Processes:                                                       GPU Memory |
|  GPU       PID   Type   Process name                             Usage      |
|=============================================================================|
|    0      9811      C   /opt/venv/bin/python                       12410MiB |
|    0      9812      C   /opt/venv/bin/python                         731MiB |
|    0      9813      C   /opt/venv/bin/python                         731MiB |
|    1      9812      C   /opt/venv/bin/python                       12410MiB |
"""


def test_processes_of_one_program_on_one_gpu_without_the_first_table():
    event = one(nvidia_smi_table, CROWD)
    expected = {
        "index": 0,
        "count": 3,
        "smallest": 731 << 20,
        "largest": 12410 << 20,
        "elsewhere": 1,
    }
    assert event.name == "nvidia_smi.crowd" and holds(event, expected) == {}


def test_one_process_on_each_gpu_is_no_crowd():
    assert read(nvidia_smi_table, CROWD.replace("|    0      981", "|    5      9")[:340]) == []
