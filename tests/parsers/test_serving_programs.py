"""Servers beside vLLM and SGLang: TGI, TensorRT-LLM, Triton, llama.cpp and Ollama."""

from types import SimpleNamespace

import pytest
from dialects import events, measured

from diagnose.ingest.envelope import NOBODY, peel
from diagnose.parsers.serving import llama_cpp, ollama, tensorrt_llm, tgi, triton

dialect = SimpleNamespace(
    PARSERS=tuple(
        parser for module in (llama_cpp, ollama, tensorrt_llm, tgi, triton) for parser in module.PARSERS
    )
)  # fmt: skip
TGI_TIMES = 'total_time="2.913s" validation_time="1.2ms" queue_time="80.1µs" inference_time="2.91s" time_per_token="29.1ms"'
TRT = (
    "[TRT-LLM] [I] iter = {n}, global_rank = 0, rank = 0, num_scheduled_requests = 8, "
    "currank_total_requests = 0/1, host_step_time = {host}ms, prev_device_step_time = {device}, "
    "timestamp = 2026-01-05 10:00:00, states = {{'num_ctx_requests': 0, 'num_generation_tokens': 8}}\n"
)
LLAMA = """slot print_timing: id  0 | task 12 |
prompt eval time =    1520.33 ms /   812 tokens (    1.87 ms per token,   534.10 tokens per second)
       eval time =   10211.04 ms /   300 tokens (   34.04 ms per token,    29.38 tokens per second)
      total time =   11731.37 ms /  1112 tokens
"""
OLD_LLAMA = """llama_print_timings:        load time =    2110.10 ms
llama_print_timings:      sample time =      98.10 ms /   300 runs   (    0.33 ms per token,  3058.1 tokens per second)
llama_print_timings: prompt eval time =    1520.33 ms /   812 tokens (    1.87 ms per token,   534.10 tokens per second)
llama_print_timings:        eval time =   10211.04 ms /   299 runs   (   34.15 ms per token,    29.28 tokens per second)
llama_print_timings:       total time =   11829.47 ms
"""
OLLAMA_API = '{"model":"a","done_reason":"length","total_duration":4935886791,"load_duration":3534986708,"prompt_eval_count":26,"prompt_eval_duration":107345000,"eval_count":100,"eval_duration":1000000000}'
OLLAMA_PRINTED = """total duration:       1m4.935886791s
load duration:        12.5ms
prompt eval count:    26 token(s)
prompt eval duration: 130.079ms
prompt eval rate:     199.88 tokens/s
eval count:           282 token(s)
eval duration:        4.791s
"""


def blocks(parser, text):
    lines = [peel(raw, "a.txt", n, NOBODY) for n, raw in enumerate(text.splitlines(), 1)]
    found, at = [], 0
    while at < len(lines):
        line, at = lines[at], at + 1
        if any(literal in line.raw for literal in parser.opens) and parser.starts(line):
            taken = [line]
            while at < len(lines) and not parser.ends(taken, lines[at]):
                taken.append(lines[at])
                at += 1
            found.extend(parser.read(taken))
    return found


@pytest.mark.parametrize(
    "text, name, fields",
    [
        ('level=WARN source=runner.go:128 msg="truncating input prompt" limit=4096 prompt=9120 keep=5 new=4096', "inference.prompt_truncated", {"limit": 4096, "prompt": 9120}),
        ("slot      release: id  0 | task 12 | stop processing: n_past = 8191, truncated = 1", "inference.prompt_truncated", {"limit": 8191}),
        ("slot      release: id  0 | task 12 | stop processing: n_tokens = 8,191, truncated = 1", "inference.prompt_truncated", {"limit": 8191}),
        ('msg="llama runner started in 42.18 seconds"', "inference.model_load", {"seconds": 42.18}),
        ("load_tensors: offloaded 29/33 layers to GPU", "inference.layers", {"on_gpu": 29, "layers": 33}),
        ("RuntimeError: Not enough memory to handle 4096 prefill tokens. You need to decrease `--max-batch-prefill-tokens`", "inference.length_over_kv", {"wanted": 4096}),
        (TGI_TIMES, "inference.timing", {"engine": "tgi", "total": 2.913, "queue": pytest.approx(80.1e-6), "itl": pytest.approx(0.0291), "prefill": None}),
        ('"span":{"inference_time":"2.91s","queue_time":"80.1µs","time_per_token":"29.1ms","total_time":"2.913s"}', "inference.timing", {"total": 2.913, "inference": 2.91}),
        ("generate{parameters=GenerateParameters { best_of: None, temperature: Some(0.7), max_new_tokens: Some(400), stop: [] }", "inference.request", {"temperature": 0.7, "max_tokens": 400, "top_k": None, "stops": False}),
        ("Prompt length (9120) exceeds maximum input length (4096).", "inference.request_too_long", {"tokens": 9120, "limit": 4096}),
        ("max_seq_len=131072, max_num_requests=2048, max_num_tokens=8192", "inference.limits", {"max_num_seqs": 2048}),
        ("ggml_backend_cuda: allocating 9216.00 MiB on device 0: cudaMalloc failed: out of memory", "inference.oom", {"reason": "cudaMalloc failed: out of memory"}),
        ("failed to load 'a-7b' version 1: Internal: out of memory", "inference.model_failed", {"model": "a-7b", "reason": "Internal: out of memory"}),
    ],
)  # fmt: skip
def test_messages_are_read_with_their_values(text, name, fields):
    (event,) = [event for event in events(dialect, text + "\r\n") if event.name == name]
    assert {key: event.fields[key] for key in fields} == fields


@pytest.mark.parametrize(
    "parser, text, fields",
    [
        (llama_cpp.TIMES, LLAMA, {"prefill": 1.52033, "decode": 10.21104, "total": 11.73137, "prompt_tokens": 812, "output_tokens": 300}),
        (llama_cpp.TIMES, OLD_LLAMA, {"load": 2.1101, "output_tokens": 299, "total": pytest.approx(11.82947)}),
        (ollama.TIMES, OLLAMA_API, {"total": pytest.approx(4.9359, abs=1e-4), "load": pytest.approx(3.535, abs=1e-3), "itl": 0.01, "finish_reason": "length"}),
        (ollama.TIMES, OLLAMA_API.replace(",", ",\n  "), {"prompt_tokens": 26, "output_tokens": 100}),
        (ollama.TIMES, OLLAMA_PRINTED, {"total": pytest.approx(64.9359, abs=1e-4), "load": 0.0125, "output_tokens": 282}),
    ],
)  # fmt: skip
def test_the_times_of_a_request_are_read(parser, text, fields):
    (event,) = blocks(parser, text)
    assert {key: event.fields[key] for key in fields} == fields


def test_two_requests_in_a_row_are_two():
    assert len(blocks(llama_cpp.TIMES, LLAMA * 2)) == 2
    assert len(blocks(ollama.TIMES, (OLLAMA_API + "\n") * 2)) == 2


def test_mixed_slots_are_told_apart():
    line = "0.40.000.000 I slot print_timing: id  {0} | task {1} | {2} time = 500.00 ms / 100 tokens ( 5.00 ms per token, 200.00 tokens per second)\n"
    text = (
        line.format(0, 7, "prompt eval")
        + line.format(1, 9, "prompt eval")
        + line.format(0, 7, "eval")
    )
    assert len(blocks(llama_cpp.TIMES, text)) == 2


def test_iterations_are_compared_with_the_device():
    text = TRT.format(n=1, host=900, device="N/A") + TRT.format(n=2, host=30, device="20ms") * 2
    (event,) = [e for e in events(tensorrt_llm, text) if e.name == "inference.step_times"]
    assert event.fields["samples"] == 2
    assert event.fields["host_per_device"] == 1.5
    assert event.fields["host_step"] == pytest.approx(0.03)


def test_statistics_as_objects_are_samples():
    text = (
        '{"iterLatencyMS": 17.4, "numActiveRequests": 9, "numQueuedRequests": 4, "kvCacheStats": '
        '{"usedNumBlocks": 512, "maxNumBlocks": 1024}, "inflightBatchingStats": {"numPausedRequests": 2}}\n'
    ) * 3
    assert measured(tensorrt_llm, text)[0].values == {
        "running": 9, "waiting": 4, "kv_cache_usage": 0.5,
    }  # fmt: skip
    names = {event.name for event in events(tensorrt_llm, text)}
    assert names == {"inference.queue", "inference.preemptions"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "stop processing: n_tokens = 812, truncated = 0",
        'msg="truncating input prompt" limit=40',
        "the model is overloaded with parameters",
        "please try again later, the server is busy",
        "iter = 120, host_step_time = ",
        '{"iterLatencyMS": 17.4, "numActive',
        "prompt eval time = soon",
        "total duration: long",
    ],
)
def test_ordinary_cut_and_foreign_lines_give_nothing(text):
    assert events(dialect, text) == []
