import pytest

from diagnose.ingest.pattern import problems
from diagnose.model.event import Line, Nature
from diagnose.parsers.base import LineParser
from diagnose.parsers.kernel import OFF_THE_BUS, PARSERS

LINE_PARSERS = [parser for parser in PARSERS if isinstance(parser, LineParser)]
PATTERNS = [pattern for parser in LINE_PARSERS for pattern in parser.patterns]


def read(text):
    line = Line("dmesg.txt", 1, text, text, host="node-07")
    found = []
    for parser in LINE_PARSERS:
        for pattern in parser.patterns:
            event = pattern.match(line)
            event = event and (parser.refine(event, line) if parser.refine else event)
            if event:
                found.append(event)
    return found


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda one: one.sample[:50])
def test_samples_match_and_patterns_are_safe(pattern):
    assert problems(pattern.regex) == []
    assert any(literal in pattern.sample for literal in pattern.required)
    assert pattern.event in [event.name for event in read(pattern.sample)]
    assert all(event.host == "node-07" for event in read(pattern.sample))


@pytest.mark.parametrize(
    ("text", "code", "gpu", "pid", "process", "message", "nature"),
    [
        ("NVRM: Xid (PCI:0000:5d:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.", 79, "0000:5d:00.0", None, None, "GPU has fallen off the bus.", Nature.ERROR),
        ("NVRM: Xid (PCI:0000:5d:00): 31, pid=4711, name=python3, Ch 0000001c, intr 00000000. MMU Fault: ENGINE GRAPHICS", 31, "0000:5d:00.0", 4711, "python3", "Ch 0000001c, intr 00000000. MMU Fault: ENGINE GRAPHICS", Nature.ERROR),
        ("NVRM: Xid (PCI:0000:5d:00): 45, pid=4711, name=python3, channel 0x00000015 caused by previous Xid 31", 45, "0000:5d:00.0", 4711, "python3", "channel 0x00000015", Nature.EFFECT),
        ("NVRM: Xid (0000:03:00): 14, foo", 14, "0000:03:00.0", None, None, "foo", Nature.ERROR),
        ("NVRM: Xid (PCI:0000:c1:00 GPU-I:05 GPU-CI:00): 94, pid=7, name=python, Contained: SM (0x1). RST: No, D-RST: No", 94, "0000:c1:00.0", 7, "python", "Contained: SM (0x1). RST: No, D-RST: No", Nature.ERROR),
        ("NVRM: Xid (PCI:0000:5d:00): 48", 48, "0000:5d:00.0", None, None, None, Nature.ERROR),
        ("[  812.4] NVRM: Xid (PCI:0001:5d:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)", 154, "0001:5d:00.0", None, None, "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)", Nature.EFFECT),
    ],
)  # fmt: skip
def test_xid(text, code, gpu, pid, process, message, nature):
    (event,) = [one for one in read(text) if one.name == "kernel.xid"]
    found = event.fields["code"], event.gpu, event.pid, event.fields["process"]
    assert found == (code, gpu, pid, process)
    assert event.fields["message"] == message
    assert event.nature is nature


def test_oom_kill_says_whose_memory_ran_out():
    (kill,) = read(
        "Out of memory: Killed process 12 (python3) total-vm:100kB, anon-rss:50kB, file-rss:0kB, shmem-rss:4kB, UID:0"
    )
    assert kill.fields["constraint"] == "none"
    assert kill.fields["anon_rss"] == 50 << 10
    assert kill.pid == 12
    (old,) = read(
        "Memory cgroup out of memory: Kill process 812 (python) score 987 or sacrifice child"
    )
    assert old.fields["constraint"] == "memcg"
    assert old.fields["anon_rss"] is None
    (cut,) = read("Memory cgroup out of memory: Killed process 812 (python) total-vm:24")
    assert cut.fields["process"] == "python"


@pytest.mark.parametrize(
    ("text", "state", "nic"),
    [
        ("mlx5_core 0000:1a:00.0 ens1np0: Link down", "down", "ens1np0"),
        ("mlx5_core 0000:1a:00.0 mlx5_2: Link up", "up", "mlx5_2"),
        ("mlx5_core 0000:5e:00.0: print_health_info:484:(pid 0): Health issue observed, firmware internal error, severity(3) ERROR:", "health", None),
        ("mlx5_core 0000:5e:00.0: poll_health:955:(pid 0): device's health compromised - reached miss count", "health", None),
    ],
)  # fmt: skip
def test_adapter(text, state, nic):
    (event,) = read(text)
    assert (event.fields["state"], event.nic) == (state, nic)


@pytest.mark.parametrize(
    ("text", "severity", "nature"),
    [
        ("pcieport 0000:5a:01.0: AER: Correctable error message received from 0000:5d:00.0", "corrected", Nature.MEASUREMENT),
        ("pcieport 0000:5a:01.0: AER: Uncorrected (Fatal) error received: 0000:5d:00.0", "fatal", Nature.ERROR),
        ("nvidia 0000:5d:00.0: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), type=Transaction Layer, (Requester ID)", "nonfatal", Nature.ERROR),
        ("mlx5_core 0000:1a:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)", "corrected", Nature.MEASUREMENT),
    ],
)  # fmt: skip
def test_pcie(text, severity, nature):
    (event,) = read(text)
    assert event.name == "kernel.pcie_aer"
    assert (event.fields["severity"], event.nature) == (severity, nature)


@pytest.mark.parametrize(
    ("text", "name", "fields"),
    [
        ("INFO: task ray::IDLE:81234 blocked for more than 120 seconds.", "kernel.hung_task", {"process": "ray::IDLE", "seconds": 120}),
        ("mce: [Hardware Error]: CPU 1: Machine Check Exception: 5 Bank 3: be00000000800400", "kernel.mce", {"severity": "fatal"}),
        ("nfs: server 10.0.3.4 not responding, timed out", "kernel.nfs_not_responding", {"server": "10.0.3.4"}),
        ("nvme nvme2: I/O tag 123 (007b) opcode 0x2 (Read) QID 4 timeout, aborting req_op:READ(0) size:131072", "kernel.fs_error", {"device": "nvme2"}),
        ("NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.161.08  Tue Mar 19", "kernel.nvidia_module_loaded", {"version": "535.161.08"}),
    ],
)  # fmt: skip
def test_other_lines(text, name, fields):
    (event,) = read(text)
    assert event.name == name
    assert {key: event.fields[key] for key in fields} == fields


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mlx5_core 0000:1a:00.0: firmware version: 28.41.1000",
        "NVRM: GPU at PCI:0000:5d:00: GPU-1f0c2a",
        "nvidia-nvlink: Nvlink Core is being initialized",
        "EXT4-fs (sda1): mounted filesystem with ordered data mode",
        "NVRM: Xid (PCI:",
        "if the kernel logs Xid 79 the GPU has fallen off the bus",
    ],
)
def test_near_misses(text):
    assert read(text) == []


def test_a_gpu_gone_over_three_lines():
    lines = [Line("d", n, text, text) for n, text in enumerate(OFF_THE_BUS.sample.splitlines(), 1)]
    assert OFF_THE_BUS.starts(lines[0])
    assert not OFF_THE_BUS.ends(lines[:2], lines[2])
    (event,) = OFF_THE_BUS.read(lines)
    assert (event.gpu, event.end_line) == ("0000:5d:00.0", 3)
    assert OFF_THE_BUS.read(lines[:2]) == []


@pytest.mark.parametrize(
    ("text", "severity", "link", "nature"),
    [
        ("NVRM: Xid (PCI:0000:5d:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 05 (0x025125c6)", "fatal", 5, Nature.ERROR),
        ("NVRM: Xid (PCI:0000:5d:00): 145, RLW_REMAP  Nonfatal  XC0 i0 Link 16 (0x4)", "nonfatal", 16, Nature.MEASUREMENT),
        ("NVRM: Xid (PCI:0000:5d:00): 150", None, None, Nature.ERROR),
    ],
)  # fmt: skip
def test_nvlink_events_say_how_bad_they_are(text, severity, link, nature):
    (event,) = read(text)
    assert (event.fields["severity"], event.fields["link"], event.nature) == (
        severity,
        link,
        nature,
    )


@pytest.mark.parametrize(
    ("rest", "nature"),
    [
        ("22013, Fatal, Link 31 Minion Link DLREQ interrupt", Nature.ERROR),
        ("19055, Non-fatal, Link 16 AN1 route RAM single-bit ECC", Nature.MEASUREMENT),
        ("12028, Non-fatal, Link 46 egress non-posted PRIV error", Nature.ERROR),
        ("24007", Nature.ERROR),
    ],
)
def test_corrected_errors_of_a_switch_are_no_fault(rest, nature):
    (event,) = read(f"nvidia-nvswitch3: SXid (PCI:0000:07:00.0): {rest}")
    assert event.nature is nature


@pytest.mark.parametrize(
    ("text", "what", "gpu"),
    [
        ("amdgpu 0000:c1:00.0: amdgpu: ring sdma0 timeout, signaled seq=123, emitted seq=125", "ring-timeout", "0000:c1:00.0"),
        ("[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx_0.0.0 timeout, signaled seq=1, emitted seq=2", "ring-timeout", None),
        ("amdgpu 0000:c1:00.0: amdgpu: ring gfx_0.0.0 timeout, but soft recovered", "soft-recovered", "0000:c1:00.0"),
        ("amdgpu 0000:c1:00.0: amdgpu: GPU reset begin!", "reset", "0000:c1:00.0"),
        ("amdgpu 0000:c1:00.0: amdgpu: GPU reset(2) failed", "reset-failed", "0000:c1:00.0"),
    ],
)  # fmt: skip
def test_the_amd_driver(text, what, gpu):
    (event,) = read(text)
    assert (event.name, event.fields["what"], event.gpu) == ("kernel.amdgpu", what, gpu)


def test_an_amd_reset_that_went_well_is_no_event():
    assert read("amdgpu 0000:c1:00.0: amdgpu: GPU reset(2) succeeded!") == []
