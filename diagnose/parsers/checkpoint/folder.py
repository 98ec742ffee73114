"""Checkpoints as folders: names, sizes, times, headers, directories and indexes, never a tensor.

Layouts: torch.distributed.checkpoint (DCP; torchtitan, Megatron ``torch_dist``, NeMo 2), DeepSpeed,
Megatron legacy and zarr, NeMo 1, Hugging Face Trainer, accelerate, FSDP, Lightning, Orbax, verl,
OpenRLHF, and single torch or safetensors files. ``tree`` says which files are one checkpoint.

A DCP rank with nothing to write has no file, so holes in its numbers prove nothing; a file counts
as missing there when all other steps have it. A missing last rank shows only against other steps.

*Empty*: no marker file, so nothing is said. *Cut off*: a save that died leaves no completion
marker (DCP's ``.metadata``, Hugging Face's ``trainer_state.json``, the ``latest`` of DeepSpeed).
"""

from collections.abc import Iterator

from diagnose.ingest.source import Entry
from diagnose.model.event import Event
from diagnose.parsers.base import FolderParser
from diagnose.parsers.checkpoint.judge import EVENTS, Tree, judge
from diagnose.parsers.checkpoint.tree import ENDINGS, wants
from diagnose.parsers.gate import Gate


def read(folder: str, entries: list[Entry]) -> Iterator[Event]:
    """Judge the checkpoints of a folder."""
    yield from judge(Tree(folder, [entry for entry in entries if wants(entry.name)]))


PARSERS = (
    FolderParser(
        name="checkpoint-folder",
        title="Checkpoint folders by names, sizes, times, headers and indexes",
        wants=wants,
        gate=Gate(names=ENDINGS),
        read=read,
        emits=EVENTS,
    ),
)
