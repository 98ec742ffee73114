"""How a serving engine was started: its command, the arguments it prints, the configuration it uses.

::

    vllm serve /models/a-7b --tensor-parallel-size 2 --gpu-memory-utilization 0.92
    INFO 01-05 10:00:00 [utils.py:326] non-default args: {'model': '/models/a-7b', 'tensor_parallel_size': 2}
    INFO 01-05 10:00:00 [core.py:58] Initializing a V1 LLM engine (v0.8.5) with config: model='/models/a-7b', max_seq_len=32768, tensor_parallel_size=2, enforce_eager=False
    [2026-01-05 10:00:00] server_args=ServerArgs(model_path='/models/a-7b', tp_size=2, mem_fraction_static=0.88)
    2026-01-05T10:00:00.123456Z  INFO text_generation_launcher: Args { model_id: "/models/a-7b", num_shard: Some(2), max_concurrent_requests: 128 }

The engine's own configuration says what holds; a command only what was asked for.

``inference.limits``
    ``max_model_len``, ``max_num_seqs`` or ``max_num_batched_tokens`` as the engine settled on them.
``inference.config``
    Options under one name each (``options``), None where unknown; ``engine``, ``version`` where it is
    printed, and ``stated_by``: ``command``, ``arguments`` or ``engine``.

*Empty*: the start is not in the excerpt. *Cut off*: what stands before the cut is read.
"""

from collections.abc import Iterator
from re import Match

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature
from diagnose.parsers.base import BlockParser, LineParser, Pattern, make_event
from diagnose.parsers.serving.options import canonical, of_command, of_settings

_VLLM = "vLLM 0.2 to 0.19"
_SGLANG = "SGLang 0.3 to 0.5, python/sglang/srt"

_COMMAND = LazyPattern(
    r"(?:(?P<vllm>\bvllm serve(?= )|vllm\.entrypoints\.(?:openai\.)?api_server\b|vllm/vllm-openai\S*)"
    r"|(?P<sglang>\bsglang\.launch_server\b|\bsglang serve(?= ))"
    r"|(?P<tensorrt>\btrtllm-serve(?: serve)?(?= ))"
    r"|(?P<tgi>\btext-generation-launcher(?= )|/text-generation-inference:\S+)"
    r"|(?P<llama>\bllama-server(?= )))(?P<rest>.*)"
)
_PRINTED = LazyPattern(
    r"(?:(?P<vllm>non-default args: |\bargs: Namespace\((?=.*gpu_memory_utilization)|LLM engine \(v(?P<version>[\w.+-]+)\) with config: )"
    r"|(?P<sglang>server_args=(?:ServerArgs\(|\{))"
    r"|(?P<tgi>text_generation_launcher: Args \{))(?P<rest>.*)"
)
_ENGINES = {
    "vllm": "vllm", "sglang": "sglang", "tensorrt": "tensorrt-llm", "tgi": "tgi", "llama": "llama.cpp",
}  # fmt: skip


def _engine(found: Match[str]) -> str:
    groups = found.groupdict()
    return next(engine for group, engine in _ENGINES.items() if groups.get(group))


def _event(
    lines: list[Line],
    engine: str,
    given: dict[str, str],
    stated_by: str,
    version: str | None = None,
) -> Iterator[Event]:
    options = canonical(given, engine)
    # A program named in prose has no options.
    if any(value is not None for name, value in options.items() if name != "model"):
        yield make_event(
            "inference.config",
            Nature.SETTING,
            lines[0],
            {"engine": engine, "version": version, "stated_by": stated_by, **options},
            end_line=lines[-1].number,
        )


def _read_command(lines: list[Line]) -> Iterator[Event]:
    text = " ".join(line.text.strip().removesuffix("\\") for line in lines)
    found = _COMMAND.search(text)
    if found is not None:
        yield from _event(lines, _engine(found), of_command(found["rest"]), "command")


COMMAND = BlockParser(
    name="serving-command",
    title="commands that start a serving engine",
    opens=(
        "vllm serve", "vllm.entrypoints.", "vllm/vllm-openai", "sglang.launch_server",
        "sglang serve", "trtllm-serve", "text-generation-launcher", "text-generation-inference:",
        "llama-server",
    ),
    starts=lambda line: _COMMAND.search(line.text) is not None,
    ends=lambda lines, following: not lines[-1].text.rstrip().endswith("\\"),
    read=_read_command,
    emits=("inference.config",),
    sample="vllm serve /models/a-7b \\\n  --tensor-parallel-size 2 \\\n  --gpu-memory-utilization 0.92\n",
    maximum=60,
)  # fmt: skip


def _read_printed(lines: list[Line]) -> Iterator[Event]:
    found = _PRINTED.search(lines[0].text)
    if found is None:
        return
    text = " ".join([found["rest"], *(line.text.strip() for line in lines[1:])])
    by_engine = found["version"] is not None or found["sglang"] is not None
    stated_by = "engine" if by_engine else "arguments"
    yield from _event(lines, _engine(found), of_settings(text), stated_by, found["version"])


def _is_over(lines: list[Line], following: Line) -> bool:
    """Return whether printed settings are whole: TGI spreads them over lines up to a brace."""
    first = lines[0].text.rstrip()
    return not first.endswith("Args {") or lines[-1].text.strip() == "}"


PRINTED = BlockParser(
    name="serving-settings",
    title="arguments and configuration that a serving engine prints",
    opens=(
        "non-default args: ", "args: Namespace(", "LLM engine (v", "server_args=ServerArgs(", "server_args={",
        "text_generation_launcher: Args {",
    ),
    starts=lambda line: _PRINTED.search(line.text) is not None,
    ends=_is_over,
    read=_read_printed,
    emits=("inference.config",),
    sample="INFO 01-05 10:00:00 [core.py:58] Initializing a V1 LLM engine (v0.8.5) with config: model='/models/a-7b', dtype=torch.bfloat16, max_seq_len=32768, tensor_parallel_size=2, enforce_eager=False, kv_cache_dtype=auto\n",
    maximum=120,
)  # fmt: skip

NAMES = LineParser(
    name="serving-names",
    title="which serving engine it is, and the share of memory it may take",
    patterns=(
        Pattern(
            event="inference.engine",
            regex=r"(?:vllm\.entrypoints\.\w|\bvllm serve \S|[/\\]vllm[/\\](?:engine|v1|worker|entrypoints|executor)[/\\])",
            nature=Nature.SETTING,
            source=_VLLM,
            sample="python -m vllm.entrypoints.openai.api_server --model /models/a-7b",
            constants={"value": "vllm"},
            fact="job.engine",
            once_per_block=True,
        ),
        Pattern(
            event="inference.utilization",
            regex=r"gpu[-_]memory[-_]utilization(?:'?[\"]?: ?|=| +|\)? ?\()(?P<value>0?\.\d+|1\.0)",
            nature=Nature.SETTING,
            source=f"{_VLLM}, command line and printed arguments",
            sample="vllm serve /models/a-7b --gpu-memory-utilization 0.97 --max-model-len 32768",
            types={"value": float},
            fact="inference.memory_fraction",
        ),
        Pattern(
            event="inference.engine",
            regex=r"sglang\.launch_server|sglang serve |server_args=ServerArgs\(|[/\\]sglang[/\\]srt[/\\]",
            nature=Nature.SETTING,
            source=f"{_SGLANG}/server_args.py",
            sample="python -m sglang.launch_server --model-path /models/a-7b --tp 2",
            constants={"value": "sglang"},
            fact="job.engine",
            once_per_block=True,
        ),
        Pattern(
            event="inference.utilization",
            regex=r"mem[-_]fraction[-_]static(?:=| +|'?: ?)(?P<value>0?\.\d+|1\.0)",
            nature=Nature.SETTING,
            source=f"{_SGLANG}/server_args.py",
            sample="python -m sglang.launch_server --model-path /models/a-7b --mem-fraction-static 0.92",
            types={"value": float},
            fact="inference.memory_fraction",
        ),
        Pattern(
            event="inference.limits",
            regex=r"Using max model len (?P<max_model_len>\d+)",
            nature=Nature.SETTING,
            source="vLLM 0.9 to 0.19, vllm/config",
            sample="INFO 01-05 10:00:00 [__init__.py:1815] Using max model len 4096",
            types={"max_model_len": int},
        ),
        Pattern(
            event="inference.limits",
            regex=r"Chunked prefill is enabled with max_num_batched_tokens=(?P<max_num_batched_tokens>\d+)",
            nature=Nature.SETTING,
            source="vLLM 0.4 to 0.19, vllm/config/scheduler.py",
            sample="INFO 01-05 10:00:00 [scheduler.py:222] Chunked prefill is enabled with max_num_batched_tokens=16384.",
            types={"max_num_batched_tokens": int},
        ),
    ),
)  # fmt: skip

PARSERS = (COMMAND, PRINTED, NAMES)
