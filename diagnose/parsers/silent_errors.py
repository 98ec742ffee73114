"""Checks of results and weights that find silent errors of hardware: Megatron-LM's.

The rerun state machine (``core/rerun_state_machine.py``, 2024 to 2026) computes an iteration again whose
result looks wrong, first in place, then, behind a restart, on another GPU. ``train.result_verdict`` has

``verdict``
    ``unexpected`` (a result that looks wrong), ``transient`` (the same GPU now computes another one),
    ``repeated`` (the same GPU computes it again; undecided), ``same_gpu`` (the restart came back to the
    GPU in question), ``persistent`` (another GPU computes another one: the first GPU is broken) and
    ``confirmed`` (another GPU computes the same: data or model).
``device``
    number of the GPU within its process's view; with ``persistent`` and ``confirmed`` rank, host and
    device are those of the *other* GPU.

``train.weights_differ`` is a rank whose replica of a parameter is not that of the first data-parallel rank
(``--check-weight-hash-across-dp-replicas-interval``).

*Empty*: the checks are off, or all is well. *Cut off*: a verdict without its words is not read.
"""

from diagnose.model.event import Nature
from diagnose.parsers.base import LineParser, Pattern

RERUN = "Megatron-LM core/rerun_state_machine.py, 2024 to 2026"
WHO = (
    r"(?:Rank (?P<rank>\d+), node (?P<host>[^\s,]+), device (?P<device>\d+), "
    r"iteration #?(?P<step>\d+): )?"
)
HEAD = "Rank 17, node node-07, device 1, iteration #900: "


def _verdict(verdict: str, regex: str, sample: str) -> Pattern:
    return Pattern(
        event="train.result_verdict",
        regex=regex,
        nature=Nature.MEASUREMENT if verdict in ("confirmed", "unexpected") else Nature.ERROR,
        source=RERUN,
        sample=sample,
        types={"step": int, "device": int},
        constants={"verdict": verdict},
    )


PARSERS = (
    LineParser(
        name="result-validation",
        title="Megatron-LM's reruns of iterations whose results look wrong, and what they show",
        patterns=(
            _verdict("unexpected", WHO + r"Unexpected result (?P<result>\S+) \(message='(?P<message>[^']*)'",
                     HEAD.replace("#", "") + "Unexpected result nan (message='found NaN in local forward loss calculation')"),
            _verdict("unexpected", r"Unexpected result (?P<result>.{1,80}?) on rank (?P<rank>\d+) at iteration #(?P<step>\d+) invocation #\d+ \(message='(?P<message>[^']*)'",
                     "Unexpected result 25.1 on rank 17 at iteration #900 invocation #1 (message='Spiky loss')"),
            _verdict("transient", WHO + r"Possible transient error!", HEAD + "Possible transient error!!"),
            _verdict("repeated", WHO + r"First rerun: unexpected result is reproducible within the tolerance",
                     HEAD + "First rerun: unexpected result is reproducible within the tolerance (25.1 = 25.1). Need to rerun on a different GPU to verify correctness.!"),
            _verdict("same_gpu", r"Got rescheduled on the same GPU\..{1,80}\(node: (?P<host>[^\s,]+), gpu: (?P<device>\d+)\)",
                     "Got rescheduled on the same GPU. Need to resume again from the same checkpoint (node: node-07, gpu: 1)"),
            _verdict("persistent", WHO + r"Possible persistent error!", HEAD + "Possible persistent error!!"),
            _verdict("confirmed", WHO + r"Second rerun: unexpected result is reproducible on a different GPU",
                     "Second rerun: unexpected result is reproducible on a different GPU, therefore it was likely correct (25.1 = 25.1)"),
        ),
    ),
    LineParser(
        name="weight-hashes",
        title="Megatron-LM's comparison of weights across data-parallel replicas",
        patterns=(
            Pattern(
                event="train.weights_differ",
                regex=r"\[Rank (?P<rank>\d+)\] Hash not matching for (?P<parameter>\S+) in model chunk (?P<chunk>\d+)",
                nature=Nature.ERROR,
                source="Megatron-LM core/utils.py, check_param_hashes_across_dp_replicas",
                sample="[Rank 5] Hash not matching for decoder.layers.0.mlp.linear_fc1.weight in model chunk 0",
                types={"chunk": int},
            ),
        ),
    ),
)  # fmt: skip
