"""What programs say while they save and load checkpoints.

Megatron-LM (``training/checkpointing.py``, ``core/timers.py``), DeepSpeed (``runtime/engine.py``),
torchtitan (``components/checkpointer``), Hugging Face and accelerate, Lightning, NeMo, Orbax, verl,
and the errors of torch.save, torch.distributed.checkpoint (DCP) and safetensors.

*Empty*: no save fell into the log; DeepSpeed and Hugging Face print no end of a save at all. *Cut
off*: a start without its end is a save that did not finish, if the log goes on.
``lasted`` is in seconds and counts the blocking part of an asynchronous save (``part: staging``).
``ckpt.load_fresh`` is no fault in a first run; it is one where a resume was meant.
"""

import re

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature, Value
from diagnose.parsers.base import Convert, LineParser, Pattern
from diagnose.parsers.convert import milliseconds

MEGATRON = "Megatron-LM training/checkpointing.py, v1.0 to main 2026"
TIMERS = "Megatron-LM core/timers.py"
DEEPSPEED = "DeepSpeed runtime/engine.py and checkpoint_engine, 0.3 to 0.19"
TITAN = "torchtitan components/checkpointer, 2024 to 2026"
HF = "transformers trainer.py, 4.x and 5.x"
ACCELERATE = "accelerate checkpointing.py, 1.x"
SCRIPTS = "common wording of training scripts"
ORBAX = "Orbax checkpoint, event_tracking and atomicity"
TORCH = "PyTorch caffe2/serialize/inline_container.cc and torch/serialization.py"
DCP = "torch.distributed.checkpoint, 2.x"
SAFETENSORS = "safetensors tensor.rs"
VERL = "verl utils/checkpoint and trainer, 2025 and 2026"


PROGRESS, EFFECT, ERROR = Nature.PROGRESS, Nature.EFFECT, Nature.ERROR

Row = tuple[str, Nature, str, str, str, dict[str, Value]]
"""Event, nature, source, regex, sample, constants."""

PLACE = r"[^\s\[\]'\"]+"
CHECKPOINT_PATH = (
    r"[^'\"]*(?:checkpoint|ckpt|global_step|iter_\d{7}|\.distcp|\.metadata|\.safetensors|"
    r"_states\.pt|pytorch_model|\.pth|rng_state|trainer_state)[^'\"]*"
)
MEMBER = (
    r"(?:rng_state(?:_\d+)?\.pth|trainer_state\.json|training_args\.bin|(?:optimizer|scheduler)\.pt|"
    r"\w*zero_pp_rank_\w+_states\.pt|mp_rank_\w+_states\.pt|__\d+_\d+\.distcp|global_step\d+|"
    r"[\w.-]+-\d{5}-of-\d{5}\.(?:bin|safetensors))"
)
"""Names inside a checkpoint. Whoever loads one names its folder too; ``rmtree`` does not."""

_MEMBER = LazyPattern(MEMBER)


STEP_IN_NAME = re.compile(r"(?:global_step_?|iter_|step[-=_]|checkpoint-)(\d+)(?!\d)")


def _ranks(text: str) -> list[Value]:
    return [int(number) for number in re.findall(r"\d+", text)]


SAVING: tuple[Row, ...] = (
    ("ckpt.save_start", PROGRESS, MEGATRON,
     rf"saving checkpoint at iteration +(?P<step>\d+) to (?P<path>{PLACE})(?: in (?P<format>\w+) format)?",
     "saving checkpoint at iteration    2000 to /data/ckpt in torch_dist format", {}),
    ("ckpt.save_end", PROGRESS, MEGATRON,
     rf"successfully saved checkpoint (?:from|at) iteration +(?P<step>\d+) to (?P<path>{PLACE})",
     "  successfully saved checkpoint from iteration    2000 to /data/ckpt [ t 1/8, p 1/4 ]", {}),
    ("ckpt.save_scheduled", PROGRESS, MEGATRON,
     rf"scheduled an async checkpoint save at iteration +(?P<step>\d+) to (?P<path>{PLACE})",
     "  scheduled an async checkpoint save at iteration    2000 to /data/ckpt", {}),
    ("ckpt.save_overlap", EFFECT, MEGATRON,
     r"Starting a checkpoint save before previous has finished",
     "WARNING: Starting a checkpoint save before previous has finished. Consider increasing the checkpoint interval.", {}),
    ("ckpt.delete_failed", EFFECT, MEGATRON,
     r'encountered exception "(?P<message>[^"]*)" when trying to delete checkpoint',
     'encountered exception "[Errno 2] No such file or directory" when trying to delete checkpoint from iteration 1000', {}),
    ("ckpt.save_start", PROGRESS, DEEPSPEED,
     r"\[Torch\] Checkpoint (?P<tag>\S+) is about to be saved!",
     "[2026-01-05 10:00:10,101] [INFO] [logging.py:107:log_dist] [Rank 0] [Torch] Checkpoint global_step500 is about to be saved!", {}),
    ("ckpt.save_start", PROGRESS, DEEPSPEED,
     rf"Saving model checkpoint: (?P<path>{PLACE})",
     "[Rank 0] Saving model checkpoint: /data/ckpt/global_step500/mp_rank_00_model_states.pt", {}),
    ("ckpt.save_end", PROGRESS, DEEPSPEED,
     r"\[Torch\] Checkpoint (?P<tag>\S+) is ready now!",
     "[Rank 0] [Torch] Checkpoint global_step500 is ready now!", {}),
    ("ckpt.save_failed", ERROR, DEEPSPEED,
     r"\[rank=(?P<rank>\d+)\] The checkpoint tag name '(?P<tag>[^']*)' is not consistent across all ranks",
     "[rank=3] The checkpoint tag name 'global_step500' is not consistent across all ranks. Including rank unique information in checkpoint tag could cause issues", {"reason": "tag"}),
    ("ckpt.save_start", PROGRESS, HF,
     rf"Saving model checkpoint to (?P<path>{PLACE})",
     "Saving model checkpoint to /data/out/checkpoint-500", {}),
    ("ckpt.save_start", PROGRESS, ACCELERATE,
     rf"Saving current state to (?P<path>{PLACE})",
     "INFO:accelerate.accelerator:Saving current state to /data/out/epoch_1", {}),
    ("ckpt.save_end", PROGRESS, ACCELERATE,
     rf"Random states saved in (?P<path>{PLACE})",
     "INFO:accelerate.checkpointing:Random states saved in /data/out/epoch_1/random_states_0.pkl", {}),
    ("ckpt.save_start", PROGRESS, VERL,
     rf"local_global_step_folder: (?P<path>{PLACE})",
     "local_global_step_folder: /data/ckpt/global_step_50", {}),
    ("ckpt.save_end", PROGRESS, VERL,
     rf"Saved extra_state to (?P<path>{PLACE})",
     "[Rank 0] Saved extra_state to /data/ckpt/global_step_50/actor/extra_state_world_size_8_rank_0.pt", {}),
    ("ckpt.deleted", PROGRESS, MEGATRON,
     r"successfully deleted checkpoint from iteration +(?P<step>\d+)",
     "  successfully deleted checkpoint from iteration    1000 at /data/ckpt", {}),
    ("ckpt.deleted", PROGRESS, HF,
     r"Deleting older checkpoint \[(?P<path>[^\]]+)\]",
     "Deleting older checkpoint [/data/out/checkpoint-300] due to args.save_total_limit", {}),
    ("ckpt.save_start", PROGRESS, TITAN,
     r"(?P<part>Saving|Staging) the checkpoint\b",
     "[titan] 2026-01-05 10:00:00,123 - root - INFO - Saving the checkpoint (or staging if async is enabled).", {}),
    # no blank stands before "in" in the releases of 2025
    ("ckpt.save_end", PROGRESS, TITAN,
     r"Finished (?P<part>saving|staging) the checkpoint(?: \([^)]*\))? ?in (?P<lasted>[\d.]+) seconds",
     "[titan] 2026-01-05 10:00:00,123 - root - INFO - Finished saving the checkpoint (or staging if async is enabled)in 12.34 seconds.", {}),
    ("ckpt.save_start", PROGRESS, "NeMo callbacks/model_checkpoint.py, 2.x",
     r"Checkpoint save for step (?P<step>\d+) started at",
     "Checkpoint save for step 1000 started at 1767607200.1.", {}),
    ("ckpt.save_end", PROGRESS, "NeMo callbacks/model_checkpoint.py, 2.x",
     r"Async checkpoint save for step (?P<step>\d+) \((?P<path>[^)]*)\) finalized successfully",
     "Async checkpoint save for step 1000 (/data/ckpt/step=1000) finalized successfully at 1767607261.8.", {"part": "async"}),
    ("ckpt.save_start", PROGRESS, "PyTorch Lightning callbacks/model_checkpoint.py, 2.x",
     r"Epoch \d+, global step (?P<step>\d+): .* saving model to '(?P<path>[^']*)'",
     "Epoch 1, global step 500: 'val_loss' reached 1.23 (best 1.23), saving model to '/data/out/epoch=1.ckpt' as top 1", {}),
    ("ckpt.save_start", PROGRESS, ORBAX,
     r"Started save checkpoint @ (?P<path>\S+?)\.?(?:$|\s)",
     "[process=0] [async] Started save checkpoint @ /data/ckpt/500.", {}),
    ("ckpt.save_end", PROGRESS, ORBAX,
     r"Finished blocking save in (?P<lasted>[\d.]+) seconds\. Continuing save @ (?P<path>\S+)",
     "[process=0] Finished blocking save in 1.23 seconds. Continuing save @ /data/ckpt/500", {"part": "staging"}),
    ("ckpt.save_end", PROGRESS, ORBAX,
     r"Finished save \(blocking \+ background\) in (?P<lasted>[\d.]+) seconds @ (?P<path>\S+)",
     "[process=0] Finished save (blocking + background) in 45.60 seconds @ /data/ckpt/500", {"part": "async"}),
    ("ckpt.save_scheduled", PROGRESS, "NeMo callbacks/model_checkpoint.py, 2.x",
     rf"Scheduled async checkpoint save for (?P<path>{PLACE})",
     "Scheduled async checkpoint save for /data/ckpt/step=1000", {}),
    ("ckpt.save_start", PROGRESS, SCRIPTS,
     r"\bSaving (?:(?:the )?(?:latest|last|best|final|current|new|full|intermediate|periodic|training|sharded|distributed|epoch) (?:model |training )?)?(?:checkpoint|ckpt|snapshot)(?:\.{3}|:|\s*$| (?:to|at|for|model|as|step|epoch|iteration|after) )",
     "2026-01-05 10:00:00,123 - trainer - INFO - Saving latest checkpoint for step 500", {}),
    ("ckpt.save_end", PROGRESS, "fairseq checkpoint_utils.py, 0.8 to 0.12",
     rf"[Ss]aved checkpoint (?P<path>{PLACE}) \(epoch \d+ @ (?P<step>\d+) updates(?:, score [^)\r\n]*)?\) \(writing took (?P<lasted>[\d.]+) seconds\)",
     "2026-01-05 10:06:40 | INFO | fairseq.checkpoint_utils | Saved checkpoint /data/ckpt/checkpoint_3_1200.pt (epoch 3 @ 1200 updates, score 2.1) (writing took 200.1 seconds)", {}),
    ("ckpt.save_end", PROGRESS, SCRIPTS,
     r"[Ss]av(?:ed|ing) (?:the |model )?checkpoint\b(?: to (?P<path>/[^\s,:]+))?(?: [^\s]{1,40}){0,8}? (?:in|took) (?P<lasted>[\d.]+) ?(?:seconds|secs|sec|s)\b",
     "Saved checkpoint to /data/out/step_100 in 312.4s", {}),
    ("ckpt.save_end", PROGRESS, SCRIPTS,
     r"(?:(?P<part>[Aa]sync) )?[Cc]heckpoint (?:save|saved|saving)\b[^\r\n]{0,60}?(?: in | took |: )(?P<lasted>[\d.]+) ?(?:seconds|secs|sec|s)\b",
     "checkpoint save took 391.2 seconds", {}),
)  # fmt: skip

LOADING: tuple[Row, ...] = (
    ("ckpt.load_start", PROGRESS, MEGATRON,
     rf"\bloading (?:distributed |release )?checkpoint from (?P<path>{PLACE})(?: at iteration (?P<step>\d+))?",
     " loading distributed checkpoint from /data/ckpt at iteration 2000", {}),
    ("ckpt.load_end", PROGRESS, MEGATRON,
     rf"successfully loaded checkpoint from (?P<path>{PLACE})(?: \[[^\]]*\])? at iteration (?P<step>\d+)",
     "  successfully loaded checkpoint from /data/ckpt [ t 1/8, p 1/4 ] at iteration 2000", {}),
    ("ckpt.load_fresh", EFFECT, MEGATRON,
     r"could not find the metadata file (?P<path>\S+)",
     "WARNING: could not find the metadata file /data/ckpt/latest_checkpointed_iteration.txt", {}),
    ("ckpt.load_failed", ERROR, MEGATRON,
     r"(?:'--exit-on-missing-checkpoint' is set but no|exit-on-missing-checkpoint.* no) checkpoint was found",
     ">> '--exit-on-missing-checkpoint' is set but no checkpoint was found. <<", {"reason": "missing-file"}),
    ("ckpt.load_mixed", ERROR, MEGATRON,
     r"on rank (?P<rank>\d+) found iteration (?P<step>\d+) in the metadata while max iteration across the ranks is (?P<newest>\d+)",
     "WARNING: on rank 12 found iteration 1000 in the metadata while max iteration across the ranks is 2000, replacing it with max iteration.", {}),
    ("ckpt.load_failed", ERROR, MEGATRON,
     r"Invalid metadata file (?P<path>\S+?)\. Exiting",
     "ERROR: Invalid metadata file /data/ckpt/latest_checkpointed_iteration.txt. Exiting", {"reason": "corrupt"}),
    ("ckpt.state_missing", ERROR, MEGATRON,
     r"Unable to load (?P<what>optimizer|rng state) from checkpoint (?P<path>\S+?)\.(?:\s|$)",
     "Unable to load rng state from checkpoint /data/ckpt/iter_0002000. Specify --no-load-rng or --finetune to prevent attempting to load the rng state, exiting ...", {}),
    ("ckpt.state_missing", EFFECT, MEGATRON,
     r"RNG state (?:not found for current TP/PP rank|will be ignored)",
     "WARNING: RNG state not found for current TP/PP rank", {"what": "rng state"}),
    ("ckpt.load_failed", ERROR, MEGATRON,
     r"(?P<argument>\w+) value from checkpoint \((?P<saved>[^)]*)\) is not equal to the input argument value \((?P<current>[^)]*)\)",
     "tensor_model_parallel_size value from checkpoint (8) is not equal to the input argument value (4).", {"reason": "layout"}),
    ("ckpt.load_failed", ERROR, "Megatron-LM optimizer_param_scheduler.py, 2020 to 2026; older ones print no blank",
     r"OptimizerParamScheduler: class input value (?P<current>\S+) and checkpoint ?value (?P<saved>\S+) for (?P<argument>.+?) do not match",
     "AssertionError: OptimizerParamScheduler: class input value 0.0003 and checkpointvalue 0.00015 for learning rate do not match", {"reason": "layout"}),
    ("ckpt.load_failed", ERROR, MEGATRON,
     r"Common file (?P<path>\S+) does not exist",
     "CheckpointingException: Common file /data/ckpt/iter_0002000/common.pt does not exist", {"reason": "missing-file"}),
    ("ckpt.load_fresh", EFFECT, DEEPSPEED,
     r"Unable to find latest file at (?P<path>[^\s,]+)",
     "[2026-01-05 10:00:14,000] [WARNING] [engine.py:2699:load_checkpoint] Unable to find latest file at /data/ckpt/latest, if trying to load latest checkpoint please ensure this file exists or pass an explicit checkpoint tag when loading a checkpoint.", {}),
    ("ckpt.load_failed", ERROR, "transformers integrations/deepspeed.py and trainer.py, 4.x and 5.x",
     r"(?P<message>Can't find a valid checkpoint at (?P<path>[^\s,'\"{}]+))",
     "ValueError: Can't find a valid checkpoint at /data/out/checkpoint-500", {"reason": "missing-file"}),
    ("ckpt.load_failed", ERROR, "transformers modeling_utils.py, 4.x and 5.x",
     r"(?P<message>Error no file named .{1,200}?) found in directory (?P<path>[^\s,'\"]*[^\s,'\".])",
     "OSError: Error no file named pytorch_model.bin, model.safetensors, tf_model.h5, model.ckpt.index or flax_model.msgpack found in directory /data/out/checkpoint-500.", {"reason": "missing-file"}),
    ("ckpt.load_failed", ERROR, "transformers utils/hub.py, 4.x and 5.x",
     r"(?P<path>[^\s,'\"]+) (?P<message>does not appear to have a file named (?:pytorch_model|model|tf_model|flax_model|adapter_model)\S*?)\. ",
     "OSError: /models/a-7b does not appear to have a file named pytorch_model-00001-of-00002.bin. Checkout 'https://huggingface.co//models/a-7b/tree/None' for available files.", {"reason": "missing-file"}),
    ("ckpt.load_failed", ERROR, "vLLM model_executor/model_loader, 0.2 to 0.19",
     r"(?P<message>Cannot find any model weights with) `(?P<path>[^`]+)`",
     "RuntimeError: Cannot find any model weights with `/models/a-7b`", {"reason": "missing-file"}),
    ("ckpt.load_failed", ERROR, "transformers modeling_utils.py, 4.x",
     r"(?P<message>Unable to load weights from pytorch checkpoint file) for '[^']*' at '(?P<path>[^']+)'",
     "OSError: Unable to load weights from pytorch checkpoint file for '/models/a-7b/pytorch_model.bin' at '/models/a-7b/pytorch_model.bin'. If you tried to load a PyTorch model from a TF 2.0 checkpoint, please set from_tf=True.", {"reason": "corrupt"}),
    ("ckpt.load_failed", ERROR, "transformers modeling_utils.py, 4.x and 5.x",
     r"(?P<message>You seem to have cloned a repository without having git-lfs installed)",
     "OSError: You seem to have cloned a repository without having git-lfs installed. Please install git-lfs and run `git lfs install` followed by `git lfs pull` in the folder you cloned.", {"reason": "corrupt"}),
    ("ckpt.load_failed", ERROR, "transformers trainer.py, 4.x and 5.x",
     r"(?P<message>No valid checkpoint found in output directory) \((?P<path>[^)]*)\)",
     "ValueError: No valid checkpoint found in output directory (/data/out)", {"reason": "missing-file"}),
    ("ckpt.load_failed", ERROR, DEEPSPEED,
     r"checkpoint being loaded used a DP world size of (?P<saved>\d+) but the current world size is (?P<current>\d+)",
     "The checkpoint being loaded used a DP world size of 64 but the current world size is 32. Automatic adjustment of ZeRO's optimizer state partitioning with a new world size is not currently supported.", {"reason": "layout", "argument": "data_parallel_size"}),
    ("ckpt.load_start", PROGRESS, DEEPSPEED,
     r"loading (?P<found>\d+) zero partition checkpoints for rank (?P<rank>\d+)",
     "loading 8 zero partition checkpoints for rank 3", {}),
    ("ckpt.load_failed", ERROR, "DeepSpeed utils/zero_to_fp32.py",
     r"Expected (?P<expected>\d+) of '(?P<pattern>[^']+)' under '(?P<path>[^']+)' but found (?P<found>\d+) files",
     "Expected 8 of '*_optim_states.pt' under '/data/ckpt/global_step500' but found 7 files. Possibly due to an overwrite of an old checkpoint, or a checkpoint didn't get saved by one or more processes.", {"reason": "missing-file"}),
    ("ckpt.load_start", PROGRESS, HF, r"\bLoading model from (?P<path>\S+?)\.?(?:$|\s)",
     "Loading model from /data/out/checkpoint-500.", {}),
    ("ckpt.load_failed", ERROR, HF,
     r"There were (?P<kind>missing|unexpected) keys in the checkpoint model loaded: (?P<message>\[[^\]]*\]?)",
     "There were missing keys in the checkpoint model loaded: ['lm_head.weight'].", {"reason": "missing-key"}),
    ("ckpt.state_missing", EFFECT, HF,
     r"Didn't find an RNG file(?: for process (?P<process>\d+))?, ",
     "Didn't find an RNG file for process 12, if you are resuming a training that wasn't launched in a distributed fashion, reproducibility is not guaranteed.", {"what": "rng state"}),
    ("ckpt.state_missing", EFFECT, ACCELERATE, r"Could not load random states",
     "Could not load random states", {"what": "rng state"}),
    ("ckpt.load_end", PROGRESS, HF,
     r"(?:Resuming training from checkpoint with epoch \d+ and|Continuing training from) global step (?P<step>\d+)",
     "  Continuing training from global step 500", {"trainer": "hf"}),
    ("ckpt.load_end", PROGRESS, HF,
     r"Continuing training from checkpoint, will skip to saved global_step",
     "  Continuing training from checkpoint, will skip to saved global_step", {"trainer": "hf"}),
    ("ckpt.data_skipped", PROGRESS, HF,
     r"(?:Fast-forwarding the dataloader past|Will skip the first) (?P<epochs>\d+) epochs (?:and|then the first) (?P<batches>\d+) batches",
     "  Will skip the first 1 epochs then the first 94 batches in the first epoch.", {}),
    ("ckpt.load_start", PROGRESS, "PyTorch Lightning trainer/connectors/checkpoint_connector.py, 2.x",
     r"Restoring states from the checkpoint path at (?P<path>\S+)",
     "Restoring states from the checkpoint path at /data/out/last.ckpt", {}),
    ("ckpt.load_end", PROGRESS, "PyTorch Lightning trainer/connectors/checkpoint_connector.py, 2.x",
     r"Restored all states from the checkpoint at (?P<path>\S+)",
     "Restored all states from the checkpoint at /data/out/last.ckpt", {}),
    ("ckpt.state_missing", ERROR, "PyTorch Lightning trainer/connectors/checkpoint_connector.py, 1.x and 2.x",
     r"Trying to restore (?P<what>(?:optimizer|training) state) but checkpoint contains only the model",
     "KeyError: 'Trying to restore optimizer state but checkpoint contains only the model. This is probably due to `ModelCheckpoint.save_weights_only` being set to `True`.'", {}),
    ("ckpt.load_start", PROGRESS, TITAN,
     r"Loading the checkpoint (?:at step (?P<step>\d+)|from (?P<path>\S+?))\.?(?:$|\s)",
     "[titan] 2026-01-05 10:00:00,123 - root - INFO - Loading the checkpoint at step 5.", {}),
    ("ckpt.load_end", PROGRESS, TITAN,
     r"Finished loading the checkpoint in (?P<lasted>[\d.]+) seconds",
     "[titan] 2026-01-05 10:00:00,123 - root - INFO - Finished loading the checkpoint in 4.42 seconds.", {}),
    ("ckpt.load_fresh", EFFECT, TITAN, r"No checkpoint was provided, this is a fresh start",
     "[titan] 2026-01-05 10:00:00,123 - root - INFO - No checkpoint was provided, this is a fresh start.", {}),
    ("ckpt.load_start", PROGRESS, VERL, rf"Found checkpoint: (?:%s )?(?P<path>{PLACE})",
     "Found checkpoint: %s /data/ckpt/global_step_50", {}),
    ("ckpt.load_fresh", EFFECT, VERL,
     r"Checkpoint (?:tracker file )?does not exist: (?:%s )?(?P<path>\S+)",
     "Checkpoint tracker file does not exist: /data/ckpt/latest_checkpointed_iteration.txt", {}),
    ("ckpt.load_fresh", EFFECT, "OpenRLHF utils/deepspeed",
     r"\[deepspeed\] No checkpoint found at (?P<path>[^\s,]+), skipping checkpoint loading",
     "Warning: [deepspeed] No checkpoint found at /data/ckpt, skipping checkpoint loading.", {}),
    ("ckpt.load_end", PROGRESS, SCRIPTS,
     r"\b[Rr]es(?:umed|uming|tored|toring|tarted|tarting)(?: training| run| model| state)? from (?:the )?(?:last |latest |saved )?(?:checkpoint|ckpt|snapshot)\b(?:: ?| )?(?P<path>/[^\s,()]+)?(?:[ ,(]{1,3}(?:at |from )?(?:global[ _])?(?:step|iteration)[ =:]{0,3}(?P<step>\d+))?",
     "Resuming from checkpoint /data/out/ckpt_1100.pt (step 1100)", {}),
)  # fmt: skip

ERRORS: tuple[Row, ...] = (
    ("ckpt.load_failed", ERROR, TORCH,
     r"PytorchStreamReader failed (?P<message>(?:reading zip archive|reading file|locating file)[^(]*)",
     "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory", {"reason": "corrupt"}),
    ("ckpt.load_failed", ERROR, TORCH,
     r"(?P<message>unexpected EOF, expected (?P<short>\d+) more bytes)\. The file might be corrupted",
     "RuntimeError: unexpected EOF, expected 4096 more bytes. The file might be corrupted.", {"reason": "corrupt"}),
    ("ckpt.load_failed", ERROR, TORCH,
     r"""(?P<message>UnpicklingError: invalid load key, ['"][^'"]*['"])""",
     r"_pickle.UnpicklingError: invalid load key, '\x00'.", {"reason": "corrupt"}),
    ("ckpt.load_failed", ERROR, TORCH, r"(?P<message>EOFError: Ran out of input)",
     "EOFError: Ran out of input", {"reason": "corrupt"}),
    ("ckpt.load_failed", ERROR, TORCH, r"""(?P<message>filename 'storages' not found)""",
     """KeyError: "filename 'storages' not found\"""", {"reason": "corrupt"}),
    ("ckpt.load_failed", ERROR, TORCH, r"(?P<message>Weights only load failed)",
     "_pickle.UnpicklingError: Weights only load failed. This file can still be loaded", {"reason": "weights-only"}),
    ("ckpt.load_failed", ERROR, TORCH,
     r"(?P<message>Attempting to deserialize object on (?:a )?CUDA device)",
     "RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False.", {"reason": "no-gpu"}),
    ("ckpt.load_failed", ERROR, SAFETENSORS,
     r"Error while deserializing header: (?P<message>.+)",
     "safetensors_rust.SafetensorError: Error while deserializing header: incomplete metadata, file not fully covered", {"reason": "corrupt"}),
    ("ckpt.save_failed", ERROR, TORCH,
     r"(?P<message>PytorchStreamWriter failed writing (?:file|central directory)[^\n]*)",
     "RuntimeError: [enforce fail at inline_container.cc:603] . PytorchStreamWriter failed writing file data/12: file write failed", {"reason": "write-failed"}),
    ("ckpt.save_failed", ERROR, TORCH,
     r"enforce fail at inline_container\.cc:\d+\] \. (?P<message>unexpected pos \d+ vs \d+)",
     "RuntimeError: [enforce fail at inline_container.cc:424] . unexpected pos 1024 vs 918", {"reason": "write-failed"}),
    ("ckpt.save_failed", ERROR, "Python os.rename, os.renames, shutil.move",
     r"(?P<message>(?:Directory not empty|No such file or directory|File exists): '[^']*' -> '(?P<path>[^']*)')",
     "OSError: [Errno 39] Directory not empty: '/data/out/tmp-checkpoint-50' -> '/data/out/checkpoint-50'", {"reason": "race"}),
    ("ckpt.save_failed", ERROR, "Python shutil.rmtree, os.rmdir",
     rf"(?P<message>Directory not empty): '(?P<path>{CHECKPOINT_PATH})'$",
     "OSError: [Errno 39] Directory not empty: '/data/out/checkpoint-40'", {"reason": "race"}),
    ("ckpt.save_failed", ERROR, "Python shutil.rmtree, os.unlink with dir_fd, 3.3 to 3.12",
     rf"(?P<message>No such file or directory): '(?P<path>{MEMBER})'$",
     "FileNotFoundError: [Errno 2] No such file or directory: 'rng_state_5.pth'", {"reason": "race"}),
    ("ckpt.load_failed", ERROR, "Python open, and Rust libraries, which print no number and other quotes",
     rf"(?P<message>No such file or directory): ['\"](?P<path>{CHECKPOINT_PATH})['\"]$",
     "FileNotFoundError: [Errno 2] No such file or directory: '/data/ckpt/step-500/__1_0.distcp'", {"reason": "missing-file"}),
    ("ckpt.load_failed", ERROR, SAFETENSORS,
     r"[Ss]afetensor.{0,120}(?P<message>No such file or directory \(os error 2\))",
     "safetensors_rust.SafetensorError: IoError: No such file or directory (os error 2)", {"reason": "missing-file"}),
    ("ckpt.load_failed", ERROR, DCP,
     r"(?P<message>metadata is None; global metadata read failed)",
     "AssertionError: metadata is None; global metadata read failed: [Errno 2] No such file or directory: '/data/ckpt/step-500/.metadata'; rank local metadata read failed", {"reason": "missing-file"}),
    ("ckpt.rank_failed", ERROR, DCP, r"CheckpointException ranks:dict_keys\((?P<ranks>\[[\d, ]*\])\)",
     "torch.distributed.checkpoint.api.CheckpointException: CheckpointException ranks:dict_keys([5, 13])", {}),
    ("ckpt.rank_failed", ERROR, DCP, r"Traceback \(most recent call last\): \(RANK (?P<rank>\d+)\)",
     "Traceback (most recent call last): (RANK 5)", {}),
    ("ckpt.load_failed", ERROR, DCP, r"Missing key in checkpoint state_dict: (?P<key>\S+?)\.?(?:$|\s)",
     "RuntimeError: Missing key in checkpoint state_dict: optimizer.state.exp_avg.", {"reason": "missing-key"}),
    ("ckpt.load_failed", ERROR, DCP,
     r"Size mismatch between saved (?P<saved>[^:]+) and current: (?P<current>.+?) for (?P<key>\S+)",
     "ValueError: Size mismatch between saved torch.Size([32000, 4096]) and current: torch.Size([32064, 4096]) for model.embed.weight", {"reason": "layout"}),
    ("ckpt.save_failed", ERROR, DCP, r"(?P<message>Failed to validate global plan|invalid fill tensor-volume: \d+ chunks-volume: \d+|has overlapping chunks)",
     "key:model.w invalid fill tensor-volume: 4096 chunks-volume: 2048", {"reason": "plan"}),
    ("ckpt.save_failed", ERROR, DCP, r"(?P<message>A CPU backend must be enabled for async save)",
     "AssertionError: A CPU backend must be enabled for async save; try initializing process group with 'cpu:gloo,cuda:nccl'", {"reason": "backend"}),
    ("ckpt.load_failed", ERROR, TORCH, r"Error\(s\) in loading state_dict for (?P<model>\w+)",
     "RuntimeError: Error(s) in loading state_dict for GPTModel:", {"reason": "layout"}),
    ("ckpt.load_failed", ERROR, TORCH, r"""(?P<kind>Missing|Unexpected) key\(s\) in state_dict: "?(?P<key>[^",]+)""",
     '\tMissing key(s) in state_dict: "decoder.layers.0.weight", "decoder.layers.1.weight". ', {"reason": "missing-key"}),
    ("ckpt.load_failed", ERROR, TORCH,
     r"size mismatch for (?P<key>\S+): copying a param with shape (?P<saved>torch\.Size\([^)]*\)) from checkpoint, the shape in current model is (?P<current>torch\.Size\([^)]*\))",
     "\tsize mismatch for lm_head.weight: copying a param with shape torch.Size([32000, 4096]) from checkpoint, the shape in current model is torch.Size([32064, 4096]).", {"reason": "layout"}),
    ("ckpt.load_failed", ERROR, TORCH,
     r"(?P<message>loaded state dict (?:contains a parameter group that doesn't match the size|has a different number of parameter groups))",
     "ValueError: loaded state dict contains a parameter group that doesn't match the size of optimizer's group", {"reason": "layout"}),
)  # fmt: skip

TYPES: dict[str, Convert] = {
    "step": int, "newest": int, "found": int, "expected": int, "epochs": int, "batches": int,
    "process": int, "short": int, "lasted": float, "ranks": _ranks, "part": str.lower,
}  # fmt: skip

TIMER_LAYOUTS = (
    # (regex behind the name, rest of the sample)
    (r"{} \.*: ?\((?P<fastest>[\d.]+), (?P<lasted>[\d.]+)\)", "    {} ................................: (1234.56, 23456.78)"),
    (r"{} \.*: ?(?P<lasted>[\d.]+)\s*$", "    {} ................................: 48211.90"),
    (r"time \(ms\) \|.*\b{}: (?P<lasted>[\d.]+)", "time (ms) | {}: 57514.53"),
)  # fmt: skip


def _complete(event: Event, line: Line) -> Event | None:
    """Add the step that the name of the checkpoint states; drop what another pattern reads."""
    name = event.fields.get("path") or event.fields.get("tag")
    if event.name == "ckpt.load_failed" and isinstance(name, str) and _MEMBER.fullmatch(name):
        return None
    if event.fields.get("step") is None and isinstance(name, str):
        found = STEP_IN_NAME.findall(name)
        if found:
            event.fields["step"] = int(found[-1])
    return event


def _timers() -> list[Pattern]:
    return [
        Pattern(
            event=event,
            regex=regex.replace("{}", name),
            nature=PROGRESS,
            source=TIMERS,
            sample=sample.replace("{}", name),
            types={"fastest": milliseconds, "lasted": milliseconds},
            constants={"part": "timer"},
            literals=(name,),
        )
        for name, event in (
            ("save-checkpoint", "ckpt.save_end"),
            ("load-checkpoint", "ckpt.load_end"),
        )
        for regex, sample in TIMER_LAYOUTS
    ]


def _pattern(row: Row) -> Pattern:
    event, nature, source, regex, sample, constants = row
    return Pattern(
        event=event,
        regex=regex,
        nature=nature,
        source=source,
        sample=sample,
        types=TYPES,
        constants=constants,
    )


PARSERS = (
    LineParser(
        name="checkpoint-messages",
        title="Saving and loading of checkpoints, as the frameworks report it",
        patterns=(*map(_pattern, SAVING + LOADING + ERRORS), *_timers()),
        refine=_complete,
    ),
)
