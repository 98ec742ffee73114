import pytest
from dialects import events

from diagnose.parsers.serving import generated_text as dialect

MLX = (
    '$ mlx_lm.generate --model acme/reason-7b --prompt "Explain tides" --max-tokens 512 --temp 0\n'
)
LLAMA = './llama-cli -m tiny-7b.gguf -p "Tell me about bees" -n 256 --temp 0.8\n'
OLLAMA = '$ ollama run acme-7b "tell me a story"\n'
CURL = 'curl http://10.0.0.7:8000/v1/completions -d \'{"prompt": "Hi", "temperature": 0.0}\'\n'
LEAD = "The harbour lies at the mouth of the river, and most of the town looks down on it. "
WHARF = "The boats come in at night and go out in the morning. "
PROSE = (
    "The harbour lies at the mouth of the river, and most of the town looks down on it from the "
    "north bank. In winter the ice reaches the second pier, so that the smaller boats are drawn up "
    "on land and painted. Fishing has declined for thirty years, but the yard still repairs ferries, "
    "and a school for shipwrights was opened in the old customs house. Visitors come for the market "
    "on Saturdays, when the farmers bring cheese, honey and wool across the bridge.\n"
)


def reply(text, finish="length"):
    return f'{{"choices": [{{"index": 0, "text": "{text}", "finish_reason": "{finish}"}}]}}\n'


def repetitions(text):
    return [e for e in events(dialect, text, "a.txt") if e.name == "inference.repetition"]


def is_degenerate(event):
    """What the shipped rules ask of a record, in short."""
    fields = event.fields
    if fields["structured"] and not fields["cut_by_length"]:
        return False
    if fields["repeats"] is None:
        return fields["rep_4"] >= 0.5 and fields["compression"] >= 2.4
    return fields["repeats"] >= 4 and fields["share"] >= 0.3 and bool(fields["at_tail"])


LOOPS = {
    "one sentence in one line": MLX + LEAD + WHARF * 8,
    "one sentence a line": MLX + LEAD + "\n" + (WHARF + "\n") * 8,
    "a paragraph": MLX + (LEAD + WHARF + "\n\n") * 5,
    "three words": MLX + LEAD + "very very important " * 30,
    "one word": MLX + LEAD + "the " * 80,
    "it counts up": MLX + "".join(f"Step {n}: check the result of step {n} again. " for n in range(30)),
    "cut inside the period": MLX + LEAD + WHARF * 8 + "The boats come",
    "with the program's figures": MLX + "=" * 10 + "\n" + LEAD + WHARF * 9 + "\n" + "=" * 10 + "\nPrompt: 14 tokens, 212.402 tokens-per-sec\nGeneration: 512 tokens, 61.118 tokens-per-sec\nPeak memory: 4.310 GB\n",
    "below a loading model": LLAMA + "llama_model_loader: loaded meta data with 26 key-value pairs\n" * 9 + LEAD + WHARF * 8 + "\nllama_print_timings:        eval time =   10211.04 ms /   300 runs\n",
    "an echoed prompt": LLAMA + " Tell me about bees. " + WHARF * 9 + "\n",
    "ollama": OLLAMA + LEAD + WHARF * 8,
    "a reply": reply(LEAD + WHARF * 8),
    "a chat reply on several lines": '{\n "choices": [\n  {"message": {"role": "assistant",\n   "content": "' + LEAD + WHARF * 8 + '"},\n   "finish_reason": "length"}\n ]\n}\n',
    "below curl": CURL + reply(LEAD + WHARF * 8),
    "offline inference": "Prompt: 'The harbour', Generated text: ' lies at the mouth. " + WHARF * 8 + "'\n",
    "a script with its settings": "from transformers import pipeline\nout = model.generate(**inputs, max_new_tokens=400, do_sample=False)\nprint(tokenizer.decode(out[0]))\n\nOutput:\n" + LEAD + WHARF * 8,
    "settings above the text": "temperature=0.0, top_p=1.0, max_new_tokens=512\n" + LEAD + WHARF * 8,
    "a label below settings": "top_p: 1.0\ntemperature: 0.0\nOutput:\n" + LEAD + "\n" + (WHARF + "\n") * 8,
    "a paragraph twice in each line": "We need to write a program that draws the tide, and that shows the moon as it goes round. " * 2 + "\n\n" + ("We need to write a program that draws the tide, and that shows the moon as it goes round. " * 2 + "\n\n") * 2,
    "prose without a command": PROSE + LEAD + "It was good, and it was good to be there, " * 9,
    "Chinese": MLX + "港口位于河口。" + "船在夜里回来，早晨出去。" * 12,
    "one common word at the end of a chat": "USER: Tell me about the harbour of this town.\nASSISTANT: The harbour lies at the mouth of the river, and most of the town looks down on it.\nUSER: What is the best time to see it, the market and the boats and the " + "the, " * 22 + "\n",
    "rows that never end": MLX + "=" * 10 + "\n" + "| boat | night |\n" * 40 + "=" * 10 + "\nGeneration: 512 tokens, 61.118 tokens-per-sec\n",
    "paraphrase without a period": MLX + "".join(f"{a} is very important for the health of the body and the mind. {b} " for a, b in zip(["Sleep", "Food", "Sleep", "Rest", "Food", "Sleep", "Rest", "Rest", "Food", "Sleep", "Food", "Rest"], ["It really is.", "So it is.", "So it is.", "It really is.", "Indeed.", "So it is.", "It really is.", "Indeed.", "So it is.", "Indeed.", "It really is.", "So it is."], strict=True)),
    "in a window's line ends": (MLX + LEAD + WHARF * 8).replace("\n", "\r\n"),
    "behind a prefix": "".join(f"node-07: {line}\n" for line in (MLX + LEAD + "\n" + (WHARF + "\n") * 8).splitlines()),
}  # fmt: skip

POEM = "".join(
    f"{line}\nOh rain, carry me home.\n"
    for line in (
        "The rain comes down on the tin roof tonight, and I lie awake and I listen.",
        "The gutters are full and the river is high, the windows are cold and they glisten.",
        "Tomorrow the sun will come back to the hill, and the fields will be green in the morning.",
        "The lamp in the hall is a small yellow moon, and the clock on the wall has stopped turning.",
        "My father is mending a net by the stove, and the kettle is singing and burning.",
    )
)
CODE = "".join(
    f"def test_{name}_is_read():\n    result = read(SAMPLE[{n}])\n    assert result.name == '{name}'\n    assert result.count == {n}\n\n"
    for n, name in enumerate(["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"])
)
NORMAL = {
    "prose under a command": MLX + PROSE,
    "prose alone": PROSE * 1,
    "a short loop": MLX + "No. No. No. No. That is all I know about it.",
    "a refrain": OLLAMA + POEM,
    "a poem alone": POEM,
    "a table": MLX + "| n | square |\n|---|---|\n" + "".join(f"| {n} | {n * n} |\n" for n in range(40)),
    "a table of equal rows": MLX + "| boat | night |\n" * 40,
    "code": MLX + CODE,
    "JSON rows": MLX + '[\n' + '  {"name": "boat", "state": "ready", "count": 1},\n' * 30 + "]\n",
    "a numbered list": MLX + "".join(f"{n}. {w} is a town on the coast of the north sea.\n" for n, w in enumerate(["Alba", "Brin", "Corv", "Dun", "Elt", "Farn", "Gol", "Hest", "Ivo", "Jarn"], 1)),
    "SQL": MLX + "".join(f"INSERT INTO boats (id, name) VALUES ({n}, 'boat {n}');\n" for n in range(30)),
    "a dialogue": MLX + "".join(f"{who}: {what}\n" for who, what in [("Ann", "Where were you last night?"), ("Ben", "On the boat, with the others."), ("Ann", "You said you would be home by ten."), ("Ben", "The wind turned and we had to wait for the tide to come back.")] * 1) + PROSE,
    "a log of a trainer": "".join(f"2026-01-05 10:00:{n:02d} INFO step {n} loss 2.31\n" for n in range(60)),
    "a log with requests": "".join(f"INFO 01-05 10:00:{n:02d} [logger.py:39] Received request cmpl-{n}: prompt: 'Hi', params: SamplingParams(n=1, temperature=0.0)\n" for n in range(60)),
    "an access log": 'INFO:     10.0.0.7:58856 - "POST /v1/completions HTTP/1.1" 200 OK\n' * 60,
    "a waiting program": "waiting for the server to be ready, this may take a while\n" * 60,
    "a stack dump": "Thread 0x00007f (most recent call first):\n" + '  File "/app/train.py", line 88 in wait\n' * 60,
    "a progress bar": MLX + "".join(f"Fetching 12 files: {n}%|███   | {n}/100 [00:0{n % 10}<00:09, 1.2it/s]\n" for n in range(60)) + PROSE,
    "a command without text": MLX,
    "warnings below a command": MLX + "/opt/venv/lib/python3.12/site-packages/torch/nn.py:12: UserWarning: the flag is deprecated and will go\n" * 20 + PROSE,
    "a healthy reply": reply(PROSE.strip(), "stop"),
    "equal rows in a healthy reply": reply("| boat | night |\\n" * 40, "stop"),
    "metrics": "train_loss=2.31 grad_norm=0.81 lr=0.0001\n" * 60,
    "empty": "",
    "a training log that samples": "temperature: 1.0\ntop_p: 0.95\n" + "".join(f"step:{n} - actor/loss:0.31 - reward/mean:0.{n:02d} - time/step:12.1\n" for n in range(60)),
    "a script that waits": "SamplingParams(temperature=0.0)\n" + "waiting for the engine to come up, please be patient\n" * 60,
    "temperatures of a GPU": "top_p: 0.95\n" + "        GPU Current Temp                  : 45 C\n" * 60,
    "a word that is said some times": PROSE + "It is the best, and the, the, the, the one that I know.\n",
    "zeros in a row": PROSE + "0, " * 60 + "\n",
    "laughter": PROSE + "ha " * 24 + "\n",
    "a flag in a row": MLX + "[" + "True, " * 24 + "]\n" + PROSE,
    "a manual": "To serve the model, run the server with the model and the port. The port is the one that the clients use. If the server is behind a proxy, set the port of the proxy. The server writes a log, and the log is where the errors are. Read the log first, and then the manual, and if neither helps ask in the forum with the version of the server and the log.\n",
}  # fmt: skip


@pytest.mark.parametrize("name", LOOPS)
def test_a_looping_text_is_found(name):
    assert any(is_degenerate(event) for event in repetitions(LOOPS[name]))


@pytest.mark.parametrize("name", NORMAL)
def test_a_normal_text_is_not(name):
    assert not [event for event in repetitions(NORMAL[name]) if is_degenerate(event)]


def test_the_loop_is_located_and_measured():
    (event,) = repetitions(MLX + LEAD + "\n" + (WHARF + "\n") * 8)
    assert (event.line, event.end_line) == (3, 10)
    assert event.fields["period"] == 12
    assert event.fields["repeats"] == 8
    assert event.fields["greedy"] is True


@pytest.mark.parametrize(
    "command, temperature, greedy",
    [
        (MLX, 0.0, True),
        ('mlx_lm.generate --model acme/a --prompt "x"\n', 0.0, True),
        ('mlx_lm.generate --model acme/a --prompt "x" --temp 0.7\n', 0.7, False),
        (LLAMA, 0.8, False),
        (LLAMA + "sampler params: \n\ttop_k = 40, top_p = 0.950, temp = 0.000\n", 0.0, True),
        (CURL, 0.0, True),
        (OLLAMA, None, None),
        ("out = model.generate(**inputs, do_sample=False)\n", None, True),
        ("llm.generate(prompts, SamplingParams(temperature=0.7, top_k=1))\n", 0.7, True),
    ],
)
def test_the_command_tells_the_sampling(command, temperature, greedy):
    (event,) = [e for e in events(dialect, command, "a.txt") if e.name == "inference.generation"]
    assert (event.fields["temperature"], event.fields["greedy"]) == (temperature, greedy)


def test_marks_of_a_further_turn_are_reported_once():
    text = MLX + "Lima is the capital.<|im_end|>\n<|im_start|>user\nAnd of Chile?<|im_end|>\n"
    (event,) = [e for e in events(dialect, text, "a.txt") if e.name == "inference.runs_on"]
    assert (event.line, event.end_line) == (2, 3)
    assert event.fields["marker"] == "<|im_end|>"


@pytest.mark.parametrize(
    "text",
    [
        MLX + "Lima is the capital.<|im_end|>\n",
        MLX + "Lima is the capital.\nIt lies on the coast.</s>\n\n",
        MLX + PROSE,
        LLAMA + "main: chat template example: '<|im_start|>user Hello<|im_end|>'\n" + PROSE,
        "Human: hello\nAssistant: hi\n",
    ],
)
def test_an_end_mark_alone_is_no_further_turn(text):
    assert not [e for e in events(dialect, text, "a.txt") if e.name == "inference.runs_on"]


ASKED = "<|user|>\nWhich sea is the harbour at?\n<|assistant|>\nIt is at the north sea.\n"


@pytest.mark.parametrize(
    "text",
    [
        "It is at the north sea.\n<|system|>\nYou are helpful.\n" + ASKED * 2,
        "港口在河口。\n<|im_start|>user\n港口在哪里？\n<|im_start|>assistant\n港口在河口。\n<|im_start|>user\n港口在哪里？\n",
        "It is at the north sea.\n### Human: Which sea is it at?\nThe north sea.\n### Human: Which sea is it at?\n",
    ],
)
def test_an_answer_that_asks_itself_the_same_again_runs_on(text):
    assert [e for e in events(dialect, text, "a.txt") if e.name == "inference.runs_on"]


@pytest.mark.parametrize(
    "text",
    [
        ASKED * 3,
        "It is at the north sea.\n" + ASKED + ASKED.replace("Which", "What"),
        "INFO 2026-01-05 10:00:00 a sample of the data\n" + ASKED * 3,
        "Human: hello\nAssistant: hi\nHuman: hello\nAssistant: hi\n",
    ],
)
def test_a_prompt_or_a_sample_of_the_data_is_no_answer(text):
    assert not [e for e in events(dialect, text, "a.txt") if e.name == "inference.runs_on"]


def test_a_prompt_in_the_reply_is_not_judged():
    prompt = "Repeat after me, please. " * 12
    text = f'./llama-cli -m a.gguf -p "{prompt}"\n {prompt}Very well, I will not do that.\n'
    assert repetitions(text) == []
