"""Kernel messages on the host itself: PCIe, memory and processor errors, crashes.

::

    pcieport 0000:5a:01.0: DPC: containment event, status:0x1f01 source:0x0000
    EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0)

They stand in dmesg, ``journalctl -k`` and /var/log/messages. The host comes from the line's prefix or
the name of the source. Process ids are the host's; training logs in containers print others. What
firmware reports first (``[Hardware Error]``, several lines) is ``kernel.mce`` with its ``section``:
memory, pcie, processor or other.

*Empty*: nothing was reported, which proves nothing: many hangs log no line, and dmesg may begin
after the event. *Cut off*: a line cut short keeps what stands before the cut.
"""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import (
    BlockParser,
    Convert,
    LineParser,
    Note,
    Pattern,
    Record,
    make_event,
)
from diagnose.parsers.convert import pci

_PCI = r"(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\.[0-7])?"
_LINUX = "Linux 5.4 to 6.12"

_SEVERITIES = {"corr": "corrected", "unco": "nonfatal"}


def _severity(text: str) -> str:
    """Return corrected, nonfatal or fatal; Linux 6.12 says Correctable and Uncorrectable."""
    if "(Fatal)" in text or text.lower() == "fatal":
        return "fatal"
    return _SEVERITIES.get(text.lower()[:4], "nonfatal")


def _complete_host(event: Event, line: Line) -> Event:
    if event.name == "kernel.pcie_aer":
        if event.fields.get("driver") == "nvidia":
            event.gpu = str(event.fields["pci"])
        if event.fields["severity"] == "corrected":
            event.nature = Nature.MEASUREMENT
    if event.name == "kernel.mce":
        event.fields.setdefault("section", "memory" if "EDAC" in line.text else "processor")
    if event.name == "kernel.mce" and "Machine Check Exception" in line.text:
        event.fields["severity"] = "fatal"
    if event.name == "kernel.mce" and event.fields.get("severity") == "corrected":
        event.nature = Nature.MEASUREMENT
    return event


def _host(event: str, regex: str, source: str, sample: str, **constants: str) -> Pattern:
    types: dict[str, Convert] = {"pci": pci, "severity": _severity}
    return Pattern(
        event=event,
        regex=regex,
        nature=Nature.ERROR,
        source=f"{_LINUX}, {source}",
        sample=sample,
        types=types,
        constants=constants,
    )


HOST = LineParser(
    name="kernel-host",
    title="kernel lines on PCIe, processors, memory and crashes",
    patterns=(
        _host("kernel.pcie_aer", rf"(?:^|\s)(?P<driver>[\w-]+) (?P<pci>{_PCI}): PCIe Bus Error: severity=(?P<severity>\w+(?: \([\w-]+\))?)(?:, type=(?P<layer>[\w ]+))?",
              "drivers/pci/pcie/aer.c, aer_print_error",
              "nvidia 0000:5d:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Requester ID)"),
        _host("kernel.pcie_aer", rf"AER: (?:Multiple )?(?P<severity>(?:Unc|C)orrect\w+(?: \([\w-]+\))?) error (?:message )?received(?: from |: )(?P<pci>{_PCI})",
              "drivers/pci/pcie/aer.c, aer_print_port_info",
              "pcieport 0000:5a:01.0: AER: Multiple Corrected error message received from 0000:5d:00.0"),
        _host("kernel.pcie_down", rf"pcieport (?P<pci>{_PCI}): (?:pcieport: )?DPC: (?P<message>containment event|unmasked uncorrectable error detected|ERR_FATAL|RP PIO error).*",
              "drivers/pci/pcie/dpc.c",
              "pcieport 0000:5a:01.0: DPC: containment event, status:0x1f01 source:0x0000"),
        _host("kernel.pcie_down", rf"pcieport (?P<pci>{_PCI}): pciehp: Slot\([^)]*\): (?P<message>Link Down|Card not present|Power fault)",
              "drivers/pci/hotplug/pciehp_ctrl.c",
              "pcieport 0000:5a:01.0: pciehp: Slot(7): Link Down"),
        _host("kernel.mce", r"mce: \[Hardware Error\]: (?P<message>CPU \d+: Machine Check.*)",
              "arch/x86/kernel/cpu/mce/core.c",
              "mce: [Hardware Error]: CPU 12: Machine Check: 0 Bank 7: 8c00004000010091", severity="corrected"),
        _host("kernel.mce", r"EDAC MC\d+: \d+ CE (?P<message>.*)", "drivers/edac/edac_mc.c",
              "EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0)", severity="corrected"),
        _host("kernel.mce", r"EDAC MC\d+: \d+ UE (?P<message>.*)", "drivers/edac/edac_mc.c",
              "EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0)", severity="fatal"),
        _host("kernel.panic", r"Kernel panic - not syncing: (?P<message>.*)", "kernel/panic.c",
              "Kernel panic - not syncing: Fatal machine check"),
        _host("kernel.overheated", r"(?P<message>[Cc]ritical temperature reached.*shutting down)", "drivers/thermal/thermal_core.c",
              "thermal thermal_zone0: critical temperature reached (105 C), shutting down"),
        _host("kernel.segfault", r"(?P<process>[^\s\[]+)\[(?P<pid>\d+)\]: segfault at [0-9a-f]+ ip [0-9a-f]+ sp [0-9a-f]+ error \d+(?: in (?P<library>[^\s\[]+))?",
              "arch/x86/mm/fault.c", "python3[812]: segfault at 0 ip 00007f12a4 sp 00007ffd12 error 4 in libnccl.so.2[7f12a0+1000]"),
        _host("kernel.segfault", r"traps: (?P<process>[^\s\[]+)\[(?P<pid>\d+)\] (?P<message>general protection fault|trap invalid opcode)(?:.* in (?P<library>[^\s\[]+))?",
              "arch/x86/kernel/traps.c", "traps: python3[812] trap invalid opcode ip:7f12a4 sp:7ffd12 error:0 in libfoo.so[7f12a0+1000]"),
        _host("kernel.iommu_fault", r"(?P<message>DMAR: \[[^\]]*\] .*fault.*|AMD-Vi: Event logged \[IO_PAGE_FAULT.*)",
              "drivers/iommu", "DMAR: [DMA Write NO_PASID] Request device [1a:00.0] fault addr 0x7f000 [fault reason 0x05]"),
    ),
    refine=_complete_host,
)  # fmt: skip


_FIRMWARE = LazyPattern(r"\[Hardware Error\]: +event severity: (?P<severity>\w+)")
_SECTION = LazyPattern(r"\[Hardware Error\]: +section_type: (?P<section>[\w ,/-]+?)\s*$")
_DEVICE = LazyPattern(rf"\[Hardware Error\]: +device_id: (?P<pci>{_PCI})")
_SECTIONS = (("memory", "memory"), ("pcie", "pcie"), ("processor", "processor"))


def _read_firmware(lines: list[Line]) -> Iterator[Record]:
    head = _FIRMWARE.search(lines[0].text)
    if head is None:
        raise Note("no severity")
    fields: dict[str, Value] = {"severity": _severity(head["severity"]), "section": "other"}
    for line in lines[1:]:
        section, device = _SECTION.search(line.text), _DEVICE.search(line.text)
        if section is not None:
            words = section["section"].lower()
            fields["section"] = next((name for word, name in _SECTIONS if word in words), "other")
            fields["message"] = section["section"]
        elif device is not None:
            fields["pci"] = pci(device["pci"])
    harmless = fields["severity"] == "corrected"
    nature = Nature.MEASUREMENT if harmless else Nature.ERROR
    yield make_event("kernel.mce", nature, lines[0], fields, end_line=lines[-1].number)


FIRMWARE = BlockParser(
    name="kernel-firmware-errors",
    title="kernel: hardware errors that firmware reports first (APEI)",
    opens=("event severity: ",),
    starts=lambda line: _FIRMWARE.search(line.text) is not None,
    ends=lambda lines, following: (
        "[Hardware Error]:" not in following.text or _FIRMWARE.search(following.text) is not None
    ),
    read=_read_firmware,
    emits=("kernel.mce",),
    sample=(
        "{1}[Hardware Error]: event severity: fatal\n"
        "{1}[Hardware Error]:  Error 0, type: fatal\n"
        "{1}[Hardware Error]:   section_type: memory error\n"
    ),
    maximum=60,
)

PARSERS = (HOST, FIRMWARE)
