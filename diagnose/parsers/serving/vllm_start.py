"""What vLLM says as it starts: the memory plan, and how far it is.

Printed by ``EngineCore`` and the workers, each with its tag and a yearless stamp::

    (EngineCore_DP0 pid=387) INFO 01-05 10:00:00 [gpu_model_runner.py:2653] Model loading took 12.66 GiB memory and 31.66 seconds
    (EngineCore_DP0 pid=387) INFO 01-05 10:00:00 [gpu_worker.py:276] Available KV cache memory: 17.36 GiB
    (EngineCore_DP0 pid=387) INFO 01-05 10:00:00 [kv_cache_utils.py:1087] GPU KV cache size: 188,640 tokens
    (EngineCore_DP0 pid=387) INFO 01-05 10:00:00 [kv_cache_utils.py:1091] Maximum concurrency for 131,072 tokens per request: 5.23x

The memory left for the KV cache is total * utilization less weights, activation peak and what is
not PyTorch's; it can be negative. Memory of CUDA graphs is in it only since 0.19 or so. Of several
workers the one with the least decides for all. ``facts.serving.plans`` lays the figures of a start
side by side.

*Empty*: the engine was not started here, or its start is not in the excerpt. *Cut off*: each
message is one line; what it lacks is left out.
"""

from diagnose.model.event import Nature
from diagnose.parsers.base import LineParser, Pattern
from diagnose.parsers.convert import gib, grouped

_VLLM = {"value": "vllm"}
"""Each of these lines also states the engine, for ``job.engine``."""

_V1 = "vLLM 0.6 to 0.19"
_ALL = "vLLM 0.2 to 0.19"


START = LineParser(
    name="vllm-memory-plan",
    title="vLLM's memory plan and start-up",
    patterns=(
        Pattern(
            event="inference.kv_memory",
            regex=r"Available KV cache memory: (?P<available>-?[\d.]+) GiB",
            nature=Nature.MEASUREMENT,
            source=f"{_V1}, vllm/v1/worker/gpu_worker.py",
            sample="INFO 01-05 10:00:00 [gpu_worker.py:276] Available KV cache memory: -2.16 GiB",
            types={"available": gib},
            constants=_VLLM,
            fact="job.engine",
        ),
        Pattern(
            event="inference.kv_memory",
            regex=r"model weights take (?P<weights>[\d.]+)GiB; non_torch_memory takes (?P<non_torch>-?[\d.]+)GiB; PyTorch activation peak memory takes (?P<activations>[\d.]+)GiB; the rest of the memory reserved for KV Cache is (?P<available>-?[\d.]+)GiB",
            nature=Nature.MEASUREMENT,
            source="vLLM 0.6 to 0.8, vllm/worker/worker.py",
            sample="model weights take 12.55GiB; non_torch_memory takes 0.16GiB; PyTorch activation peak memory takes 2.38GiB; the rest of the memory reserved for KV Cache is 56.18GiB.",
            types=dict.fromkeys(("weights", "non_torch", "activations", "available"), gib),
            constants=_VLLM,
            fact="job.engine",
        ),
        Pattern(
            event="inference.placement",
            regex=r"rank (?P<rank>\d+) in world size (?P<world>\d+) is assigned as DP rank (?P<dp>\d+), PP rank (?P<pp>\d+), (?:\w+ rank \d+, )?TP rank (?P<tp>\d+)",
            nature=Nature.SETTING,
            source="vLLM 0.8 to 0.19, vllm/distributed/parallel_state.py",
            sample="(Worker_TP3 pid=515) INFO 01-05 10:00:00 [parallel_state.py:1208] rank 3 in world size 4 is assigned as DP rank 0, PP rank 0, TP rank 3, EP rank 3",
            types=dict.fromkeys(("rank", "world", "dp", "pp", "tp"), int),
        ),
        Pattern(
            event="inference.nccl_init",
            regex=r"vLLM is using nccl==(?P<version>[\d.]+\d)",
            nature=Nature.MEASUREMENT,
            source=f"{_ALL}, vllm/distributed/device_communicators/pynccl.py",
            sample="(Worker_TP0 pid=512) INFO 01-05 10:00:00 [pynccl.py:111] vLLM is using nccl==2.27.5",
        ),
        Pattern(
            event="inference.memory_budget",
            regex=r"total_gpu_memory \((?P<total>[\d.]+)GiB\) x gpu_memory_utilization \((?P<utilization>[\d.]+)\) = (?P<budget>[\d.]+)GiB",
            nature=Nature.MEASUREMENT,
            source="vLLM 0.6 to 0.8, vllm/worker/worker.py",
            sample="the current vLLM instance can use total_gpu_memory (79.19GiB) x gpu_memory_utilization (0.90) = 71.27GiB",
            types={"total": gib, "utilization": float, "budget": gib},
        ),
        Pattern(
            event="inference.memory_budget",
            regex=r"Free memory on device(?: \S+)? \((?P<free>[\d.]+)/(?P<total>[\d.]+) GiB\) on startup\. Desired GPU memory utilization is \((?P<utilization>[\d.]+), (?P<budget>[\d.]+) GiB\)\. Actual usage is (?P<weights>[\d.]+) GiB for weight, (?P<activations>-?[\d.]+) GiB for peak activation, (?P<non_torch>-?[\d.]+) GiB for non-torch memory,? and (?P<graph>-?[\d.]+) GiB for CUDAGraph memory",
            nature=Nature.MEASUREMENT,
            source="vLLM 0.10 to 0.19, vllm/v1/worker/gpu_worker.py",
            sample="Free memory on device (78.60/79.19 GiB) on startup. Desired GPU memory utilization is (0.9, 71.27 GiB). Actual usage is 12.66 GiB for weight, 5.62 GiB for peak activation, 0.15 GiB for non-torch memory, and 0.74 GiB for CUDAGraph memory. Replace gpu_memory_utilization config with `--kv-cache-memory=56543210987` to fit into requested memory",
            types={"utilization": float} | dict.fromkeys(("free", "total", "budget", "weights", "activations", "non_torch", "graph"), gib),
        ),
        Pattern(
            event="inference.memory_profile",
            regex=r"Total non KV cache memory: [\d.]+ ?GiB; torch peak memory increase: (?P<activations>-?[\d.]+) ?GiB; non-torch forward increase memory: (?P<non_torch>-?[\d.]+) ?GiB; weights memory: (?P<weights>[\d.]+) ?GiB",
            nature=Nature.MEASUREMENT,
            source="vLLM 0.8 to 0.19, vllm/utils, MemoryProfilingResult, at DEBUG level",
            sample="DEBUG 01-05 10:00:00 [gpu_worker.py:270] Memory profiling takes 2.31 seconds. Total non KV cache memory: 18.43GiB; torch peak memory increase: 5.62GiB; non-torch forward increase memory: 0.15GiB; weights memory: 12.66GiB.",
            types=dict.fromkeys(("weights", "activations", "non_torch"), gib),
        ),
        Pattern(
            event="inference.weights",
            regex=r"(?:Model loading took|Loading model weights took) (?P<memory>[\d.]+) G(?:iB|B)(?: memory)?(?: and (?P<seconds>[\d.]+) seconds)?",
            nature=Nature.MEASUREMENT,
            source=f"{_ALL}, vllm/v1/worker/gpu_model_runner.py, vllm/worker/model_runner.py",
            sample="INFO 01-05 10:00:00 [gpu_model_runner.py:2653] Model loading took 12.66 GiB memory and 31.66 seconds",
            types={"memory": gib, "seconds": float},
            constants=_VLLM,
            fact="job.engine",
        ),
        Pattern(
            event="inference.weights",
            regex=r"Loading weights took (?P<seconds>[\d.]+) seconds",
            nature=Nature.MEASUREMENT,
            source=f"{_V1}, vllm/model_executor/model_loader/default_loader.py",
            sample="INFO 01-05 10:00:00 [default_loader.py:268] Loading weights took 24.84 seconds",
            types={"seconds": float},
        ),
        Pattern(
            event="inference.graph_memory",
            regex=r"Estimated CUDA graph memory: (?P<memory>-?[\d.]+) GiB(?: total)?",
            nature=Nature.MEASUREMENT,
            source="vLLM 0.17 to 0.19, vllm/v1/worker/gpu_model_runner.py",
            sample="INFO 01-05 10:00:00 [gpu_model_runner.py:4811] Estimated CUDA graph memory: 0.26 GiB total",
            types={"memory": gib},
        ),
        Pattern(
            event="inference.kv_blocks",
            regex=r"# (?:GPU|cuda) blocks: (?P<blocks>\d+), # CPU blocks: (?P<host_blocks>\d+)",
            nature=Nature.MEASUREMENT,
            source="vLLM 0.2 to 0.8, vllm/executor/executor_base.py",
            sample="INFO 01-05 10:00:00 executor_base.py:76] # GPU blocks: 7191, # CPU blocks: 512",
            types={"blocks": int, "host_blocks": int},
        ),
        Pattern(
            event="inference.kv_tokens",
            regex=r"GPU KV cache size: (?P<tokens>[\d,]+) tokens",
            nature=Nature.MEASUREMENT,
            source=f"{_V1}, vllm/v1/core/kv_cache_utils.py",
            sample="INFO 01-05 10:00:00 [kv_cache_utils.py:1087] GPU KV cache size: 188,640 tokens",
            types={"tokens": grouped},
            constants=_VLLM,
            fact="job.engine",
        ),
        Pattern(
            event="inference.concurrency",
            regex=r"Maximum concurrency for (?P<length>[\d,]+) tokens per request: (?P<factor>[\d.]+)x",
            nature=Nature.MEASUREMENT,
            source=f"{_V1}, vllm/v1/core/kv_cache_utils.py",
            sample="INFO 01-05 10:00:00 [kv_cache_utils.py:1091] Maximum concurrency for 131,072 tokens per request: 5.23x",
            types={"length": grouped, "factor": float},
            constants=_VLLM,
            fact="job.engine",
        ),
        Pattern(
            event="inference.started",
            regex=r"init engine \(profile, create kv cache, warmup model\) took (?P<seconds>[\d.]+) s",
            nature=Nature.MEASUREMENT,
            source=f"{_V1}, vllm/v1/engine/core.py",
            sample="INFO 01-05 10:00:00 [core.py:210] init engine (profile, create kv cache, warmup model) took 37.47 seconds",
            types={"seconds": float},
            constants=_VLLM,
            fact="job.engine",
        ),
        Pattern(
            event="inference.started",
            regex=r"Graph capturing finished in (?P<seconds>[\d.]+) secs?(?:, took (?P<memory>-?[\d.]+) GiB)?",
            nature=Nature.MEASUREMENT,
            source=f"{_ALL}, vllm/v1/worker/gpu_model_runner.py",
            sample="INFO 01-05 10:00:00 [gpu_model_runner.py:3480] Graph capturing finished in 8 secs, took 0.54 GiB",
            types={"seconds": float, "memory": gib},
            constants=_VLLM,
            fact="job.engine",
        ),
        Pattern(
            event="inference.capture",
            regex=r"CUDA graphs can take additional 1~3 GiB|Capturing (?:the model for CUDA graphs|CUDA graphs \()|Capture cuda graph begin",
            nature=Nature.MEASUREMENT,
            source=f"{_ALL}, vllm/worker/model_runner.py; SGLang, cuda_graph_runner.py",
            sample="INFO 01-05 10:00:00 model_runner.py:1060] CUDA graphs can take additional 1~3 GiB memory per GPU.",
            once_per_block=True,
        ),
        Pattern(
            event="inference.compile",
            regex=r"torch\.compile takes (?P<seconds>[\d.]+) s|Compiling a graph for (?P<what>.{1,60}?) takes (?P<graph_seconds>[\d.]+) s",
            nature=Nature.MEASUREMENT,
            source=f"{_V1}, vllm/compilation/monitor.py and backends.py",
            sample="INFO 01-05 10:00:00 [monitor.py:33] torch.compile takes 54.73 s in total",
            types={"seconds": float, "graph_seconds": float},
        ),
    ),
)  # fmt: skip

PARSERS = (START,)
