import pytest
from communication import read

from diagnose.parsers import nvidia_smi_nvlink

HEAD = "GPU {}: NVIDIA H100 80GB HBM3 (UUID: GPU-1f0c0a52-0000-4d4f-8f0e-5f9d7a1b2c3d)\n"


def states(text):
    names = ("index", "active", "inactive", "unavailable", "errors")
    found = read(nvidia_smi_nvlink, text)
    return [tuple(event.fields[name] for name in names) for event in found]


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        ("\t Link 0: 26.562 GB/s\n\t Link 1: 26.562 GB/s\n", (3, 2, 0, False, None)),
        ("\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n", (3, 1, 1, False, None)),
        ("\t Link 0: Replay Errors: 2\n\t Link 0: CRC Errors: 5\n", (3, None, None, False, 7)),
        ("NVML: Unable to retrieve NVLink information as all links are inActive\n", (3, None, None, True, None)),
    ],
)  # fmt: skip
def test_links(links, expected):
    assert states(HEAD.format(3) + links) == [expected]
    assert states((HEAD.format(3) + links).replace("\n", "\r\n")) == [expected]


def test_the_list_of_gpus_says_nothing_about_links():
    assert states(HEAD.format(0) + HEAD.format(1)) == []


def test_each_gpu_counts_its_own_links():
    text = "".join(HEAD.format(gpu) + "\t Link 0: 25 GB/s\n" * gpu for gpu in (1, 2))
    assert [(index, active) for index, active, *_ in states(text)] == [(1, 1), (2, 2)]


def test_a_message_without_its_gpu():
    text = "NVML: Unable to retrieve NVLink information as all links are inactive\n"
    assert states(text) == [(None, None, None, True, None)]
