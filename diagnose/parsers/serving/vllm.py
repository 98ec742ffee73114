"""vLLM outside its statistics: the memory plan at start-up, requests, and how an engine fails.

Printed by the API server, ``EngineCore`` and the workers, each with its tag and a yearless stamp::

    (EngineCore_DP0 pid=387) INFO 01-05 10:00:00 [gpu_worker.py:276] Available KV cache memory: 17.36 GiB
    (EngineCore_DP0 pid=387) INFO 01-05 10:00:00 [kv_cache_utils.py:1087] GPU KV cache size: 188,640 tokens
    (EngineCore_DP0 pid=387) INFO 01-05 10:00:00 [kv_cache_utils.py:1091] Maximum concurrency for 131,072 tokens per request: 5.23x

The memory left for the KV cache is total * utilization less weights, activation peak and what is
not PyTorch's; it can be negative. ``EngineDeadError`` and ``Engine core initialization failed`` only
repeat that the engine is gone; the reason stands above them, in a worker. The process that prints
``No available shared memory broadcast block`` waits for another one.

*Empty*: the engine was not started here, or its start is not in the excerpt. *Cut off*: each
message is one line; what it lacks is left out. Prompts of logged requests are never kept.
"""

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature
from diagnose.parsers.base import LineParser, Pattern
from diagnose.parsers.convert import size

_VLLM = {"value": "vllm"}
"""Each of these lines also states the engine, for ``job.engine``."""

_SAMPLING = (
    "temperature", "top_p", "top_k", "min_p", "repetition_penalty", "presence_penalty",
    "frequency_penalty", "max_tokens",
)  # fmt: skip
_PARAMETER = LazyPattern(r"(\w+)=(-?\d+(?:\.\d+)?)")

_V1 = "vLLM 0.6 to 0.19"
_ALL = "vLLM 0.2 to 0.19"


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _gib(text: str) -> int:
    return size(f"{text} GiB")


def _complete(event: Event, line: Line) -> Event:
    if event.name == "inference.request":
        params = dict(_PARAMETER.findall(str(event.fields["params"])))
        event.fields = {name: float(params[name]) if name in params else None for name in _SAMPLING}
        # What stands before it is the prompt, which is private.
        event.text = line.text[line.text.find("params: ") :][:400]
    return event


def _with_rank(event: Event, line: Line) -> Event:
    """Take the rank of a dead worker from its name, ``VllmWorker-2``."""
    if event.name == "inference.worker_died" and event.rank is None:
        number = str(event.fields.get("worker") or "").rpartition("-")[2]
        event.rank = int(number) if number.isdecimal() else None
    return event


PLAN = LineParser(
    name="vllm-memory-plan",
    title="vLLM's memory plan and start-up",
    patterns=(
        Pattern(
            event="inference.engine",
            regex=r"(?:vllm\.entrypoints\.\w|\bvllm serve \S|[/\\]vllm[/\\](?:engine|v1|worker|entrypoints|executor)[/\\])",
            nature=Nature.SETTING,
            source=_ALL,
            sample="python -m vllm.entrypoints.openai.api_server --model /models/a-7b",
            constants=_VLLM,
            fact="job.engine",
            once_per_block=True,
        ),
        Pattern(
            event="inference.kv_memory",
            regex=r"Available KV cache memory: (?P<available>-?[\d.]+) GiB",
            nature=Nature.MEASUREMENT,
            source=f"{_V1}, vllm/v1/worker/gpu_worker.py",
            sample="INFO 01-05 10:00:00 [gpu_worker.py:276] Available KV cache memory: -2.16 GiB",
            types={"available": _gib},
            constants=_VLLM,
            fact="job.engine",
        ),
        Pattern(
            event="inference.kv_memory",
            regex=r"model weights take (?P<weights>[\d.]+)GiB; non_torch_memory takes (?P<non_torch>-?[\d.]+)GiB; PyTorch activation peak memory takes (?P<activations>[\d.]+)GiB; the rest of the memory reserved for KV Cache is (?P<available>-?[\d.]+)GiB",
            nature=Nature.MEASUREMENT,
            source="vLLM 0.6 to 0.8, vllm/worker/worker.py",
            sample="model weights take 12.55GiB; non_torch_memory takes 0.16GiB; PyTorch activation peak memory takes 2.38GiB; the rest of the memory reserved for KV Cache is 56.18GiB.",
            types=dict.fromkeys(("weights", "non_torch", "activations", "available"), _gib),
            constants=_VLLM,
            fact="job.engine",
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
            types={"tokens": _number},
            constants=_VLLM,
            fact="job.engine",
        ),
        Pattern(
            event="inference.concurrency",
            regex=r"Maximum concurrency for (?P<length>[\d,]+) tokens per request: (?P<factor>[\d.]+)x",
            nature=Nature.MEASUREMENT,
            source=f"{_V1}, vllm/v1/core/kv_cache_utils.py",
            sample="INFO 01-05 10:00:00 [kv_cache_utils.py:1091] Maximum concurrency for 131,072 tokens per request: 5.23x",
            types={"length": _number, "factor": float},
            constants=_VLLM,
            fact="job.engine",
        ),
        Pattern(
            event="inference.utilization",
            regex=r"gpu[-_]memory[-_]utilization(?:'?[\"]?: ?|=| +|\)? ?\()(?P<value>0?\.\d+|1\.0)",
            nature=Nature.SETTING,
            source=f"{_ALL}, command line and printed arguments",
            sample="vllm serve /models/a-7b --gpu-memory-utilization 0.97 --max-model-len 32768",
            types={"value": float},
            fact="inference.memory_fraction",
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
            types={"seconds": float, "memory": _gib},
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
        Pattern(
            event="inference.request",
            regex=r"params: SamplingParams\((?P<params>.{0,900})",
            nature=Nature.SETTING,
            source=f"{_ALL}, vllm/entrypoints/logger.py",
            sample="INFO 01-05 10:00:00 [logger.py:39] Received request cmpl-1f: prompt: 'x', params: SamplingParams(n=1, presence_penalty=0.0, frequency_penalty=0.0, repetition_penalty=1.0, temperature=0.6, top_p=1.0, top_k=-1, min_p=0.0, seed=None, stop=[])",
        ),
    ),
    refine=_complete,
)  # fmt: skip


_SERVING = (
    "execute_model",
    "forward_batch_generation",
    "forward_extend",
    "forward_decode",
    "run_batch",
    "step",
    "busy_loop",
    "run_busy_loop",
    "run_engine_loop",
    "event_loop_overlap",
    "event_loop_normal",
    "prefill",
    "decode",
    "Prefill",
    "Decode",
    "run_engine_core",
)
"""Functions of the loops and of the step that serve requests."""

START = LineParser(
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
            regex=r"max seq len \((?P<wanted>\d+)\), \(?(?P<needed>[\d.]+) ?GiB (?:of )?KV cache is needed, which is larger than the available KV cache memory \((?P<available>-?[\d.]+) ?GiB\)(?:.{0,120}?estimated maximum model length is (?P<tokens>\d+))?",
            nature=Nature.ERROR,
            source="vLLM 0.8 to 0.19, vllm/v1/core/kv_cache_utils.py",
            sample="ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (11.44 GiB). Based on the available memory, the estimated maximum model length is 93712.",
            types={"wanted": int, "tokens": int, "needed": _gib, "available": _gib},
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
            types={"free": _gib, "total": _gib, "wanted": _gib, "utilization": float},
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
        Pattern(
            event="inference.frame",
            regex=r"[/\\](?:vllm|sglang)[/\\]\S{1,160}, line \d+, in (?P<function>profile_run|_dummy_run|profile_num_available_blocks|determine_num_available_blocks|determine_available_memory|profile_max_num_token)\b",
            nature=Nature.MEASUREMENT,
            source=f"{_ALL} and SGLang, a Python traceback",
            sample='  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/worker/gpu_model_runner.py", line 2301, in profile_run',
            constants={"phase": "profile"},
        ),
        Pattern(
            event="inference.frame",
            regex=r"[/\\](?:vllm|sglang)[/\\]\S{1,160}, line \d+, in (?P<function>capture_model|_capture_cudagraphs|capture_one_batch_size|init_device_graphs|init_cuda_graphs|capture)\b",
            nature=Nature.MEASUREMENT,
            source=f"{_ALL} and SGLang, a Python traceback",
            sample='  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/worker/gpu_model_runner.py", line 2401, in capture_model',
            constants={"phase": "capture"},
        ),
        Pattern(
            event="inference.frame",
            regex=r"with torch\.cuda\.(?P<function>graph)\((?:cudagraph,|self\._graph,|\s*cudagraph\b)",
            nature=Nature.MEASUREMENT,
            source=f"{_ALL}, vllm/compilation/backends.py and cuda_graph.py, vllm/worker/model_runner.py",
            sample="    with torch.cuda.graph(cudagraph, pool=self.graph_pool):",
            constants={"phase": "capture"},
        ),
        Pattern(
            event="inference.frame",
            regex=r"[/\\](?:vllm|sglang)[/\\]\S{1,160}, line \d+, in (?P<function>load_model|load_weights|create_weights)\b",
            nature=Nature.MEASUREMENT,
            source=f"{_ALL} and SGLang, a Python traceback",
            sample='  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/worker/gpu_worker.py", line 180, in load_model',
            constants={"phase": "load"},
        ),
        Pattern(
            event="inference.frame",
            regex=rf"[/\\](?:vllm|sglang|lmdeploy|text_generation_server)[/\\]\S{{1,160}}, line \d+, in (?P<function>{'|'.join(_SERVING)})\b",
            nature=Nature.MEASUREMENT,
            source=f"{_ALL}, SGLang and TGI, a Python traceback",
            sample='  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/worker/gpu_worker.py", line 441, in execute_model',
            literals=tuple(f", in {name}" for name in _SERVING),
            constants={"phase": "serving"},
        ),
    ),
)  # fmt: skip


def _end(regex: str, source: str, sample: str, **constants: str) -> Pattern:
    return Pattern(
        event="inference.engine_dead", regex=regex, nature=Nature.EFFECT, source=source,
        sample=sample, constants={**_VLLM, **constants}, fact="job.engine",
    )  # fmt: skip


END = LineParser(
    name="vllm-engine-end",
    title="how a vLLM engine ends, waits or preempts",
    patterns=(
        _end(
            r"EngineDeadError(?::|\()|EngineCore encountered an issue\. See stack trace",
            "vLLM 0.8 to 0.19, vllm/v1/engine/exceptions.py",
            "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.",
            phase="serving",
        ),
        _end(
            r"EngineCore (?:hit an exception|encountered a fatal error|died unexpectedly)|Engine core proc \S+ died unexpectedly",
            "vLLM 0.7 to 0.19, vllm/v1/engine/core.py and core_client.py",
            "ERROR 01-05 10:00:00 [core.py:708] EngineCore encountered a fatal error.",
            phase="serving",
        ),
        _end(
            r"EngineCore failed to start|Engine core initialization failed|Engine process failed to start",
            "vLLM 0.6 to 0.19, vllm/v1/engine/core.py and utils.py",
            "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
            phase="start",
        ),
        _end(
            r"AsyncEngineDeadError|Background loop (?:has errored already|is stopped)|Engine loop is not running|MQEngineDeadError|Engine loop has died",
            "vLLM 0.2 to 0.8, vllm/engine/async_llm_engine.py, multiprocessing/client.py",
            "vllm.engine.async_llm_engine.AsyncEngineDeadError: Background loop has errored already.",
            phase="serving",
        ),
        Pattern(
            event="inference.worker_died",
            regex=r"(?:Worker proc (?P<worker>[\w-]+)|RayWorkerProc rank=\[(?P<ranks>[\d, ]+)\]) died unexpectedly",
            nature=Nature.EFFECT,
            source="vLLM 0.8 to 0.19, vllm/v1/executor/multiproc_executor.py",
            sample="ERROR 01-05 10:00:00 [multiproc_executor.py:135] Worker proc VllmWorker-2 died unexpectedly, shutting down executor.",
        ),
        Pattern(
            event="inference.rpc_timeout",
            regex=r"RPC call to (?P<call>\w+) timed out",
            nature=Nature.EFFECT,
            source="vLLM 0.8 to 0.19, vllm/v1/executor/multiproc_executor.py",
            sample="TimeoutError: RPC call to execute_model timed out.",
        ),
        Pattern(
            event="inference.broadcast_wait",
            regex=r"No available (?:shared memory broadcast )?block found ?in (?P<seconds>\d+) seconds?",
            nature=Nature.EFFECT,
            source=f"{_ALL}, vllm/distributed/device_communicators/shm_broadcast.py",
            sample="INFO 01-05 10:00:00 [shm_broadcast.py:466] No available shared memory broadcast block found in 60 seconds. This typically happens when some processes are hanging or doing some time-consuming work (e.g. compilation, weight/kv cache quantization).",
            types={"seconds": float},
        ),
        Pattern(
            event="inference.preempted",
            regex=r"is preempted by PreemptionMode\.(?P<mode>\w+) mode(?:.{0,300}?total_(?:num_cumulative_preemption|cumulative_preemption_cnt)=(?P<total>\d+))?",
            nature=Nature.MEASUREMENT,
            source="vLLM 0.3 to 0.8, vllm/core/scheduler.py; every fiftieth is printed",
            sample="WARNING 01-05 10:00:00 scheduler.py:1057] Sequence group cmpl-7 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space. This can affect the end-to-end performance. Increase gpu_memory_utilization or tensor_parallel_size to provide more KV cache memory. total_num_cumulative_preemption=51",
            types={"total": int, "mode": str.lower},
            constants=_VLLM,
            fact="job.engine",
        ),
        Pattern(
            event="inference.kv_exceeded",
            regex=r"(?:Input prompt|The prompt|prompt) \((?P<tokens>\d+) tokens\) (?:is too long and exceeds|\+ lookahead slots .{0,40}?is too long and exceeds) (?:the )?(?:limit|capacity) of (?P<limit>\d+|block_manager)",
            nature=Nature.EFFECT,
            source="vLLM 0.2 to 0.8, vllm/core/scheduler.py",
            sample="WARNING 01-05 10:00:00 scheduler.py:717] Input prompt (9120 tokens) is too long and exceeds limit of 4096",
            types={"tokens": int},
        ),
        Pattern(
            event="inference.request_too_long",
            regex=r"maximum context length is (?P<limit>\d+) tokens\. However, (?:you requested|your request has) (?P<tokens>\d+)",
            nature=Nature.EFFECT,
            source=f"{_ALL}, vllm/entrypoints/openai/serving_engine.py",
            sample="This model's maximum context length is 4096 tokens. However, you requested 9120 tokens in the messages",
            types={"tokens": int, "limit": int},
        ),
    ),
    refine=_with_rank,
)

PARSERS = (PLAN, START, END)
