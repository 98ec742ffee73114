import pytest
from dialects import events

from diagnose.model.event import Nature
from diagnose.parsers.checkpoint import messages as dialect

PATTERNS = dialect.PARSERS[0].patterns


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.sample[:50])
def test_a_sample_gives_one_event_only(pattern):
    assert [event.name for event in events(dialect, pattern.sample)] == [pattern.event]


@pytest.mark.parametrize(
    "text, name, fields",
    [
        ("saving checkpoint at iteration   33241 to /scratch/ckpt", "ckpt.save_start", {"step": 33241, "path": "/scratch/ckpt"}),
        ("  successfully saved checkpoint at iteration   33241 to /scratch/ckpt", "ckpt.save_end", {"step": 33241}),
        ("  [2026-01-05 10:00:00.123] successfully saved checkpoint from iteration    2000 to /data/ckpt [ t 1/8, p 1/4 ]", "ckpt.save_end", {"step": 2000, "path": "/data/ckpt"}),
        ("time (ms) | save-checkpoint: 57514.53", "ckpt.save_end", {"lasted": 57.51453}),
        ("    save-checkpoint ................................: (1234.56, 23456.78)", "ckpt.save_end", {"fastest": 1.23456, "lasted": 23.45678}),
        ("node-14:     load-checkpoint ................................: (1.15, 16.61)", "ckpt.load_end", {"lasted": 0.01661}),
        ("[rank0]:[titan] - INFO - Finished saving the checkpoint (or staging if async is enabled)in 393.86 seconds.", "ckpt.save_end", {"lasted": 393.86, "part": "saving"}),
        ("[titan] - INFO - Finished staging the checkpoint in 12.34 seconds.", "ckpt.save_end", {"lasted": 12.34, "part": "staging"}),
        ("[titan] - INFO - Loading the checkpoint from outputs/checkpoint/step-500.", "ckpt.load_start", {"path": "outputs/checkpoint/step-500", "step": 500}),
        ("[Rank 0] Saving model checkpoint: /data/ckpt/global_step500/mp_rank_00_model_states.pt", "ckpt.save_start", {"step": 500}),
        ("[Rank 0] [Torch] Checkpoint global_step500 is about to be saved!", "ckpt.save_start", {"tag": "global_step500", "step": 500}),
        ("Saving model checkpoint to /data/out/checkpoint-500", "ckpt.save_start", {"step": 500}),
        ("WARNING: could not find the metadata file /data/ckpt/latest_checkpointed_iteration.txt", "ckpt.load_fresh", {"path": "/data/ckpt/latest_checkpointed_iteration.txt"}),
        ("Unable to find latest file at ./ckpt/latest, if trying to load", "ckpt.load_fresh", {"path": "./ckpt/latest"}),
        ("The checkpoint being loaded used a DP world size of 64 but the current world size is 32. Automatic", "ckpt.load_failed", {"reason": "layout", "saved": "64", "current": "32"}),
        ("[rank0]: AssertionError: OptimizerParamScheduler: class input value 0.0003 and checkpointvalue 0.00015 for learning rate do not match", "ckpt.load_failed", {"reason": "layout", "argument": "learning rate", "current": "0.0003", "saved": "0.00015"}),
        ("ValueError: Can't find a valid checkpoint at /data/out/checkpoint-500", "ckpt.load_failed", {"reason": "missing-file", "path": "/data/out/checkpoint-500"}),
        ("ValueError: No valid checkpoint found in output directory (/data/out)", "ckpt.load_failed", {"reason": "missing-file", "path": "/data/out"}),
        ("WARNING: on rank 12 found iteration 1000 in the metadata while max iteration across the ranks is 2000, replacing", "ckpt.load_mixed", {"rank": 12, "step": 1000, "newest": 2000}),
        ("RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory", "ckpt.load_failed", {"reason": "corrupt", "message": "reading zip archive: failed finding central directory"}),
        ("safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer", "ckpt.load_failed", {"reason": "corrupt", "message": "MetadataIncompleteBuffer"}),
        ("[rank2]: OSError: [Errno 39] Directory not empty: '/data/tmp-checkpoint-50' -> '/data/checkpoint-50'", "ckpt.save_failed", {"reason": "race", "path": "/data/checkpoint-50", "step": 50}),
        ("FileNotFoundError: [Errno 2] No such file or directory: '/data/tmp-checkpoint-50' -> '/data/checkpoint-50'", "ckpt.save_failed", {"reason": "race"}),
        ("FileNotFoundError: [Errno 2] No such file or directory: '/scratch/t/checkpoint/composer_states.pt'", "ckpt.load_failed", {"reason": "missing-file", "path": "/scratch/t/checkpoint/composer_states.pt"}),
        ("FileNotFoundError: [Errno 2] No such file or directory: '__3_0.distcp'", "ckpt.save_failed", {"reason": "race", "path": "__3_0.distcp"}),
        ('FileNotFoundError: No such file or directory: "/models/a/model-00002-of-00004.safetensors"', "ckpt.load_failed", {"reason": "missing-file", "path": "/models/a/model-00002-of-00004.safetensors"}),
        ("CheckpointException: CheckpointException ranks:dict_keys([5, 13])", "ckpt.rank_failed", {"ranks": [5, 13]}),
        ("Didn't find an RNG file, if you are resuming a training that was launched in a distributed fashion", "ckpt.state_missing", {"what": "rng state"}),
    ],
)  # fmt: skip
def test_messages_of_the_frameworks(text, name, fields):
    (event,) = events(dialect, text + "\r\n")
    assert event.name == name
    assert {key: event[key] for key in fields} == {
        key: pytest.approx(value) if isinstance(value, float) else value
        for key, value in fields.items()
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "checkpoint_activations .......................... True",
        "save_interval ................................... 1000",
        "we are saving checkpoint files every 1000 iterations",
        "saving checkpoint at iterat",
        """    raise ValueError(f"Can't find a valid checkpoint at {checkpoint_path}")""",
        "the checkpoint was saved successfully in 3 seconds",
        "FileNotFoundError: [Errno 2] No such file or directory: '/data/train/part-3.jsonl'",
        "OSError: [Errno 39] Directory not empty: '/tmp/build'",
        "[GC] GC collection for checkpoint loading. 0.01 seconds.",
        "Finished saving the checkpoint in a few seconds",
        "forward-compute ................................: (1.15, 16.61)",
        "Loading checkpoint shards:  50%|#####     | 1/2",
    ],
)
def test_near_misses_give_nothing(text):
    assert events(dialect, text) == []


def test_a_fresh_start_is_no_error_by_itself():
    (event,) = events(dialect, "No checkpoint was provided, this is a fresh start.")
    assert event.nature is Nature.EFFECT
