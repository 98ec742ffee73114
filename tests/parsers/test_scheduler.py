import pytest

from diagnose.ingest.pattern import problems
from diagnose.model.event import Line, Nature
from diagnose.parsers.scheduler import PARSERS

PATTERNS = [pattern for parser in PARSERS for pattern in parser.patterns]


def read(text):
    line = Line("slurm-77121.out", 1, text, text)
    found = []
    for parser in PARSERS:
        for pattern in parser.patterns:
            event = pattern.match(line)
            event = event and parser.refine(event, line)
            if event:
                found.append(event)
    return found


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda one: one.sample[:50])
def test_samples_match_and_patterns_are_safe(pattern):
    assert problems(pattern.regex) == []
    assert any(literal in pattern.sample for literal in pattern.required)
    assert pattern.event in [event.name for event in read(pattern.sample)]


@pytest.mark.parametrize(
    ("why", "reason", "nature"),
    [
        (" DUE TO TIME LIMIT", "time-limit", Nature.ERROR),
        (" DUE TO PREEMPTION", "preemption", Nature.ERROR),
        (" DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS", "node-failure", Nature.ERROR),
        (" DUE TO JOB REQUEUE", "requeue", Nature.ERROR),
        (" DUE to SIGNAL Terminated", "user", Nature.EFFECT),
        (" DUE TO TASK FAILURE", "task-failure", Nature.EFFECT),
        ("", "user", Nature.EFFECT),
        (" DUE TO SOMETHING NEW", "other", Nature.ERROR),
    ],
)
def test_reason_of_a_cancellation(why, reason, nature):
    text = f"slurmstepd: error: *** STEP 77121.0 ON node-07.cluster CANCELLED AT 2026-09-14T04:48:45{why} ***"
    (event,) = read(text)
    assert (event.fields["reason"], event.nature) == (reason, nature)
    assert (event.fields["job"], event.fields["step"], event.host) == ("77121", "0", "node-07")


def test_a_batch_job_is_cancelled():
    (event,) = read(
        "slurmstepd: error: *** JOB 77121 ON node-07 CANCELLED AT 2026-09-14T04:48:45 DUE TO TIME LIMIT ***"
    )
    assert (event.fields["job"], event.fields["step"]) == ("77121", "batch")


@pytest.mark.parametrize(
    "text",
    [
        "slurmstepd: error: Detected 1 oom_kill event in StepId=77121.0. Some of the step tasks have been OOM Killed.",
        "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=77121.0 cgroup. Some of your processes may have been killed",
        "slurmstepd: error: Detected 3 oom-kill event(s) in step 77121.batch cgroup.",
    ],
)
def test_three_generations_of_the_memory_message(text):
    (event,) = read(text)
    assert (event.name, event.fields["job"]) == ("slurm.oom_kill", "77121")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "srun: error: Unable to allocate resources: Invalid partition",
        "    Exit Code:    0",
        "StepId=77121.0 hit memory limit at least once during execution.",
        "step CANCELLED AT user request",
        "srun: job 77121 queued and waiting for resources",
    ],
)
def test_near_misses(text):
    assert read(text) == []


@pytest.mark.parametrize(
    ("text", "state", "nature"),
    [
        ("77121          pretrain        gpu        llm        512  PREEMPTED      0:0 ", "PREEMPTED", Nature.ERROR),
        ("77121          pretrain        gpu        llm        512 OUT_OF_ME+    0:125 ", "OUT_OF_MEMORY", Nature.ERROR),
        ("77121_3|pretrain|NODE_FAIL|1:0", "NODE_FAIL", Nature.ERROR),
        ("77121.batch       batch                   llm         64    TIMEOUT      0:0", "TIMEOUT", Nature.ERROR),
        ("77121          pretrain        gpu        llm        512 CANCELLED+      0:0 ", "CANCELLED", Nature.EFFECT),
        ("77121|pretrain|CANCELLED by 1001|0:0", "CANCELLED", Nature.EFFECT),
        ("77121     TIMEOUT\r", "TIMEOUT", Nature.ERROR),
        ("77121|pretrain|FAILED|1:0", "FAILED", Nature.EFFECT),
        ("77121|pretrain|COMPLETED|0:0", "COMPLETED", Nature.MEASUREMENT),
        ("   JobState=OUT_OF_MEMORY Reason=OutOfMemory Dependency=(null)", "OUT_OF_MEMORY", Nature.ERROR),
    ],
)  # fmt: skip
def test_states_in_the_tables_of_slurm(text, state, nature):
    (event,) = read(text.rstrip("\r"))
    assert (event.name, event.fields["state"], event.nature) == ("slurm.job_state", state, nature)


@pytest.mark.parametrize(
    "text",
    [
        "JobID           JobName      State ExitCode",
        "77121 steps done, no TIMEOUTS so far",
        "request 77121: state TIMEOUT",
        "NODE_FAIL is what sacct shows then",
        "77121          pretrain        gpu        llm        512  PREEMPT",
    ],
)
def test_lines_that_are_no_states(text):
    assert read(text) == []


def test_a_probe_that_failed_is_not_yet_a_kill():
    failed = 'Warning  Unhealthy  3m (x3 over 4m)  kubelet  Liveness probe failed: Get "http://10.0.4.7:8000/health": EOF'
    killed = (
        "Normal  Killing  3m  kubelet  Container server failed liveness probe, will be restarted"
    )
    assert [(one.name, one.nature) for one in read(failed)] == [("k8s.probe_failed", Nature.EFFECT)]
    (event,) = read(killed)
    assert (event.fields["container"], event.fields["probe"]) == ("server", "liveness")


@pytest.mark.parametrize(
    ("code", "signal"),
    [(137, "SIGKILL"), (139, "SIGSEGV"), (143, "SIGTERM"), (1, None), (127, None)],
)
def test_a_container_ends_with_128_and_a_signal(code, signal):
    (event,) = read(f"      Exit Code:    {code}")
    assert (event.fields["exit_code"], event.fields["signal"]) == (code, signal)
