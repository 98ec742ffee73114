"""Sampling parameters in the form in which Python, JSON or Rust prints them.

Not a parser: the readers of logged requests use it. Names are vLLM's, values that are not printed or are
no numbers None. ``stops`` tells whether stop texts or tokens were given, ``guided`` whether the answer
must fit a grammar.
"""

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Value

PARAMETERS: dict[str, tuple[str, ...]] = {
    "temperature": ("temperature",),
    "top_p": ("top_p",),
    "top_k": ("top_k",),
    "min_p": ("min_p",),
    "repetition_penalty": ("repetition_penalty",),
    "presence_penalty": ("presence_penalty",),
    "frequency_penalty": ("frequency_penalty",),
    "max_tokens": ("max_tokens", "max_new_tokens"),
    "min_tokens": ("min_tokens", "min_new_tokens"),
    "n": ("n",),
    "best_of": ("best_of",),
    "logprobs": ("logprobs", "top_logprobs_num"),
    "prompt_logprobs": ("prompt_logprobs",),
}
"""Names of events to those of engines."""

_NUMBER = LazyPattern(r"['\"]?\b(\w+)['\"]?(?:=| ?: ?)(?:Some\()?(-?\d+(?:\.\d+)?(?:e-?\d+)?)\b")
_STOPS = LazyPattern(r"['\"]?stop(?:_token_ids|_sequences)?['\"]?(?:=| ?: ?)\[ *[^\] ]")
_GUIDED = LazyPattern(
    r"(?:guided_decoding|structured_outputs|json_schema|regex|grammar|ebnf)['\"]?(?:=| ?: ?)"
    r"(?!None|null|['\"]{2})[\w'\"{(]"
)


def parameters(text: str) -> dict[str, Value]:
    """Return the sampling parameters in a printed form of them."""
    values = {name: float(value) for name, value in reversed(_NUMBER.findall(text))}
    return {
        **{
            name: next((values[one] for one in spellings if one in values), None)
            for name, spellings in PARAMETERS.items()
        },
        "stops": _STOPS.search(text) is not None,
        "guided": _GUIDED.search(text) is not None,
    }
