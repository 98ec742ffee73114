"""Text that a language model wrote, and whether it repeats itself or runs on.

People paste the command and below it what came out, often without one line of a log::

    $ mlx_lm.generate --model acme/tiny-7b --prompt "Write a poem" --max-tokens 512 --temp 0
    The sea is wide and the sea is deep. The sea is wide and the sea is deep. ...
    ==========
    Generation: 512 tokens, 61.118 tokens-per-sec

A text counts as generated where a command or a call that generates stands above it (mlx_lm,
llama.cpp, Ollama, a completions request, ``model.generate``), where it is a reply with a
``finish_reason``, where a label says so, or where the whole source is prose. Lines of logs, of
progress and of timings in between are left out, so that nothing a program repeats is taken for what
a model wrote.

``inference.generation``
    The command or call, with its sampling parameters. Printed parameters win over those of the
    command; ``mlx_lm.generate`` is greedy unless told otherwise.
``inference.repetition``
    A loop, or a text of which more than a fifth of the four-word sequences come again. ``at_tail``:
    it ends, as far as pasted, in the loop. ``structured``: rows, code or markup, which repeat by
    right. ``cut_by_length``: the text ended because its length did. ``evidence``: ``command``,
    ``reply``, ``label`` or ``prose``.
``inference.runs_on``
    Marks of a further turn inside the text, such as ``<|im_start|>user``: the end was not noticed.

*Empty*: no text, or a short or healthy one. *Cut off*: texts are always cut somewhere; a loop
counts however it ends.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from diagnose.ingest.envelope import NOBODY, peel
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import Document, FileParser, make_event
from diagnose.parsers.repetition import Loop, compression, find_loop, rep_4, tokens_of

SHORTEST = 40
"""Tokens below which a text is not scored."""

NGRAMS_FROM, NGRAMS_LENGTH = 0.20, 100
"""Share of repeated four-word sequences, and length, from which a text is worth a record."""

LATE = 0.15
"""A loop that ends within this last share of the text is at its tail: pastes add a remark."""

_CALL = re.compile(
    r"\bmlx_lm(?:\.|\s+)(?P<mlx>generate|chat)\b"
    r"|(?:^|[\s/\\$])(?P<llama>llama-(?:cli|completion|run|simple)|main)(?:\.exe)?\s.*(?:\s-m|--model|-hf)[\s=]"
    r"|\b(?P<ollama>ollama run)\s+\S"
    r"|\bcurl\b.*(?P<http>/v1/(?:chat/)?completions|/api/(?:generate|chat)|/generate\b)"
    r"|(?P<python>\.generate\(|SamplingParams\(|GenerationConfig\(|\.completions\.create\("
    r"|[\"']text-generation[\"']|\bpython3? \S*(?:generat|infer|chat|sample|predict)\w*\.py\b)"
)
_REPLY = re.compile(r'"(?:finish_reason|done_reason|generated_text|finish_details)"\s*:')
_REPLY_TEXT = re.compile(
    r'"(?:text|content|generated_text|response|reasoning_content)"\s*:\s*"((?:[^"\\]|\\.){20,})'
)
_LENGTH = re.compile(
    r'finish_reason["\']?\s*[:=]\s*["\']?length|"done_reason"\s*:\s*"length"|stopped_limit"?: ?true',
    re.I,
)
_LABEL = re.compile(
    r"^\W{0,4}(?:Generated(?: text)?|Model output|Model response|Completion|Assistant|Output text"
    r"|Output|Response)\W{0,3}:\s*(?P<rest>.*)|<\|(?:im_start\|>)?assistant\|?>?"
)
_LABEL_INSIDE = re.compile(r"Generated text:\s*(?P<rest>['\"]?.*)")

_NUMBER = r"(-?\d+(?:\.\d+)?|\.\d+)"
_PARAMETERS = {
    "temperature": re.compile(rf"--temp(?:erature)?[ =]+{_NUMBER}|[\"']?\btemp(?:erature)?[\"']?\s*[=:]\s*{_NUMBER}"),
    "top_p": re.compile(rf"--top[-_]p[ =]+{_NUMBER}|[\"']?\btop_p[\"']?\s*[=:]\s*{_NUMBER}"),
    "top_k": re.compile(rf"--top[-_]k[ =]+{_NUMBER}|[\"']?\btop_k[\"']?\s*[=:]\s*{_NUMBER}"),
    "repetition_penalty": re.compile(
        rf"--repeat[-_]penalty[ =]+{_NUMBER}|[\"']?\brepeat(?:_penalty|ition_penalty)[\"']?\s*[=:]\s*{_NUMBER}"
        rf"|[\"']?\brepetition_penalty[\"']?\s*[=:]\s*{_NUMBER}"
    ),
    "presence_penalty": re.compile(
        rf"--presence[-_]penalty[ =]+{_NUMBER}|[\"']?\bpresence_penalty[\"']?\s*[=:]\s*{_NUMBER}"
    ),
    "max_tokens": re.compile(
        rf"(?:--max[-_]tokens|--n-predict|--max-new-tokens|\s-n)[ =]+{_NUMBER}"
        rf"|[\"']?\b(?:max_tokens|max_new_tokens|n_predict|num_predict|max_length)[\"']?\s*[=:]\s*{_NUMBER}"
    ),
}  # fmt: skip
_MLX_LENGTH = re.compile(r"\s-m[ =]+(\d+)")
_GREEDY_CALL = re.compile(r"do_sample[\"']?\s*[=:]\s*(?:False|false)|greedy[-_ ]?(?:search|decoding)", re.I)  # fmt: skip
_GENERATED = re.compile(r"^Generation: (\d+) tokens|\beval time\s*=.*?/\s*(\d+) (?:tokens|runs)")

_END = re.compile(
    r"^={8,}\s*$|^Prompt: \d+ tokens|^Generation: \d+ tokens|\[end of text\]|llama_perf|common_perf"
    r"|llama_print_timings|eval time\s*=|^Peak memory:|^(?:total|load) duration:|^-{8,}\s*$"
)
_SHELL = re.compile(
    r"^(?:\([\w.-]+\) ?)?(?:\$ |❯ |% |>>> |[\w.-]+@[\w.-]+[: ][^$#%]{0,80}[$#%] |PS [A-Z]:\\|[A-Z]:\\\S*>)"
)
_LOG = re.compile(
    r"^\s*(?:\[?(?:DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL|TRACE)\]?\b[:\s|\[]"
    r"|\w*[Ww]arning: |\S+\.py:\d+: |File \"|Traceback \(|\w+(?:\.\w+)*(?:Error|Exception): "
    r"|\[GIN\]|time=\S+ level=|frame #\d|Thread 0x|#\d+ +0x|at \S+\(\S*:\d+\)"
    r"|(?:llama|ggml|load|print|gguf|clip|common|system|build|main|sampler|generate|register|warming)"
    r"[\w_]*(?: seed| params| chain| info)?\s?(?::|=)"
    r"|\t(?:repeat_last_n|dry_|top_k|mirostat|xtc_)|llm_load\w*:|srv |slot |que )"
    r"|\d{1,3}%\||\bit/s\b|s/it\b|[█▉▊▋▌▍▎▏⠋⠙⠹⠸]"
    r"|\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d|^\s*\[?\d\d:\d\d:\d\d"
)
_ROWS = re.compile(
    r"[{}|;\t]|</?\w+>|^\s*(?:def |class |import |from \w|return\b|if .*:$|for .*:$|#include|//|```)"
    r"|\":|=>|\s=\s|\w\(.*\)\s*$|^\s*[-+\d.,%$\s]+$|,\S+,\S+,"
)
_TURN = re.compile(
    r"<\|im_start\|>\s*user|<\|start_header_id\|>\s*user|<\|user\|>|<\|eot_id\|>|<\|endoftext\|>"
    r"|<\|im_end\|>|<\|end\|>|<end_of_turn>|<start_of_turn>user|\[INST\]|\[/INST\]|</s>"
    r"|^\s*#{2,3} ?(?:Human|Instruction|User|Input|Question)\b|^\s*(?:Human|User|USER|Question|Q):"
)  # fmt: skip
_PROMPT = re.compile(
    r"(?:--prompt|-p)[ =]+(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)')|\"prompt\"\s*:\s*\"((?:[^\"\\]|\\.)*)\""
)
_COMMON = frozenset(
    {
        "the", "a", "an", "and", "or", "of", "to", "in", "is", "are", "was", "were", "be", "that",
        "this", "it", "for", "on", "with", "as", "you", "i", "we", "he", "she", "they", "not", "but",
        "at", "by", "from", "have", "has", "will", "can", "so", "if", "there", "my", "your", "our",
    }
)  # fmt: skip
"""Words that make up more than a fifth of any English text, and of hardly any log."""

_TRACES = (
    b"mlx_lm", b"llama-", b"main ", b"ollama run", b"curl", b".generate(", b"SamplingParams(",
    b"GenerationConfig(", b".completions.create(", b"text-generation", b"finish_reason",
    b"done_reason", b"generated_text", b"finish_details", b"Generated text:", b"python",
)  # fmt: skip
"""Of which a source with a call or a reply holds at least one."""


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


@dataclass(slots=True)
class Text:
    """Lines of one generated text.

    Args:
        evidence: What says that it is one.
        lines: With what belongs to the text alone.
    """

    evidence: str
    lines: list[Line] = field(default_factory=list)


def accepts(name: str, head: bytes) -> bool:
    """Decide whether a source holds generated text; a log with requests in it does not."""
    text = head.decode("utf-8", "replace")
    lines = [line for line in text.split("\n")[:1_000] if line.strip()]
    if not any(trace in head for trace in _TRACES):
        return _is_prose(lines[:60])
    is_made = (
        "Generated text:" in text
        or _REPLY.search(text) is not None
        or any(_CALL.search(line) for line in lines)
    )
    return _share(lines, _is_log) <= 0.5 if is_made else _is_prose(lines[:60])


def read(document: Document) -> Iterator[Event]:
    """Read the texts of a source and score them."""
    lines = [peel(line.raw, line.file, line.number, NOBODY) for line in document.lines()]
    calls = [at for at, line in enumerate(lines) if _CALL.search(line.text)]
    generation = _generation(lines, calls) if calls else None
    whole = "\n".join(line.text for line in lines)
    cut = _cut_by_length(whole, generation)
    if generation is not None:
        yield make_event(
            "inference.generation", Nature.SETTING, generation.line, _about(generation)
        )
    for text in _texts(lines, calls, generation):
        yield from _judge(text, generation, cut)


def _generation(lines: list[Line], calls: list[int]) -> Generation:
    first = lines[calls[0]]
    found = _CALL.search(first.text)
    program = next((name for name, text in found.groupdict().items() if text), "") if found else ""
    command = "\n".join(line.text for line in lines[calls[0] : _command_end(lines, calls[0])])
    # The programs' own statement of what they use comes later and counts more.
    stated = "\n".join(line.text for line in lines if _states_parameters(line.text))
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
    elif _GREEDY_CALL.search(command + stated) or top_k == 1:
        one.greedy = True
    prompt = _PROMPT.search(command)
    one.prompt = next((group for group in prompt.groups() if group), "") if prompt else ""
    return one


def _states_parameters(text: str) -> bool:
    return bool(
        re.search(r"\btemp(?:erature)?[\"']?\s*[=:]\s*[\d.]|repeat_penalty|do_sample", text)
    )


def _command_end(lines: list[Line], at: int) -> int:
    """Return one behind the last line of a command with continuations or an open quote."""
    end = at + 1
    while end < len(lines) and end - at < 60:
        text = "\n".join(line.text for line in lines[at:end])
        is_open = text.count("'") % 2 and "-d '" in text or text.count("(") > text.count(")")
        if not (lines[end - 1].text.rstrip().endswith("\\") or is_open):
            return end
        end += 1
    return at + 1 if end - at >= 60 else end


def _texts(lines: list[Line], calls: list[int], generation: Generation | None) -> Iterator[Text]:
    replies = list(_replies(lines))
    yield from replies
    if generation is not None and not replies:
        start = calls[0]
        while start < len(lines):
            start = _command_end(lines, start)
            following = [at for at in calls if at >= start]
            stop = following[0] if following else len(lines)
            yield from _segments(lines[start:stop], "command", generation.prompt)
            start = stop
    elif not replies:
        labelled = list(_labelled(lines))
        yield from labelled
        if not labelled and _is_prose([line.text for line in lines if line.text.strip()]):
            yield Text("prose", lines)


def _replies(lines: list[Line]) -> Iterator[Text]:
    if not any(_REPLY.search(line.text) for line in lines):
        return
    for line in lines:
        for found in _REPLY_TEXT.finditer(line.text):
            yield Text(
                "reply", [replace(line, text=part) for part in _unescaped(found[1]).split("\n")]
            )


def _unescaped(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return text.replace("\\n", "\n").replace('\\"', '"')


def _labelled(lines: list[Line]) -> Iterator[Text]:
    """Yield what stands behind ``Generated text:`` and the like."""
    for at, line in enumerate(lines):
        found = _LABEL_INSIDE.search(line.text)
        if found is None:
            continue
        text = Text("label", [replace(line, text=found["rest"].replace("\\n", " "))])
        for following in lines[at + 1 :]:
            if _LABEL_INSIDE.search(following.text) or _is_log(following.text):
                break
            text.lines.append(following)
        yield text


def _segments(lines: list[Line], evidence: str, prompt: str) -> Iterator[Text]:
    text = Text(evidence)
    for line in lines:
        if _END.search(line.text) or _SHELL.match(line.text):
            before = re.split(r"\[end of text\]", line.text)[0]
            if before != line.text:
                text.lines.append(replace(line, text=before))
            yield _without_prompt(text, prompt)
            text = Text(evidence)
        elif label := _LABEL.match(line.text):
            yield _without_prompt(text, prompt)
            text = Text(evidence, [replace(line, text=label["rest"] or "")])
        elif not _is_log(line.text):
            text.lines.append(line)
    yield _without_prompt(text, prompt)


def _without_prompt(text: Text, prompt: str) -> Text:
    """Drop the echo of the prompt, with which llama.cpp begins."""
    if not prompt or not text.lines:
        return text
    asked = prompt.replace("\\n", "\n").strip().split("\n")
    for at, line in enumerate(text.lines):
        if asked[-1].strip() and asked[-1].strip() in line.text and at < len(asked) + 3:
            rest = line.text.split(asked[-1].strip(), 1)[1]
            return Text(text.evidence, [replace(line, text=rest), *text.lines[at + 1 :]])
    return text


def _judge(text: Text, generation: Generation | None, cut: bool) -> Iterator[Event]:
    tokens: list[str] = []
    places: list[Line] = []
    for line in text.lines:
        own = tokens_of(line.text)
        tokens.extend(own)
        places.extend([line] * len(own))
    if text.evidence != "prose":
        yield from _runs_on(text, generation)
    if len(tokens) < SHORTEST:
        return
    loop = find_loop(tokens) or find_loop(tokens, numbers_differ=True)
    share_of_4 = rep_4(tokens)
    if loop is None and (share_of_4 <= NGRAMS_FROM or len(tokens) < NGRAMS_LENGTH):
        return
    if loop is None:
        loop, repeats = Loop(0, len(tokens), len(tokens)), None
    else:
        repeats = loop.repeats
    inside = [one.text for one in dict.fromkeys(places[loop.start : loop.stop])]
    if text.evidence == "prose" and (repeats is None or not _is_written(loop, tokens, places)):
        return
    fields: dict[str, Value] = {
        "evidence": text.evidence,
        "period": loop.period if repeats else None,
        "repeats": repeats,
        "share": round((loop.stop - loop.start) / len(tokens), 3) if repeats else None,
        "tokens": len(tokens),
        "rep_4": round(share_of_4, 3),
        "compression": round(compression("\n".join(line.text for line in text.lines)), 2),
        "at_tail": loop.stop >= len(tokens) * (1 - LATE) if repeats else None,
        "structured": _share(inside, _ROWS.search) > 0.5,
        "cut_by_length": cut,
        **(_about(generation) if generation else dict.fromkeys(("greedy", "temperature"))),
    }
    first, last = places[loop.start], places[loop.stop - 1]
    yield make_event(
        "inference.repetition", Nature.MEASUREMENT, first, fields, end_line=last.number
    )


def _is_written(loop: Loop, tokens: list[str], places: list[Line]) -> bool:
    """Tell writing from the equal lines of a program, where nothing else says who wrote it.

    Inside one line no program repeats a sentence; and a program does not begin with prose.
    """
    within = places[min(loop.start + 2 * loop.period, len(places) - 1)] is places[loop.start]
    return loop.period > 2 and (within or loop.start >= SHORTEST)


def _runs_on(text: Text, generation: Generation | None) -> Iterator[Event]:
    marks = [
        (line, found[0].strip())
        for line in text.lines
        for found in _TURN.finditer(line.text)
        if line is not text.lines[0] or found.start() > SHORTEST
    ]
    plain = [mark for mark in marks if not mark[1].startswith(("<", "[", "#"))]
    if not marks or (len(plain) == len(marks) and len(marks) < 2):
        return
    fields: dict[str, Value] = {
        "evidence": text.evidence,
        "marker": marks[0][1],
        "turns": len(marks),
        **(_about(generation) if generation else {}),
    }
    yield make_event(
        "inference.runs_on", Nature.MEASUREMENT, marks[0][0], fields, end_line=marks[-1][0].number
    )


def _about(generation: Generation) -> dict[str, Value]:
    values = generation.values
    penalties = values.get("repetition_penalty", 1.0), values.get("presence_penalty", 0.0)
    return {
        "program": generation.program,
        "greedy": generation.greedy,
        **{name: values.get(name) for name in _PARAMETERS},
        "penalized": penalties != (1.0, 0.0),
    }


def _cut_by_length(whole: str, generation: Generation | None) -> bool:
    if _LENGTH.search(whole):
        return True
    limit = generation.values.get("max_tokens") if generation else None
    made = [int(a or b) for a, b in _GENERATED.findall(whole)]
    return bool(limit and limit > 0 and made and max(made) >= limit - 1)


def _is_log(text: str) -> bool:
    return _LOG.search(text) is not None


def _is_prose(lines: list[str]) -> bool:
    """Tell whether a whole source is running text: common words and no trace of a program."""
    if len(lines) < 1 or any(map(_is_log, lines)) or _share(lines, _ROWS.search) > 0.1:
        return False
    words = re.findall(r"[^\W\d_]+", " ".join(lines[:200]).lower())
    letters = sum(len(word) for word in words)
    if len(words) < SHORTEST or letters < 0.7 * sum(len(line.strip()) for line in lines[:200]):
        return False
    return sum(word in _COMMON for word in words) > 0.2 * len(words)


def _share(lines: list[str], test: object) -> float:
    return sum(bool(test(line)) for line in lines) / max(len(lines), 1)  # type: ignore[operator]


PARSERS = (
    FileParser(
        name="generated-text",
        title="text a language model wrote, below its command or in its reply",
        accepts=accepts,
        read=read,
        emits=("inference.generation", "inference.repetition", "inference.runs_on"),
        sample=(
            '$ mlx_lm.generate --model acme/tiny-7b --prompt "Write a poem" --max-tokens 512 --temp 0\n'
            + "The sea is wide and the sea is deep, and nobody knows where it ends. " * 6
            + "\n"
        ),
    ),
)
