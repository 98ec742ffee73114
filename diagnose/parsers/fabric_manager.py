"""The NVSwitch fabric manager: its own log and what systemd says of its service.

::

    [Sep 14 2026 04:38:40] [ERROR] [tid 2217] detected NVSwitch fatal error 20034 on fid 0 on NVSwitch pci bus id 00000000:07:00.0 physical id 1 port 12

``fabric.switch_error``
    ``code``, ``printed`` (fatal or non-fatal), ``pci``, ``switch`` (physical id) and ``link`` (the port), with
    ``title``, ``meaning``, ``role``, ``cause``, ``action``, ``reach``, ``before_job`` and the other words of
    ``kernel.sxid``.
``fabric.failed``
    The service cannot do its work; ``what`` says why: ``topology`` (switches missing), ``version``
    (``manager`` and ``driver`` differ), ``multicast`` (a GPU is not in the group that it should be in),
    ``service`` (systemd saw it end).
``fabric.service``
    ``state`` as systemd shows it: active, inactive or failed.
``fabric.no_switch``
    The machine has no NVSwitch, and the service nothing to do.

*Empty*: no fault. *Cut off*: a line cut short keeps what stands before the cut.
"""

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature
from diagnose.parsers.base import BlockParser, LineParser, Pattern, make_event
from diagnose.parsers.convert import pci
from diagnose.parsers.xid_table import meaning

_MANAGER = "NVIDIA Fabric Manager 470 to 580, fabricmanager.log"
_CONTEXT = {"context": Nature.MEASUREMENT, "cascade": Nature.EFFECT}


def _complete(event: Event, line: Line) -> Event:
    code = event.fields.get("code")
    if isinstance(code, int):
        known = meaning("sxid", code, str(event.fields["printed"]).capitalize())
        event.fields |= known.values()
        event.nature = _CONTEXT.get(known.role, Nature.ERROR)
    return event


def _failed(what: str, regex: str, source: str, sample: str) -> Pattern:
    return Pattern(
        event="fabric.failed",
        regex=regex,
        nature=Nature.ERROR,
        source=source,
        sample=sample,
        constants={"what": what},
    )


LOG = LineParser(
    name="fabric-manager",
    title="the log of the NVSwitch fabric manager",
    patterns=(
        Pattern(
            event="fabric.switch_error",
            regex=r"detected NVSwitch (?P<printed>fatal|non-fatal) error (?P<code>\d+) on (?:fid \d+ on )?NVSwitch pci bus id (?P<pci>[0-9A-Fa-f:.]+)(?: physical id (?P<switch>\d+))?(?: port (?P<link>\d+))?",
            nature=Nature.ERROR,
            source=_MANAGER,
            sample="[Sep 14 2026 04:38:40] [ERROR] [tid 2217] detected NVSwitch fatal error 20034 on fid 0 on NVSwitch pci bus id 00000000:07:00.0 physical id 1 port 12",
            types={"code": int, "pci": pci, "switch": int, "link": int},
        ),
        _failed("topology", "detected number of NVSwitches don't match with any supported system topology", _MANAGER,
                "[Sep 14 2026 04:38:40] [ERROR] [tid 2217] detected number of NVSwitches don't match with any supported system topology, aborting fabric manager"),
        _failed("version", r"driver interface version (?P<manager>\d[\d.]*) (?:don.t|does not|doesn.t) match with driver version (?P<driver>\d[\d.]*)", _MANAGER,
                "fabric manager NVIDIA GPU driver interface version 570.124.06 don't match with driver version 570.86.15. Please update with matching NVIDIA driver package."),
        _failed("multicast", r"failed to find the GPU handle (?P<handle>\d+) in the multicast team request", _MANAGER,
                "[Sep 14 2026 04:38:40] [ERROR] [tid 2217] failed to find the GPU handle 12 in the multicast team request setup 7."),
        _failed("service", r"nvidia-fabricmanager\.service: (?P<message>Failed with result|Main process exited).*", "systemd 245 and later",
                "systemd[1]: nvidia-fabricmanager.service: Failed with result 'exit-code'."),
        Pattern(
            event="fabric.no_switch",
            regex=r"NV_WARN_NOTHING_TO_DO",
            nature=Nature.SETTING,
            source=_MANAGER,
            sample="request to query NVSwitch device information from NVSwitch driver failed with error:WARNING Nothing to do [NV_WARN_NOTHING_TO_DO]",
        ),
    ),
    refine=_complete,
)  # fmt: skip

_UNIT = LazyPattern(r"nvidia-fabricmanager\.service - ")
_ACTIVE = LazyPattern(r"^\s*Active: (?P<state>\w+)(?: \((?P<result>[^)]*)\))?")


def _read(lines: list[Line]) -> list[Event]:
    for line in lines:
        found = _ACTIVE.match(line.text)
        if found is not None:
            nature = Nature.ERROR if found["state"] in ("failed", "inactive") else Nature.SETTING
            return [
                make_event("fabric.service", nature, line, found.groupdict(), end_line=line.number)
            ]
    return []


SERVICE = BlockParser(
    name="fabric-manager-service",
    title="systemctl status of the fabric manager",
    opens=("nvidia-fabricmanager.service - ",),
    starts=lambda line: _UNIT.search(line.text) is not None,
    ends=lambda lines, following: _ACTIVE.match(lines[-1].text) is not None,
    read=_read,
    emits=("fabric.service",),
    sample=(
        "● nvidia-fabricmanager.service - NVIDIA fabric manager service\n"
        "     Loaded: loaded (/lib/systemd/system/nvidia-fabricmanager.service; enabled)\n"
        "     Active: failed (Result: exit-code) since Thu 2026-01-08 07:12:40 UTC; 9s ago\n"
    ),
    maximum=8,
)

PARSERS = (LOG, SERVICE)
