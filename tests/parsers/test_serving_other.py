import pytest
from dialects import events

from diagnose.parsers.serving import other as dialect


@pytest.mark.parametrize(
    "text, name, fields",
    [
        ('level=WARN source=runner.go:128 msg="truncating input prompt" limit=4096 prompt=9120 keep=5 new=4096', "inference.prompt_truncated", {"limit": 4096, "prompt": 9120}),
        ("slot      release: id  0 | task 12 | stop processing: n_past = 8191, truncated = 1", "inference.prompt_truncated", {"limit": 8191}),
        ('msg="llama runner started in 42.18 seconds"', "inference.model_load", {"seconds": 42.18}),
        ("RuntimeError: Not enough memory to handle 4096 prefill tokens. You need to decrease `--max-batch-prefill-tokens`", "inference.length_over_kv", {"wanted": 4096}),
        ('total_time="2.913s" validation_time="1.2ms" queue_time="80.1µs" inference_time="2.91s" time_per_token="29.1ms"', "inference.timing", {"total": 2.913, "queue": pytest.approx(80.1e-6)}),
        ("ggml_backend_cuda: allocating 9216.00 MiB on device 0: cudaMalloc failed: out of memory", "inference.oom", {"reason": "cudaMalloc failed: out of memory"}),
    ],
)  # fmt: skip
def test_messages_are_read_with_their_values(text, name, fields):
    (event,) = [event for event in events(dialect, text + "\r\n") if event.name == name]
    assert {key: event.fields[key] for key in fields} == fields


@pytest.mark.parametrize(
    "text",
    [
        "",
        "stop processing: n_tokens = 812, truncated = 0",
        'msg="truncating input prompt" limit=40',
        "the model is overloaded with parameters",
        "please try again later, the server is busy",
    ],
)
def test_ordinary_cut_and_foreign_lines_give_nothing(text):
    assert events(dialect, text) == []
