import pytest
from communication import read as read_all

from diagnose.parsers import nvidia_smi_query


def read(module, text):
    return [event for event in read_all(module, text) if event.name == "nvidia_smi.query"]


def alarms(text):
    return [
        (event.fields["what"], event.fields["key"], event.line)
        for event in read_all(nvidia_smi_query, text)
        if event.name == "nvidia_smi.alarm"
    ]


REPORT = """\
==============NVSMI LOG==============

Timestamp                                 : Mon Sep 14 04:50:12 2026
Driver Version                            : 570.124.06
CUDA Version                              : 12.8

Attached GPUs                             : 2
GPU 00000000:5D:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    MIG Mode
        Current                           : Disabled
        Pending                           : Disabled
    GPU Reset Status
        Reset Required                    : Yes
    GPU Recovery Action                   : Reset
    PCI
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : 4
            Link Width
                Max                       : 16x
                Current                   : 8x
        Replays Since Reset               : 48211
    Clocks Event Reasons
        Idle                              : Not Active
        SW Power Cap                      : Active
        HW Slowdown                       : Active
            HW Thermal Slowdown           : Active
            HW Power Brake Slowdown       : Not Active
        SW Thermal Slowdown               : Not Active
    Clocks Event Reasons Counters
        SW Thermal Slowdown               : 4021 us
    ECC Mode
        Current                           : Enabled
        Pending                           : Enabled
    ECC Errors
        Volatile
            SRAM Uncorrectable Parity     : 0
            DRAM Uncorrectable            : 2
        Aggregate
            SRAM Uncorrectable Parity     : 1
            DRAM Uncorrectable            : 5
            SRAM Threshold Exceeded       : No
    Remapped Rows
        Correctable Error                 : 0
        Uncorrectable Error               : 1
        Pending                           : Yes
        Remapping Failure Occurred        : No
        Bank Remap Availability Histogram
            Max                           : 639 bank(s)
            None                          : 1 bank(s)
    Temperature
        GPU Current Temp                  : 87 C
        GPU T.Limit Temp                  : -1 C
    Retired Pages
        Single Bit ECC                    : N/A
        Pending Page Blacklist            : N/A

GPU 00000000:9A:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Clocks Throttle Reasons
        HW Slowdown                       : Not Active
"""


def test_each_gpu_is_one_event():
    first, second = read(nvidia_smi_query, REPORT)
    assert (first.gpu, first.line, first.end_line) == ("0000:5d:00.0", 8, 58)
    wanted = {
        "reset_required": True, "recovery_action": "Reset", "pcie_width": 8, "pcie_width_max": 16,
        "pcie_generation": 4, "pcie_replays": 48211, "ecc_volatile": 2, "ecc_aggregate": 6,
        "slowdown": ["HW Slowdown", "HW Thermal Slowdown"], "remap_pending": True,
        "remap_failed": False, "banks_exhausted": 1, "temperature": 87.0, "temperature_margin": -1.0,
        "retired_pending": None, "sram_threshold": False,
    }  # fmt: skip
    assert {name: first.fields[name] for name in wanted} == wanted
    assert (second.gpu, second.fields["slowdown"]) == ("0000:9a:00.0", [])
    assert second.fields["ecc_volatile"] is None


def test_a_mode_that_waits_for_a_reboot_is_no_pending_row():
    text = REPORT.replace("        Pending                           : Yes", "", 1)
    assert read(nvidia_smi_query, text)[0].fields["remap_pending"] is None


SECTION = """\
    Remapped Rows
        Correctable Error                 : 1
        Pending                           : Yes
    Clocks Throttle Reasons
        HW Slowdown                       : Active
"""


@pytest.mark.parametrize(
    "text",
    [
        SECTION,
        SECTION.replace("\n", "\r\n"),
        SECTION.lstrip(),
        "\n".join(line.strip() for line in SECTION.split("\n")),
        SECTION.replace("                 :", " :").replace("                       :", " :"),
    ],
)
def test_sections_cut_out_of_a_report(text):
    found = {}
    for event in read(nvidia_smi_query, text):
        found.update({name: value for name, value in event.fields.items() if value is not None})
    assert (found["remap_pending"], found["slowdown"]) == (True, ["HW Slowdown"])


def test_old_gpus_count_double_bit_errors():
    text = (
        "GPU 00000000:06:00.0\n    ECC Errors\n        Volatile\n            Double Bit\n"
        "                Device Memory             : 3\n                Total                     : 3\n"
    )
    assert read(nvidia_smi_query, text)[0].fields["ecc_volatile"] == 3


def test_a_report_cut_off_in_the_middle():
    (event,) = read(nvidia_smi_query, REPORT.split("    ECC Errors")[0])
    assert event.fields["slowdown"] and event.fields["ecc_volatile"] is None


@pytest.mark.parametrize(
    "text", ["GPU 00000000:5D:00.0\n", "see GPU 00000000:5D:00.0 for ECC Errors\n"]
)
def test_nothing_to_read(text):
    assert read(nvidia_smi_query, text) == []


def test_what_follows_the_report_is_not_part_of_it():
    first, second = read(nvidia_smi_query, f"{REPORT}node-07$ date : now\n    Remapped : 3\n")
    assert second.end_line == REPORT.count("\n")


def test_each_alarm_stands_at_its_own_line():
    numbers = {line.strip(): number for number, line in enumerate(REPORT.split("\n"), 1)}
    width = next(number for line, number in numbers.items() if line.endswith(": 8x"))
    found = alarms(REPORT)
    assert [what for what, *_ in found] == [
        "reset_required", "recovery_action", "pcie_width", "slowdown", "slowdown", "ecc_volatile",
        "remap_pending",
    ]  # fmt: skip
    assert ("pcie_width", "Current", width) in found


@pytest.mark.parametrize(
    "text",
    [
        "    Clocks Event Reasons\n        Idle                 : Active\n        SW Power Cap         : Active\n",
        "    ECC Errors\n        Aggregate\n            DRAM Uncorrectable   : 5\n",
        "    GPU Link Info\n        PCIe Generation\n            Max      : 5\n            Current  : 1\n",
        "GPU 00000000:5D:00.0\n    GPU Recovery Action : None\n    MIG Mode\n        Pending : Yes\n",
    ],
)
def test_what_is_normal_is_no_alarm(text):
    assert alarms(text) == []


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("            HW Thermal Slowdown           : Active", ["slowdown"]),
        ("        Reset Required                    : Yes", ["reset_required"]),
        ("Pending Page Blacklist : Yes", ["retired_pending"]),
        ("        HW Thermal Slowdown               : 4021 us", []),
        ("        HW Slowdown                       : Not Active", []),
        ("HW Slowdown was Active", []),
    ],
)
def test_a_line_that_says_enough_alone(line, what):
    assert [found for found, *_ in alarms(f"{line}\n")] == what


def test_the_section_of_the_fabric_alone():
    text = "    Fabric\n        State       : In Progress\n        Status      : N/A\n"
    (event,) = read(nvidia_smi_query, text)
    assert event.fields["fabric_state"] == "In Progress"
