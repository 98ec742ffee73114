"""Kernel messages of the NVIDIA driver and of NVSwitches.

::

    NVRM: Xid (PCI:0000:5d:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
    nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 12 LTSSM Fault Up

``kernel.xid``, ``kernel.sxid``
    ``code`` and what ``rules/xid.yaml`` and ``rules/sxid.yaml`` say of it: ``title``, ``meaning``,
    ``family``, ``role`` (root, cascade, context, repeated or unknown), ``severity``, ``action``,
    ``cause``, ``reach`` (of a switch error) and ``lasts``. An Xid is a report, not a verdict: one
    of role cascade follows something else. The text behind the number is ``message``; what it
    tells of the fault are the fields ``place``, ``reason``, ``address``, ``engine``, ``access``,
    ``fault``, ``contained``, ``reset``, ``drain``, ``link``, ``remote``, ``unit``, ``subcode``,
    ``hint``, ``function``, ``recovery`` and ``printed`` (the driver's own word, fatal or not),
    each where it is printed. ``previous`` is the Xid that the driver names as the reason, with
    ``previous_title`` and ``previous_cause``.
``kernel.gpu_fell_off``, ``kernel.gpu_init_failed``
    The same loss in words, and a GPU that does not start.
``kernel.nvidia_api_mismatch``
    Over several lines: ``client``, ``client_version`` and ``module_version``.
``kernel.gpu_identity``
    ``uuid`` or ``serial`` of the board that the next Xid is about.

``gpu`` is a PCI address, which NCCL's ``busId`` and nvidia-smi join to a rank. The process ids are the
host's, and may be an innocent caller's. The facts add ``before_job`` in seconds, ``again`` (earlier
incidents of the same number on the same GPU) and ``serial``, and set ``role`` to ``elsewhere`` for a GPU
that the job does not use and to ``past`` for one that was reset before the job began.

*Empty*: nothing was reported, which proves nothing: many hangs log no line, and dmesg may begin
after the event. *Cut off*: a line cut short keeps what stands before the cut.
"""

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, LineParser, Pattern, make_event
from diagnose.parsers.convert import pci
from diagnose.parsers.xid_body import details
from diagnose.parsers.xid_table import Meaning, meaning

_PCI = r"(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\.[0-7])?"
_NVIDIA = "NVIDIA open-gpu-kernel-modules 515 to 595"

NATURES = {
    "cascade": Nature.EFFECT,
    "context": Nature.MEASUREMENT,
    "repeated": Nature.MEASUREMENT,
}
"""By role; any other is an error."""

_ADVICE = LazyPattern(
    r"(?i)\b(?:e\.g|for example|such as|look(?:ing)? for|lines? like|grep|if you see|means|sample)\b|`\s*$"
)
"""Words before a quoted record in a guide or a script."""


_CONTINUED = LazyPattern(r"Severity \d|Data \{")
"""Begins the further lines of one error of a switch, which repeat its number."""


def _complete(event: Event, line: Line) -> Event | None:
    if event.name in ("kernel.xid", "kernel.sxid"):
        begins = "NVRM: Xid (" if event.name == "kernel.xid" else "nvidia-nvswitch"
        if _ADVICE.search(line.text.partition(begins)[0]):
            event.nature = Nature.ADVICE
            return event
    if event.name == "kernel.xid":
        _complete_xid(event)
    elif event.name == "kernel.sxid":
        if _CONTINUED.match(str(event.fields.get("message") or "")):
            return None
        printed, message = (event.fields.get(key) for key in ("printed", "message"))
        text = ", ".join(str(part) for part in (printed, message) if part)
        _explain(event, meaning("sxid", _code(event), text))
        event.fields["printed"] = str(printed).lower() if printed else None
    elif event.name == "kernel.nvidia_module_loaded":
        event.fields["value"] = event.fields["version"]
    return event


def _complete_xid(event: Event) -> None:
    code, message = _code(event), event.fields.get("message")
    process = str(event.fields.get("process") or "").strip("'")
    known = meaning("xid", code, str(message or ""))
    _explain(event, known)
    previous = event.fields.get("previous")
    before = meaning("xid", previous) if isinstance(previous, int) else None
    event.fields |= {
        "process": None if process in ("", "<unknown>") else process,
        "message": message,
        "previous_cause": before.cause if before else None,
        "previous_title": before.title if before else None,
        **details(code, str(message or ""), known),
    }


def _explain(event: Event, known: Meaning) -> None:
    event.fields |= known.values()
    event.nature = NATURES.get(known.role, Nature.ERROR)


def _code(event: Event) -> int:
    code = event.fields["code"]
    assert isinstance(code, int)
    return code


NVIDIA = LineParser(
    name="kernel-nvidia",
    title="kernel lines of the NVIDIA driver and of NVSwitches",
    patterns=(
        Pattern(
            event="kernel.xid",
            regex=rf"NVRM: Xid \((?:PCI:)?(?P<gpu>{_PCI})(?: GPU-I:(?P<gpu_instance>\d+))?(?: GPU-CI:(?P<compute_instance>\d+))?\): (?P<code>\d+)(?:, pid=(?:(?P<pid>\d+)|'?<?\w*>?'?))?(?:, name=(?P<process>[^,]+))?(?:, (?P<message>.*?))?(?: caused by previous Xid (?P<previous>\d+))?$",
            nature=Nature.ERROR,
            source=f"{_NVIDIA}, src/nvidia/arch/nvalloc/unix/src/osapi.c",
            sample="NVRM: Xid (PCI:0000:5d:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
            types={
                "gpu": pci,
                "code": int,
                "previous": int,
                "gpu_instance": int,
                "compute_instance": int,
            },
        ),
        Pattern(
            event="kernel.sxid",
            regex=r"nvidia-nvswitch(?P<switch>\d+): SXid \(PCI:(?P<pci>[0-9A-Fa-f:.]+)\): (?P<code>\d+)(?:, ?(?P<printed>Fatal|Non-fatal))?(?:, (?:Link (?P<link>\d+) ?)?(?P<message>.*))?",
            nature=Nature.ERROR,
            source=f"{_NVIDIA}, src/common/nvswitch/common_nvswitch.h",
            sample="nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 12 LTSSM Fault Up",
            types={"pci": pci, "code": int, "switch": int, "link": int},
        ),
        Pattern(
            event="kernel.gpu_fell_off",
            regex=rf"NVRM: GPU (?:at )?(?:PCI:)?(?P<gpu>{_PCI}): GPU has fallen off the bus",
            nature=Nature.ERROR,
            source=f"{_NVIDIA}, src/nvidia/arch/nvalloc/unix/src/osinit.c",
            sample="NVRM: GPU 0000:5d:00.0: GPU has fallen off the bus.",
            types={"gpu": pci},
            constants={"role": "root", "lasts": True},
        ),
        Pattern(
            event="kernel.gpu_init_failed",
            regex=rf"NVRM: (?:GPU (?P<gpu>{_PCI}): )?(?P<message>RmInitAdapter failed!.*|rm_init_adapter failed.*|No NVIDIA GPU found.*|This PCI I/O region assigned to your NVIDIA device is invalid.*)",
            nature=Nature.ERROR,
            source=f"{_NVIDIA}, src/nvidia/arch/nvalloc/unix/src/osinit.c",
            sample="NVRM: GPU 0000:5d:00.0: RmInitAdapter failed! (0x26:0x65:1474)",
            types={"gpu": pci},
            constants={"role": "root", "lasts": True},
        ),
        Pattern(
            event="kernel.nvlink_discovery_failed",
            regex=r"NVRM: knvlink(?:UpdatePostRxDetectLinkMask|DiscoverPostRxDetLinks)\w*: (?P<message>.*)",
            nature=Nature.MEASUREMENT,
            source=f"{_NVIDIA}, src/nvidia/src/kernel/gpu/nvlink",
            sample="NVRM: knvlinkUpdatePostRxDetectLinkMask_IMPL: Failed to update Rx Detect Link mask!",
        ),
        Pattern(
            event="kernel.gpu_identity",
            regex=rf"NVRM: GPU at PCI:(?P<gpu>{_PCI}): (?P<uuid>GPU-[0-9a-f-]+)",
            nature=Nature.SETTING,
            source=f"{_NVIDIA}, src/nvidia/arch/nvalloc/unix/src/osapi.c, before the first Xid",
            sample="NVRM: GPU at PCI:0000:5d:00: GPU-1f0c0a52-0000-4d4f-8f0e-5f9d7a1b2c3d",
            types={"gpu": pci},
        ),
        Pattern(
            event="kernel.gpu_identity",
            regex=r"NVRM: GPU Board Serial Number: (?P<serial>\w+)",
            nature=Nature.SETTING,
            source=f"{_NVIDIA}, src/nvidia/arch/nvalloc/unix/src/osapi.c, before the first Xid",
            sample="NVRM: GPU Board Serial Number: 1650000000001",
        ),
        Pattern(
            event="kernel.nvidia_module_loaded",
            regex=r"NVRM: loading NVIDIA UNIX .{0,40}Kernel Module .{0,20}?(?P<version>\d{3}\.\d+(?:\.\d+)?)",
            nature=Nature.SETTING,
            source=f"{_NVIDIA}, kernel-open/nvidia/nv.c",
            sample="NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build",
            fact="driver.version",
        ),
        # Calls itself an error, and only says that the process went before its registrations.
        Pattern(
            event="kernel.peermem_freed",
            regex=r"nv_get_p2p_free_callback:\d+ ERROR detected invalid context",
            nature=Nature.TEARDOWN,
            source=f"{_NVIDIA}, kernel-open/nvidia-peermem/nvidia-peermem.c",
            sample="nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing",
        ),
    ),
    refine=_complete,
)


_OLD_FALL = LazyPattern(rf"NVRM: The NVIDIA GPU ({_PCI})")


def _read_fall(lines: list[Line]) -> list[Event]:
    found = _OLD_FALL.search(lines[0].text)
    if found is None or not any("fallen off the bus" in line.text for line in lines):
        return []
    fields: dict[str, Value] = {"gpu": pci(found[1]), "role": "root", "lasts": True}
    return [
        make_event("kernel.gpu_fell_off", Nature.ERROR, lines[0], fields, end_line=lines[-1].number)
    ]


OFF_THE_BUS = BlockParser(
    name="kernel-gpu-off-the-bus",
    title="the driver's older way to say over three lines that a GPU is gone",
    opens=("NVRM: The NVIDIA GPU ",),
    starts=lambda line: _OLD_FALL.search(line.text) is not None,
    ends=lambda lines, following: "fallen off" in lines[-1].text or "NVRM:" not in following.text,
    read=_read_fall,
    emits=("kernel.gpu_fell_off",),
    sample=(
        "NVRM: The NVIDIA GPU 0000:5d:00.0\n"
        "NVRM: (PCI ID: 10de:2330) installed in this system has\n"
        "NVRM: fallen off the bus and is not responding to commands.\n"
    ),
    maximum=4,
)

_MISMATCH = LazyPattern(r"NVRM: API mismatch: (?P<message>.*)")
_CLIENT = LazyPattern(r"the client '?(?P<client>[^' ]+)'? \(pid (?P<pid>\d+)\)")
_CLIENT_HAS = LazyPattern(r"has the version (?P<version>\d[\d.]*\d)")
_MODULE_HAS = LazyPattern(r"NVRM: the version (?P<version>\d[\d.]*\d)")


def _read_mismatch(lines: list[Line]) -> list[Event]:
    said = _MISMATCH.search(lines[0].text)
    if said is None:
        return []
    client = _CLIENT.search(said["message"])
    fields: dict[str, Value] = {
        "message": said["message"],
        **(client.groupdict() if client else {}),
    }
    for name, pattern in (("client_version", _CLIENT_HAS), ("module_version", _MODULE_HAS)):
        found = next((match for line in lines if (match := pattern.search(line.text))), None)
        fields[name] = found["version"] if found else None
    return [
        make_event(
            "kernel.nvidia_api_mismatch", Nature.ERROR, lines[0], fields, end_line=lines[-1].number
        )
    ]


MISMATCH = BlockParser(
    name="kernel-nvidia-mismatch",
    title="a program whose driver library has another version than the loaded module",
    opens=("NVRM: API mismatch: ",),
    starts=lambda line: _MISMATCH.search(line.text) is not None,
    ends=lambda lines, following: "NVRM:" not in following.text or "Xid (" in following.text,
    read=_read_mismatch,
    emits=("kernel.nvidia_api_mismatch",),
    sample=(
        "NVRM: API mismatch: the client 'nvidia-smi' (pid 4711)\n"
        "NVRM: has the version 550.54.15, but this kernel module has\n"
        "NVRM: the version 535.161.08.  Please make sure that this\n"
        "NVRM: kernel module and all NVIDIA driver components\n"
        "NVRM: have the same version.\n"
    ),
    maximum=5,
)

PARSERS = (NVIDIA, OFF_THE_BUS, MISMATCH)
