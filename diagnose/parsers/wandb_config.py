"""``config.yaml`` of a W&B run: the hyper-parameters that a program gave to the tracker.

Each is a key with its value below it::

    learning_rate:
        desc: null
        value: 0.0001

Those that training programs print as well become ``job.argument`` events under Megatron-LM's names;
the name of the model is a mark of the run. Nested values are left out.

*Empty*: nothing was given to the tracker. *Cut off*: the parameters before the cut are stated.
"""

from collections.abc import Iterator
from pathlib import PurePosixPath

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Nature, Value
from diagnose.parsers.base import Document, FileParser, make_event
from diagnose.parsers.gate import Gate

WRITTEN_BY = LazyPattern(rb"(?m)^(?:_wandb|wandb_version):")
KEY = LazyPattern(r"([A-Za-z_]\w*):\s*$")
VALUE = LazyPattern(r"\s+value:\s+(\S.{0,200}?)\s*$")

ARGUMENTS = {
    "adam_beta1": "adam_beta1", "adam_beta2": "adam_beta2", "bf16": "bf16", "fp16": "fp16",
    "global_batch_size": "global_batch_size", "train_batch_size": "global_batch_size",
    "gradient_accumulation_steps": "gradient_accumulation_steps", "hidden_size": "hidden_size",
    "learning_rate": "lr", "lr": "lr", "max_grad_norm": "clip_grad", "max_steps": "max_steps",
    "micro_batch_size": "micro_batch_size", "num_attention_heads": "num_attention_heads",
    "num_hidden_layers": "num_layers", "num_layers": "num_layers",
    "per_device_train_batch_size": "micro_batch_size", "seed": "seed", "seq_length": "seq_length",
    "weight_decay": "weight_decay",
}  # fmt: skip
"""Key to the name of the argument; of two keys for one argument the first in the file counts."""

MARKS = {"_name_or_path": "model_version", "model_name": "model_version",
         "model_name_or_path": "model_version", "data_version": "data_version",
         "dataset": "data_version", "dataset_name": "data_version"}  # fmt: skip


def accepts(name: str, head: bytes) -> bool:
    """Return whether a file is the configuration that the tracker keeps of a run."""
    return PurePosixPath(name).name == "config.yaml" and WRITTEN_BY.search(head) is not None


def read(document: Document) -> Iterator[Event]:
    """Read the parameters that are one value each."""
    key: str | None = None
    for line in document.lines():
        if found := KEY.fullmatch(line.text):
            key = found[1]
        elif key is not None and (found := VALUE.fullmatch(line.text)):
            value = _value(found[1])
            if value is not None and key in ARGUMENTS:
                name = ARGUMENTS[key]
                fields: dict[str, Value] = {"name": name, "value": value}
                yield make_event("job.argument", Nature.SETTING, line, fields, fact=f"arg.{name}")
            elif value is not None and key in MARKS:
                name = MARKS[key]
                fields = {"name": name, "value": str(value)}
                yield make_event("run.mark", Nature.SETTING, line, fields, fact=f"run.{name}")
            key = None


def _value(text: str) -> Value:
    """Return a scalar of YAML as number, truth value or text, None for null."""
    if text in ("null", "~", "None"):
        return None
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text.strip("'\"")


PARSERS = (
    FileParser(
        name="wandb-config",
        title="Hyper-parameters in the config.yaml of a W&B run",
        accepts=accepts,
        gate=Gate(holds=(b"_wandb:", b"wandb_version:")),
        read=read,
        emits=("job.argument", "run.mark"),
        sample="wandb_version: 1\n\n_wandb:\n    desc: null\n    value:\n        cli_version: 0.17.0\nlearning_rate:\n    desc: null\n    value: 0.0001\nseed:\n    value: 42\n",
    ),
)
