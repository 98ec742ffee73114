import communication
import pytest

from diagnose.ingest.pattern import problems
from diagnose.model.event import Line, Nature
from diagnose.parsers import kernel
from diagnose.parsers.base import LineParser
from diagnose.parsers.kernel import PARSERS

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
        ("mce: [Hardware Error]: CPU 1: Machine Check Exception: 5 Bank 3: be00000000800400", "kernel.mce", {"severity": "fatal"}),
    ],
)  # fmt: skip
def test_other_lines(text, name, fields):
    (event,) = read(text)
    assert event.name == name
    assert {key: event.fields[key] for key in fields} == fields


FIRMWARE = """\
{{1}}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 4
{{1}}[Hardware Error]: event severity: {severity}
{{1}}[Hardware Error]:  Error 0, type: {severity}
{{1}}[Hardware Error]:   section_type: {section}
{{1}}[Hardware Error]:   device_id: 0000:5d:00.0
mce: [Hardware Error]: Machine check events logged
"""


@pytest.mark.parametrize(
    ("severity", "section", "expected", "nature"),
    [
        ("fatal", "memory error", ("fatal", "memory"), Nature.ERROR),
        ("recoverable", "PCIe error", ("nonfatal", "pcie"), Nature.ERROR),
        ("corrected", "memory error", ("corrected", "memory"), Nature.MEASUREMENT),
        ("fatal", "general processor error", ("fatal", "processor"), Nature.ERROR),
        ("fatal", "Firmware Error Record Reference", ("fatal", "other"), Nature.ERROR),
    ],
)
def test_firmware_says_which_part_failed(severity, section, expected, nature):
    text = FIRMWARE.format(severity=severity, section=section)
    (event,) = [one for one in communication.read(kernel, text) if one.name == "kernel.mce"]
    assert (event.fields["severity"], event.fields["section"]) == expected
    assert event.fields["pci"] == "0000:5d:00.0"
    assert event.nature is nature


@pytest.mark.parametrize("text", ["", "pcieport 0000:5a:01.0: AER: enabled with IRQ 34"])
def test_near_misses(text):
    assert read(text) == []
