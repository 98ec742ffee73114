"""SGLang outside its batch lines: the memory plan, and how a scheduler fails.

Printed by ``srt/managers``, ``srt/mem_cache`` and ``srt/model_executor`` (0.3 to 0.5)::

    [2026-01-05 10:00:00 TP0] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=62.11 GB, mem usage=15.02 GB.
    [2026-01-05 10:00:00 TP0] KV Cache is allocated. #tokens: 443210, K size: 27.05 GB, V size: 27.05 GB
    [2026-01-05 10:00:00 TP0] max_total_num_tokens=443210, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2048, context_len=131072, available_gpu_mem=5.70 GB

A request that is retracted gives its room back and is computed again later: now and then this is how
the scheduler works. ``SIGQUIT received`` only repeats that a child is gone.

*Empty*: nothing failed, and the start is not in the excerpt. *Cut off*: each message is one line.
"""

from diagnose.model.event import Nature
from diagnose.parsers.base import LineParser, Pattern
from diagnose.parsers.convert import gib

_SOURCE = "SGLang 0.3 to 0.5, python/sglang/srt"

MESSAGES = LineParser(
    name="sglang-messages",
    title="SGLang's memory pool and failures",
    patterns=(
        Pattern(
            event="inference.weights",
            regex=r"Load weight end\. .{0,200}?avail mem=(?P<available>[\d.]+) GB, mem usage=(?P<memory>[\d.]+) GB",
            nature=Nature.MEASUREMENT,
            source=f"{_SOURCE}/model_executor/model_runner.py",
            sample="[2026-01-05 10:00:00 TP0] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=62.11 GB, mem usage=15.02 GB.",
            types={"available": gib, "memory": gib},
            constants={"value": "sglang"},
            fact="job.engine",
        ),
        Pattern(
            event="inference.kv_tokens",
            regex=r"KV Cache is allocated\. (?:dtype: \S+ )?#tokens: (?P<tokens>\d+)(?:, (?:K size: (?P<keys>[\d.]+) GB, V size: (?P<values>[\d.]+)|KV size: (?P<both>[\d.]+)) GB)?",
            nature=Nature.MEASUREMENT,
            source=f"{_SOURCE}/mem_cache/memory_pool.py; one size for both with latent attention",
            sample="[2026-01-05 10:00:00 TP0] KV Cache is allocated. #tokens: 443210, K size: 27.05 GB, V size: 27.05 GB",
            types={"tokens": int, "keys": gib, "values": gib, "both": gib},
            constants={"value": "sglang"},
            fact="job.engine",
        ),
        Pattern(
            event="inference.graph_memory",
            regex=r"Capture (?:cuda|cpu|npu|device) graph end\. Time elapsed: (?P<seconds>[\d.]+) s\. mem usage=(?P<memory>-?[\d.]+) GB",
            nature=Nature.MEASUREMENT,
            source=f"{_SOURCE}/model_executor/model_runner.py",
            sample="[2026-01-05 10:00:00 TP0] Capture cuda graph end. Time elapsed: 8.31 s. mem usage=1.20 GB. avail mem=5.70 GB.",
            types={"seconds": float, "memory": gib},
        ),
        Pattern(
            event="inference.memory_left",
            regex=r"max_total_num_tokens=(?P<tokens>\d+), (?:chunked_prefill_size=(?P<max_num_batched_tokens>-?\d+), )?(?:max_prefill_tokens=\d+, )?(?:max_running_requests=(?P<max_num_seqs>\d+), )?(?:context_len=(?P<max_model_len>\d+), )?.{0,120}?available_gpu_mem=(?P<available>-?[\d.]+) GB",
            nature=Nature.MEASUREMENT,
            source=f"{_SOURCE}/managers/scheduler.py",
            sample="[2026-01-05 10:00:00 TP0] max_total_num_tokens=443210, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2048, context_len=131072, available_gpu_mem=5.70 GB",
            types={"available": gib} | dict.fromkeys(("tokens", "max_num_batched_tokens", "max_num_seqs", "max_model_len"), int),
        ),
        Pattern(
            event="inference.started",
            regex=r"The server is fired up and ready to roll",
            nature=Nature.MEASUREMENT,
            source=f"{_SOURCE}/entrypoints/http_server.py",
            sample="[2026-01-05 10:00:00] The server is fired up and ready to roll!",
            constants={"value": "sglang"},
            fact="job.engine",
        ),
        Pattern(
            event="inference.no_kv_room",
            regex=r"Not enough memory\. Please try to increase --mem-fraction-static\.(?: Current value: \(?[\w=. ]*?(?P<utilization>0?\.\d+))?",
            nature=Nature.ERROR,
            source=f"{_SOURCE}/model_executor/model_runner.py",
            sample="RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: self.server_args.mem_fraction_static=0.6",
            types={"utilization": float},
        ),
        Pattern(
            event="inference.oom",
            regex=r"Capture (?:cuda|CUDA|cpu|device) graph failed: ?(?P<reason>.{0,200})",
            nature=Nature.ERROR,
            source=f"{_SOURCE}/model_executor/cuda_graph_runner.py",
            sample="Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 1.20 GiB.",
            constants={"phase": "capture"},
        ),
        Pattern(
            event="inference.kv_pool_empty",
            regex=r"(?P<kind>Prefill|Decode) out of memory\. Try to lower your batch size",
            nature=Nature.ERROR,
            source=f"{_SOURCE}/managers/schedule_batch.py",
            sample="[2026-01-05 10:00:00 TP0] Decode out of memory. Try to lower your batch size.",
        ),
        Pattern(
            event="inference.kv_pool_empty",
            regex=r"No space left for only one request",
            nature=Nature.ERROR,
            source=f"{_SOURCE}/managers/schedule_batch.py, retract_decode: all others were retracted before",
            sample="AssertionError: No space left for only one request, self.token_to_kv_pool_allocator.available_size()=0",
            constants={"kind": "a single request"},
        ),
        Pattern(
            event="inference.kv_pool_empty",
            regex=r"(?P<kind>(?:Prefill|Decode) transfer|[Pp]re-?alloc\w*|Extend) out of memory\. Try to lower",
            nature=Nature.ERROR,
            source=f"{_SOURCE}/mem_cache/common.py and disaggregation",
            sample="RuntimeError: Extend out of memory. Try to lower your batch size.",
        ),
        Pattern(
            event="inference.kv_pool_empty",
            regex=r"(?P<kind>alloc_req_slots) runs out of memory",
            nature=Nature.ERROR,
            source=f"{_SOURCE}/managers/schedule_batch.py",
            sample="RuntimeError: alloc_req_slots runs out of memory. Please set a smaller number for `--max-running-requests`.",
        ),
        Pattern(
            event="inference.preempted",
            regex=r"(?:KV cache pool is full|Decode out of memory happened)\. (?:Retract requests\. )?#retracted_reqs: (?P<retracted>\d+)(?:, #(?:aborted_retracted_reqs|new_tokens_gained|mamba_num_gained): -?\d+){0,3}(?:, #new_token_ratio: (?P<ratio>[\d.]+) -> (?P<ratio_after>[\d.]+))?",
            nature=Nature.MEASUREMENT,
            source=f"{_SOURCE}/managers/scheduler.py",
            sample="[2026-01-05 10:00:00 TP0] KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_token_ratio: 0.5123 -> 0.6321",
            types={"retracted": int, "ratio": float, "ratio_after": float},
            constants={"mode": "retract"},
        ),
        Pattern(
            event="inference.watchdog",
            regex=r"[Ww]atchdog timeout \((?:self\.)?watchdog_timeout=(?P<lasted>\d+)",
            nature=Nature.EFFECT,
            source=f"{_SOURCE}/managers/scheduler.py",
            sample="[2026-01-05 10:00:00 TP1] Watchdog timeout (self.watchdog_timeout=300)",
            types={"lasted": float},
        ),
        Pattern(
            event="inference.engine_dead",
            regex=r"SIGQUIT received\. signum=|(?:Scheduler|TpModelWorkerClient|Detokenizer\w*|TokenizerManager) hit an exception",
            nature=Nature.EFFECT,
            source=f"{_SOURCE}/entrypoints/engine.py and managers",
            sample="[2026-01-05 10:00:00] SIGQUIT received. signum=None, frame=None. It usually means one child failed.",
            constants={"value": "sglang", "phase": "serving"},
            fact="job.engine",
        ),
        Pattern(
            event="inference.engine_silent",
            regex=r"Health check failed\. Server couldn't get a response from detokenizer for last (?P<lasted>\d+) seconds",
            nature=Nature.EFFECT,
            source=f"{_SOURCE}/entrypoints/http_server.py",
            sample="Health check failed. Server couldn't get a response from detokenizer for last 20 seconds.",
            types={"lasted": float},
        ),
        Pattern(
            event="inference.memory_unbalanced",
            regex=r"The memory capacity is unbalanced\. ?(?:Some GPUs may be occupied by other processes)?",
            nature=Nature.ERROR,
            source=f"{_SOURCE}/model_executor/model_runner.py",
            sample="ValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes. pre_model_load_memory=18.2, local_gpu_memory=78.1",
        ),
        Pattern(
            event="inference.slow_load",
            regex=r"TP rank (?P<waiting_rank>\d+) could finish the model loading, but there are other ranks that didn't finish loading",
            nature=Nature.EFFECT,
            source=f"{_SOURCE}/model_executor/model_runner.py",
            sample="ValueError: TP rank 3 could finish the model loading, but there are other ranks that didn't finish loading. It is likely due to unexpected failures (e.g., OOM) or a slow node.",
            types={"waiting_rank": int},
        ),
    ),
)  # fmt: skip

PARSERS = (MESSAGES,)
