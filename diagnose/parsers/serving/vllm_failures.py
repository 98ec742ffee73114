"""Why a vLLM engine did not start: no room for the KV cache, lengths that do not fit, memory taken.

Raised while the memory is profiled and the KV cache is cut, in ``EngineCore`` or a worker::

    ValueError: Free memory on device cuda:0 (3.25/79.19 GiB) on startup is less than desired GPU memory utilization (0.9, 71.27 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.
    ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (11.44 GiB). Based on the available memory, the estimated maximum model length is 93712.

*Empty*: the engine started, or fails for another reason. *Cut off*: each message is one line; the
estimate at its end may be missing, and a narrow terminal breaks it behind the needed size.
"""

from diagnose.model.event import Nature
from diagnose.parsers.base import LineParser, Pattern
from diagnose.parsers.convert import gib

_ALL = "vLLM 0.2 to 0.19"


FAILURES = LineParser(
    name="vllm-start-failures",
    title="why a vLLM engine did not start",
    patterns=(
        Pattern(
            event="inference.no_kv_room",
            regex=r"No available memory for the cache blocks\.(?: ?Try increasing|\s*$)",
            nature=Nature.ERROR,
            source=f"{_ALL}, vllm/v1/core/kv_cache_utils.py, vllm/worker/worker.py",
            sample="ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.",
        ),
        Pattern(
            event="inference.length_over_kv",
            regex=r"max (?:seq len|model len|sequence length) \((?P<wanted>\d+)\) is larger than the maximum number of tokens that can be stored in (?:the )?KV cache \((?P<tokens>\d+)\)",
            nature=Nature.ERROR,
            source="vLLM 0.2 to 0.8, vllm/worker/worker.py, raise_if_cache_size_invalid",
            sample="ValueError: The model's max seq len (131072) is larger than the maximum number of tokens that can be stored in KV cache (93760). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.",
            types={"wanted": int, "tokens": int},
        ),
        Pattern(
            event="inference.length_over_kv",
            regex=r"max seq len \((?P<wanted>\d+)\), \(?(?P<needed>[\d.]+) ?GiB (?:of )?KV cach(?:e is needed, which is larger than the available KV cache memory \((?P<available>-?[\d.]+) ?GiB\)(?:.{0,120}?estimated maximum model length is (?P<tokens>\d+))?)?",
            nature=Nature.ERROR,
            source="vLLM 0.8 to 0.19, vllm/v1/core/kv_cache_utils.py",
            sample="ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (11.44 GiB). Based on the available memory, the estimated maximum model length is 93712.",
            types={"wanted": int, "tokens": int, "needed": gib, "available": gib},
        ),
        Pattern(
            event="inference.length_over_model",
            regex=r"User-specified max_model_len \((?P<wanted>\d+)\) is greater than the derived max_model_len \((?:\w+=)?(?P<tokens>\d+)",
            nature=Nature.ERROR,
            source=f"{_ALL}, vllm/config",
            sample="ValueError: User-specified max_model_len (65536) is greater than the derived max_model_len (max_position_embeddings=32768 or model_max_length=None in model's config.json).",
            types={"wanted": int, "tokens": int},
        ),
        Pattern(
            event="inference.length_over_model",
            regex=r"max_num_batched_tokens \((?P<tokens>\d+)\) (?:is|must be) (?:smaller than|greater than or equal to) max_(?P<limit>model_len|num_seqs) \((?P<wanted>\d+)\)",
            nature=Nature.ERROR,
            source=f"{_ALL}, vllm/config/scheduler.py",
            sample="ValueError: max_num_batched_tokens (2048) is smaller than max_model_len (32768). This effectively limits the maximum sequence length to max_num_batched_tokens and makes vLLM reject longer sequences.",
            types={"wanted": int, "tokens": int},
        ),
        Pattern(
            event="inference.memory_taken",
            regex=r"Free memory on device(?: \S+)? \((?P<free>[\d.]+)/(?P<total>[\d.]+) GiB\) on startup is less than desired GPU memory utilization \((?P<utilization>[\d.]+), (?P<wanted>[\d.]+) GiB\)",
            nature=Nature.ERROR,
            source="vLLM 0.8 to 0.19, vllm/v1/worker/gpu_worker.py",
            sample="ValueError: Free memory on device cuda:0 (3.25/79.19 GiB) on startup is less than desired GPU memory utilization (0.9, 71.27 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.",
            types={"free": gib, "total": gib, "wanted": gib, "utilization": float},
        ),
        Pattern(
            event="inference.memory_changed",
            regex=r"Error in memory profiling\. Initial free memory (?P<before>[\d.]+)[^,]{0,8}, current free memory (?P<after>[\d.]+)",
            nature=Nature.ERROR,
            source=f"{_ALL}, vllm/v1/worker/gpu_worker.py",
            sample="AssertionError: Error in memory profiling. Initial free memory 60.01 GiB, current free memory 61.22 GiB. This happens when other processes sharing the same container release GPU memory while vLLM is profiling during initialization.",
        ),
        Pattern(
            event="inference.oom",
            regex=r"CUDA out of memory occurred when warming up sampler with (?P<sequences>\d+) dummy requests",
            nature=Nature.ERROR,
            source="vLLM 0.8 to 0.19, vllm/v1/worker/gpu_model_runner.py",
            sample="RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please try lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the engine.",
            types={"sequences": int},
            constants={"phase": "warm-up"},
        ),
    ),
)  # fmt: skip

PARSERS = (FAILURES,)
