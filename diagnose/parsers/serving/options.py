"""The options of serving engines under one name each, from command lines and printed settings.

Not a parser: ``launch`` uses it. vLLM's ``--tensor-parallel-size``, SGLang's ``tp_size`` and TGI's
``num_shard`` are all ``tp``. Values are converted: sizes in bytes, counts as whole numbers, switches as
true or false, whichever way round the engine spells them.
"""

import shlex
from collections.abc import Mapping

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Value

OPTIONS: dict[str, tuple[str, ...]] = {
    "model": ("model", "model_tag", "model_path", "model_id", "hf_repo", "m"),
    "served_name": ("served_model_name",),
    "tp": ("tensor_parallel_size", "tp", "tp_size", "num_shard"),
    "pp": ("pipeline_parallel_size", "pp", "pp_size"),
    "dp": ("data_parallel_size", "dp", "dp_size"),
    "ep": ("expert_parallel_size", "ep", "ep_size"),
    "expert_parallel": ("enable_expert_parallel", "enable_ep_moe"),
    "utilization": (
        "gpu_memory_utilization", "mem_fraction_static", "cuda_memory_fraction",
        "kv_cache_free_gpu_memory_fraction", "kv_cache_free_gpu_mem_fraction",
    ),
    "max_model_len": (
        "max_model_len", "max_seq_len", "context_length", "max_total_tokens", "ctx_size", "c",
    ),
    "max_num_seqs": (
        "max_num_seqs", "max_running_requests", "max_batch_size", "parallel", "np",
    ),
    "max_num_batched_tokens": (
        "max_num_batched_tokens", "chunked_prefill_size", "max_prefill_tokens",
        "max_batch_prefill_tokens", "max_num_tokens",
    ),
    "max_concurrent_requests": ("max_concurrent_requests", "max_queued_requests"),
    "block_size": ("block_size", "page_size", "tokens_per_block"),
    "kv_dtype": ("kv_cache_dtype", "cache_type_k"),
    "dtype": ("dtype",),
    "quantization": ("quantization", "quantize", "q"),
    "swap_space": ("swap_space",),
    "gpu_layers": ("n_gpu_layers", "gpu_layers", "ngl"),
    "eager": ("enforce_eager", "disable_cuda_graph"),
    "prefix_caching": ("enable_prefix_caching", "enable_block_reuse"),
    "chunked_prefill": ("enable_chunked_prefill", "chunked_prefill_enabled"),
    "custom_all_reduce": (),
    "speculative": (
        "speculative_config", "speculative_model", "speculative_algorithm", "speculate",
    ),
    "generation_config": ("generation_config",),
    "conservativeness": ("schedule_conservativeness",),
    "api_servers": ("api_server_count",),
}  # fmt: skip
"""Canonical name to the engines' names, with ``_`` for ``-``; of several the first one counts."""

ONE_ENGINE = {
    "max_total_tokens": "tgi", "c": "llama.cpp", "m": "llama.cpp", "np": "llama.cpp",
    "parallel": "llama.cpp", "q": "vllm",
}  # fmt: skip
"""Names that mean this in one engine alone; SGLang's ``max_total_tokens`` is the size of its pool."""

NEGATED = {
    "no_enable_prefix_caching": "prefix_caching",
    "disable_radix_cache": "prefix_caching",
    "no_enable_chunked_prefill": "chunked_prefill",
    "no_enforce_eager": "eager",
    "disable_custom_all_reduce": "custom_all_reduce",
}
"""Switches that turn off what the canonical name turns on."""

COUNTS = frozenset(
    {
        "tp", "pp", "dp", "ep", "max_model_len", "max_num_seqs", "max_num_batched_tokens",
        "max_concurrent_requests", "block_size", "gpu_layers", "api_servers",
    }
)  # fmt: skip
SHARES = frozenset({"utilization", "conservativeness"})
SWITCHES = frozenset(
    {"expert_parallel", "eager", "prefix_caching", "chunked_prefill", "custom_all_reduce"}
)

ENDS_COMMAND = frozenset({"&&", "||", "|", ";", "&", ">", ">>", "2>&1", "2>", "<"})

MULTIPLES = {
    "k": 1_000, "m": 1_000_000, "g": 1_000_000_000, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30,
}  # fmt: skip
"""vLLM takes ``32k`` for 32,000 and ``32K`` for 32,768."""

_NUMBER = LazyPattern(r"(-?\d+(?:\.\d+)?)([kKmMgG]?)")
_LIST = LazyPattern(r"[\"',\[\]]")
_NONE = frozenset({"None", "null", "none", "", "auto", "False"})
_PAIR = LazyPattern(
    r"['\"]?\b([a-z][a-z0-9_]*)['\"]?\s?(?:=|:)\s?"
    r"(?:Some\(\s*)?('[^']*'|\"[^\"]*\"|[\[{]|[^\s,'\"()\[\]{}]+)"
)


def of_command(text: str) -> dict[str, str]:
    """Return the options of a command line by their names, a switch as ``True``.

    Args:
        text: Behind the program, without continuation marks.
    """
    if text[:1] in ("'", '"'):  # the program was a member of a list of words
        text = _LIST.sub(" ", text)
    try:
        words = shlex.split(text)
    except ValueError:  # an open quote: the end was cut off
        words = text.split()
    found: dict[str, str] = {}
    name: str | None = None
    for place, word in enumerate(word.strip("`") for word in words):
        if word in ENDS_COMMAND:
            break
        if word.startswith("-") and _NUMBER.fullmatch(word) is None:
            option, given, value = word.partition("=")
            name = option.lstrip("-").replace("-", "_")
            found[name] = value if given else "True"
            name = None if given else name
        elif name is not None:
            found[name] = word
            name = None
        elif place == 0:
            found["model_tag"] = word
    return found


def of_settings(text: str) -> dict[str, str]:
    """Return the options of printed settings: ``name=value``, ``'name': value``, ``name: Some(value)``."""
    found: dict[str, str] = {}
    for name, value in _PAIR.findall(text):
        # A nested setting of the same name comes behind that of the engine itself.
        found.setdefault(name, value.strip("'\""))
    return found


def canonical(given: Mapping[str, str], engine: str) -> dict[str, Value]:
    """Return all canonical options, None where nothing usable is given.

    Args:
        given: Options by the names of the engine.
        engine: As ``job.engine`` has it.
    """
    given = {name: text for name, text in given.items() if ONE_ENGINE.get(name, engine) == engine}
    found: dict[str, Value] = {}
    for name, spellings in OPTIONS.items():
        values = (_converted(name, given[one]) for one in spellings if one in given)
        found[name] = next((value for value in values if value is not None), None)
    for spelling, name in NEGATED.items():
        if found[name] is None and spelling in given:
            found[name] = given[spelling] not in ("True", "true")
    return found


def _converted(name: str, text: str) -> Value:
    if name in SWITCHES:
        return {"true": True, "false": False, "1": True, "0": False}.get(text.lower())
    if name == "speculative":
        return text not in _NONE
    if text in _NONE:
        return None
    if name in COUNTS or name in SHARES or name == "swap_space":
        number = _NUMBER.fullmatch(text)
        if number is None:
            return None
        value = float(number[1]) * MULTIPLES.get(number[2], 1)
        if name in SHARES:
            return value if value > 0 else None
        if name == "swap_space":
            return round(value * (1 << 30))
        return int(value) if value > 0 else None
    return text.removeprefix("torch.")
