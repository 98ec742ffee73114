import pytest

from diagnose.ingest.pattern import problems
from diagnose.model.event import Line, Nature
from diagnose.parsers.base import Note
from diagnose.parsers.traceback import ERROR_LINES, TRACEBACKS


def lines(text):
    return [Line("a.log", number, raw, raw) for number, raw in enumerate(text.splitlines(), 1)]


def exceptions(text):
    """Read all tracebacks the way a reader does: open, collect, close."""
    found, record, consumed = [], [], set()
    all_lines = lines(text)
    for at, line in enumerate(all_lines):
        if at in consumed or not TRACEBACKS.starts(line):
            continue
        record = [line]
        for further in range(at + 1, len(all_lines)):
            if TRACEBACKS.ends(record, all_lines[further]):
                break
            record.append(all_lines[further])
            consumed.add(further)
        found.extend(TRACEBACKS.read(record))
    return found


def error_lines(text):
    found = []
    for line in lines(text):
        for pattern in ERROR_LINES.patterns:
            event = pattern.match(line)
            event = event and ERROR_LINES.refine(event, line)
            if event:
                found.append(event)
    return found


@pytest.mark.parametrize("pattern", ERROR_LINES.patterns, ids=lambda one: one.sample[:30])
def test_samples_match_and_patterns_are_safe(pattern):
    assert problems(pattern.regex) == []
    assert any(literal in pattern.sample for literal in pattern.required)
    assert [event.name for event in error_lines(pattern.sample)] == ["python.error_line"]


SIMPLE = """\
Traceback (most recent call last):
  File "/app/train.py", line 88, in <module>
    main()
    ^^^^^^
  File "/app/train.py", line 70, in main
    batch = next(loader)
FileNotFoundError: [Errno 2] No such file or directory: '/data/shard-7.tar'
step 12 loss 2.3
"""


def test_a_traceback_is_one_event_at_its_last_line():
    (event,) = exceptions(SIMPLE)
    assert (event.line, event.end_line) == (7, 7)
    assert event.nature is Nature.ERROR
    assert event.fields["type"] == "FileNotFoundError"
    assert event.fields["errno"] == 2
    assert event.fields["path"] == "/data/shard-7.tar"
    assert event.fields["source_file"] == "/app/train.py"
    assert event.fields["function"] == "main"
    assert event.fields["source_line"] == "batch = next(loader)"
    assert event.fields["frames"] == ["/app/train.py:88 <module>", "/app/train.py:70 main"]
    assert event.fields["chained"] is False


def test_windows_line_ends_change_nothing():
    assert exceptions(SIMPLE.replace("\n", "\r\n"))[0].fields == exceptions(SIMPLE)[0].fields
    assert [e.fields for e in error_lines(SIMPLE.replace("\n", "\r\n"))] == [
        e.fields for e in error_lines(SIMPLE)
    ]


@pytest.mark.parametrize(
    "words",
    [
        "The above exception was the direct cause of the following exception:",
        "During handling of the above exception, another exception occurred:",
    ],
)
def test_the_first_block_of_a_chain_is_the_origin(words):
    (event,) = exceptions(
        "Traceback (most recent call last):\n"
        '  File "/app/io.py", line 4, in load\n'
        "    open(path)\n"
        "PermissionError: [Errno 13] Permission denied: '/data/a.bin'\n"
        "\n"
        f"{words}\n"
        "\n"
        "Traceback (most recent call last):\n"
        '  File "/app/train.py", line 9, in main\n'
        "    load(path)\n"
        "RuntimeError: loading failed\n"
    )
    assert event.fields["type"] == "PermissionError"
    assert event.fields["chained"] is True
    assert event.fields["last_type"] == "RuntimeError"
    assert event.fields["function"] == "load"
    assert (event.line, event.end_line) == (4, 11)


def test_the_inner_traceback_of_a_worker_is_the_origin():
    (event,) = exceptions(
        "Traceback (most recent call last):\n"
        '  File "/app/train.py", line 9, in main\n'
        "    for batch in loader:\n"
        "OSError: Caught OSError in DataLoader worker process 2.\n"
        "Original Traceback (most recent call last):\n"
        '  File "/app/data.py", line 31, in __getitem__\n'
        "    return read(index)\n"
        "OSError: [Errno 5] Input/output error: '/mnt/shards/00931.tar'\n"
        "\n"
    )
    assert event.fields["function"] == "__getitem__"
    assert event.fields["errno"] == 5
    assert event.fields["last_type"] == "OSError"
    assert event.line == 8


def test_the_inner_error_of_a_group_is_the_origin():
    (event,) = exceptions(
        "  + Exception Group Traceback (most recent call last):\n"
        '  |   File "/app/serve.py", line 3, in run\n'
        "  |     async with group:\n"
        "  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n"
        "  +-+---------------- 1 ----------------\n"
        "    | Traceback (most recent call last):\n"
        '    |   File "/app/serve.py", line 9, in handle\n'
        "    |     parse(body)\n"
        "    | ValueError: no such model\n"
        "    +------------------------------------\n"
    )
    assert event.fields["type"] == "ValueError"
    assert event.fields["function"] == "handle"
    assert event.fields["last_type"] == "ExceptionGroup"


def test_a_loggers_head_on_each_line_is_taken_off():
    head = "ERROR 08-01 12:00:0{} [core.py:718] "
    body = SIMPLE.splitlines()[:7]
    (event,) = exceptions("\n".join(head.format(n % 3) + text for n, text in enumerate(body)))
    assert event.fields["type"] == "FileNotFoundError"
    assert len(event.fields["frames"]) == 2
    assert len(error_lines("\n".join(head.format(1) + text for text in body))) == 1


def test_a_second_traceback_without_a_connecting_sentence_is_another_event():
    assert [event.line for event in exceptions(SIMPLE + SIMPLE)] == [7, 15]


def test_frames_left_out_by_a_paste():
    (event,) = exceptions("Traceback (most recent call last):\n...\nKeyError: 'optimizer'\n")
    assert event.fields["type"] == "KeyError"
    assert event.fields["frames"] == []


def test_file_lines_left_out_by_a_paste():
    (event,) = exceptions(
        "Traceback (most recent call last):\n    dist.init_process_group()\nRuntimeError: Address already in use\n"
    )
    assert event.fields["source_line"] == "dist.init_process_group()"
    assert event.fields["function"] is None


def test_cut_off_behind_its_frames():
    (event,) = exceptions("\n".join(SIMPLE.splitlines()[:6]))
    assert event.fields["type"] is None
    assert event.fields["function"] == "main"
    assert (event.line, event.end_line) == (5, 5)


@pytest.mark.parametrize("head", ["^C", "^C^C", "  12%|#  | 3/24 [00:10<01:10,  3.2s/it]^C"])
def test_an_interrupt_whose_last_line_is_cut_off(head):
    (event,) = exceptions(head + "\n".join(SIMPLE.splitlines()[:6]))
    assert (event.fields["type"], event.nature) == ("KeyboardInterrupt", Nature.TEARDOWN)


@pytest.mark.parametrize(("function", "waits"), [("_try_get_data", True), ("_worker_loop", False)])
def test_a_wait_for_the_loader_is_told_by_its_frames(function, waits):
    path = "/opt/venv/lib/python3.11/site-packages/torch/utils/data/dataloader.py"
    (event,) = exceptions(
        f'Traceback (most recent call last):\n  File "{path}", line 1243, in {function}\n    x = 1\nKeyboardInterrupt\n'
    )
    assert event.fields["loader_wait"] is waits


def test_cut_off_behind_its_first_line():
    with pytest.raises(Note):
        exceptions("Traceback (most recent call last):\n")


def test_only_the_last_frames_are_kept():
    frames = "".join(f'  File "/app/a.py", line {n}, in f{n}\n    f{n}()\n' for n in range(150))
    (event,) = exceptions(f"Traceback (most recent call last):\n{frames}RecursionError: too deep\n")
    assert len(event.fields["frames"]) == 30
    assert event.fields["frames"][-1] == "/app/a.py:149 f149"


def test_class_without_the_word_error():
    (event,) = exceptions(
        "Traceback (most recent call last):\n"
        '  File "/app/a.py", line 1, in f\n'
        "    lock()\n"
        "vendor.locks.LockHeld: by another run\n"
    )
    assert event.fields["type"] == "vendor.locks.LockHeld"


@pytest.mark.parametrize(
    ("text", "nature"),
    [
        ("RuntimeError: shape mismatch", Nature.ERROR),
        ("KeyboardInterrupt", Nature.TEARDOWN),
        ("SystemExit: 1", Nature.TEARDOWN),
        ("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ", Nature.EFFECT),
        ("torch.distributed.DistBackendError: NCCL communicator was aborted on rank 3.", Nature.EFFECT),
        ("torch.multiprocessing.spawn.ProcessExitedException: process 3 terminated with signal SIGTERM", Nature.EFFECT),
        ("subprocess.CalledProcessError: Command '['/usr/bin/python3', '-u', 'train.py']' returned non-zero exit status 1.", Nature.EFFECT),
        ("subprocess.CalledProcessError: Command '['ninja', '-v']' returned non-zero exit status 1.", Nature.ERROR),
        ("RuntimeError: [../third_party/gloo/pair.cc:598] Connection closed by peer [10.0.0.7]:41234", Nature.EFFECT),
        ("EOFError", Nature.EFFECT),
        ("EOFError: Ran out of input", Nature.ERROR),
    ],
)  # fmt: skip
def test_nature_of_an_error_line(text, nature):
    (event,) = error_lines(text)
    assert event.nature is nature


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("ModuleNotFoundError: No module named 'flash_attn'", {"module": "flash_attn"}),
        ("/usr/bin/python3: No module named vllm.entry", {"type": "ModuleNotFoundError", "module": "vllm.entry"}),
        ("OSError: [Errno 28] No space left on device", {"errno": 28, "path": None}),
        ("python: can't open file '/app/t.py': [Errno 2] No such file or directory", {"type": "FileNotFoundError", "errno": 2, "path": "/app/t.py"}),
        ("ValueError: Caught ValueError in DataLoader worker process 1.", {"caught": "ValueError"}),
        ("torch.OutOfMemoryError: CUDA out of memory.", {"type": "torch.OutOfMemoryError"}),
        ("safetensors_rust.SafetensorError: Error: No space left on device (os error 28)", {"errno": 28}),
        ("2026-01-02 10:00:00 ERROR trainer: RuntimeError: bad", {"type": "RuntimeError", "message": "bad"}),
        ("2023-04-29 06:01:12.977 [177/train/578 (pid 28936)] OSError: [Errno 28] No space left on device", {"errno": 28}),
        ("OSError: [Errno 39] Directory not empty: '/d/tmp-checkpoint' -> '/d/checkpoint-50'", {"errno": 39, "path": "/d/tmp-checkpoint"}),
    ],
)  # fmt: skip
def test_fields_of_an_error_line(text, fields):
    (event,) = error_lines(text)
    assert {name: event.fields[name] for name in fields} == fields


@pytest.mark.parametrize(
    "text",
    [
        "",
        "except ValueError: pass",
        "WARNING retrying after ConnectionError: timed out",
        "Error: something",
        "hf: num errors 0",
        "raise RuntimeError('x')",
        "INFO handled TimeoutError: will retry",
        "[INFO] ValueError: handled",
        "the worker said RuntimeError: bad",
    ],
)
def test_near_misses_are_no_error_lines(text):
    assert error_lines(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "LustreError: 167-0: fs0-OST0003-osc-ffff8: This client was evicted by fs0-OST0003",
        "LustreError: 11-0: fs0-OST0003: operation ost_write to node 10.0.1.7@o2ib failed: rc = -107",
        "[ 8123.45] LNetError: 4121:0:(o2iblnd_cb.c:3416) Timed out tx: active_txs",
    ],
)
def test_kernel_lines_named_like_a_class(text):
    assert error_lines(text) == []
