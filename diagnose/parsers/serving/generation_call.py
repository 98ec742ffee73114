"""The command or call that made a text, and its sampling parameters.

Not a parser: the reader of generated text asks it. Known are ``mlx_lm.generate`` (greedy unless told
otherwise, ``mlx_lm/generate.py``), llama.cpp's programs, Ollama, requests to a completions endpoint,
and calls in Python. What a program prints of its parameters comes later and counts more than the
command.
"""

import re
from dataclasses import dataclass, field

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Line, Value

CALL = LazyPattern(
    r"\bmlx_lm(?:\.|\s+)(?P<mlx>generate|chat)\b"
    r"|(?:^|[\s/\\$])(?P<llama>llama-(?:cli|completion|run|simple)|main)(?:\.exe)?\s(?:.*\s)?(?:-m|--model|-hf)[\s=]"
    r"|\b(?P<ollama>ollama run)\s+\S"
    r"|\bcurl\b.*(?P<http>/v1/(?:chat/)?completions|/api/(?:generate|chat)|/generate\b)"
    r"|(?P<python>\.generate\(|SamplingParams\(|GenerationConfig\(|\.completions\.create\("
    r"|[\"']text-generation[\"']|\bpython3? \S*(?:generat|infer|chat|sample|predict)\w*\.py\b)"
)
SAMPLING = LazyPattern(
    r"\b(?:top_p|top_k|do_sample|repetition_penalty|repeat_penalty|num_predict|n_predict"
    r"|max_new_tokens)\b"
)
_LENGTH = LazyPattern(
    r'finish_reason["\']?\s*[:=]\s*["\']?length|"done_reason"\s*:\s*"length"|stopped_limit"?: ?true',
    re.I,
)
_NUMBER = r"(-?\d+(?:\.\d+)?|\.\d+)"
_PARAMETERS = {
    "temperature": LazyPattern(rf"--temp(?:erature)?[ =]+{_NUMBER}|[\"']?\btemp(?:erature)?[\"']?\s*[=:]\s*{_NUMBER}"),
    "top_p": LazyPattern(rf"--top[-_]p[ =]+{_NUMBER}|[\"']?\btop_p[\"']?\s*[=:]\s*{_NUMBER}"),
    "top_k": LazyPattern(rf"--top[-_]k[ =]+{_NUMBER}|[\"']?\btop_k[\"']?\s*[=:]\s*{_NUMBER}"),
    "repetition_penalty": LazyPattern(
        rf"--repeat[-_]penalty[ =]+{_NUMBER}|[\"']?\brepeat(?:_penalty|ition_penalty)[\"']?\s*[=:]\s*{_NUMBER}"
        rf"|[\"']?\brepetition_penalty[\"']?\s*[=:]\s*{_NUMBER}"
    ),
    "presence_penalty": LazyPattern(
        rf"--presence[-_]penalty[ =]+{_NUMBER}|[\"']?\bpresence_penalty[\"']?\s*[=:]\s*{_NUMBER}"
    ),
    "max_tokens": LazyPattern(
        rf"(?:--max[-_]tokens|--n-predict|--max-new-tokens|\s-n)[ =]+{_NUMBER}"
        rf"|[\"']?\b(?:max_tokens|max_new_tokens|n_predict|num_predict|max_length)[\"']?\s*[=:]\s*{_NUMBER}"
    ),
}  # fmt: skip
_MLX_LENGTH = LazyPattern(r"\s-m[ =]+(\d+)")
_GREEDY = LazyPattern(r"do_sample[\"']?\s*[=:]\s*(?:False|false)|greedy[-_ ]?(?:search|decoding)", re.I)  # fmt: skip
_GENERATED = LazyPattern(
    r"^Generation: (\d+) tokens|\beval time\s*=.*?/\s*(\d+) (?:tokens|runs)", re.M
)

_PROMPT = LazyPattern(
    r"(?:--prompt|-p)[ =]+(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)')|\"prompt\"\s*:\s*\"((?:[^\"\\]|\\.)*)\""
)


@dataclass(slots=True)
class Generation:
    """The call that made a text.

    Args:
        line: Where it stands.
        program: ``mlx``, ``llama``, ``ollama``, ``http``, ``python``.
        values: Sampling parameters that are known.
        greedy: Whether the likeliest token was always taken, None if unknown.
        prompt: What it was asked, if the command says so.
    """

    line: Line
    program: str
    values: dict[str, float] = field(default_factory=dict)
    greedy: bool | None = None
    prompt: str = ""


def generation_at(lines: list[Line], at: int) -> Generation:
    """Return what the command or call at an index of the lines says.

    Parameters that the program prints anywhere among the lines count more.
    """
    first = lines[at]
    found = CALL.search(first.text)
    program = next((name for name, text in found.groupdict().items() if text), "") if found else ""
    command = "\n".join(line.text for line in lines[at : command_end(lines, at)])
    # The programs' own statement of what they use comes later and counts more.
    stated = "\n".join(line.text for line in lines if states_sampling(line.text))
    one = Generation(first, program)
    for name, pattern in _PARAMETERS.items():
        matches = [*pattern.finditer(command), *pattern.finditer(stated)]
        if matches:
            one.values[name] = float(next(group for group in matches[-1].groups() if group))
    if program == "mlx":
        short = _MLX_LENGTH.search(command)
        if short:
            one.values.setdefault("max_tokens", float(short[1]))
        one.values.setdefault("temperature", 0.0)
    temperature, top_k = one.values.get("temperature"), one.values.get("top_k")
    if temperature is not None:
        one.greedy = temperature == 0 or top_k == 1
    elif _GREEDY.search(command + stated) or top_k == 1:
        one.greedy = True
    prompt = _PROMPT.search(command)
    one.prompt = next((group for group in prompt.groups() if group), "") if prompt else ""
    return one


def states_sampling(text: str) -> bool:
    """Return whether a line is about sampling; a temperature alone may be a GPU's."""
    return SAMPLING.search(text) is not None


def command_end(lines: list[Line], at: int) -> int:
    """Return one behind the last line of a command with continuations or an open quote."""
    end = at + 1
    while end < len(lines) and end - at < 60:
        text = "\n".join(line.text for line in lines[at:end])
        is_open = text.count("'") % 2 and "-d '" in text or text.count("(") > text.count(")")
        if not (lines[end - 1].text.rstrip().endswith("\\") or is_open):
            return end
        end += 1
    return at + 1 if end - at >= 60 else end


def about(generation: Generation) -> dict[str, Value]:
    """Return the fields that events on its text share; ``penalized`` means repetition costs."""
    values = generation.values
    penalties = values.get("repetition_penalty", 1.0), values.get("presence_penalty", 0.0)
    return {
        "program": generation.program,
        "greedy": generation.greedy,
        **{name: values.get(name) for name in _PARAMETERS},
        "penalized": penalties != (1.0, 0.0),
    }


def cut_by_length(whole: str, generation: Generation | None) -> bool:
    """Return whether a reply or the program's figures say that the length ended the text."""
    if _LENGTH.search(whole):
        return True
    limit = generation.values.get("max_tokens") if generation else None
    made = [int(a or b) for a, b in _GENERATED.findall(whole)]
    return bool(limit and limit > 0 and made and max(made) >= limit - 1)
