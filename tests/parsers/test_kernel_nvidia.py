"""Lines of the NVIDIA driver: every layout, what their bodies tell, and what only looks like one."""

import pytest
from dialects import events

from diagnose.ingest.pattern import problems
from diagnose.model.event import Line, Nature
from diagnose.parsers import kernel_nvidia
from diagnose.parsers.kernel_nvidia import MISMATCH, NVIDIA, OFF_THE_BUS


def read(text):
    return events(kernel_nvidia, text)


def xid(text):
    (event,) = read(f"NVRM: Xid (PCI:0000:5d:00): {text}")
    return event


@pytest.mark.parametrize("pattern", NVIDIA.patterns, ids=lambda one: one.sample[:50])
def test_samples_match_and_patterns_are_safe(pattern):
    assert problems(pattern.regex) == []
    assert any(literal in pattern.sample for literal in pattern.required)
    assert [event.name for event in read(pattern.sample)] == [pattern.event]


@pytest.mark.parametrize(
    ("text", "code", "gpu", "pid", "process", "message", "nature"),
    [
        ("NVRM: Xid (PCI:0000:5d:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.", 79, "0000:5d:00.0", None, None, "GPU has fallen off the bus.", Nature.ERROR),
        ("NVRM: Xid (PCI:0000:5d:00): 31, pid=4711, name=python3, Ch 0000001c, intr 00000000. MMU Fault: ENGINE GRAPHICS", 31, "0000:5d:00.0", 4711, "python3", "Ch 0000001c, intr 00000000. MMU Fault: ENGINE GRAPHICS", Nature.ERROR),
        ("NVRM: Xid (PCI:0000:5d:00): 45, pid=4711, name=python3, channel 0x00000015 caused by previous Xid 31", 45, "0000:5d:00.0", 4711, "python3", "channel 0x00000015", Nature.EFFECT),
        ("NVRM: Xid (PCI:0000:5d:00): 31, pid=4711, Ch 00000010", 31, "0000:5d:00.0", 4711, None, "Ch 00000010", Nature.ERROR),
        ("NVRM: Xid (PCI:0000:5d:00): 62, 21f40c12 0000e1a0 00000000 2019b7c4", 62, "0000:5d:00.0", None, None, "21f40c12 0000e1a0 00000000 2019b7c4", Nature.ERROR),
        ("NVRM: Xid (0000:03:00): 14, foo", 14, "0000:03:00.0", None, None, "foo", Nature.ERROR),
        ("NVRM: Xid (5d:00): 79, GPU has fallen off the bus.", 79, "0000:5d:00.0", None, None, "GPU has fallen off the bus.", Nature.ERROR),
        ("NVRM: Xid (PCI:00000000:5D:00.0): 79, GPU has fallen off the bus.", 79, "0000:5d:00.0", None, None, "GPU has fallen off the bus.", Nature.ERROR),
        ("NVRM: Xid (PCI:0000:c1:00 GPU-I:05 GPU-CI:00): 94, pid=7, name=python, Contained: SM (0x1). RST: No, D-RST: No", 94, "0000:c1:00.0", 7, "python", "Contained: SM (0x1). RST: No, D-RST: No", Nature.ERROR),
        ("NVRM: Xid (PCI:0000:5d:00): 48", 48, "0000:5d:00.0", None, None, None, Nature.ERROR),
        ("[  812.4] NVRM: Xid (PCI:0001:5d:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)", 154, "0001:5d:00.0", None, None, "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)", Nature.EFFECT),
        ("level=warn msg=\"kmsg NVRM: Xid (PCI:0000:5d:00): 63, pid=7, name=nvidia-smi, Row Remapper: New row marked for remapping, reset gpu to activate.", 63, "0000:5d:00.0", 7, "nvidia-smi", "Row Remapper: New row marked for remapping, reset gpu to activate.", Nature.MEASUREMENT),
    ],
)  # fmt: skip
def test_xid(text, code, gpu, pid, process, message, nature):
    (event,) = [one for one in read(text) if one.name == "kernel.xid"]
    found = event.fields["code"], event.gpu, event.pid, event.fields["process"]
    assert found == (code, gpu, pid, process)
    assert event.fields["message"] == message
    assert event.nature is nature


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("13, pid=7, name=python, Graphics SM Warp Exception on (GPC 1, TPC 3, SM 0): Out Of Range Address", {"place": "GPC 1, TPC 3, SM 0", "reason": "Out Of Range Address"}),
        ("31, pid=7, name=python, Ch 0000001c, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC4 GPCCLIENT_T1_2 faulted @ 0x7f41_5c200000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_WRITE", {"engine": "GRAPHICS", "address": "0x7f41_5c200000", "fault": "FAULT_PDE", "access": "ACCESS_TYPE_VIRT_WRITE"}),
        ("48, pid=7, name=python, An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at physAddr 0xa41c20380 partition 3, subpartition 0.", {"address": "0xa41c20380", "action": "reset-gpu"}),
        ("63, Row Remapper: New row (0x0000000a41c20380) marked for remapping, reset gpu to activate.", {"address": "0x0000000a41c20380", "role": "context"}),
        ("64, Row Remapper Error: (0x00000003d1a07200) - All reserved rows for bank are remapped", {"action": "replace-gpu"}),
        ("74, pid=7, name=python, NVLink: fatal error detected on link 9(0x0, 0x0, 0x20000, 0x0, 0x0, 0x0, 0x0)", {"link": 9, "hint": "repeated"}),
        ("74, NVLink: fatal error detected on link 9(0x2, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", {"link": 9, "hint": "secondary"}),
        ("74, NVLink: fatal error detected on link 9(0x200000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", {"hint": "signal"}),
        ("74, NVLink: fatal error detected on link 9(0x1, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", {"hint": "ignore"}),
        ("74, NVLink: failed to train link 5 to remote PCI:0000:c4:00", {"link": 5, "remote": "0000:c4:00.0"}),
        ("94, Contained: CE User Channel (0x9). RST: No, D-RST: No", {"contained": "Contained", "place": "CE User Channel (0x9)", "reset": "No", "action": "restart-program"}),
        ("94, Contained: SM (0x1). RST: No, D-RST: Yes", {"drain": "Yes", "action": "drain-node"}),
        ("95, Uncontained: LTC TAG (0x2, 0x1). RST: Yes, D-RST: No", {"contained": "Uncontained", "reset": "Yes", "action": "reset-gpu"}),
        ("119, pid=7, name=python, Timeout after 6s of waiting for RPC response from GPU4 GSP! Expected function 103 (GSP_RM_ALLOC) (0x2081 0x4).", {"function": "GSP_RM_ALLOC"}),
        ("136, NVLink: Link training failed for link 4(0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", {"link": 4}),
        ("149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 05 (0x025125c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)", {"unit": "NETIR_LINK_EVT", "printed": "fatal", "link": 5, "subcode": 37, "hint": "peer", "role": "root"}),
        ("149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 05 (0x02a00000 0x00000000)", {"subcode": 42, "hint": "signal"}),
        ("149, NETIR_BER_EVENT  Fatal   XC0 i0 Link 05 (0x00000000 0x00000000)", {"role": "context"}),
        ("145, RLW_REMAP  Fatal  XC0 i0 Link 16 (0x00000004 0x00000002)", {"role": "root", "hint": "peer"}),
        ("145, RLW_REMAP  Fatal  XC0 i0 Link 16 (0x00000004 0x00000040)", {"role": "root", "hint": None}),
        ("145, RLW_SRC_TRACK  Fatal  XC0 i0 Link 16 (0x00000004 0x00000008)", {"role": "root", "hint": "peer"}),
        ("144, SAW_MVB  Fatal  XC0 i0 Link 16 (0x00000004 0x80000000)", {"role": "context"}),
        ("144, SAW_MVB  Fatal  XC0 i0 Link 16 (0x00000004 0x00000001)", {"role": "root", "unit": "SAW_MVB"}),
        ("145, RLW_REMAP  Nonfatal  XC0 i0 Link 16 (0x00000004 0x80000000)", {"printed": "nonfatal", "link": 16, "role": "context", "action": "ignore"}),
        ("154, GPU recovery action changed from 0x2 (Node Reboot Required) to 0x0 (None)", {"recovery": "None", "action": "ignore"}),
        ("154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)", {"recovery": "GPU Reset Required", "action": "reset-gpu"}),
        ("154, GPU recovery action changed from 0x0 (None) to 0x3 (Drain P2P)", {"recovery": "Drain P2P", "action": "drain-node"}),
        ("45, pid=7, name=python, channel 0x00000015 caused by previous Xid 79", {"previous": 79, "previous_cause": "resources.gpu-lost"}),
        ("9999, something of the future", {"role": "unknown", "cause": None}),
    ],
)  # fmt: skip
def test_bodies(text, fields):
    event = xid(text)
    assert {name: event.fields.get(name) for name in fields} == fields


@pytest.mark.parametrize(
    ("rest", "role", "reach"),
    [
        ("22013, Fatal, Link 31 Minion Link DLREQ interrupt", "root", "port"),
        ("22013, Non-fatal, Link 31 Minion Link DLREQ interrupt", "context", "none"),
        ("19055, Non-fatal, Link 16 AN1 route RAM single-bit ECC", "context", "none"),
        ("12028, Non-fatal, Link 46 egress non-posted PRIV error", "root", "port"),
        ("20034, Fatal, Link 12 LTSSM Fault Up", "root", "port"),
        ("20034, Non-fatal, Link 12 LTSSM Fault Up", "context", "none"),
        ("24007", "root", "port"),
        ("23005, Fatal, Link 00 NXBAR fault", "root", "fabric"),
        ("99001, Fatal, Link 00 something of the future", "root", "port"),
        ("99001, Non-fatal, Link 00 something of the future", "context", "none"),
        ("10004, Non-fatal, thermal event start", "context", "none"),
    ],
)  # fmt: skip
def test_errors_of_a_switch(rest, role, reach):
    (event,) = read(f"nvidia-nvswitch3: SXid (PCI:0000:07:00.0): {rest}")
    assert (event.fields["role"], event.fields["reach"]) == (role, reach)
    assert event.nature is (Nature.ERROR if role == "root" else Nature.MEASUREMENT)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nvidia-nvlink: Nvlink Core is being initialized",
        "NVRM: Xid (PCI:",
        "if the kernel logs Xid 79 the GPU has fallen off the bus",
        "dmesg -T | grep 'NVRM: Xid'",
        "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 20034, Severity 1 Engine instance 28",
        "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 20034, Data {0x50610002, 0x10100030}",
        "NVRM: GPU4 GSP RPC buffer contains function 76 (GSP_RM_CONTROL) and data 0x0",
        'DCGM_FI_DEV_XID_ERRORS{gpu="3",pci_bus_id="00000000:5D:00.0",Hostname="node-07"} 79',
    ],
)
def test_near_misses(text):
    assert read(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Look for lines such as NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.",
        "e.g. NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.",
        "a lost GPU prints `NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.",
        "for example nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 12 LTSSM Fault Up",
    ],
)
def test_a_quoted_line_is_advice(text):
    assert {event.nature for event in read(text)} == {Nature.ADVICE}


def lines_of(sample):
    return [Line("dmesg.txt", n, text, text) for n, text in enumerate(sample.splitlines(), 1)]


def test_a_gpu_gone_over_three_lines():
    lines = lines_of(OFF_THE_BUS.sample)
    assert OFF_THE_BUS.starts(lines[0])
    assert not OFF_THE_BUS.ends(lines[:2], lines[2])
    (event,) = OFF_THE_BUS.read(lines)
    assert (event.gpu, event.end_line) == ("0000:5d:00.0", 3)
    assert OFF_THE_BUS.read(lines[:2]) == []


def test_a_library_that_does_not_fit_the_module_gives_both_versions():
    lines = lines_of(MISMATCH.sample)
    assert MISMATCH.starts(lines[0])
    assert not MISMATCH.ends(lines[:2], lines[2])
    (event,) = MISMATCH.read(lines)
    assert event.fields["client"] == "nvidia-smi"
    assert event.fields["client_version"] == "550.54.15"
    assert event.fields["module_version"] == "535.161.08"


def test_a_mismatch_cut_off_behind_its_first_line():
    (event,) = MISMATCH.read(lines_of(MISMATCH.sample)[:1])
    assert event.fields["module_version"] is None
