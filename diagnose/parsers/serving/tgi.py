"""Text Generation Inference: the times of each request, and what it cannot take.

Printed by the router, as text or, with ``--json-output``, as one object a line::

    2026-01-05T10:00:00.123456Z  INFO generate{parameters=GenerateParameters { best_of: None, temperature: Some(0.7) } total_time="2.913s" validation_time="1.2ms" queue_time="80.1µs" inference_time="2.91s" time_per_token="29.1ms" seed="None"}: text_generation_router::server: router/src/server.rs:432: Success

Durations are Rust's. ``inference.timing`` has them by request (``timings``), ``inference.request`` the
sampling parameters of the same line.

*Empty*: no request came, or only its start is logged. *Cut off*: the times stand together, so a cut
line has some or none of them.
"""

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature
from diagnose.parsers.base import LineParser, Pattern
from diagnose.parsers.convert import duration
from diagnose.parsers.serving.sampling import parameters
from diagnose.parsers.serving.timings import timing

_ROUTER = "TGI 0.8 to 3.3, router/src/server.rs"
_TIME = LazyPattern(
    r"\b(total|validation|queue|inference)_time\W{1,3}\"((?:\d+(?:\.\d+)?(?:ns|µs|ms|s|m))+)\""
)
_PER_TOKEN = LazyPattern(r"\btime_per_token\W{1,3}\"((?:\d+(?:\.\d+)?(?:ns|µs|ms|s|m))+)\"")
_REQUEST = 'generate{parameters=GenerateParameters { best_of: None, temperature: Some(0.7), repetition_penalty: None, top_k: None, top_p: Some(0.95), max_new_tokens: Some(400) } total_time="2.913s" validation_time="1.2ms" queue_time="80.1µs" inference_time="2.91s" time_per_token="29.1ms" seed="None"}'


def complete(event: Event, line: Line) -> Event:
    """Read the times or the parameters, in whatever order they stand."""
    if event.name == "inference.timing":
        times = {name: duration(text) for name, text in _TIME.findall(line.raw)}
        per_token = _PER_TOKEN.search(line.raw)
        itl = duration(per_token[1]) if per_token else None
        event.fields = timing("tgi", {**times, "itl": itl})
    elif event.name == "inference.request":
        event.fields = parameters(str(event.fields["params"]))
    return event


TGI = LineParser(
    name="tgi",
    title="TGI's requests, their times, and what it refuses",
    patterns=(
        Pattern(
            event="inference.timing",
            regex=r"\btotal_time\W{1,3}\"\d",
            nature=Nature.MEASUREMENT,
            source=_ROUTER,
            sample=f"2026-01-05T10:00:00.123456Z  INFO {_REQUEST}: text_generation_router::server: router/src/server.rs:432: Success",
        ),
        Pattern(
            event="inference.request",
            regex=r"parameters\W{1,4}(?P<params>GenerateParameters \{.{0,600}?\})",
            nature=Nature.SETTING,
            source=_ROUTER,
            sample=f"2026-01-05T10:00:00.123456Z  INFO {_REQUEST}: text_generation_router::server: router/src/server.rs:432: Success",
        ),
        Pattern(
            event="inference.engine",
            regex=r"text_generation_(?:router|launcher)\b",
            nature=Nature.SETTING,
            source=_ROUTER,
            sample="2026-01-05T10:00:00.123456Z  INFO text_generation_launcher: Starting Webserver",
            constants={"value": "tgi"},
            fact="job.engine",
            once_per_block=True,
        ),
        Pattern(
            event="inference.length_over_kv",
            regex=r"Not enough memory to handle (?P<wanted>\d+) (?P<what>prefill|total) tokens",
            nature=Nature.ERROR,
            source="TGI 0.9 to 3.3, server/text_generation_server/models/flash_causal_lm.py",
            sample="RuntimeError: Not enough memory to handle 4096 prefill tokens. You need to decrease `--max-batch-prefill-tokens`",
            types={"wanted": int},
        ),
        Pattern(
            event="inference.batch_tokens",
            regex=r"Setting max[_ ]batch[_ ]total[_ ]tokens to (?P<tokens>\d+)",
            nature=Nature.MEASUREMENT,
            source="TGI 0.9 to 3.3, router/src/main.rs",
            sample="2026-01-05T10:00:00.123456Z  INFO text_generation_router: router/src/main.rs:317: Setting max batch total tokens to 91344",
            types={"tokens": int},
        ),
        Pattern(
            event="inference.request_too_long",
            regex=r"`inputs` (?:tokens \+ `max_new_tokens` )?must (?:be <=|have less than) (?P<limit>\d+)(?: tokens)?\. Given: (?P<tokens>\d+)",
            nature=Nature.EFFECT,
            source="TGI 0.8 to 3.3, router/src/validation.rs",
            sample="Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 9120 `inputs` tokens and 400 `max_new_tokens`",
            types={"tokens": int, "limit": int},
        ),
        Pattern(
            event="inference.queue_full",
            regex=r"Model is overloaded",
            nature=Nature.ERROR,
            source="TGI 0.8 to 3.3, router/src/infer",
            sample="2026-01-05T10:00:00.123456Z ERROR generate: text_generation_router::infer: router/src/infer/mod.rs:112: Model is overloaded",
        ),
        Pattern(
            event="inference.oom",
            regex=r"Warmup\(.{0,40}?(?P<reason>(?:CUDA )?out of memory)",
            nature=Nature.ERROR,
            source="TGI 0.9 to 3.3, router/src/infer",
            sample='Error: Backend(Warmup(Generation("CUDA out of memory. Tried to allocate 2.00 GiB.")))',
            constants={"phase": "warm-up"},
        ),
        Pattern(
            event="inference.request_failed",
            regex=r"Request failed during generation: (?P<reason>.{1,200})",
            nature=Nature.EFFECT,
            source="TGI 0.8 to 3.3, router/src/infer",
            sample="2026-01-05T10:00:00.123456Z ERROR generate:generate: text_generation_router::infer: router/src/infer/mod.rs:140: Request failed during generation: Server error: transport error",
        ),
        Pattern(
            event="inference.engine_dead",
            regex=r"Shard (?P<rank>\d+) (?:failed to start|crashed)\b",
            nature=Nature.EFFECT,
            source="TGI 0.8 to 3.3, launcher/src/main.rs",
            sample="2026-01-05T10:00:00.123456Z ERROR text_generation_launcher: Shard 1 crashed",
            constants={"value": "tgi", "phase": "serving"},
            fact="job.engine",
        ),
    ),
    refine=complete,
)

PARSERS = (TGI,)
