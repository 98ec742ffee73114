import pytest

from diagnose.facts.serving import plans

from .of_text import read

GIB = 2**30

V1 = """(APIServer pid=1) INFO 01-05 10:00:00 [utils.py:326] non-default args: {'model': '/models/a', 'gpu_memory_utilization': 0.9, 'max_num_seqs': 256}
(EngineCore_DP0 pid=387) INFO 01-05 10:00:00 [core.py:58] Initializing a V1 LLM engine (v0.11.0) with config: model='/models/a', dtype=torch.bfloat16, max_seq_len=131072, tensor_parallel_size=2, quantization=None, enforce_eager=False, kv_cache_dtype=auto
(APIServer pid=1) INFO 01-05 10:00:02 [scheduler.py:222] Chunked prefill is enabled with max_num_batched_tokens=8192.
(Worker_TP0 pid=512) INFO 01-05 10:00:40 [gpu_model_runner.py:2653] Model loading took 12.66 GiB memory and 31.66 seconds
(Worker_TP1 pid=513) INFO 01-05 10:00:41 [gpu_model_runner.py:2653] Model loading took 12.66 GiB memory and 31.70 seconds
(Worker_TP0 pid=512) INFO 01-05 10:01:10 [gpu_worker.py:276] Available KV cache memory: 50.00 GiB
(Worker_TP1 pid=513) INFO 01-05 10:01:10 [gpu_worker.py:276] Available KV cache memory: 17.36 GiB
(EngineCore_DP0 pid=387) INFO 01-05 10:01:11 [kv_cache_utils.py:1087] GPU KV cache size: 188,640 tokens
(EngineCore_DP0 pid=387) INFO 01-05 10:01:11 [kv_cache_utils.py:1091] Maximum concurrency for 131,072 tokens per request: 1.44x
(Worker_TP0 pid=512) INFO 01-05 10:01:32 [gpu_model_runner.py:3480] Graph capturing finished in 21 secs, took 0.74 GiB
"""
V0 = """INFO 01-05 10:00:00 model_runner.py:1099] Loading model weights took 12.5523 GB
INFO 01-05 10:00:34 worker.py:267] Memory profiling takes 34.26 seconds
INFO 01-05 10:00:34 worker.py:267] the current vLLM instance can use total_gpu_memory (79.19GiB) x gpu_memory_utilization (0.90) = 71.27GiB
INFO 01-05 10:00:34 worker.py:267] model weights take 12.55GiB; non_torch_memory takes 0.16GiB; PyTorch activation peak memory takes 2.38GiB; the rest of the memory reserved for KV Cache is 56.18GiB.
INFO 01-05 10:00:34 executor_base.py:111] # cuda blocks: 7191, # CPU blocks: 512
INFO 01-05 10:00:34 executor_base.py:116] Maximum concurrency for 4096 tokens per request: 28.09x
"""
SGLANG = """[2026-01-05 10:00:00 TP0] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=62.11 GB, mem usage=15.02 GB.
[2026-01-05 10:00:02 TP0] KV Cache is allocated. #tokens: 443210, K size: 27.05 GB, V size: 27.05 GB
[2026-01-05 10:00:10 TP0] Capture cuda graph end. Time elapsed: 8.31 s. mem usage=1.20 GB. avail mem=5.70 GB.
[2026-01-05 10:00:10 TP0] max_total_num_tokens=443210, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2048, context_len=131072, available_gpu_mem=5.70 GB
"""
TENSORRT = """[01/05/2026-10:00:00] [TRT-LLM] [I] max_seq_len=131072, max_num_requests=2048, max_num_tokens=8192, max_batch_size=2048
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 43.29 GiB for max tokens in paged KV cache (354624).
"""


def planned(text):
    return list(plans.derive(read(text)[0]))


@pytest.mark.parametrize(
    "text, fields",
    [
        (V1, {"engine": "vllm", "workers": 2, "max_num_batched_tokens": 8192, "weights": round(12.66 * GIB), "kv_bytes": round(17.36 * GIB), "kv_bytes_most": 50 * GIB, "least_worker": "Worker_TP1", "kv_tokens": 188640, "concurrency": 1.44, "max_model_len": 131072, "graph": round(0.74 * GIB), "utilization": 0.9, "max_num_seqs": 256, "tp": 2, "dtype": "bfloat16", "total": None}),
        (V0, {"total": round(79.19 * GIB), "budget": round(71.27 * GIB), "utilization": 0.9, "activations": round(2.38 * GIB), "non_torch": round(0.16 * GIB), "kv_bytes": round(56.18 * GIB), "blocks": 7191, "kv_tokens": 115057, "concurrency": 28.09, "max_model_len": 4096, "reserve": round(79.19 * GIB) - round(71.27 * GIB), "least_worker": None}),
        (SGLANG, {"engine": "sglang", "kv_tokens": 443210, "kv_bytes": 2 * round(27.05 * GIB), "weights": round(15.02 * GIB), "graph": round(1.2 * GIB), "reserve": round(5.7 * GIB), "max_num_seqs": 2048, "concurrency": 3.38}),
        (TENSORRT, {"engine": "tensorrt-llm", "kv_tokens": 354624, "kv_bytes": round(43.29 * GIB), "max_num_batched_tokens": 8192, "concurrency": 2.71}),
    ],
    ids=["V1", "V0", "SGLang", "TensorRT-LLM"],
)  # fmt: skip
def test_the_lines_of_a_start_are_one_plan(text, fields):
    (event,) = planned(text)
    assert {name: event.fields[name] for name in fields} == fields


def test_a_draft_model_has_weights_and_graphs_of_its_own_and_a_smaller_cache():
    *model, summary = SGLANG.splitlines(keepends=True)
    draft = "".join(model).replace("15.02", "1.50").replace("443210", "99").replace("1.20", "0.30")
    (event,) = planned("".join(model) + draft + summary)
    assert event.fields["weights"] == round(15.02 * GIB) + round(1.5 * GIB)
    assert event.fields["graph"] == round(1.2 * GIB) + round(0.3 * GIB)
    assert event.fields["kv_tokens"] == 443210


def test_each_start_has_its_own():
    again = V1.replace("17.36", "50.00").replace("188,640", "540,000").replace("10:0", "11:0")
    first, second = planned(V1 + again)
    assert (first.fields["kv_tokens"], second.fields["kv_tokens"]) == (188640, 540000)
    assert second.fields["least_worker"] is None
    assert (first.rank, second.rank) == (1, None)


def test_replicas_are_told_apart():
    text = V1.replace("Worker_", "Worker_DP0_") + V1.replace("Worker_", "Worker_DP1_").replace("_DP0 ", "_DP1 ")  # fmt: skip
    assert [event.fields["dp"] for event in planned(text)] == [0, 1]


def test_older_workers_are_told_apart_by_their_process():
    line = "(VllmWorkerProcess pid={}) INFO 01-05 10:01:10 [gpu_worker.py:276] Available KV cache memory: {} GiB\n"
    text = line.format(511, 40.0) + line.format(512, 9.5)
    (event,) = planned(text)
    assert event.fields["least_worker"] == "VllmWorkerProcess pid=512"


@pytest.mark.parametrize("lines", [0, 1, 4])
def test_a_start_that_is_cut_before_the_cache_is_no_plan(lines):
    assert planned("".join(V1.splitlines(keepends=True)[:lines])) == []
