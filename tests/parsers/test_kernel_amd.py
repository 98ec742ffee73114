import pytest
from dialects import events

from diagnose.ingest.pattern import problems
from diagnose.model.event import Nature
from diagnose.parsers import kernel_amd

PATTERNS = [pattern for parser in kernel_amd.PARSERS for pattern in parser.patterns]


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda one: one.sample[:60])
def test_samples_match_and_patterns_are_safe(pattern):
    assert problems(pattern.regex) == []
    (event,) = events(kernel_amd, pattern.sample)
    assert (event.name, event.nature) == (pattern.event, pattern.nature)


@pytest.mark.parametrize(
    ("text", "what", "gpu"),
    [
        ("amdgpu 0000:c1:00.0: amdgpu: ring sdma0 timeout, signaled seq=123, emitted seq=125", "ring-timeout", "0000:c1:00.0"),
        ("[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx_0.0.0 timeout, signaled seq=1, emitted seq=2", "ring-timeout", None),
        ("amdgpu 0000:c1:00.0: amdgpu: ring gfx_0.0.0 timeout, but soft recovered", "soft-recovered", "0000:c1:00.0"),
        ("amdgpu 0000:c1:00.0: amdgpu: [mmhub0] retry page fault (src_id:0 ring:24 vmid:8 pasid:32769)", "page-fault", "0000:c1:00.0"),
        ("amdgpu 0000:c1:00.0: amdgpu: 2 uncorrectable hardware errors detected in umc block", "ecc-uncorrectable", "0000:c1:00.0"),
        ("amdgpu 0000:c1:00.0: amdgpu: socket: 0, die: 1 3 correctable hardware errors detected in gfx block, no user action is needed.", "ecc-corrected", "0000:c1:00.0"),
        ("amdgpu 0000:c1:00.0: amdgpu: RAS poison consumption, fall back to gpu reset flow: client id 27", "poison-consumed", "0000:c1:00.0"),
        ("amdgpu 0000:c1:00.0: amdgpu: GPU reset for umc RAS poison consumption is issued!", "poison-consumed", "0000:c1:00.0"),
        ("amdgpu 0000:c1:00.0: amdgpu: GPU reset begin!", "reset", "0000:c1:00.0"),
        ("amdgpu 0000:c1:00.0: amdgpu: GPU reset(2) failed", "reset-failed", "0000:c1:00.0"),
    ],
)  # fmt: skip
def test_the_driver(text, what, gpu):
    (event,) = events(kernel_amd, text)
    assert (event.name, event.fields["what"], event.gpu) == ("kernel.amdgpu", what, gpu)


@pytest.mark.parametrize(
    "text",
    [
        "amdgpu 0000:c1:00.0: amdgpu: GPU reset(2) succeeded!",
        "amdgpu 0000:c1:00.0: amdgpu: GPU reset succeeded, trying to resume",
        "amdgpu 0000:c1:00.0: amdgpu: 196592M of VRAM memory ready",
        "amdgpu 0000:c1:00.0: amdgpu: 0 uncorrectable hardware errors detected in umc block",
        "a memory access fault by a GPU ends the process",
    ],
)
def test_what_went_well_is_no_event(text):
    assert events(kernel_amd, text) == []


def test_a_page_fault_is_an_error_and_a_reset_an_effect():
    fault = "amdgpu 0000:c1:00.0: amdgpu: [gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:8)"
    reset = "amdgpu 0000:c1:00.0: amdgpu: GPU reset begin!"
    found = events(kernel_amd, f"{fault}\n{reset}")
    assert [event.nature for event in found] == [Nature.ERROR, Nature.EFFECT]
