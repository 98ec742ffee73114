"""Requests as servers log them: sampling parameters, and what the answer took.

The prompt stands in the same line and is private: it is never kept. Printed only where asked for
(``--enable-log-requests``, ``--log-requests``)::

    INFO 01-05 10:00:00 [logger.py:39] Received request cmpl-1f: prompt: '...', params: SamplingParams(n=1, temperature=0.6, top_p=1.0, max_tokens=4096), ...
    [2026-01-05 10:00:00] Receive: obj=GenerateReqInput(rid='7f', text='...', sampling_params={'temperature': 0.6, 'max_new_tokens': 128})
    [2026-01-05 10:00:02] Finish: obj=GenerateReqInput(...), out={'text': '...', 'meta_info': {'finish_reason': {'type': 'length', 'length': 128}, 'prompt_tokens': 812, 'completion_tokens': 128, 'cached_tokens': 512, 'e2e_latency': 1.92}}

``inference.request``
    Sampling parameters under vLLM's names, None where they are not printed: ``temperature``, ``top_p``,
    ``top_k``, ``min_p``, ``repetition_penalty``, ``presence_penalty``, ``frequency_penalty``,
    ``max_tokens``, ``min_tokens``, ``n``, ``best_of``, ``logprobs``, ``prompt_logprobs``. ``stops`` tells whether
    stop texts or tokens were given, ``guided`` whether the answer must fit a grammar.
``inference.sampling_defaults``
    The same of the model's own generation config, which holds where a request says nothing.
``inference.timing``
    What a finished request took (``timings``): SGLang's ``Finish`` and the ``metrics`` that vLLM puts
    into answers with ``--enable-per-request-metrics``, whose time to the first token leaves out the
    queue.

*Empty*: requests are not logged. *Cut off*: parameters behind the cut are unknown; a long prompt often
cuts the line before them.
"""

from collections.abc import Mapping

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import LineParser, Pattern
from diagnose.parsers.serving.sampling import parameters
from diagnose.parsers.serving.timings import timing

_NUMBER = LazyPattern(r"['\"]?\b(\w+)['\"]?: ?(-?\d+(?:\.\d+)?(?:e-?\d+)?)\b")
_FINISH = LazyPattern(r"['\"]finish_reason['\"]: \{?(?:['\"]type['\"]: )?['\"](\w+)")
_TOKENS = LazyPattern(r"prompt_token_ids|\w+_logprobs'?:")
_PARAMETERS_END = 400
"""Characters of the parameters that an event shows."""


def complete(event: Event, line: Line) -> Event | None:
    """Replace what was captured by the fields, and the text by one without the prompt."""
    if event.name == "inference.request" and "Finish: obj=" in line.text:
        return None  # its parameters were told as it came
    captured = str(event.fields["params"])
    start = line.text.rfind(captured)
    # Tokens of the prompt and of the answer may follow.
    shown = _TOKENS.split(captured[:_PARAMETERS_END])[0]
    if event.name in ("inference.request", "inference.sampling_defaults"):
        event.fields = parameters(captured)
    else:
        event.fields = _of_answer(captured, str(event.fields["engine"]))
    event.text = line.text[max(0, line.text.rfind(" ", 0, start - 1)) : start].strip() + shown
    return event


def _of_answer(text: str, engine: str) -> dict[str, Value]:
    values = {name: float(value) for name, value in _NUMBER.findall(text)}
    finish = _FINISH.search(text)
    known: dict[str, Value] = {"finish_reason": finish[1] if finish else None}
    if engine == "sglang":
        known |= {
            "total": values.get("e2e_latency"),
            "queue": values.get("queue_time"),
            "prompt_tokens": values.get("prompt_tokens"),
            "cached_tokens": values.get("cached_tokens"),
            "output_tokens": values.get("completion_tokens"),
        }
    else:
        known |= _per_request(values)
    return timing(engine, known)


def _per_request(values: Mapping[str, float]) -> dict[str, Value]:
    queue, prefill, decode, itl = (
        values[name] / 1e3 if name in values else None
        for name in ("queue_time_ms", "time_to_first_token_ms", "generation_time_ms", "mean_itl_ms")
    )
    known: dict[str, Value] = {"queue": queue, "prefill": prefill, "decode": decode, "itl": itl}
    if queue is not None and prefill is not None:
        known["ttft"] = queue + prefill
        known["total"] = None if decode is None else queue + prefill + decode
    return known


def _pattern(event: str, regex: str, source: str, sample: str, **constants: Value) -> Pattern:
    nature = Nature.MEASUREMENT if event == "inference.timing" else Nature.SETTING
    return Pattern(
        event=event, regex=regex, nature=nature, source=source, sample=sample, constants=constants
    )


REQUESTS = LineParser(
    name="serving-requests",
    title="sampling parameters and times of logged requests, without their prompts",
    patterns=(
        _pattern(
            "inference.request",
            r"params: (?P<params>SamplingParams\(.{0,1000})",
            "vLLM 0.2 to 0.19, vllm/entrypoints/logger.py",
            "INFO 01-05 10:00:00 [logger.py:39] Received request cmpl-1f: prompt: 'x', params: SamplingParams(n=1, presence_penalty=0.0, frequency_penalty=0.0, repetition_penalty=1.0, temperature=0.6, top_p=1.0, top_k=-1, min_p=0.0, seed=None, stop=[])",
        ),
        _pattern(
            "inference.sampling_defaults",
            r"Using default (?:chat |completion |\w+ )?sampling params from [\w ./-]{1,120}: (?P<params>\{[^}]{0,600})",
            "vLLM 0.7 to 0.19, vllm/entrypoints/openai/serving_chat.py",
            "INFO 01-05 10:00:00 [serving_chat.py:118] Using default chat sampling params from model: {'repetition_penalty': 1.05, 'temperature': 0.7, 'top_k': 20, 'top_p': 0.8}",
        ),
        _pattern(
            "inference.request",
            r"sampling_params=(?P<params>\{[^}]{0,1000})",
            "SGLang 0.3 to 0.5, python/sglang/srt/managers/tokenizer_manager.py",
            "[2026-01-05 10:00:00] Receive: obj=GenerateReqInput(rid='7f', text='x', sampling_params={'temperature': 0.6, 'max_new_tokens': 128})",
        ),
        _pattern(
            "inference.timing",
            r"'meta_info': (?P<params>\{.{0,1000})",
            "SGLang 0.3 to 0.5, python/sglang/srt/managers/tokenizer_manager.py",
            "[2026-01-05 10:00:02] Finish: obj=GenerateReqInput(rid='7f'), out={'text': 'x', 'meta_info': {'id': '7f', 'finish_reason': {'type': 'length', 'length': 128}, 'prompt_tokens': 812, 'completion_tokens': 128, 'cached_tokens': 512, 'e2e_latency': 1.92}}",
            engine="sglang",
        ),
        _pattern(
            "inference.timing",
            r"['\"]metrics['\"]: ?(?P<params>\{[^{}]{0,400}time_to_first_token_ms[^{}]{0,400})",
            "vLLM 0.12 to 0.19, vllm/entrypoints/openai, --enable-per-request-metrics",
            '{"id": "cmpl-7", "metrics": {"time_to_first_token_ms": 41.2, "generation_time_ms": 812.0, "queue_time_ms": 2310.5, "mean_itl_ms": 21.3, "tokens_per_second": 46.9}}',
            engine="vllm",
        ),
    ),
    refine=complete,
)

PARSERS = (REQUESTS,)
