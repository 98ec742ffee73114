"""When hosts start and stop: boots, shutdowns, notices of a cloud, power and cooling.

::

    Sep 14 04:58:45 node-07 kernel: Linux version 6.1.0-21-amd64 (builder@build) #1 SMP
    Sep 14 04:48:45 node-07 systemd-logind[812]: The system is going down for reboot NOW!
    {"action":"terminate","time":"2026-09-14T04:50:00Z"}
       1 | 09/14/2026 | 04:48:45 | Power Supply PSU2 | Power Supply AC lost | Asserted

``host.boot`` is the first line of a kernel; only a stamped one counts, for programs print
/proc/version as well. ``host.shutdown`` is an orderly end, which a crash does not have. Neither is
an error by itself, nor is ``host.sensor``: every kernel log begins with a boot. The facts
add ``after_start`` and ``silence``, which tell whether these and ``host.sensor`` fall into the job.
``host.notice`` comes from the provider before it takes a machine: ``action`` is terminate, stop,
hibernate, preempt, reboot or redeploy. ``host.sensor`` is a line of the management controller's log.
``ACPI: Power Button`` is printed at every boot and is not read.

*Empty*: nothing was started or stopped, or the logs begin later. *Cut off*: a line cut short gives
nothing.
"""

from diagnose.ingest.stamp import parse_stamp
from diagnose.model.event import Event, Line, Nature
from diagnose.parsers.base import LineParser, Pattern
from diagnose.parsers.convert import short_host

_CLOUD = "seen in logs of the provider's agents; wording not from source"


def _complete(event: Event, line: Line) -> Event | None:
    if event.name == "host.boot" and line.time is None:
        return None
    if event.name in ("host.boot", "host.shutdown"):
        event.fields["role"] = "root"
    if event.name == "host.notice":
        event.fields["action"] = str(event.fields.get("action", "preempt")).lower()
    if event.name == "host.sensor" and not line.text.rstrip().endswith("| Asserted"):
        return None
    if event.name == "host.sensor":
        fields = event.fields
        month, day, year = str(fields.pop("date")).split("/")
        stamp = parse_stamp(f"{year}-{month}-{day} {fields.pop('clock_time')}")
        if stamp is not None:
            event.time, event.clock = stamp
        fields |= {"role": "root", "sensor": str(fields["sensor"]).strip()}
    return event


def _notice(provider: str, regex: str, sample: str, nature: Nature = Nature.ERROR) -> Pattern:
    return Pattern(
        event="host.notice",
        regex=regex,
        nature=nature,
        source=f"{provider}: {_CLOUD}",
        sample=sample,
        types={"host": short_host},
        constants={"provider": provider},
    )


LIFECYCLE = LineParser(
    name="host-lifecycle",
    title="boots, shutdowns, notices and power of hosts",
    patterns=(
        Pattern(
            event="host.boot",
            regex=r"^Linux version (?P<release>\d\S*) \(",
            nature=Nature.MEASUREMENT,
            source="Linux 2.6 to 6.12, init/version.c: the first line of a boot",
            sample="Linux version 6.1.0-21-amd64 (builder@build) (gcc-12) #1 SMP",
        ),
        Pattern(
            event="host.shutdown",
            regex=r"[Tt]he system is going down for (?P<action>reboot|power-?off|halt|kexec)\b|^System is (?P<doing>rebooting|powering down)\b|^(?P<does>Powering off|Rebooting)\.\.\.|^(?P<key>Power key pressed)",
            nature=Nature.MEASUREMENT,
            source="systemd 219 to 256, logind and shutdown",
            sample="The system is going down for reboot NOW!",
        ),
        Pattern(
            event="host.shutdown",
            regex=r"^reboot: (?P<action>Restarting system|Power down|System halted)",
            nature=Nature.MEASUREMENT,
            source="Linux 3.x to 6.12, kernel/reboot.c",
            sample="reboot: Restarting system",
        ),
        _notice("AWS", r'"action": ?"(?P<action>terminate|stop|hibernate)", ?"time": ?"(?P<at>[\dT:Z-]+)"',
                '{"action":"terminate","time":"2026-09-14T04:50:00Z"}'),
        _notice("AWS", r"\b[Ss]pot ITN\b|[Ss]pot (?:instance )?(?:interruption|termination) notice|\bSPOT_ITN\b",
                "2026-09-14T04:48:45Z WRN Spot ITN received. Instance will be interrupted at 2026-09-14T04:50:00Z"),
        _notice("AWS", r"[Rr]ebalance [Rr]ecommendation",
                "Received rebalance recommendation for the instance", Nature.MEASUREMENT),
        _notice("GCP", r"compute\.instances\.preempted(?: (?P<host>[a-z][\w-]*))?",
                "2026-09-14T04:48:45Z compute.instances.preempted node-07"),
        _notice("Azure", r'"EventType": ?"(?P<action>Preempt|Terminate|Reboot|Redeploy)"',
                '{"EventId":"1","EventType":"Preempt","Resources":["node-07"],"EventStatus":"Scheduled"}'),
        Pattern(
            event="host.sensor",
            regex=r"\| (?P<date>\d\d/\d\d/\d{4}) \| (?P<clock_time>\d\d:\d\d:\d\d)(?: \w+)? \| (?P<sensor>(?:Power Supply|Power Unit|Fan|Cooling|Processor|Temperature)[^|]*)\| (?P<state>[^|]*(?:AC lost|Failure detected|Lower Critical|Lower Non-recoverable|Upper Critical|Upper Non-recoverable|Throttled))",
            nature=Nature.MEASUREMENT,
            source="ipmitool 1.8, sel list and sel elist",
            sample="   1 | 09/14/2026 | 04:48:45 | Power Supply PSU2 | Power Supply AC lost | Asserted",
        ),
    ),
    refine=_complete,
)  # fmt: skip

PARSERS = (LIFECYCLE,)
