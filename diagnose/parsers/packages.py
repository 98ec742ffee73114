r"""Lists of installed Python packages, of one node or of several under headings.

Printed by ``pip freeze`` and ``pip list``; people paste one list a node::

    # node-07
    nvidia-nccl-cu12==2.21.5
    torch==2.6.0
    # node-08
    nvidia-nccl-cu12==2.18.1

A heading is ``# name``, ``name:``, ``[name]``, ``==> name <==`` or a name between dashes or equals
signs, alone on its line; ``pdsh`` and ``clush`` put ``name: `` before each line instead. Of a package with a build per
CUDA release (``-cu11`` and ``-cu12`` side by side) each is reported; ``variant`` tells them apart.

Empty: no package of the communication stack in the list. Cut off: the rest of the list is missing,
which is no statement about it.
"""

from collections.abc import Iterable

import regex

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Nature, Value
from diagnose.parsers import convert
from diagnose.parsers.base import Document, FileParser, make_event
from diagnose.parsers.gate import Gate

HEADING = LazyPattern(
    r"^\s*(?:#+ *(?P<a>[\w.-]+):?|==> *(?P<b>[\w.-]+) *<==|(?P<c>[A-Za-z][\w.-]*):"
    r"|(?:={2,}|-{2,}) *(?P<d>\w[\w.-]*\w):? *(?:={2,}|-{2,})|\[(?P<e>\w[\w.-]*)\])\s*$"
)
PACKAGE = LazyPattern(
    r"^\s*(?:(?P<host>[A-Za-z][\w.-]*): +)?(?P<package>nvidia-nccl|nvidia-cuda-runtime|torch|triton|deepspeed|megatron-core|vllm|transformers)"
    r"(?:-(?P<variant>cu\d+))?(?:==|\s+)(?P<value>\d+\.\d[\w.+-]*)\s*$"
)

LISTED = rb"(?m)^\s*(?:[A-Za-z][\w.-]*: +)?(?:nvidia-nccl-cu\d+|torch)(?:==|\s+)\d+\.\d"

FACTS = {
    "nvidia-nccl": ("nccl.version", "nccl.version"),
    "torch": ("package.version", "torch.version"),
    "nvidia-cuda-runtime": ("package.version", "cuda.runtime"),
}
"""Event and fact of packages that decide how processes talk; of the others there is no fact."""


def _accepts(name: str, head: bytes) -> bool:
    return regex.search(LISTED, head) is not None


def read(document: Document) -> Iterable[Event]:
    """Return an event for each package that matters, with the host of the heading above it."""
    host = None
    for line in document.lines():
        if heading := HEADING.match(line.text):
            host = convert.short_host(next(filter(None, heading.groups())))
        elif found := PACKAGE.match(line.text):
            event, fact = FACTS.get(found["package"], ("package.version", None))
            fields: dict[str, Value] = {
                "package": found["package"],
                "variant": found["variant"],
                "value": found["value"],
                "host": convert.short_host(found["host"]) if found["host"] else host,
            }
            yield make_event(event, Nature.SETTING, line, fields, fact=fact)


PARSERS = (
    FileParser(
        name="package-list",
        title="Lists of installed packages, node by node",
        accepts=_accepts,
        gate=Gate(
            holds=(b"nvidia-nccl-cu", b"torch==", b"torch ", b"torch\t", b"torch\r", b"torch\n")
        ),
        read=read,
        emits=("nccl.version", "package.version"),
        sample="# node-07\nnvidia-nccl-cu12==2.21.5\ntorch==2.6.0\n# node-08\nnvidia-nccl-cu12==2.18.1\n",
    ),
)
