"""What training programs say of themselves apart from numbers: settings, skips, NaN, the end.

Argument dumps and banners of Megatron-LM, DeepSpeed, torchtitan, Hugging Face Trainer and nanoGPT
scripts become ``job.argument`` events with the fact ``arg.<name>``; names are Megatron's where two
programs call one thing differently. Overflow messages are normal while a loss scaler finds its
range (17 of DeepSpeed, 30 of Megatron in the first steps).

*Empty*: the head of the log is missing, or the program prints no settings. *Cut off*: a dump that
ends early states the arguments before the cut.
"""

import re
from collections.abc import Iterator
from math import prod

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import (
    BlockParser,
    BlockText,
    BulkParser,
    LineParser,
    Pattern,
    Record,
    make_event,
)

MEGATRON = "Megatron-LM training/arguments.py and training/training.py, v1.0 to main 2026"
DEEPSPEED = "DeepSpeed runtime/config.py, engine.py, fp16/loss_scaler.py, 0.3 to 0.19"
HF = "transformers trainer.py, 4.x and 5.x"
TITAN = "torchtitan train.py, distributed/parallel_dims.py and pipeline_parallel.py"
DEEPSPEED_PIPELINE = "DeepSpeed runtime/pipe/engine.py and module.py"
NEMO = "NeMo's configuration, printed as YAML by OmegaConf or Hydra"

ARGUMENTS = frozenset({
    "tensor_model_parallel_size", "pipeline_model_parallel_size", "data_parallel_size",
    "context_parallel_size", "expert_model_parallel_size", "num_experts", "sequence_parallel",
    "virtual_pipeline_model_parallel_size", "num_layers_per_virtual_pipeline_stage", "world_size",
    "micro_batch_size", "global_batch_size", "rampup_batch_size", "num_layers", "hidden_size",
    "num_attention_heads", "seq_length", "max_position_embeddings", "padded_vocab_size", "lr",
    "min_lr", "lr_decay_iters", "lr_decay_samples", "lr_warmup_iters", "lr_warmup_samples",
    "lr_warmup_fraction", "lr_decay_style", "train_iters", "train_samples", "save_interval",
    "eval_interval", "eval_iters", "log_interval", "exit_interval", "exit_duration_in_mins",
    "fp16", "bf16", "fp8", "loss_scale", "initial_loss_scale", "min_loss_scale",
    "loss_scale_window", "hysteresis", "clip_grad", "weight_decay", "seed", "init_method_std",
    "adam_beta1", "adam_beta2", "adam_eps", "data_parallel_random_init", "recompute_granularity",
    "recompute_method", "checkpoint_activations", "use_distributed_optimizer", "zero_stage",
    "distributed_timeout_minutes", "num_workers", "dataloader_type", "ckpt_format", "async_save",
    "no_load_optim", "no_load_rng", "no_save_optim", "no_save_rng", "finetune", "load", "save",
    "override_opt_param_scheduler", "use_checkpoint_opt_param_scheduler", "overlap_grad_reduce",
    "overlap_param_gather", "manual_gc", "manual_gc_interval", "optimizer", "transformer_impl",
    "train_batch_size", "gradient_accumulation_steps", "gradient_clipping", "zero_enabled",
    "fp16_enabled", "bfloat16_enabled", "initial_dynamic_scale", "dp_world_size", "mp_world_size",
    "zero_optimization_stage", "steps_per_print", "sparse_gradients_enabled", "wandb_exp_name",
})  # fmt: skip

RENAMED = {
    "train_batch_size": "global_batch_size",
    "train_micro_batch_size_per_gpu": "micro_batch_size",
    "gradient_clipping": "clip_grad",
    "fp16_enabled": "fp16",
    "bfloat16_enabled": "bf16",
    "initial_dynamic_scale": "initial_loss_scale",
    "zero_optimization_stage": "zero_stage",
    "mp_world_size": "tensor_model_parallel_size",
    "dp_world_size": "data_parallel_size",
    "tp": "tensor_model_parallel_size",
    "pp": "pipeline_model_parallel_size",
    "cp": "context_parallel_size",
    "ep": "expert_model_parallel_size",
    "dp": "data_parallel_size",
    "dp_shard": "data_parallel_shard_size",
    "dp_replicate": "data_parallel_replicate_size",
}

SETTING, PROGRESS, EFFECT, ERROR = Nature.SETTING, Nature.PROGRESS, Nature.EFFECT, Nature.ERROR
SCALE = r"[\d.]+(?:[eE][+-]?\d+)?"


def _value(text: str) -> Value:
    """Return a printed argument as number, truth value, None or text."""
    text = text.strip().rstrip(",")
    words: dict[str, Value] = {"None": None, "True": True, "False": False}
    if text in words:
        return words[text]
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    if re.fullmatch(r"-?\d+", plain):
        return int(plain)
    if re.fullmatch(r"-?(?:\d+\.\d*|\.?\d+)(?:[eE][+-]?\d+)?", plain):
        return float(plain)
    return text.strip("'\"")


def _name_fact(event: Event, line: Line) -> Event | None:
    """Name the fact after the argument; drop arguments that no diagnosis asks for."""
    if event.name != "job.argument":
        return event
    name = str(event.fields["name"]).replace("-", "_")
    if "dots" in event.fields:
        del event.fields["dots"]
        if name not in ARGUMENTS:
            return None
    if event.fields.get("value") is None:  # an option that was not given
        return None
    event.fields["name"] = RENAMED.get(name, name)
    event.fact = f"arg.{event.fields['name']}"
    return event


def _argument(name: str, regex: str, source: str, sample: str) -> Pattern:
    return Pattern(
        event="job.argument",
        regex=regex,
        nature=SETTING,
        source=source,
        sample=sample,
        types={"value": _value},
        constants={"name": name},
    )


WORLD = "using world size: 64, data-parallel-size: 8, context-parallel-size: 1, tensor-model-parallel size: 4, pipeline-model-parallel size: 2"

SETTINGS = (
    Pattern(
        event="job.argument",
        regex=r"\b(?P<name>[a-z][a-z_0-9]+) (?P<dots>\.{4,}) (?P<value>.+)$",
        nature=SETTING,
        source=MEGATRON,
        sample="  tensor_model_parallel_size ...................... 8",
        types={"value": _value},
        literals=(" ....",),
    ),
    _argument("world_size", r"using world size: (?P<value>\d+)", MEGATRON, WORLD),
    _argument("data_parallel_size", r"using world size: .*\bdata-parallel-size: (?P<value>\d+)", MEGATRON, WORLD),
    _argument("context_parallel_size", r"using world size: .*\bcontext-parallel[- ]size: (?P<value>\d+)", MEGATRON, WORLD),
    _argument("tensor_model_parallel_size", r"using world size: .*, tensor-model-parallel size: (?P<value>\d+)", MEGATRON, WORLD),
    _argument("pipeline_model_parallel_size", r"using world size: .*, pipeline-model-parallel size: (?P<value>\d+)", MEGATRON, WORLD),
    _argument("zero_stage", r"zero_config \.+ \D{0,8}\bstage=(?:ZeroStageEnum\.\w+: )?(?P<value>\d)", DEEPSPEED,
              "[2026-01-05 10:00:10,101] [INFO] [config.py:1000:print]   zero_config .................. stage=1 contiguous_gradients=True"),
    _argument("train_micro_batch_size_per_gpu", r"\btrain_micro_batch_size_per_gpu +(?P<value>\d+)", DEEPSPEED,
              "[2026-01-05 10:00:10,101] [INFO] [config.py:1000:print]   train_micro_batch_size_per_gpu  4"),
    _argument("global_batch_size", r"Total train batch size \(w\. parallel, distributed & accumulation\) = (?P<value>[\d,]+)", HF,
              "  Total train batch size (w. parallel, distributed & accumulation) = 128"),
    _argument("gradient_accumulation_steps", r"Gradient Accumulation steps = (?P<value>[\d,]+)", HF, "  Gradient Accumulation steps = 4"),
    _argument("micro_batch_size", r"Instantaneous batch size per device = (?P<value>[\d,]+)", HF, "  Instantaneous batch size per device = 4"),
    _argument("max_steps", r"Total optimization steps = (?P<value>[\d,]+)", HF, "  Total optimization steps = 1,218"),
    _argument("num_examples", r"\bNum examples = (?P<value>[\d,]+)", HF, "  Num examples = 52,002"),
    _argument("micro_batches", r"\bCONFIG: micro_batches=(?P<value>\d+) micro_batch_size=", DEEPSPEED_PIPELINE,
              "[2026-01-05 10:00:10,101] [INFO] [engine.py:105:__init__] CONFIG: micro_batches=32 micro_batch_size=2"),
    Pattern(
        event="job.argument",
        regex=r"Using topology: \{.*ProcessCoord\(pipe=(?P<value>\d+)",
        nature=SETTING,
        source=DEEPSPEED_PIPELINE,
        sample="Using topology: {ProcessCoord(pipe=0, data=0): 0, ProcessCoord(pipe=0, data=1): 1, ProcessCoord(pipe=1, data=0): 2, ProcessCoord(pipe=1, data=1): 3}",
        types={"value": lambda last: int(last) + 1},
        constants={"name": "pipeline_model_parallel_size"},
    ),
    _argument("micro_batches", r"Using pipeline schedule \S+ with (?P<value>\d+) microbatches and \d+ stages", TITAN,
              "[titan] 2026-01-05 10:00:00,123 - root - INFO - Using pipeline schedule Interleaved1F1B with 8 microbatches and 8 stages."),
    _argument("pipeline_stages", r"Using pipeline schedule \S+ with \d+ microbatches and (?P<value>\d+) stages", TITAN,
              "[titan] 2026-01-05 10:00:00,123 - root - INFO - Using pipeline schedule Interleaved1F1B with 8 microbatches and 8 stages."),
    Pattern(
        event="job.argument",
        regex=r"^\W*(?P<name>tensor_model_parallel_size|pipeline_model_parallel_size|virtual_pipeline_model_parallel_size|context_parallel_size|expert_model_parallel_size|micro_batch_size|global_batch_size|num_microbatches)\s*[:=]\s*(?P<value>\d+)\b",
        nature=SETTING,
        source=NEMO,
        sample="    tensor_model_parallel_size: 8",
        types={"value": _value},
    ),
    Pattern(
        event="job.argument",
        regex=r"--(?P<name>tensor-model-parallel-size|pipeline-model-parallel-size|num-layers-per-virtual-pipeline-stage|context-parallel-size|expert-model-parallel-size|micro-batch-size|global-batch-size)[ =](?P<value>\d+)\b",
        nature=SETTING,
        source=MEGATRON,
        sample="cmd: python pretrain_gpt.py --tensor-model-parallel-size 8",
        types={"value": _value},
    ),
    Pattern(
        event="job.gpu_model",
        regex=r"\b(?:GPU|CUDA|HIP) capacity: (?P<value>.+?)(?: \(\d+\))? with [\d.]+GiB memory",
        nature=SETTING,
        source=TITAN,
        sample="[titan] 2026-01-05 10:00:00,123 - root - INFO - CUDA capacity: NVIDIA H100 80GB HBM3 with 79.10GiB memory",
        fact="gpu.model",
    ),
    _argument("num_epochs", r"\bNum Epochs = (?P<value>[\d,]+)", HF, "  Num Epochs = 3"),
)  # fmt: skip


def _framework(value: str, regex: str, source: str, sample: str) -> Pattern:
    return Pattern(
        event="job.framework",
        regex=regex,
        nature=SETTING,
        source=source,
        sample=sample,
        constants={"value": value},
        fact="job.framework",
        once_per_block=True,
    )


def _version(fact: str, regex: str, source: str, sample: str) -> Pattern:
    return Pattern(
        event="job.version",
        regex=regex,
        nature=SETTING,
        source=source,
        sample=sample,
        constants={"name": fact},
        fact=fact,
    )


BANNER = "Running pytorch 2.4.1+cu121 compiled for CUDA 12.1"
FRAMEWORKS = (
    _framework("megatron", r"using world size: .*model-parallel size", MEGATRON, WORLD),
    _framework("megatron", r"iteration +\d+/ *\d+ \| consumed samples:", MEGATRON, " iteration        2/    1000 | consumed samples:         2048 | elapsed time per iteration (ms): 141096.8 |"),
    _framework("deepspeed", r"DeepSpeed info: version=", DEEPSPEED, "[2026-01-05 10:00:10,101] [INFO] [logging.py:107:log_dist] [Rank -1] DeepSpeed info: version=0.16.5, git-hash=unknown, git-branch=unknown"),
    _framework("torchtitan", r"^Training starts at step \d+", TITAN, "[titan] 2026-01-05 10:00:00,123 - root - INFO - Training starts at step 6."),
    _framework("hf", r"\*\*\*\*\* Running training \*\*\*\*\*", HF, "***** Running training *****"),
    _framework("lightning", r"GPU available: \w+ .*used: ", "PyTorch Lightning trainer/setup.py", "GPU available: True (cuda), used: True"),
    _version("deepspeed.version", r"DeepSpeed info: version=(?P<value>[^\s,]+)", DEEPSPEED, "DeepSpeed info: version=0.16.5, git-hash=unknown, git-branch=unknown"),
    _version("torch.version", r"Running pytorch (?P<value>\d\S*)", "modded-nanogpt train_gpt2.py", BANNER),
    _version("cuda.version", r"Running pytorch \S+ compiled for CUDA (?P<value>\d\S*)", "modded-nanogpt train_gpt2.py", BANNER),
    _version("torch.version", r"\btorch version \.{4,} (?P<value>\d\S*)", "DeepSpeed env_report.py", "torch version .................... 2.6.0+cu124"),
    _version("cuda.version", r"\btorch cuda version \.{4,} (?P<value>\d\S*)", "DeepSpeed env_report.py", "torch cuda version ............... 12.4"),
)  # fmt: skip


def _scale(text: str) -> float:
    """Return a loss scale, printed as a number or as a product of two."""
    return prod(map(float, text.split("*")))


def _overflow(regex: str, source: str, sample: str, **constants: Value) -> Pattern:
    return Pattern(
        event="train.overflow",
        regex=regex,
        nature=ERROR if constants.get("minimum") else EFFECT,
        source=source,
        sample=sample,
        types={"scale": float, "new_scale": _scale, "hysteresis": int, "step": int},
        constants=constants,
    )


OVERFLOWS = (
    _overflow(rf"(?:[Oo]verflow|OVERFLOW)(?:!| detected\.)(?: Rank (?:-1|(?P<rank>\d+)))? Skipping step\. Attempted loss scale: (?P<scale>{SCALE})"
              rf"(?:, (?:reducing to (?P<new_scale>{SCALE})|but hysteresis is (?P<hysteresis>\d+)))?", DEEPSPEED,
              "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768"),
    _overflow(rf"Reducing dynamic loss scale from (?P<scale>{SCALE}) to (?P<new_scale>{SCALE})", DEEPSPEED,
              "Reducing dynamic loss scale from 4096.0 to 2048.0"),
    _overflow(r"Current loss scale already at minimum", DEEPSPEED,
              "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.", minimum=True),
    _overflow(rf"Gradient overflow\. +Skipping step, loss scaler \d+ reducing loss scale to (?P<new_scale>{SCALE})", "apex amp/handle.py",
              "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0"),
    _overflow(rf"gradient overflow detected, ignoring gradient, setting loss scale to: (?P<new_scale>{SCALE})", "fairseq trainer.py",
              "NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: 4.0"),
    _overflow(rf"^\| WARNING: overflow detected, setting loss scale to: (?P<new_scale>{SCALE})", "fairseq trainer.py before 0.10",
              "| WARNING: overflow detected, setting loss scale to: 0.25"),
    _overflow(rf"\boverflow, still update, loss scale adjust to (?P<new_scale>{SCALE})", "mindyolo utils/trainer_factory.py",
              "[WARNING] overflow, still update, loss scale adjust to 1024.0"),
    _overflow(rf"Found inf or nan, current scale is: (?P<scale>{SCALE}), decrease to: (?P<new_scale>{SCALE}\*0\.5)", "Paddle amp/grad_scaler.py",
              "Found inf or nan, current scale is: 1024.0, decrease to: 1024.0*0.5"),
    _overflow(rf"\bGrad scale is small: (?P<scale>{SCALE})", "k2-fsa/icefall egs, train.py",
              "2026-01-05 10:00:00,652 WARNING [train.py:680] (2/4) Grad scale is small: 0.0009765625"),
    _overflow(rf"AMP: overflow detected, setting scale to:? (?P<new_scale>{SCALE})", "fairseq trainer.py",
              "AMP: overflow detected, setting scale to 64.0"),
    _overflow(rf"Minimum loss scale reached \((?P<scale>{SCALE})\)", "fairseq optim/dynamic_loss_scaler.py",
              "FloatingPointError: Minimum loss scale reached (0.0001). Your loss is probably exploding.", minimum=True),
    _overflow(rf"step:\[ *(?P<step>\d+)/.*overflow cond: True, loss_scale: (?P<scale>{SCALE})", "MindFormers core/callback/callback.py",
              "{ Epoch:[  1/  2], step:[    2/ 6500], loss: 10.633, per_step_time: 1752ms, lr: 1e-05, overflow cond: True, loss_scale: 1.0, global_norm: [1.508834] }"),
)  # fmt: skip


NOT_FINITE = r"(?:[Nn]a[Nn]|NAN|[Ii]nf(?:inite|inity)?|[Nn]on-?finite|not finite)"
HEAD = r"(?:\b\w*(?:Error|Exception|Exit): |\b(?:ERROR|CRITICAL|FATAL|WARNING)\b[\s:\]|>-]{1,6})"
LOSS_TURNS = tuple(
    f"oss{value} {verb}"
    for value in ("", " value")
    for verb in ("is", "was", "has become", "became", "becomes", "turned", "went", "=", "==")
)
"""One pattern each, since ``loss`` alone is on every line of a training log and would be looked at."""

BEFORE_LOSS = r"(?:The |the )?(?:[Tt]rain(?:ing)? |[Tt]otal |[Bb]atch )?[Ll]"
BECOMES = rf"(?: now| to| into)? (?P<value>{NOT_FINITE})\b(?:[.!;:(]|$| at (?:step|epoch|batch)| in | -> )"


HEAD_WORDS = ("Error: ", "Exception: ", "Exit: ", "ERROR", "CRITICAL", "FATAL", "WARNING")


def _nan(
    metric: str, regex: str, source: str, sample: str, literals: tuple[str, ...] = ()
) -> Pattern:
    return Pattern(
        event="train.nan_loss" if metric == "loss" else "train.nan_gradient",
        regex=regex,
        nature=ERROR,
        source=source,
        sample=sample,
        types={"step": int},
        constants={"metric": metric},
        literals=literals,
    )


NANS = (
    _nan("loss", r"\b[Ll]oss is (?P<value>-?(?:nan|inf|NaN|Inf)), stopping training", "pytorch/vision references, MAE, DeiT, DETR engine.py", "Loss is nan, stopping training"),
    _nan("loss", r"Loss became infinite or NaN at iteration=(?P<step>\d+)", "detectron2 engine/train_loop.py", "FloatingPointError: Loss became infinite or NaN at iteration=1200!"),
    _nan("loss", r"(?:[Rr]ank (?P<rank>\d+)(?:, node (?P<host>\S+), device (?P<device>\S+),| at) iteration #?(?P<step>\d+)[: ].*)?found (?P<value>NaN|Inf) in local forward loss", "Megatron-LM core/rerun_state_machine.py",
         "Rank 17, node node-07, device 1, iteration 900: Unexpected result nan (message='found NaN in local forward loss calculation')"),
    _nan("grad_norm", r"(?:[Rr]ank (?P<rank>\d+)(?:, node (?P<host>\S+), device (?P<device>\S+),| at) iteration #?(?P<step>\d+)[: ].*)?found (?P<value>NaN|Inf) in local grad norm", "Megatron-LM core/distributed/param_and_grad_buffer.py",
         "AssertionError: Rank 3: found NaN in local grad norm for bucket #3 in backward pass before data-parallel communication collective."),
    _nan("loss", r"(?:NaN|nan|Non-finite|non-finite|Inf|inf) (?:or (?:Inf|inf|NaN) )?loss (?:detected|encountered|at step (?P<step>\d+))", "common wording of training scripts", "RuntimeError: NaN loss detected"),
    # Behind the class of an error or a level, or at the head of a line; advice begins otherwise.
    *(
        _nan("loss", rf"(?:{HEAD}|^){BEFORE_LOSS}{turns}{BECOMES}", "wording of training scripts", f"RuntimeError: training l{turns} NaN")
        for turns in LOSS_TURNS
    ),
    _nan("loss", rf"{HEAD}(?:Found |Got |Detected |Encountered )?(?P<value>{NOT_FINITE})s?(?: (?:or|/) ?{NOT_FINITE})?(?: values?)?(?: (?:was|were))?(?: found| detected| encountered)? in (?:the )?(?:\w+ )?loss\b", "wording of training scripts", "ValueError: Found NaN in loss", HEAD_WORDS),
    _nan("loss", r"Model diverged with loss = (?P<value>NaN)|NaN loss during training|The loss returned in `training_step` is (?P<other>nan|inf)", "TensorFlow basic_session_run_hooks.py; PyTorch Lightning trainer/connectors", "tensorflow.python.training.basic_session_run_hooks.NanLossDuringTrainingError: NaN loss during training."),
    _nan("loss", r"Batch (?P<step>\d+): Invalid loss, terminating training", "Keras callbacks, TerminateOnNaN", "Batch 212: Invalid loss, terminating training"),
    _nan("gradient", r"Function '(?P<function>\w+)' returned nan values in its \d+th output", "PyTorch autograd anomaly mode", "RuntimeError: Function 'MulBackward0' returned nan values in its 0th output."),
)  # fmt: skip


def _exit(reason: str, regex: str, source: str, sample: str, nature: Nature = PROGRESS) -> Pattern:
    return Pattern(
        event="train.exit",
        regex=regex,
        nature=nature,
        source=source,
        sample=sample,
        types={"minutes": float, "step": int, "seconds": float},
        constants={"reason": reason},
    )


EXITS = (
    _exit("duration", r"\[exiting program after (?P<minutes>[\d.]+) minutes\]", MEGATRON, "[exiting program after 230.1 minutes] datetime: 2026-01-05 10:00:00"),
    _exit("iteration", r"\[exiting program at iteration +(?P<step>\d+)\]", MEGATRON, "[exiting program at iteration 5000] datetime: 2026-01-05 10:00:00"),
    _exit("signal", r"\[exiting program after receiving (?P<signal>SIG\w+)", MEGATRON, "[exiting program after receiving SIGTERM.] datetime: 2026-01-05 10:00:00"),
    _exit("done", r"\[after training is done\] datetime", MEGATRON, "[after training is done] datetime: 2026-01-05 10:00:00"),
    _exit("done", r"Training completed\. Do not forget to share your model", HF, "Training completed. Do not forget to share your model on huggingface.co/models =)"),
    _exit("done", r"'train_runtime': '?(?P<seconds>[\d.]+)", HF, "{'train_runtime': 3600.1, 'train_samples_per_second': 9.1, 'train_steps_per_second': 0.57, 'train_loss': 1.9, 'epoch': 3.0}"),
    _exit("done", r"Trainer\.fit` stopped: `(?P<limit>max_\w+=\d+)` reached", "PyTorch Lightning loops/fit_loop.py", "`Trainer.fit` stopped: `max_steps=1000` reached."),
    _exit("done", r"^(?:\w+: )?[Tt]raining (?:is )?(?:completed|complete|finished|done)(?: successfully)?(?:[,.]? (?:in|after|total time|time|took)[: ]+\d[\w:. ]{0,30})?[.!]?$", TITAN + ", and common wording of training scripts",
          "[titan] 2026-01-05 10:00:00,123 - root - INFO - Training completed"),
    _exit("data exhausted", r"Trainer\.fit` stopped: No training batches|Total length of `\w+` across ranks is zero", "PyTorch Lightning loops/fit_loop.py and utilities/data.py",
          "`Trainer.fit` stopped: No training batches.", EFFECT),
    # Printed behind "finally", so a run that failed prints it as well.
    _exit("ended", r"Total training time: (?P<duration>\d[\d:]*) \([\d:]+ on hooks\)", "detectron2 engine/hooks.py", "Total training time: 1:02:03 (0:00:12 on hooks)"),
    _exit("data exhausted", r"There seems not to be a single sample in your epoch_iterator, stopping training at step (?P<step>\d+)", HF,
          "There seems not to be a single sample in your epoch_iterator, stopping training at step 120", EFFECT),
)  # fmt: skip

PEAKS = (
    Pattern(
        event="train.peak_unknown",
        regex=r"Peak flops undefined for: (?P<device>.{1,80}?), fallback to (?P<used>\w+)",
        nature=Nature.MEASUREMENT,
        source=TITAN,
        sample="[titan] 2026-01-05 10:00:00,123 - root - WARNING - Peak flops undefined for: NVIDIA X100, fallback to A100",
    ),
)  # fmt: skip
"""The MFU that follows is a share of another GPU's peak."""

MESH = LazyPattern(
    r"device mesh with (?:parallelism: )?(?:\[([^\]]*)\], \[([\d, ]*)\]|((?:\w+=\d+(?:, )?)+))"
)


def read_mesh(lines: list[Line]) -> Iterator[Record]:
    """Read torchtitan's mesh line, one argument a dimension."""
    found = MESH.search(lines[0].text)
    if found is None:
        return
    if found[3]:
        sizes = dict(re.findall(r"(\w+)=(\d+)", found[3]))
    else:
        names = re.findall(r"'(\w+)'", found[1])
        sizes = dict(zip(names, re.findall(r"\d+", found[2]), strict=False))
    for name, size in sizes.items():
        name = RENAMED.get(name, name)
        fields: dict[str, Value] = {"name": name, "value": int(size)}
        yield make_event("job.argument", SETTING, lines[0], fields, fact=f"arg.{name}")


PREPROCESS = LazyPattern(
    rb"(Running tokenizer[^:\r\n|]{0,40}|[Tt]okeniz[^:\r\n|]{0,40}|Map(?: \(num_proc=\d+\))?|Filter(?: \(num_proc=\d+\))?|Preprocess[^:\r\n|]{0,40}"
    rb"|Grouping texts[^:\r\n|]{0,40}|Packing[^:\r\n|]{0,40}|Converting format[^:\r\n|]{0,40}"
    rb"|(?:Evaluat|Validat|Sav|Download|Generat|Predict)ing[^:\r\n|]{0,40}|(?:Evaluation|Validation|Download)[^:\r\n|]{0,40})"
    rb": *(\d{1,3})%\|[^|\r\n]*\| *([\d.]+)([kMGTP]?)/([\d.]+)([kMGTP]?) \[([\d:]+)<([\d:?]+)"
)
WRITER = LazyPattern(rb"\[[a-z]*\d+\]|^ *\d+: |\(.*?pid=\d+")
UNITS = {b"": 1, b"k": 10**3, b"M": 10**6, b"G": 10**9, b"T": 10**12, b"P": 10**15}


def read_preprocess(block: BlockText) -> Iterator[Event]:
    """Read the bars of work on one host outside the training steps; of each bar the last state."""
    last: dict[tuple[bytes, bytes, bytes], re.Match[bytes]] = {}
    for found in PREPROCESS.finditer(block.data):
        start = block.data.rfind(b"\n", 0, found.start()) + 1
        writer = WRITER.search(block.data[start : min(found.start(), start + 200)])
        key = (writer[0] if writer else b"", found[1], found[5] + found[6])
        last.pop(key, None)
        last[key] = found
    for found in last.values():
        fields: dict[str, Value] = {
            "what": found[1].decode("utf-8", "replace").strip(),
            "percent": int(found[2]),
            "done": _amount(found[3], found[4]),
            "total": _amount(found[5], found[6]),
            "elapsed": _clock(found[7]),
            "remaining": None if b"?" in found[8] else _clock(found[8]),
        }
        line = block.line_at(found.start())
        yield make_event("train.preprocess", PROGRESS, line, fields)


def _amount(number: bytes, unit: bytes) -> int:
    """Return a count of items or bytes as tqdm prints it."""
    try:
        return round(float(number) * UNITS[unit])
    except ValueError:
        return 0


def _clock(text: bytes) -> int:
    seconds = 0
    for part in text.split(b":"):
        seconds = seconds * 60 + int(part or b"0")
    return seconds


PARSERS = (
    LineParser(
        name="training-settings",
        title="Arguments, frameworks and versions that training programs print",
        patterns=SETTINGS + FRAMEWORKS,
        refine=_name_fact,
    ),
    LineParser(
        name="training-events",
        title="Overflow, NaN, planned ends of training, and an unknown peak of the GPU",
        patterns=OVERFLOWS + NANS + EXITS + PEAKS,
    ),
    BlockParser(
        name="torchtitan-mesh",
        title="torchtitan's device mesh",
        opens=("device mesh with",),
        starts=lambda line: MESH.search(line.text) is not None,
        ends=lambda lines, line: True,
        read=read_mesh,
        emits=("job.argument",),
        sample="[titan] 2026-01-05 10:00:00,123 - root - INFO - Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]\n",
        maximum=1,
    ),
    BulkParser(
        name="preprocessing-bars",
        title="Progress bars of tokenising, evaluating, saving and other work outside the training steps",
        opens=("%|",),
        read=read_preprocess,
        emits=("train.preprocess",),
        sample="Running tokenizer on dataset:  47%|####8     | 3169000/6811963 [30:11<38:27, 1578.58 examples/s]\n",
    ),
)
