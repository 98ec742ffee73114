"""Ollama: its queue, the context it cuts prompts to, loading and evicting of models, times of answers.

Printed by the server in Go's slog, and by ``ollama run --verbose``; answers of its API hold the same
times in nanoseconds::

    time=2026-01-05T10:00:00.000Z level=WARN source=runner.go:128 msg="truncating input prompt" limit=4096 prompt=9120 keep=5 new=4096
    {"model":"a-7b","done_reason":"stop","total_duration":4935886791,"load_duration":534986708,"prompt_eval_count":26,"prompt_eval_duration":107345000,"eval_count":298,"eval_duration":4289432000}
    total duration:       4.935886791s

``inference.queue_full``
    A request was turned away because too many were waiting.
``inference.prompt_truncated``
    A prompt was cut to the context that was set; Ollama's default is small.
``inference.model_load``
    A model was brought into memory: at the first request, or again because another one had pushed it
    out (``inference.model_evicted``).
``inference.timing``
    Times of an answer, see ``timings``; ``load`` over a second on many of them is eviction.

*Empty*: nothing went wrong, and times were not asked for. *Cut off*: times behind the cut are unknown.
"""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import BlockParser, LineParser, Pattern
from diagnose.parsers.convert import duration
from diagnose.parsers.serving.timings import timing_event

_OF_API = LazyPattern(
    r"\"(total_duration|load_duration|prompt_eval_count|prompt_eval_duration|eval_count"
    r"|eval_duration)\" ?: ?(\d+)"
)
_PRINTED = LazyPattern(
    r"^(total duration|load duration|prompt eval count|prompt eval duration|eval count"
    r"|eval duration):\s+((?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+|\d+)"
)
_FINISH = LazyPattern(r"\"done_reason\" ?: ?\"(\w+)\"")


def _read_times(lines: list[Line]) -> Iterator[Event]:
    values: dict[str, float] = {}
    finish: str | None = None
    for line in lines:
        for name, text in _OF_API.findall(line.text):
            values[name] = float(text) * (1e-9 if name.endswith("duration") else 1)
        printed = _PRINTED.match(line.text)
        if printed is not None:
            name, text = printed[1].replace(" ", "_"), printed[2]
            values[name] = float(text) if text.isdecimal() else duration(text)
        reason = _FINISH.search(line.text)
        finish = reason[1] if reason else finish
    if "total_duration" not in values:
        return
    prefill, decode = values.get("prompt_eval_duration"), values.get("eval_duration")
    made = values.get("eval_count")
    load = values.get("load_duration")
    known: dict[str, Value] = {
        "total": values["total_duration"],
        "load": load,
        "prefill": prefill,
        "decode": decode,
        "inference": None if prefill is None or decode is None else prefill + decode,
        "ttft": None if prefill is None or load is None else load + prefill,
        "itl": decode / made if decode is not None and made else None,
        "prompt_tokens": values.get("prompt_eval_count"),
        "output_tokens": made,
        "finish_reason": finish,
    }
    yield timing_event(lines, "ollama", known)


TIMES = BlockParser(
    name="ollama-times",
    title="Ollama's times of an answer, of its API and of ollama run --verbose",
    opens=('"total_duration"', "total duration:"),
    starts=lambda line: (
        _OF_API.search(line.text) is not None or _PRINTED.match(line.text) is not None
    ),
    ends=lambda lines, following: (
        '"total_duration"' in following.text
        or not (
            "eval_" in following.text
            or '_duration"' in following.text
            or following.text.startswith(("load ", "prompt eval", "eval "))
        )
    ),
    read=_read_times,
    emits=("inference.timing",),
    sample='{"model":"a-7b","done_reason":"stop","total_duration":4935886791,"load_duration":534986708,"prompt_eval_count":26,"prompt_eval_duration":107345000,"eval_count":298,"eval_duration":4289432000}\n',
    maximum=8,
)


MESSAGES = LineParser(
    name="ollama",
    title="Ollama's queue, context and model loading",
    patterns=(
        Pattern(
            event="inference.memory_returning",
            regex=r"gpu VRAM usage didn't recover within timeout.{0,20}? seconds=(?P<seconds>[\d.]+)",
            nature=Nature.MEASUREMENT,
            sample='time=2026-01-05T10:00:00.000Z level=WARN source=sched.go:646 msg="gpu VRAM usage didn\'t recover within timeout" seconds=5.01',
            source="Ollama 0.1 to 0.13, server/sched.go",
            types={"seconds": float},
        ),
        Pattern(
            event="inference.queue_full",
            regex=r"server busy, please try again\.\s+maximum pending requests exceeded",
            nature=Nature.ERROR,
            sample="server busy, please try again.  maximum pending requests exceeded",
            source="Ollama 0.1 to 0.13, server/sched.go",
        ),
        Pattern(
            event="inference.prompt_truncated",
            regex=r"truncating input prompt\"? .{0,20}?limit=(?P<limit>\d+) prompt=(?P<prompt>\d+)",
            nature=Nature.ERROR,
            sample='time=2026-01-05T10:00:00.000Z level=WARN source=runner.go:128 msg="truncating input prompt" limit=4096 prompt=9120 keep=5 new=4096',
            source="Ollama 0.4 to 0.13, runner/ollamarunner/runner.go",
            types={"limit": int, "prompt": int},
        ),
        Pattern(
            event="inference.model_load",
            regex=r"llama runner started in (?P<seconds>[\d.]+) seconds",
            nature=Nature.MEASUREMENT,
            sample='time=2026-01-05T10:00:00.000Z level=INFO source=server.go:630 msg="llama runner started in 42.18 seconds"',
            source="Ollama 0.1 to 0.13, llm/server.go",
            types={"seconds": float},
        ),
        Pattern(
            event="inference.model_evicted",
            regex=r"model predicted to exceed available memory, evicting|predicted usage exceeds VRAM",
            nature=Nature.MEASUREMENT,
            sample='time=2026-01-05T10:00:00.000Z level=INFO source=sched.go:512 msg="model predicted to exceed available memory, evicting"',
            source="Ollama 0.1 to 0.13, server/sched.go",
        ),
        Pattern(
            event="inference.load_timeout",
            regex=r"timed out waiting for llama runner to start",
            nature=Nature.ERROR,
            sample='time=2026-01-05T10:00:00.000Z level=ERROR source=sched.go:456 msg="error loading llama server" error="timed out waiting for llama runner to start - progress 0.41"',
            source="Ollama 0.1 to 0.13, llm/server.go",
        ),
    ),
)

PARSERS = (TIMES, MESSAGES)
