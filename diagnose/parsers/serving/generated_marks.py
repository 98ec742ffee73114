"""Whether a text may be one that a language model wrote; see ``Gate``.

Not a parser: the reader of generated text looks closely.
"""

import io
import re
from itertools import islice

SHORTEST = 40
"""Tokens below which a text is not scored."""

LINES, PROSE_LINES = 1_000, 60
"""First lines that are not blank, of which a call or a dialogue, and prose, is made out."""

LETTERS = 0.7
"""Share of letters in running text."""

NO_LETTERS = bytes(byte for byte in range(128) if not chr(byte).isalpha())

COMMON = frozenset(
    {
        "the", "a", "an", "and", "or", "of", "to", "in", "is", "are", "was", "were", "be", "that",
        "this", "it", "for", "on", "with", "as", "you", "i", "we", "he", "she", "they", "not", "but",
        "at", "by", "from", "have", "has", "will", "can", "so", "if", "there", "my", "your", "our",
    }
)  # fmt: skip
"""Words that make up more than a fifth of any English text, and of hardly any log."""

TRACES = (
    b"mlx_lm", b"llama-", b"main ", b"ollama run", b"curl", b".generate(", b"SamplingParams(",
    b"GenerationConfig(", b".completions.create(", b"text-generation", b"finish_reason",
    b"done_reason", b"generated_text", b"finish_details", b"Generated text:", b"python",
    b"top_p", b"do_sample", b"repetition_penalty", b"repeat_penalty", b"max_new_tokens",
    b"num_predict",
)  # fmt: skip
"""Of which a source with a call or a reply holds at least one."""

ASKS = (
    b"<|im_start|>", b"<|start_header_id|>", b"<|user|>", b"<start_of_turn>user", b"[INST]",
    b"## Human", b"##Human", b"## User", b"##User",
)  # fmt: skip
"""Of which a source in which a question comes again holds at least one."""


def may_be_prose(head: bytes) -> bool:
    """Return whether the first lines of a source have the letters and words of running text."""
    first = islice(io.BytesIO(head), LINES)
    stripped = (one.decode("utf-8", "replace").strip() for one in first)
    lines = list(islice(filter(None, stripped), PROSE_LINES))
    whole = "".join(lines).encode()
    is_of_letters = len(whole.translate(None, NO_LETTERS)) >= LETTERS * len(whole)
    return is_of_letters and has_common_words(words_of(lines))


def words_of(lines: list[str]) -> list[str]:
    """Return the words of some lines in lower case."""
    return re.findall(r"[^\W\d_]+", " ".join(lines).lower())


def has_common_words(words: list[str]) -> bool:
    """Return whether as many words are common ones as in running text."""
    return len(words) >= SHORTEST and sum(word in COMMON for word in words) > 0.2 * len(words)
