import pytest

from diagnose.facts.serving import ends

from .of_text import read

WORKER = """(Worker_TP2 pid=514) ERROR 01-05 10:00:00 [multiproc_executor.py:671] Traceback (most recent call last):
(Worker_TP2 pid=514) ERROR 01-05 10:00:00 [multiproc_executor.py:671]   File "/opt/venv/lib/python3.12/site-packages/vllm/v1/worker/gpu_worker.py", line 441, in execute_model
(Worker_TP2 pid=514) ERROR 01-05 10:00:00 [multiproc_executor.py:671] IndexError: index 4096 is out of bounds for dimension 0 with size 4096
"""
CORE = """(EngineCore_DP0 pid=387) ERROR 01-05 10:00:02 [core.py:708] EngineCore encountered a fatal error.
(EngineCore_DP0 pid=387) ERROR 01-05 10:00:02 [core.py:708] Traceback (most recent call last):
(EngineCore_DP0 pid=387) ERROR 01-05 10:00:02 [core.py:708]   File "/opt/venv/lib/python3.12/site-packages/vllm/v1/engine/core.py", line 699, in run_engine_core
(EngineCore_DP0 pid=387) ERROR 01-05 10:00:02 [core.py:708] RuntimeError: Worker failed with error 'index 4096 is out of bounds', please check the stack trace above for the root cause
"""
FRONTEND = "(APIServer pid=1) ERROR 01-05 10:00:03 [async_llm.py:480] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.\n"
STARTED = "(EngineCore_DP0 pid=387) INFO 01-05 09:00:00 [core.py:210] init engine (profile, create kv cache, warmup model) took 37.47 seconds\n"
WAIT = "(EngineCore_DP0 pid=387) INFO 01-05 09:5{}:00 [shm_broadcast.py:466] No available shared memory broadcast block found in 60 seconds.\n"


def derived(text, name="inference.engine_end"):
    return [event for event in ends.derive(*read(text)) if event.name == name]


def test_the_first_error_is_told_from_those_who_notice():
    (event,) = derived(WORKER + CORE + FRONTEND)
    assert (event.line, event.rank) == (3, 2)
    expected = {
        "first": "python.exception", "error": "IndexError", "process": "Worker_TP2",
        "role": "worker", "tp": 2, "notices": 2, "seconds": 2, "phase": "serving",
    }  # fmt: skip
    assert {name: event.fields[name] for name in expected} == expected


def test_the_error_may_stand_in_another_file():
    (event,) = derived(
        f"==> api.log <==\n{FRONTEND}==> core.log <==\n{CORE}==> worker.log <==\n{WORKER}"
    )
    assert (event.file, event.fields["notices"]) == ("worker.log", 2)


def test_an_error_that_tokens_followed_is_not_the_one():
    refused = (
        "(APIServer pid=1) ERROR 01-05 09:40:00 [serving_chat.py:200] ValueError: invalid request\n"
    )
    served = (
        "(APIServer pid=1) INFO 01-05 09:59:50 [loggers.py:259] Engine 000: Avg prompt throughput: "
        "2399.8 tokens/s, Avg generation throughput: 1810.1 tokens/s, Running: 40 reqs, Waiting: 0 "
        "reqs, GPU KV cache usage: 59.3%, Prefix cache hit rate: 10.0%\n"
    )
    (event,) = derived(refused + served + WORKER + FRONTEND)
    assert event.fields["error"] == "IndexError"
    (event,) = derived(refused + served + FRONTEND)
    assert event.fields["first"] is None


def test_a_worker_of_a_replica_has_the_rank_that_was_said():
    said = "(Worker_DP1_TP2 pid=814) INFO 01-05 09:00:00 [parallel_state.py:1208] rank 6 in world size 8 is assigned as DP rank 1, PP rank 0, TP rank 2, EP rank 6\n"
    (event,) = derived(said + (WORKER + CORE).replace("Worker_TP2", "Worker_DP1_TP2"))
    assert (event.rank, event.fields["dp"], event.fields["tp"]) == (6, 1, 2)


SGLANG = """[2026-01-05 10:00:00 TP3] Scheduler hit an exception: Traceback (most recent call last):
  File "/opt/venv/lib/python3.12/site-packages/sglang/srt/managers/scheduler.py", line 811, in event_loop_overlap
    result = self.run_batch(batch)
RuntimeError: CUDA error: an illegal memory access was encountered

[2026-01-05 10:00:00] SIGQUIT received. signum=None, frame=None. It usually means one child failed.
[2026-01-05 10:00:01 TP0] Scheduler hit an exception: Traceback (most recent call last):
  File "/opt/venv/lib/python3.12/site-packages/sglang/srt/managers/scheduler.py", line 811, in event_loop_overlap
RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:544] Connection closed by peer [10.0.0.7]:31321
"""


def test_a_report_may_head_the_traceback_of_its_own_error():
    failed = CORE.replace("RuntimeError: Worker failed with error", "AttributeError: no layers in")
    (event,) = derived(failed + FRONTEND)
    assert (event.fields["error"], event.fields["process"]) == ("AttributeError", "EngineCore_DP0")


def test_a_report_may_begin_the_traceback_of_its_own_error():
    (event,) = derived(SGLANG)
    assert (event.line, event.rank, event.fields["notices"]) == (4, 3, 3)
    assert (event.fields["process"], event.fields["error"]) == ("TP3", "RuntimeError")


@pytest.mark.parametrize("text", [FRONTEND, CORE, CORE + FRONTEND])
def test_without_an_error_nobody_is_named(text):
    (event,) = derived(text)
    assert (event.fields["first"], event.fields["role"] == "worker") == (None, False)


def test_each_start_has_its_own_end():
    text = WORKER + FRONTEND + STARTED.replace("09:00", "10:05") + FRONTEND.replace("10:0", "11:0")
    assert len(derived(text)) == 2


@pytest.mark.parametrize(
    "text, fields",
    [
        (WAIT.format(1) + WAIT.format(2) + STARTED, {"count": 2, "seconds": 120, "phase": "start", "progress_after": True}),
        (STARTED + WAIT.format(1), {"phase": "serving", "progress_after": False, "error_before": False}),
        (WORKER + WAIT.format(1), {"error_before": True}),
    ],
)  # fmt: skip
def test_waits_are_told_with_what_follows(text, fields):
    (event,) = derived(text, "inference.broadcast_waits")
    assert {name: event.fields[name] for name in fields} == fields


def test_a_running_engine_has_no_end():
    assert derived(STARTED) == []
