import pytest
from dialects import events

from diagnose.ingest.pattern import problems
from diagnose.model.event import Line, Nature
from diagnose.parsers import fabric_manager
from diagnose.parsers.fabric_manager import LOG, SERVICE

STATUS = """\
● nvidia-fabricmanager.service - NVIDIA fabric manager service
     Loaded: loaded (/lib/systemd/system/nvidia-fabricmanager.service; enabled)
     Active: {state} since Thu 2026-01-08 07:12:40 UTC; 9s ago
"""


@pytest.mark.parametrize("pattern", LOG.patterns, ids=lambda one: one.sample[:60])
def test_samples_match_and_patterns_are_safe(pattern):
    assert problems(pattern.regex) == []
    assert [event.name for event in events(fabric_manager, pattern.sample)] == [pattern.event]


@pytest.mark.parametrize(
    ("said", "role", "nature"),
    [
        ("fatal error 20034", "root", Nature.ERROR),
        ("non-fatal error 12028", "root", Nature.ERROR),
        ("non-fatal error 11012", "context", Nature.MEASUREMENT),
        ("non-fatal error 20034", "context", Nature.MEASUREMENT),
    ],
)
def test_errors_of_switches_are_judged_as_the_kernel_s(said, role, nature):
    text = (
        f"detected NVSwitch {said} on fid 0 on NVSwitch pci bus id 00000000:07:00.0"
        " physical id 1 port 12"
    )
    (event,) = events(fabric_manager, text)
    assert (event.fields["role"], event.nature) == (role, nature)
    assert (event.fields["pci"], event.fields["link"]) == ("0000:07:00.0", 12)


@pytest.mark.parametrize(
    ("shown", "state", "nature"),
    [
        ("active (running)", "active", Nature.SETTING),
        ("failed (Result: exit-code)", "failed", Nature.ERROR),
        ("inactive (dead)", "inactive", Nature.ERROR),
    ],
)
def test_the_state_of_the_service(shown, state, nature):
    text = STATUS.format(state=shown)
    lines = [Line("a.txt", n, one, one) for n, one in enumerate(text.splitlines(), 1)]
    assert SERVICE.starts(lines[0])
    assert [SERVICE.ends(lines[:n], lines[n]) for n in (1, 2)] == [False, False]
    (event,) = SERVICE.read(lines)
    assert (event.fields["state"], event.nature, event.line) == (state, nature, 3)


def test_a_status_cut_off_before_its_state_says_nothing():
    text = STATUS.splitlines()[0]
    assert SERVICE.read([Line("a.txt", 1, text, text)]) == []
