"""SGLang: batch lines, memory pool, and how a scheduler fails.

Printed by ``srt/managers/scheduler*.py``, ``srt/mem_cache`` and ``srt/model_executor`` (0.3 to 0.5),
each line behind ``[2026-01-05 10:00:00 TP0]``::

    Prefill batch, #new-seq: 3, #new-token: 8192, #cached-token: 1024, token usage: 0.41, #running-req: 57, #queue-req: 12,
    Decode batch, #running-req: 60, #token: 370959, token usage: 0.82, cuda graph: True, gen throughput (token/s): 4594.01, #queue-req: 12,

The order of the parts and the sign behind ``batch`` vary, so a line is read as pairs. All tensor-
parallel ranks may print; the statistics come from the first one. A request that is retracted gives
its room back and is computed again later: now and then this is how the scheduler works.

*Empty*: no request came. *Cut off*: a line cut short is read up to the cut, without a queue length
it is no sample.
"""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Measurement, Nature
from diagnose.parsers.base import BlockText, BulkParser, LineParser, Pattern, make_event
from diagnose.parsers.convert import size
from diagnose.parsers.metric_names import numbers
from diagnose.parsers.serving.samples import Sample, episodes

BATCH = LazyPattern(rb"(Prefill|Decode) batch(?: \[\d+\])?[.,] ([^\r\n]{10,600})")
PART = LazyPattern(rb"(#?[A-Za-z][\w /()-]*?): ([\d.]+\d|\d|True|False)%?")
CUT_PREFIX = LazyPattern(r"[\d :.,-]{8,30}? ((?:(?:DP|PP|TP|EP|ATTN|MOE)\w* ?)+)\] ")

_SOURCE = "SGLang 0.3 to 0.5, python/sglang/srt"


def read(block: BlockText) -> Iterator[Event | Measurement]:
    """Read the batch lines of a block."""
    samples: list[Sample] = []
    for found in BATCH.finditer(block.data):
        parts = dict(PART.findall(found[2]))
        if b"#queue-req" not in parts:
            continue
        usage = parts.get(b"token usage", parts.get(b"full token usage"))
        values = numbers(
            {
                "running": parts.get(b"#running-req"),
                "waiting": parts[b"#queue-req"],
                "kv_cache_usage": usage,
                "generation_tokens_per_s": parts.get(b"gen throughput (token/s)"),
                "prompt_tokens_per_s": parts.get(b"input throughput (token/s)"),
            }
        )
        tokens = numbers({"new": parts.get(b"#new-token"), "cached": parts.get(b"#cached-token")})
        if sum(tokens.values()) > 0 and "cached" in tokens:
            values["prefix_cache_hit_rate"] = tokens["cached"] / sum(tokens.values())
        line = block.line_at(found.start())
        yield Measurement(line, None, values)
        samples.append(
            Sample(
                line=line,
                engine=line.stream or _named(line.raw) or "0",
                running=values.get("running", 0.0),
                waiting=values["waiting"],
                kv=values.get("kv_cache_usage"),
                # A prefill batch states its tokens, and only newer versions their rate.
                prompt=values.get("prompt_tokens_per_s", tokens.get("new")),
                generated=values.get("generation_tokens_per_s"),
                hit=values.get("prefix_cache_hit_rate"),
                preempted=0.0,
            )
        )
    if samples:
        yield make_event(
            "inference.engine", Nature.SETTING, samples[0].line, {"value": "sglang"},
            fact="job.engine",
        )  # fmt: skip
    yield from episodes(samples)


def _named(raw: str) -> str | None:
    """Return the engine in a prefix whose first sign was not copied, which is then no prefix."""
    found = CUT_PREFIX.match(raw)
    return found[1] if found else None


def _gb(text: str) -> int:
    return size(f"{text} GB")


BATCHES = BulkParser(
    name="sglang-batches",
    title="SGLang's lines of prefill and decode batches",
    opens=("Prefill batch", "Decode batch"),
    read=read,
    emits=(
        "running", "waiting", "kv_cache_usage", "prefix_cache_hit_rate", "prompt_tokens_per_s",
        "generation_tokens_per_s", "inference.engine", "inference.queue", "inference.stall",
        "inference.prefix_cache", "inference.preemptions", "inference.serving",
    ),
    sample="[2026-01-05 10:00:01 TP0] Decode batch, #running-req: 60, #token: 370959, token usage: 0.82, cuda graph: True, gen throughput (token/s): 4594.01, #queue-req: 12,\n",
)  # fmt: skip

MESSAGES = LineParser(
    name="sglang-messages",
    title="SGLang's memory pool and failures",
    patterns=(
        Pattern(
            event="inference.engine",
            regex=r"sglang\.launch_server|sglang serve |server_args=ServerArgs\(|[/\\]sglang[/\\]srt[/\\]",
            nature=Nature.SETTING,
            source=f"{_SOURCE}/server_args.py",
            sample="python -m sglang.launch_server --model-path /models/a-7b --tp 2",
            constants={"value": "sglang"},
            fact="job.engine",
            once_per_block=True,
        ),
        Pattern(
            event="inference.utilization",
            regex=r"mem[-_]fraction[-_]static(?:=| +|'?: ?)(?P<value>0?\.\d+|1\.0)",
            nature=Nature.SETTING,
            source=f"{_SOURCE}/server_args.py",
            sample="python -m sglang.launch_server --model-path /models/a-7b --mem-fraction-static 0.92",
            types={"value": float},
            fact="inference.memory_fraction",
        ),
        Pattern(
            event="inference.kv_tokens",
            regex=r"KV Cache is allocated\. (?:dtype: \S+ )?#tokens: (?P<tokens>\d+), K size: (?P<keys>[\d.]+) GB, V size: (?P<values>[\d.]+) GB",
            nature=Nature.MEASUREMENT,
            source=f"{_SOURCE}/mem_cache/memory_pool.py",
            sample="[2026-01-05 10:00:00 TP0] KV Cache is allocated. #tokens: 443210, K size: 27.05 GB, V size: 27.05 GB",
            types={"tokens": int, "keys": _gb, "values": _gb},
            constants={"value": "sglang"},
            fact="job.engine",
        ),
        Pattern(
            event="inference.memory_left",
            regex=r"max_total_num_tokens=(?P<tokens>\d+), .{0,200}?available_gpu_mem=(?P<available>-?[\d.]+) GB",
            nature=Nature.MEASUREMENT,
            source=f"{_SOURCE}/managers/scheduler.py",
            sample="[2026-01-05 10:00:00 TP0] max_total_num_tokens=443210, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2048, context_len=131072, available_gpu_mem=5.70 GB",
            types={"tokens": int, "available": _gb},
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
            regex=r"(?:KV cache pool is full|Decode out of memory happened)\. (?:Retract requests\. )?#retracted_reqs: (?P<retracted>\d+)(?:, #aborted_retracted_reqs: \d+)?(?:, #new_token_ratio: (?P<ratio>[\d.]+) -> (?P<ratio_after>[\d.]+))?",
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

PARSERS = (BATCHES, MESSAGES)
