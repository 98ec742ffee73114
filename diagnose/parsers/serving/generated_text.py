"""Text that a language model wrote, and whether it repeats itself or runs on.

People paste the command and below it what came out, often without one line of a log::

    $ mlx_lm.generate --model acme/tiny-7b --prompt "Write a poem" --max-tokens 512 --temp 0
    The sea is wide and the sea is deep. The sea is wide and the sea is deep. ...
    ==========
    Generation: 512 tokens, 61.118 tokens-per-sec

A text counts as generated where a command or a call that generates stands above it (mlx_lm,
llama.cpp, Ollama, a completions request, ``model.generate``), where it is a reply with a
``finish_reason``, where a label says so, where marks of a chat template ask the same thing again
behind an answer, or where the whole source is prose. Lines of logs, of
progress and of timings in between are left out, so that nothing a program repeats is taken for what
a model wrote.

``inference.generation``
    The command or call, with its sampling parameters. Printed parameters win over those of the
    command; ``mlx_lm.generate`` is greedy unless told otherwise.
``inference.repetition``
    A loop, or a text of which more than a fifth of the four-word sequences come again. ``at_tail``:
    it ends, as far as pasted, in the loop. ``structured``: rows, code or markup, which repeat by
    right. ``cut_by_length``: the text ended because its length did. ``token``: what comes again, where
    that is a single token. ``evidence``: ``command``,
    ``script``, ``reply``, ``label``, ``dialogue`` or ``prose``.
``inference.runs_on``
    Marks of a further turn inside the text, such as ``<|im_start|>user``: the end was not noticed.

*Empty*: no text, or a short or healthy one. *Cut off*: texts are always cut somewhere; a loop
counts however it ends.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

from diagnose.ingest.envelope import NOBODY, peel
from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import Document, FileParser, make_event
from diagnose.parsers.gate import Gate
from diagnose.parsers.serving.generated_marks import (
    ASKS,
    COMMON,
    LETTERS,
    LINES,
    PROSE_LINES,
    SHORTEST,
    TRACES,
    has_common_words,
    may_be_prose,
    words_of,
)
from diagnose.parsers.serving.generation_call import (
    CALL,
    Generation,
    about,
    command_end,
    cut_by_length,
    generation_at,
    states_sampling,
)
from diagnose.parsers.serving.repetition import Loop, compression, find_loop, rep_4, tokens_of

PASTED = frozenset({"mlx", "llama", "ollama", "http"})
"""Programs that print what was generated and little else; a script prints all kinds of lines."""

NGRAMS_FROM, NGRAMS_LENGTH = 0.20, 100
"""Share of repeated four-word sequences, and length, from which a text is worth a record."""

SENTENCE = 8
"""Words from which even one repetition inside a line is no program's."""

STAMMER, STAMMER_PERIOD = 16, 2
"""Tokens of a common word, or two, that come again and again as they do in no writing or program."""

LATE = 0.15
"""A loop that ends within this last share of the text is at its tail: pastes add a remark."""

_REPLY = LazyPattern(r"[\"'](?:finish_reason|done_reason|generated_text|finish_details)[\"']\s*:")
_REPLY_TEXT = LazyPattern(
    r"[\"'](?:text|content|generated_text|response|reasoning_content)[\"']\s*:\s*"
    r"(?:\"((?:[^\"\\]|\\.){20,})|'((?:[^'\\]|\\.){20,}))"
)
_LABEL = LazyPattern(
    r"^\W{0,4}(?:Generated(?: text)?|Model output|Model response|Completion|Assistant|Output text"
    r"|Output|Response)\W{0,3}:\s*(?P<rest>.*)|<\|(?:im_start\|>)?assistant\|?>?"
)
_LABEL_INSIDE = LazyPattern(r"Generated text:\s*(?P<rest>['\"]?.*)")

_END = LazyPattern(
    r"^={8,}\s*$|^Prompt: \d+ tokens|^Generation: \d+ tokens|\[end of text\]|llama_perf|common_perf"
    r"|llama_print_timings|eval time\s*=|^Peak memory:|^(?:total|load) duration:|^-{8,}\s*$"
)
_SHELL = LazyPattern(
    r"^(?:\([\w.-]+\) ?)?(?:\$ |❯ |% |>>> |[\w.-]+@[\w.-]+[: ][^$#%]{0,80}[$#%] |PS [A-Z]:\\|[A-Z]:\\\S*>)"
)
_STAMPED = LazyPattern(
    r"\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d|\b\d\d:\d\d:\d\d\b"
    r"|^\s*(?:\([^()]*\) )?\[?(?:DEBUG|INFO|WARNING|ERROR)\b"
)
"""A line of a server's log."""

_LOG = LazyPattern(
    r"^\s*(?:\[?(?:DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL|TRACE)\]?\b[:\s|\[]"
    r"|\w*[Ww]arning: |\S+\.py:\d+: |File \"|Traceback \(|\w+(?:\.\w+)*(?:Error|Exception): "
    r"|\[GIN\]|time=\S+ level=|frame #\d|Thread 0x|#\d+ +0x|at \S+\(\S*:\d+\)"
    r"|(?:llama|ggml|load|print|gguf|clip|common|system|build|main|sampler|generate|register|warming)"
    r"[\w_]*(?: seed| params| chain| info)?\s?(?::|=)"
    r"|\t(?:repeat_last_n|dry_|top_k|mirostat|xtc_)|llm_load\w*:|srv |slot |que )"
    r"|\d{1,3}%\||\bit/s\b|s/it\b|[█▉▊▋▌▍▎▏⠋⠙⠹⠸]"
    r"|\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d|^\s*\[?\d\d:\d\d:\d\d"
)
_ROWS = LazyPattern(
    r"[{}|;\t]|</?\w+>|^\s*(?:def |class |import |from \w|return\b|if .*:$|for .*:$|#include|//|```)"
    r"|\":|=>|\s=\s|\w\(.*\)\s*$|^\s*[-+\d.,%$\s]+$|,\S+,\S+,"
)
_WORD = LazyPattern(r"[\"'(*“‘]*[^\W\d_]+(?:['’-][^\W\d_]+)*[\"')*”’.,;:!?。，、！？]*|\d+[.:,]?")
_LIST = LazyPattern(r"^\s*(?:\d+[.)]|[-*•])\s")
"""Points of a list resemble one another by right, as long as they are not equal."""

_TURN = LazyPattern(
    r"<\|im_start\|>\s*(?:user|system)|<\|start_header_id\|>\s*(?:user|system)|<\|(?:user|system)\|>|<\|eot_id\|>|<\|endoftext\|>"
    r"|<\|im_end\|>|<\|end\|>|<end_of_turn>|<start_of_turn>user|\[INST\]|\[/INST\]|</s>"
    r"|^\s*#{2,3} ?(?:Human|Instruction|User|Input|Question)\b|^\s*(?:Human|User|USER|Question|Q):"
)  # fmt: skip
_ASKS = LazyPattern(
    r"(?:<\|im_start\|>\s*user|<\|start_header_id\|>\s*user(?:<\|end_header_id\|>)?|<\|user\|>|<start_of_turn>user"
    r"|\[INST\]|^\s*#{2,3} ?(?:Human|User)\b:?)\s*(?P<rest>.*)"
)
_SAME = LazyPattern(r"([!?\ufffd])\1{39,}$")
"""What is decoded of numbers that are none is mostly the first token of the vocabulary."""

_MARK = LazyPattern(r"^\s*(?:<\||<start_of_turn>|\[INST\]|#{2,3} |<s>)")
"""A prompt begins with a mark of its template; an answer does not."""


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
    lines = [line for line in text.split("\n")[:LINES] if line.strip()]
    if any(mark in head for mark in ASKS) and _is_dialogue(lines):
        return True
    if not any(trace in head for trace in TRACES):
        return _is_prose(lines[:PROSE_LINES])
    is_made = (
        "Generated text:" in text
        or _REPLY.search(text) is not None
        or any(CALL.search(line) or states_sampling(line) for line in lines)
    )
    if not is_made:
        return _is_prose(lines[:PROSE_LINES])
    return _share(lines, _STAMPED.search) <= 0.5


def read(document: Document) -> Iterator[Event]:
    """Read the texts of a source and score them."""
    lines = [peel(line.raw, line.file, line.number, NOBODY) for line in document.lines()]
    calls = [at for at, line in enumerate(lines) if CALL.search(line.text)]
    if not calls:
        is_reply = any(_REPLY.search(line.text) for line in lines)
        calls = [
            at
            for at, line in enumerate(lines)
            if states_sampling(line.text) or (is_reply and '"temperature"' in line.text)
        ][:1]
    generation = generation_at(lines, calls[0]) if calls else None
    whole = "\n".join(line.text for line in lines)
    cut = cut_by_length(whole, generation)
    if generation is not None:
        yield make_event("inference.generation", Nature.SETTING, generation.line, about(generation))
    for text in _texts(lines, calls, generation):
        yield from _judge(text, generation, cut)


def _texts(lines: list[Line], calls: list[int], generation: Generation | None) -> Iterator[Text]:
    replies = list(_replies(lines))
    yield from replies
    if generation is not None and not replies:
        evidence = "command" if generation.program in PASTED else "script"
        start = calls[0]
        while start < len(lines):
            start = command_end(lines, start)
            following = [at for at in calls if at >= start]
            stop = following[0] if following else len(lines)
            yield from _segments(lines[start:stop], evidence, generation.prompt)
            start = stop
    elif not replies:
        labelled = list(_labelled(lines))
        yield from labelled
        if not labelled and _is_dialogue([line.text for line in lines if line.text.strip()]):
            yield Text("dialogue", lines)
        elif not labelled and _is_prose([line.text for line in lines if line.text.strip()]):
            yield Text("prose", lines)


def _replies(lines: list[Line]) -> Iterator[Text]:
    if not any(_REPLY.search(line.text) for line in lines):
        return
    for line in lines:
        for found in _REPLY_TEXT.finditer(line.text):
            yield Text(
                "reply",
                [replace(line, text=part) for part in _unescaped(found[1] or found[2]).split("\n")],
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
            text = Text("label", [replace(line, text=label["rest"] or "")])
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
    yield from _one_character(text, generation, cut)
    if len(tokens) < SHORTEST:
        return
    loop = find_loop(tokens) or find_loop(tokens, numbers_differ=True) or _stammer(tokens)
    share_of_4 = rep_4(tokens)
    if loop is None and (share_of_4 <= NGRAMS_FROM or len(tokens) < NGRAMS_LENGTH):
        return
    if loop is None:
        loop, repeats = Loop(0, len(tokens), len(tokens)), None
    else:
        repeats = loop.repeats
    inside = [one.text for one in dict.fromkeys(places[loop.start : loop.stop])]
    if text.evidence in ("prose", "script") and (
        repeats is None or not _is_written(loop, tokens, places)
    ):
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
        "structured": _is_structured(inside, is_equal=repeats is not None)
        or _share(tokens[loop.start : loop.stop], _WORD.fullmatch) < 0.6,
        "cut_by_length": cut,
        "token": tokens[loop.start] if repeats and loop.period == 1 else None,
        **(about(generation) if generation else dict.fromkeys(("greedy", "temperature"))),
    }
    first, last = places[loop.start], places[loop.stop - 1]
    yield make_event(
        "inference.repetition", Nature.MEASUREMENT, first, fields, end_line=last.number
    )


def _one_character(text: Text, generation: Generation | None, cut: bool) -> Iterator[Event]:
    """Yield a repetition where the text ends in one character without a blank between."""
    last = next((line for line in reversed(text.lines) if line.text.strip()), None)
    found = _SAME.search(last.text.rstrip()) if last is not None else None
    if last is None or found is None or text.evidence in ("prose", "script"):
        return
    length = sum(len(line.text) for line in text.lines)
    fields: dict[str, Value] = {
        "evidence": text.evidence,
        "period": 1,
        "repeats": len(found[0]),
        "share": round(len(found[0]) / length, 3),
        "tokens": length,
        "rep_4": None,
        "compression": round(compression(last.text), 2),
        "at_tail": True,
        "structured": True,
        "cut_by_length": cut,
        "token": found[1],
        **(about(generation) if generation else dict.fromkeys(("greedy", "temperature"))),
    }
    yield make_event("inference.repetition", Nature.MEASUREMENT, last, fields)


def _stammer(tokens: list[str]) -> Loop | None:
    """Return a loop of one or two words of which one is common, shorter than others must be."""
    loop = find_loop(tokens, longest_period=STAMMER_PERIOD, least=STAMMER)
    return loop if loop is not None and _is_stammer(loop, tokens) else None


def _is_stammer(loop: Loop, tokens: list[str]) -> bool:
    words = {
        one.strip(".,;:!?\"'").lower() for one in tokens[loop.start : loop.start + loop.period]
    }
    return loop.period <= STAMMER_PERIOD and not COMMON.isdisjoint(words)


def _is_structured(lines: list[str], *, is_equal: bool) -> bool:
    if not is_equal and _share(lines, _LIST.match) > 0.5:
        return True
    return _share(lines, _ROWS.search) > 0.5


def _is_written(loop: Loop, tokens: list[str], places: list[Line]) -> bool:
    """Tell writing from the equal lines of a program, where nothing else says who wrote it.

    Inside one line no program repeats a sentence; and a program does not begin with prose.
    """
    ahead = loop.period if loop.period >= SENTENCE else 2 * loop.period
    within = places[min(loop.start + ahead, len(places) - 1)] is places[loop.start]
    if _is_stammer(loop, tokens):
        return within
    return loop.period > 2 and (within or loop.start >= SHORTEST)


def _runs_on(text: Text, generation: Generation | None) -> Iterator[Event]:
    written = [at for at, line in enumerate(text.lines) if line.text.strip()]
    marks = [
        (line, found[0].strip())
        for at, line in enumerate(text.lines)
        for found in _TURN.finditer(line.text)
        # An end mark that nothing follows is an end that was noticed, and printed.
        if (at > written[0] or found.start() > 0)
        and (at < written[-1] or line.text[found.end() :].strip())
    ]
    plain = [mark for mark in marks if not mark[1].startswith(("<", "[", "#"))]
    # An interview begins with a question, and one question is no turn of a chat.
    asks = bool(written) and _TURN.match(text.lines[written[0]].text) is not None
    if not marks or (len(plain) == len(marks) and (asks or len(marks) < 2)):
        return
    fields: dict[str, Value] = {
        "evidence": text.evidence,
        "marker": marks[0][1],
        "turns": len(marks),
        **(about(generation) if generation else {}),
    }
    yield make_event(
        "inference.runs_on", Nature.MEASUREMENT, marks[0][0], fields, end_line=marks[-1][0].number
    )


def _is_log(text: str) -> bool:
    return _LOG.search(text) is not None


def _is_prose(lines: list[str]) -> bool:
    """Tell whether a whole source is running text: common words and no trace of a program."""
    words = words_of(lines[:200])
    letters = sum(len(word) for word in words)
    if letters < LETTERS * sum(len(line.strip()) for line in lines[:200]):
        return False
    is_text = has_common_words(words) and not any(map(_is_log, lines))
    return is_text and _share(lines, _ROWS.search) <= 0.1


def _is_dialogue(lines: list[str]) -> bool:
    """Tell whether an answer runs on: it begins as text, and asks itself one thing more than once."""
    if len(lines) < 4 or _MARK.match(lines[0]) or any(map(_is_log, lines[:4])):
        return False
    asked: list[str] = []
    for line, following in pairwise([*lines, ""]):
        if found := _ASKS.search(line):
            asked.append((found["rest"] or following).strip())
    return len(set(asked)) < len(asked) and not any(map(_is_log, lines))


def _share(texts: list[str], test: Callable[[str], object]) -> float:
    return sum(bool(test(text)) for text in texts) / max(len(texts), 1)


PARSERS = (
    FileParser(
        name="generated-text",
        title="text a language model wrote, below its command or in its reply",
        accepts=accepts,
        gate=Gate(holds=TRACES + ASKS, test=may_be_prose),
        read=read,
        emits=("inference.generation", "inference.repetition", "inference.runs_on"),
        sample=(
            '$ mlx_lm.generate --model acme/tiny-7b --prompt "Write a poem" --max-tokens 512 --temp 0\n'
            + "The sea is wide and the sea is deep, and nobody knows where it ends. " * 6
            + "\n"
        ),
    ),
)
