"""Triton Inference Server: models that do not load, and requests it turns away.

Printed with glog's prefix; since 24.03 the text is quoted::

    E0105 10:00:00.123456 1 model_lifecycle.cc:642] "failed to load 'a-7b' version 1: Internal: unable to create stream: the provided PTX was compiled with an unsupported toolchain."
    I0105 10:00:00.123456 1 grpc_server.cc:2558] "Started GRPCInferenceService at 0.0.0.0:8001"

Its counters are read by ``scrapes``.

*Empty*: all models loaded and nothing was refused; times of requests are in the counters alone. *Cut
off*: each message is one line.
"""

from diagnose.model.event import Nature
from diagnose.parsers.base import LineParser, Pattern

_SOURCE = "Triton 21.02 to 25.12, core/src"

PARSERS = (
    LineParser(
        name="triton",
        title="Triton's models, queue and start",
        patterns=(
            Pattern(
                event="inference.model_failed",
                regex=r"failed to load '(?P<model>[^']{1,200})' version (?P<version>-?\d+): (?P<reason>[^\"]{1,400})",
                nature=Nature.ERROR,
                source=f"{_SOURCE}/model_lifecycle.cc",
                sample="E0105 10:00:00.123456 1 model_lifecycle.cc:642] \"failed to load 'a-7b' version 1: Internal: out of memory\"",
                types={"version": int},
            ),
            Pattern(
                event="inference.model_ready",
                regex=r"successfully loaded '(?P<model>[^']{1,200})'",
                nature=Nature.MEASUREMENT,
                source=f"{_SOURCE}/model_lifecycle.cc",
                sample="I0105 10:00:00.123456 1 model_lifecycle.cc:849] \"successfully loaded 'a-7b'\"",
            ),
            Pattern(
                event="inference.queue_full",
                regex=r"[Ee]xceeds maximum queue size",
                nature=Nature.ERROR,
                source=f"{_SOURCE}/scheduler_utils.cc, dynamic_batch_scheduler.cc",
                sample="[request id: 7] Exceeds maximum queue size",
            ),
            Pattern(
                event="inference.queue_full",
                regex=r"\[request id: [^\]]{0,80}\] Request timeout expired",
                nature=Nature.ERROR,
                source=f"{_SOURCE}/scheduler_utils.cc",
                sample="[request id: 7] Request timeout expired",
            ),
            Pattern(
                event="inference.started",
                regex=r"Started (?:GRPCInferenceService|HTTPService) at ",
                nature=Nature.MEASUREMENT,
                source="Triton 21.02 to 25.12, server/src",
                sample='I0105 10:00:00.123456 1 grpc_server.cc:2558] "Started GRPCInferenceService at 0.0.0.0:8001"',
            ),
        ),
    ),
)  # fmt: skip
