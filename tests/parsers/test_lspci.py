import pytest

from diagnose.model.event import Line, Nature
from diagnose.parsers.lspci import PARSERS

LSPCI = PARSERS[0]
GPU = "5d:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)"
CAPABLE = "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported"


def links(*texts):
    """Return the links in lines that go through the parser as the reader does it."""
    found, block = [], []
    for number, text in enumerate([*texts, "."], 1):
        line = Line("lspci.txt", number, text, text, host="node-07")
        if block and LSPCI.ends(block, line):
            found.extend(LSPCI.read(block))
            block = []
        if block:
            block.append(line)
        elif any(literal in text for literal in LSPCI.opens) and LSPCI.starts(line):
            block = [line]
    return found


def test_the_sample_is_a_gpu_with_half_its_lanes():
    link, access = links(*LSPCI.sample.splitlines())
    assert access.fields["checks"] == []
    assert link.gpu == "0000:5d:00.0"
    assert link.nature is Nature.MEASUREMENT
    wanted = {
        "kind": "gpu", "speed": 16.0, "speed_max": 32.0, "width": 8, "width_max": 16,
        "narrow": True, "slow": True, "payload": 256, "read_request": 4096, "errors": ["CorrErr"],
    }  # fmt: skip
    assert {name: link.fields[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("state", "narrow", "slow"),
    [
        ("\t\tLnkSta:\tSpeed 32GT/s, Width x16", False, False),
        ("\t\tLnkSta:\tSpeed 32GT/s (ok), Width x16 (ok)", False, False),
        ("\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x16 (ok)", False, True),
        ("\t\tLnkSta:\tSpeed 32GT/s, Width x4", True, False),
        ("\t\tLnkSta:\tSpeed 32GT/s, Width x4\r", True, False),
    ],
)
def test_spellings_of_old_and_new_tools(state, narrow, slow):
    (link,) = links(GPU, CAPABLE, state)
    assert (link.fields["narrow"], link.fields["slow"]) == (narrow, slow)


@pytest.mark.parametrize(
    ("device", "kind"),
    [
        (GPU.replace("3D controller", "3D controller [0302]"), "gpu"),
        ("0000:1a:00.0 Infiniband controller: Mellanox Technologies MT2910 [ConnectX-7]", "nic"),
        ("1a:00.0 Ethernet controller: Intel Corporation I350 Gigabit", "other"),
        ("5a:01.0 PCI bridge: NVIDIA Corporation Device 1234", "bridge"),
        ("c6:00.0 Bridge: NVIDIA Corporation GH100 [H100 NVSwitch] (rev a1)", "bridge"),
        ("6b:00.0 Co-processor: Intel Corporation Device 4940 (rev 40)", "other"),
        ("01:00.0 Non-Volatile memory controller: Samsung PM9A3", "other"),
    ],
)
def test_kinds_of_devices(device, kind):
    (link,) = links(device, CAPABLE, "\t\tLnkSta:\tSpeed 16GT/s, Width x8 (downgraded)")
    assert link.fields["kind"] == kind


def test_each_device_has_its_own_link():
    state = "\t\tLnkSta:\tSpeed 32GT/s, Width x{}"
    second = GPU.replace("5d:", "9a:")
    found = links(GPU, CAPABLE, state.format(16), second, CAPABLE, state.format(8))
    assert [(one.gpu, one.fields["narrow"]) for one in found] == [
        ("0000:5d:00.0", False),
        ("0000:9a:00.0", True),
    ]


def test_the_line_of_the_link_alone():
    (link,) = links("\t\tLnkSta:\tSpeed 16GT/s, Width x8 (downgraded)")
    assert (link.fields["kind"], link.fields["width_max"], link.fields["narrow"]) == (
        None, None, True,
    )  # fmt: skip


@pytest.mark.parametrize(
    "texts", [(GPU,), (GPU, CAPABLE), (GPU, CAPABLE, "\t\tLnkSta:\tSpeed 16G"), ("",)]
)
def test_a_device_that_is_cut_off_gives_nothing(texts):
    assert links(*texts) == []


BRIDGE = (
    "99:00.0 PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch (rev b0)",
    "\tBus: primary=98, secondary=9a, subordinate=9b, sec-latency=0",
    "\tCapabilities: [68] Express (v2) Downstream Port (Slot+), MSI 00",
    "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-",
)


def test_a_bridge_that_sends_requests_up():
    (access,) = links(*BRIDGE)
    wanted = {
        "kind": "bridge", "pci": "0000:99:00.0", "port": "Downstream", "secondary": 0x9A,
        "subordinate": 0x9B, "redirects": True,
        "checks": ["SrcValid", "ReqRedir", "CmpltRedir", "UpstreamFwd"],
    }  # fmt: skip
    assert {name: access.fields[name] for name in wanted} == wanted


def test_the_lines_of_access_control_alone():
    off = BRIDGE[3].replace("+", "-")
    assert [one.fields["redirects"] for one in links(BRIDGE[3], off, BRIDGE[3])] == [
        True, False, True,
    ]  # fmt: skip


@pytest.mark.parametrize("change", [str.lstrip, lambda line: "    " + line])
def test_lost_and_added_blanks(change):
    texts = [GPU, "\tKernel driver in use: nvidia", CAPABLE, "\t\tLnkSta:\tSpeed 32GT/s, Width x8", *BRIDGE]  # fmt: skip
    link, access = links(*map(change, texts))
    assert (link.gpu, link.fields["narrow"]) == ("0000:5d:00.0", True)
    assert (access.fields["pci"], access.fields["redirects"]) == ("0000:99:00.0", True)
