import pytest

from diagnose.ingest.envelope import NOBODY, peel
from diagnose.parsers.serving import launch as dialect

COMMAND = """$ vllm serve /models/a-7b \\
    -tp 2 --gpu-memory-utilization=0.92 \\
    --max-model-len 32K --no-enable-prefix-caching --enforce-eager \\
    --speculative-config '{"method": "ngram", "num_speculative_tokens": 4}'
INFO started
"""
ENGINE = (
    "INFO 01-05 10:00:00 [core.py:58] Initializing a V1 LLM engine (v0.8.5) with config: "
    "model='/models/a-7b', speculative_config=None, dtype=torch.bfloat16, max_seq_len=32768, "
    "tensor_parallel_size=4, pipeline_parallel_size=1, disable_custom_all_reduce=True, "
    "quantization=None, enforce_eager=False, kv_cache_dtype=fp8, enable_prefix_caching=True, "
    'compilation_config={"level":3,"dtype":"x"}\n'
)
SGLANG = (
    "[2026-01-05 10:00:00] server_args=ServerArgs(model_path='/models/a-7b', context_length=None, "
    "max_total_tokens=400000, mem_fraction_static=0.88, max_running_requests=256, "
    "chunked_prefill_size=8192, max_prefill_tokens=16384, schedule_conservativeness=0.3, tp_size=8, "
    "disable_cuda_graph=True, disable_radix_cache=True, kv_cache_dtype='auto')\n"
)
TGI = """2026-01-05T10:00:00.123456Z  INFO text_generation_launcher: Args {
    model_id: "/models/a-7b",
    num_shard: Some(
        2,
    ),
    max_concurrent_requests: 128,
    max_total_tokens: Some(4096),
    max_batch_prefill_tokens: None,
}
"""


def configs(text):
    lines = [peel(raw, "a.txt", n, NOBODY) for n, raw in enumerate(text.splitlines(), 1)]
    found = []
    for parser in (dialect.COMMAND, dialect.PRINTED):
        for at, line in enumerate(lines):
            if any(literal in line.raw for literal in parser.opens) and parser.starts(line):
                taken = [line]
                for following in lines[at + 1 :]:
                    if parser.ends(taken, following):
                        break
                    taken.append(following)
                found.extend(parser.read(taken))
    return found


@pytest.mark.parametrize(
    "text, fields",
    [
        (COMMAND, {"engine": "vllm", "stated_by": "command", "model": "/models/a-7b", "tp": 2, "utilization": 0.92, "max_model_len": 32768, "prefix_caching": False, "eager": True, "speculative": True, "max_num_seqs": None}),
        (ENGINE, {"engine": "vllm", "stated_by": "engine", "version": "0.8.5", "dtype": "bfloat16", "max_model_len": 32768, "tp": 4, "custom_all_reduce": False, "quantization": None, "eager": False, "kv_dtype": "fp8", "speculative": False}),
        (SGLANG, {"engine": "sglang", "max_model_len": None, "utilization": 0.88, "max_num_batched_tokens": 8192, "tp": 8, "eager": True, "prefix_caching": False, "kv_dtype": None, "conservativeness": 0.3}),
        ("[2026-01-05 10:00:00] server_args={'model_path': '/models/a', 'tp_size': 2, 'preferred_sampling_params': '{\"temperature\": 0.7}', 'kv_cache_dtype': 'fp8_e4m3'}", {"engine": "sglang", "tp": 2, "kv_dtype": "fp8_e4m3"}),
        (TGI, {"engine": "tgi", "model": "/models/a-7b", "tp": 2, "max_model_len": 4096, "max_num_batched_tokens": None, "max_concurrent_requests": 128}),
        ("INFO 01-05 10:00:00 [utils.py:326] non-default args: {'model_tag': 'a-7b', 'max_num_seqs': 64, 'api_server_count': 2}", {"stated_by": "arguments", "model": "a-7b", "max_num_seqs": 64, "api_servers": 2}),
        ('"python3", "-m", "sglang.launch_server", "--model-path", "/models/a", "--tp", "4"', {"engine": "sglang", "tp": 4}),
        ("docker run --gpus all -p 8000:8000 vllm/vllm-openai:v0.9.1 --model a/b --dtype half", {"dtype": "half", "model": "a/b"}),
        ("llama-server -m a.gguf -c 8192 -np 4 -ngl 99", {"engine": "llama.cpp", "max_model_len": 8192, "max_num_seqs": 4, "gpu_layers": 99}),
        ("trtllm-serve /models/a --tp_size 4 --kv_cache_free_gpu_memory_fraction 0.8", {"engine": "tensorrt-llm", "tp": 4, "utilization": 0.8}),
    ],
)  # fmt: skip
def test_settings_of_every_engine_have_one_name(text, fields):
    (event,) = configs(text)
    assert {name: event.fields[name] for name in fields} == fields


def test_a_command_over_several_lines_is_one_record():
    (event,) = configs(COMMAND)
    assert (event.line, event.end_line) == (1, 4)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "We start it with vllm serve and it works",
        "args: Namespace(model='a', dtype='bf16', lr=0.1)",
        "vllm serve /models/a-7b",
        "INFO non-default args: {",
        "Args { dtype: 1 }",
    ],
)
def test_prose_other_programs_and_bare_commands_give_nothing(text):
    assert configs(text) == []
