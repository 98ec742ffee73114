from types import SimpleNamespace

import pytest
from dialects import events

from diagnose.model.event import Nature
from diagnose.parsers.serving import frames, launch, requests, vllm_end, vllm_failures, vllm_start

dialect = SimpleNamespace(
    PARSERS=tuple(
        parser
        for module in (vllm_start, vllm_failures, vllm_end, frames, requests)
        for parser in module.PARSERS
    )
    + (launch.NAMES,)
)

GIB = 2**30


def one(text, name):
    (event,) = [event for event in events(dialect, text + "\r\n") if event.name == name]
    return event


@pytest.mark.parametrize(
    "text, name, fields",
    [
        ("Available KV cache memory: -2.16 GiB", "inference.kv_memory", {"available": round(-2.16 * GIB)}),
        ("model weights take 12.55GiB; non_torch_memory takes -0.16GiB; PyTorch activation peak memory takes 2.38GiB; the rest of the memory reserved for KV Cache is 56.18GiB.", "inference.kv_memory", {"weights": round(12.55 * GIB), "available": round(56.18 * GIB)}),
        ("GPU KV cache size: 188,640 tokens, Maximum concurrency for 131,072 tokens per request: 5.23x", "inference.kv_tokens", {"tokens": 188640}),
        ("GPU KV cache size: 188,640 tokens, Maximum concurrency for 131,072 tokens per request: 5.23x", "inference.concurrency", {"length": 131072, "factor": 5.23}),
        ("The model's max seq len (32768) is larger than the maximum number of tokens that can be stored in KV cache (7344).", "inference.length_over_kv", {"wanted": 32768, "tokens": 7344}),
        ("To serve at least one request with the models's max seq len (40960), (5.62 GiB KV cache is needed, which is larger than the available KV cache memory (3.10 GiB). Based on the available memory, the estimated maximum model length is 22560.", "inference.length_over_kv", {"wanted": 40960, "tokens": 22560}),
        ("Free memory on device cuda:0 (3.25/79.19 GiB) on startup is less than desired GPU memory utilization (0.9, 71.27 GiB).", "inference.memory_taken", {"utilization": 0.9, "free": round(3.25 * GIB)}),
        ("vllm serve /models/a --gpu-memory-utilization=0.95", "inference.utilization", {"value": 0.95}),
        ("non-default args: {'model': '/models/a', 'gpu_memory_utilization': 0.8}", "inference.utilization", {"value": 0.8}),
        ("is preempted by PreemptionMode.SWAP mode because there is not enough KV cache space. total_cumulative_preemption_cnt=51", "inference.preempted", {"mode": "swap", "total": 51}),
        ("No available shared memory broadcast block found in 60 second.", "inference.broadcast_wait", {"seconds": 60}),
        ('  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/worker/gpu_worker.py", line 441, in execute_model', "inference.frame", {"phase": "serving"}),
        ('  File "/opt/venv/lib/python3.12/site-packages/vllm/worker/model_runner.py", line 1301, in profile_run', "inference.frame", {"phase": "profile"}),
    ],
)  # fmt: skip
def test_messages_are_read_with_their_values(text, name, fields):
    event = one(text, name)
    assert {key: event.fields[key] for key in fields} == fields


def test_a_logged_request_keeps_its_parameters_and_not_its_prompt():
    event = one(
        "Received request cmpl-7: prompt: 'my secret', params: SamplingParams(n=1, presence_penalty=0.0, "
        "repetition_penalty=1.0, temperature=0.0, top_p=1.0, top_k=-1, max_tokens=4096)",
        "inference.request",
    )
    assert event.fields["temperature"] == 0.0
    assert event.fields["top_k"] == -1
    assert "secret" not in event.text
    assert "secret" not in str(event.fields)


def test_a_dead_worker_is_named_by_its_rank():
    text = "Worker proc VllmWorker-2 died unexpectedly, shutting down executor."
    assert one(text, "inference.worker_died").rank == 2


@pytest.mark.parametrize(
    "text",
    [
        "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.",
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
        "vllm.engine.async_llm_engine.AsyncEngineDeadError: Background loop has errored already.",
    ],
)
def test_the_end_of_the_engine_is_an_effect(text):
    assert {event.nature for event in events(dialect, text)} == {Nature.EFFECT}


@pytest.mark.parametrize(
    "text",
    [
        "",
        '    raise ValueError("No available memory for the cache blocks. "',
        "Free memory on device cuda:0 (3.25/79.19 GiB) on start",
        '  File "/app/train.py", line 441, in execute_model',
        "The worker died unexpectedly after lunch",
        "set gpu_memory_utilization to a lower value",
    ],
)
def test_source_text_prose_and_cut_lines_give_nothing(text):
    assert events(dialect, text) == []
