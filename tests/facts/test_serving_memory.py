from pathlib import Path

import pytest

from diagnose.facts.serving import kv_demand, kv_room, memory_budget, oom_products, plans
from diagnose.facts.serving.model_shapes import element_of, shape_of

from .of_text import read

GIB = 2**30
SAMPLES = Path(__file__).parents[2] / "samples"
PRINTED = ("Available KV cache memory", "reserved for KV Cache is", "KV Cache is allocated")

V0 = """INFO 01-05 10:00:00 config.py:510] non-default args: {{'model': '{model}', 'gpu_memory_utilization': 0.9, 'tensor_parallel_size': 1}}
INFO 01-05 10:00:34 worker.py:267] the current vLLM instance can use total_gpu_memory (79.19GiB) x gpu_memory_utilization (0.90) = 71.27GiB
INFO 01-05 10:00:34 worker.py:267] model weights take 14.99GiB; non_torch_memory takes 0.16GiB; PyTorch activation peak memory takes 2.38GiB; the rest of the memory reserved for KV Cache is {room}GiB.
"""
NEWEST = """INFO 01-05 10:00:01 [gpu_worker.py:298] Free memory on device (78.60/79.19 GiB) on startup. Desired GPU memory utilization is (0.9, 71.27 GiB). Actual usage is 12.66 GiB for weight, 5.62 GiB for peak activation, 0.15 GiB for non-torch memory, and 0.74 GiB for CUDAGraph memory.
INFO 01-05 10:00:02 [gpu_worker.py:276] Available KV cache memory: 52.84 GiB
INFO 01-05 10:00:03 [kv_cache_utils.py:1087] GPU KV cache size: 432,864 tokens
"""
SGLANG = """$ python -m sglang.launch_server --model-path meta-llama/Llama-3.1-8B-Instruct --mem-fraction-static 0.9
[2026-01-05 10:00:00 TP0] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=62.11 GB, mem usage=15.02 GB.
[2026-01-05 10:00:02 TP0] KV Cache is allocated. #tokens: 443210, K size: 27.05 GB, V size: 27.05 GB
[2026-01-05 10:00:10 TP0] max_total_num_tokens=443210, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2048, context_len=131072, available_gpu_mem=5.70 GB
"""
TOO_LONG = "ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (11.44 GiB). Based on the available memory, the estimated maximum model length is 93712.\n"


def planned(text):
    events = read(text)[0]
    return events, list(plans.derive(events))


def checked(text):
    (event,) = memory_budget.derive(planned(text)[1])
    return event.fields


def rooms(text):
    return [event.fields for event in kv_room.derive(*planned(text))]


@pytest.mark.parametrize(
    ("name", "tensor", "kib"),
    [
        ("meta-llama/Llama-2-7b-chat-hf", 1, 512),
        ("/models/Meta-Llama-3-8B-Instruct", 1, 128),
        ("meta-llama/Llama-3.3-70B-Instruct", 1, 320),
        ("Qwen/Qwen2.5-7B-Instruct", 1, 56),
        ("Qwen/Qwen2.5-72B-Instruct-AWQ", 4, 80),
        ("Qwen/Qwen2.5-7B-Instruct", 8, 14),  # four heads on eight GPUs: each twice
        ("deepseek-ai/DeepSeek-V3-0324", 8, 68.625),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", 1, 56),
        ("deepseek-ai/DeepSeek-R1-Distill-Llama-70B", 2, 160),
    ],
)
def test_cache_of_one_token_by_the_name_of_the_model(name, tensor, kib):
    assert shape_of(name).token_bytes(tensor, 1, 2) == kib * 1024


@pytest.mark.parametrize(
    "name", ["/models/acme-8b-instruct", "gemma-3-27b-it", "DeepSeek-V3.2-Exp", None]
)
def test_a_model_that_is_not_known_has_no_shape(name):
    assert shape_of(name) is None


@pytest.mark.parametrize(
    ("kv_dtype", "size"), [(None, 2), ("auto", 2), ("fp8_e4m3", 1), ("bfloat16", 2), ("q4_0", None)]
)
def test_bytes_of_a_value_in_the_cache(kv_dtype, size):
    assert element_of(kv_dtype) == size


@pytest.mark.parametrize(
    "text", [V0.format(model="/models/a", room="53.74"), NEWEST, SGLANG], ids=["V0", "V1", "SGLang"]
)
def test_the_terms_add_up_to_what_is_printed(text):
    assert checked(text)["kv_share"] == pytest.approx(1, abs=0.02)


def test_graphs_that_were_estimated_first_are_counted_in():
    estimated = "INFO 01-05 10:00:00 [gpu_model_runner.py:4811] Estimated CUDA graph memory: 2.00 GiB total\n"
    first, rest = NEWEST.replace("52.84", "50.84").split("\n", 1)
    fields = checked(f"{first}\n{estimated}{rest}")
    assert fields["kv_share"] == pytest.approx(1, abs=0.001)
    assert fields["reserve"] == pytest.approx((79.19 - 71.27) * GIB, rel=0.001)


def test_graphs_that_were_not_come_out_of_the_reserve():
    captured = "INFO 01-05 10:00:09 [gpu_model_runner.py:3480] Graph capturing finished in 21 secs, took 2.74 GiB\n"
    assert checked(NEWEST + captured)["reserve"] == pytest.approx(
        (79.19 - 71.27 - 2.74) * GIB, rel=0.001
    )


def test_the_tokens_that_the_shape_of_the_model_gives():
    fields = checked(SGLANG)
    assert fields["model"] == "Llama-3-8B"
    assert fields["tokens_share"] == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(
    "path",
    [p for p in sorted(SAMPLES.rglob("*.log")) if any(w in p.read_text(errors="replace") for w in PRINTED)],
    ids=lambda path: path.parent.parent.name,
)  # fmt: skip
def test_the_terms_of_every_sample_add_up(path):
    events = read(path.read_text())[0]
    checks = [event.fields for event in memory_budget.derive(list(plans.derive(events)))]
    assert checks
    for fields in checks:
        for share in (fields["kv_share"], fields["tokens_share"]):
            assert share is None or share == pytest.approx(1, abs=0.02)


def test_the_log_itself_says_which_length_fits():
    (fields,) = rooms(TOO_LONG)
    assert fields["refused"] == "length"
    assert (fields["wanted"], fields["fit_tokens"]) == (131072, 93712)
    assert fields["short"] == pytest.approx(4.56 * GIB, rel=0.001)
    assert fields["fp8_fits"] is True
    assert fields["fit_tp"] == 2
    assert fields["fit_utilization"] is None  # how large the GPU is stands nowhere


def test_a_larger_fraction_is_worked_out_where_the_size_of_the_gpu_is_known():
    (fields,) = rooms(V0.format(model="/models/a", room="11.44") + TOO_LONG)
    assert fields["fit_utilization"] == 0.96


def test_a_fraction_over_the_highest_is_not_proposed():
    (fields,) = rooms(V0.format(model="/models/a", room="2.44") + TOO_LONG.replace("11.44", "2.44"))
    assert fields["fit_utilization"] is None
    assert fields["fit_tp"] == 2
    assert fields["fp8_fits"] is False


def test_older_words_get_their_sizes_from_the_shape_of_the_model():
    refusal = "ValueError: The model's max seq len (131072) is larger than the maximum number of tokens that can be stored in KV cache (93760). Try increasing\n"
    text = V0.format(model="Llama-3.1-8B", room="11.44") + refusal
    (fields,) = rooms(text)
    assert fields["needed"] == 16 * GIB
    assert fields["fit_tokens"] == 93760


def test_more_tensor_parallelism_does_not_shrink_a_latent_cache():
    text = TOO_LONG.replace("16.00", "8.58").replace("11.44", "5.00")
    (fields,) = rooms(V0.format(model="DeepSeek-V3", room="5.00").replace("14.99", "1.00") + text)
    assert fields["fit_tp"] is None


def test_no_room_at_all_is_told_once():
    negative = "INFO 01-05 10:00:43 [gpu_worker.py:298] Available KV cache memory: -2.87 GiB\n"
    refusal = "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.\n"
    for text in (negative, negative + refusal):
        (fields,) = rooms(text)
        assert fields["refused"] == "room"
        assert fields["available"] == round(-2.87 * GIB)
        assert fields["fit_tokens"] is None


def test_a_start_with_room_has_no_refusal():
    assert rooms(NEWEST) == []


SCRAPE = """vllm:cache_config_info{{block_size="16",num_gpu_blocks="11790"}} 1.0
vllm:num_requests_running{{model_name="a"}} {running}
vllm:num_requests_waiting{{model_name="a"}} 4.0
vllm:request_prompt_tokens_sum{{model_name="a"}} 900000.0
vllm:request_prompt_tokens_count{{model_name="a"}} 300.0
vllm:request_generation_tokens_sum{{model_name="a"}} 300000.0
vllm:request_generation_tokens_count{{model_name="a"}} 300.0
"""


def test_what_the_requests_need_of_the_cache():
    (event,) = kv_demand.derive(read(SCRAPE.format(running="48.0"))[0], [])
    assert (event.fields["each"], event.fields["needed"]) == (4000, 208000)
    assert event.fields["tokens"] == 11790 * 16


def test_without_the_size_of_the_cache_there_is_no_demand():
    events = read(SCRAPE.format(running="48.0").split("\n", 1)[1])[0]
    assert list(kv_demand.derive(events, [])) == []


OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {size}. GPU 0 has a total capacity of 79.11 GiB of which 1.02 GiB is free. Including non-PyTorch memory, this process has 78.08 GiB memory in use. Of the allocated memory 76.40 GiB is allocated by PyTorch, and 512.00 MiB is reserved by PyTorch but unallocated.\n"
ARGUMENTS = "INFO 01-05 10:00:00 [utils.py:326] non-default args: {'model': 'Qwen/Qwen2.5-7B', 'max_num_batched_tokens': 8192}\n"


@pytest.mark.parametrize(
    ("size", "element"), [("4.64 GiB", 4), ("2.32 GiB", 2), ("3.91 GiB", None), ("20.00 MiB", None)]
)
def test_a_failed_allocation_of_the_size_of_scores(size, element):
    events = read(ARGUMENTS + OOM.format(size=size))[0]
    found = [event.fields["element"] for event in oom_products.derive(events, [])]
    assert found == ([] if element is None else [element])
