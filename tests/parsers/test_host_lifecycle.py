import pytest
from communication import names, one

from diagnose.model.event import Clock, Nature
from diagnose.parsers import host_lifecycle


def test_samples_match_and_patterns_are_safe():
    # The first line of a boot counts only with a stamp, which the sample of its pattern has none of.
    lifecycle = host_lifecycle.PARSERS[0]
    assert lifecycle.patterns[0].event == "host.boot"
    one(host_lifecycle, f"[Mon Sep 14 04:48:45 2026] {lifecycle.patterns[0].sample}")


@pytest.mark.parametrize(
    "stamp", ["[Mon Sep 14 04:58:45 2026] ", "Sep 14 04:58:45 node-07 kernel: ", "[    0.000000] "]
)
def test_a_boot_has_a_stamp(stamp):
    text = "Linux version 6.1.0-21-amd64 (builder@build) (gcc-12) #1 SMP"
    assert one(host_lifecycle, stamp + text).fields["release"] == "6.1.0-21-amd64"
    assert names(host_lifecycle, text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Sep 14 04:48:45 node-07 systemd-logind[812]: The system is going down for reboot NOW!",
        "Sep 14 04:48:45 node-07 systemd-logind[812]: The system is going down for poweroff at Mon 2026-09-14 04:49:00 UTC!",
        "Sep 14 04:48:45 node-07 systemd-logind[812]: System is rebooting.",
        "Sep 14 04:48:45 node-07 systemd-logind[812]: System is powering down.",
        "Sep 14 04:48:45 node-07 systemd-logind[812]: Powering off...",
        "Sep 14 04:48:45 node-07 systemd-logind[812]: Power key pressed.",
        "[ 8123.456789] reboot: Restarting system",
    ],
)
def test_an_orderly_end(text):
    assert one(host_lifecycle, text).name == "host.shutdown"


@pytest.mark.parametrize(
    ("text", "action", "nature"),
    [
        ('{"action":"terminate","time":"2026-09-14T04:50:00Z"}', "terminate", Nature.ERROR),
        ('{"action": "stop", "time": "2026-09-14T04:50:00Z"}', "stop", Nature.ERROR),
        ("2026/09/14 04:48:45 INF Received event kind=SPOT_ITN node=node-07", "preempt", Nature.ERROR),
        ("2026-09-14T04:48:45Z compute.instances.preempted node-07", "preempt", Nature.ERROR),
        ('{"EventId":"1","EventType":"Preempt","Resources":["node-07"]}', "preempt", Nature.ERROR),
        ("Received rebalance recommendation for the instance", "preempt", Nature.MEASUREMENT),
    ],
)  # fmt: skip
def test_notices_of_a_provider(text, action, nature):
    event = one(host_lifecycle, text)
    assert (event.name, event.fields["action"], event.nature) == ("host.notice", action, nature)


def test_the_log_of_the_management_controller_has_its_own_stamp():
    event = one(
        host_lifecycle,
        "   1 | 09/14/2026 | 04:48:45 | Power Supply PSU2 | Power Supply AC lost | Asserted",
    )
    assert (event.fields["sensor"], event.fields["state"]) == (
        "Power Supply PSU2",
        "Power Supply AC lost",
    )
    assert event.clock is Clock.LOCAL


@pytest.mark.parametrize(
    "text",
    [
        "[    3.456789] ACPI: button: Power Button [PWRF]",
        "   1 | 09/14/2026 | 04:40:45 | Event Logging Disabled SEL | Log area reset/cleared | Asserted",
        "   1 | 09/14/2026 | 04:48:45 | Power Supply PSU2 | Presence detected | Asserted",
        '{"action":"train","time":"2026-09-14T04:50:00Z"}',
        "Rebooting the model cache",
    ],
)
def test_near_misses(text):
    assert names(host_lifecycle, text) == []


@pytest.mark.parametrize(
    "text",
    [
        "[    0.000000] Linux version 6.1.0-21-amd64 (builder@build) (gcc-12) #1 SMP",
        "[ 8123.456789] reboot: Restarting system",
        "   1 | 09/14/2026 | 04:48:45 | Power Supply PSU2 | Power Supply AC lost | Asserted",
    ],
)
def test_what_every_host_logs_at_times_is_no_error(text):
    assert one(host_lifecycle, text).nature is Nature.MEASUREMENT
