import pytest
from dialects import events

from diagnose.model.event import Nature
from diagnose.parsers import train_events as dialect


def arguments(text):
    found = [e for e in events(dialect, text) if e.name == "job.argument"]
    return {e.fact.removeprefix("arg."): e["value"] for e in found}


@pytest.mark.parametrize(
    "text, expected",
    [
        ("node-07:   tensor_model_parallel_size ...................... 8", {"tensor_model_parallel_size": 8}),
        ("  lr .............................................. 0.0003", {"lr": 0.0003}),
        ("  bf16 ............................................ True", {"bf16": True}),
        ("  load ............................................ None", {}),
        ("  vocab_file ...................................... /data/vocab.json", {}),
        ("[config.py:978:print]   train_batch_size ............. 256", {"global_batch_size": 256}),
        ("[config.py:978:print]   train_micro_batch_size_per_gpu  4", {"micro_batch_size": 4} | {}),
        ("[config.py:978:print]   zero_config .................. stage=1 contiguous_gradients=True", {"zero_stage": 1}),
        ("using world size: 64, data-parallel-size: 1, tensor-model-parallel size: 4, pipeline-model-parallel size: 16 ", {"world_size": 64, "data_parallel_size": 1, "tensor_model_parallel_size": 4, "pipeline_model_parallel_size": 16}),
        ("  Total optimization steps = 1,218", {"max_steps": 1218}),
        ("[titan] 2026-01-05 10:00:00,123 - root - INFO - Building 2-D device mesh with ['dp', 'tp'], [4, 2]", {"data_parallel_size": 4, "tensor_model_parallel_size": 2}),
        ("Building device mesh with parallelism: pp=1, dp_replicate=2, dp_shard=8, cp=1, tp=4", {"pipeline_model_parallel_size": 1, "data_parallel_replicate_size": 2, "data_parallel_shard_size": 8, "context_parallel_size": 1, "tensor_model_parallel_size": 4}),
        ("wait .... 8 seconds please", {}),
        ("the world size: 64 is used", {}),
        ("the device mesh with many ranks", {}),
    ],
)  # fmt: skip
def test_settings_become_facts(text, expected):
    assert arguments(text + "\n") == expected


@pytest.mark.parametrize(
    "text, facts",
    [
        ("Running pytorch 2.4.1+cu121 compiled for CUDA 12.1", {"torch.version": "2.4.1+cu121", "cuda.version": "12.1"}),
        ("[Rank -1] DeepSpeed info: version=0.16.5, git-hash=unknown", {"deepspeed.version": "0.16.5", "job.framework": "deepspeed"}),
        ("***** Running training *****", {"job.framework": "hf"}),
        (" iteration        2/    1000 | consumed samples:         2048 |", {"job.framework": "megatron"}),
        ("Running pytorch is fun", {}),
    ],
)  # fmt: skip
def test_banners_state_framework_and_versions(text, facts):
    assert {e.fact: e["value"] for e in events(dialect, text) if e.fact} == facts


@pytest.mark.parametrize(
    "text, fields",
    [
        ("[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768", {"scale": 65536, "new_scale": 32768, "rank": 0}),
        ("[deepspeed] OVERFLOW! Rank -1 Skipping step. Attempted loss scale: 65536.0, but hysteresis is 2. Reducing hysteresis to 1", {"scale": 65536, "hysteresis": 2, "rank": None}),
        ("[deepspeed] fp16 dynamic loss scale overflow! Skipping step. Attempted loss scale: 4096, reducing to 2048", {"scale": 4096, "new_scale": 2048}),
        ("Overflow detected. Skipping step. Attempted loss scale: 1e4", {"scale": 1e4}),
        ("Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0", {"new_scale": 32768}),
        ("FloatingPointError: Minimum loss scale reached (0.0001). Your loss is probably exploding.", {"scale": 0.0001, "minimum": True}),
        ("step:[    2/ 6500], loss: 10.6, overflow cond: True, loss_scale: 2.0", {"step": 2, "scale": 2.0}),
    ],
)  # fmt: skip
def test_overflows_of_all_wordings(text, fields):
    (event,) = events(dialect, text)
    assert event.name == "train.overflow"
    assert event.nature is (Nature.ERROR if fields.get("minimum") else Nature.EFFECT)
    assert {key: event[key] for key in fields} == fields


@pytest.mark.parametrize(
    "text, name, fields",
    [
        ("[11:41:59.064379] Loss is nan, stopping training", "train.nan_loss", {"metric": "loss", "value": "nan"}),
        ("Loss is inf, stopping training", "train.nan_loss", {"value": "inf"}),
        ("RuntimeError: training loss became NaN", "train.nan_loss", {"value": "NaN"}),
        ("2026-01-05 10:00:00 ERROR - loss is not finite at step 12", "train.nan_loss", {"value": "not finite"}),
        ("ValueError: NaN or Inf values found in the total loss", "train.nan_loss", {"value": "NaN"}),
        ("Batch 212: Invalid loss, terminating training", "train.nan_loss", {"step": 212}),
        ("FloatingPointError: Loss became infinite or NaN at iteration=1200!", "train.nan_loss", {"step": 1200}),
        ("Rank 17, node node-07, device 1, iteration 900: Unexpected result nan (message='found NaN in local forward loss calculation')", "train.nan_loss", {"rank": 17, "host": "node-07", "step": 900}),
        ("found NaN in local grad norm for bucket #3", "train.nan_gradient", {"metric": "grad_norm"}),
        ("[exiting program after 1190.0357275923093 minutes] datetime: 2026-01-05 01:00:51", "train.exit", {"reason": "duration", "minutes": pytest.approx(1190.04, abs=0.01)}),
        ("[exiting program after receiving SIGTERM.] datetime: 2026-01-05 01:00:51", "train.exit", {"reason": "signal", "signal": "SIGTERM"}),
        ("[exiting program at iteration 5000] datetime: 2026-01-05 01:00:51", "train.exit", {"reason": "iteration", "step": 5000}),
        ("{'train_runtime': 3600.1, 'train_loss': 1.9}", "train.exit", {"reason": "done", "seconds": 3600.1}),
    ],
)  # fmt: skip
def test_nan_messages_and_planned_ends(text, name, fields):
    (event,) = events(dialect, text)
    assert event.name == name
    assert {key: event[key] for key in fields} == fields


@pytest.mark.parametrize(
    "text",
    [
        "No Grad overflow for 500 iterations",
        "Increasing dynamic loss scale from 1.0 to 2.0",
        "the loss is nan if you divide by zero",
        "integer overflow detected in the parser",
        "check_nan_in_loss ............................... True",
        "step:2/5100 train_loss:4.7 train_time:17990ms step_avg:nanms",
        "exiting program",
        "OVERFLOW! Rank 0 Skipping st",
    ],
)
def test_near_misses_give_nothing(text):
    assert events(dialect, text) == []


BAR = "{}:  {}%|####      | {}/100 [30:11<38:27, 1578.58 examples/s]"


def test_a_redrawn_bar_of_work_on_the_host_is_reported_in_its_last_state():
    name = "Running tokenizer on dataset"
    text = "\r".join(BAR.format(name, n, n) for n in (40, 47)) + "\n" + BAR.format(name, 50, 50)
    (event,) = events(dialect, text)
    assert (event["what"], event["percent"], event["elapsed"], event["remaining"]) == (
        name, 50, 1811, 2307,
    )  # fmt: skip
    assert event.line == 2


def test_bars_of_several_ranks_are_several():
    text = "".join(f"[rank{rank}]: {BAR.format('Map', n, n)}\n" for rank, n in ((0, 40), (1, 99)))
    assert [(one.line, one["percent"]) for one in events(dialect, text)] == [(1, 40), (2, 99)]


@pytest.mark.parametrize(
    "name",
    ["Evaluating", "Validation DataLoader 0", "Saving the dataset (1/8 shards)", "Predicting",
     "Downloading shards", "Generating train split", "Generating completions", "Tokenizing"],
)  # fmt: skip
def test_work_outside_the_steps_is_read(name):
    (event,) = events(dialect, BAR.format(name, 40, 40) + "\n")
    assert (event.name, event["what"]) == ("train.preprocess", name)


def test_a_download_counts_bytes():
    text = "Downloading model:  47%|####      | 4.70G/10.0G [10:11<11:27, 7.7MB/s]\n"
    (event,) = events(dialect, text)
    assert (event["done"], event["total"]) == (4_700_000_000, 10_000_000_000)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Training completed", "done"),
        ("Training complete.", "done"),
        ("Training finished successfully!", "done"),
        ("train: training finished, total time 0:20:11", "done"),
        ("Total training time: 1:02:03 (0:00:12 on hooks)", "ended"),
    ],
)
def test_an_end_in_success_is_told_from_one_that_failures_print_as_well(text, reason):
    (event,) = events(dialect, text + "\n")
    assert (event.name, event["reason"]) == ("train.exit", reason)


def test_an_end_of_a_part_is_none_of_training():
    assert events(dialect, "Training completed epoch 3 of 10\n") == []
    assert events(dialect, "training finished epoch 3 in 20 s\n") == []


@pytest.mark.parametrize(
    "text",
    [
        "Epoch 3:  40%|####      | 400/1000 [03:20<05:00,  2.00it/s]\n",
        "Capturing CUDA graphs: 100%|####| 67/67 [00:05<00:00, 12.77it/s]\n",
        "Loading checkpoint shards:  50%|#####     | 1/2 [00:05<00:05]\n",
        "Map: 40%|##",
    ],
)
def test_other_bars_are_no_preprocessing(text):
    assert events(dialect, text) == []
