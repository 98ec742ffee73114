"""How a vLLM engine ends, waits, preempts, and refuses requests.

``EngineDeadError`` and ``Engine core initialization failed`` only repeat that the engine is gone; the
reason stands above them, in a worker. The process that prints ``No available shared memory broadcast
block`` waits for another one::

    (EngineCore_DP0 pid=387) INFO 01-05 10:00:00 [shm_broadcast.py:466] No available shared memory broadcast block found in 60 seconds. This typically happens when some processes are hanging or doing some time-consuming work (e.g. compilation, weight/kv cache quantization).
    (EngineCore_DP0 pid=387) ERROR 01-05 10:02:00 [multiproc_executor.py:135] Worker proc VllmWorker-2 died unexpectedly, shutting down executor.
    (APIServer pid=1) ERROR 01-05 10:02:01 [async_llm.py:408] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.

*Empty*: the engine runs, or was ended from outside. *Cut off*: each message is one line; a short
excerpt of the end holds only those who noticed.
"""

from diagnose.model.event import Event, Line, Nature
from diagnose.parsers.base import LineParser, Pattern

_VLLM = {"value": "vllm"}
"""Each of these lines also states the engine, for ``job.engine``."""

_ALL = "vLLM 0.2 to 0.19"


def _with_rank(event: Event, line: Line) -> Event:
    """Take the rank of a dead worker from its name, ``VllmWorker-2``, or from a list of one."""
    if event.name == "inference.worker_died" and event.rank is None:
        named = event.fields.get("worker") or event.fields.get("ranks") or ""
        number = str(named).rpartition("-")[2]
        event.rank = int(number) if number.isdecimal() else None
    return event


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
            r"\bEngineDeadError(?::|\()|EngineCore encountered an issue\. See stack trace",
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
            event="inference.worker_died",
            regex=r"Worker (?P<worker>\w+) pid (?P<pid>\d+) died, exit code: (?P<exit_code>-?\d+)",
            nature=Nature.EFFECT,
            source="vLLM 0.4 to 0.8, vllm/executor/multiproc_worker_utils.py",
            sample="ERROR 01-05 10:00:00 [multiproc_worker_utils.py:124] Worker VllmWorkerProcess pid 512 died, exit code: -9",
            types={"exit_code": int},
        ),
        Pattern(
            event="inference.rpc_timeout",
            regex=r"RPC call to (?P<call>\w+) timed out",
            nature=Nature.EFFECT,
            source="vLLM 0.8 to 0.19, vllm/v1/executor/multiproc_executor.py",
            sample="TimeoutError: RPC call to execute_model timed out.",
        ),
        Pattern(
            event="inference.rpc_timeout",
            regex=r"Engine iteration timed out\. This should never happen",
            nature=Nature.EFFECT,
            source="vLLM 0.3 to 0.8, vllm/engine/async_llm_engine.py",
            sample="ERROR 01-05 10:00:00 async_llm_engine.py:532] Engine iteration timed out. This should never happen!",
            constants={"call": "an iteration"},
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
            event="inference.preempted",
            regex=r"Request \S{1,120} preempted \(num_tokens=(?P<tokens>\d+), computed_tokens=(?P<computed>\d+), preemption_count=(?P<times>\d+)\)",
            nature=Nature.MEASUREMENT,
            source="vLLM 0.17 to 0.19, vllm/v1/core/sched/scheduler.py",
            sample="(EngineCore_DP0 pid=387) WARNING 01-05 10:00:00 [scheduler.py:928] Request cmpl-7 preempted (num_tokens=40000, computed_tokens=32568, preemption_count=7) due to insufficient KV cache blocks.",
            types={"tokens": int, "computed": int, "times": int},
            constants={**_VLLM, "mode": "recompute"},
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

PARSERS = (END,)
