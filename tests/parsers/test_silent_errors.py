import pytest
from dialects import events

from diagnose.parsers import silent_errors as dialect

WHO = "Rank 17, node node-07, device 1, iteration #900: "


@pytest.mark.parametrize(
    "text, verdict, rank, host, step",
    [
        (WHO.replace("#", "") + "Unexpected result nan (message='found NaN in local forward loss calculation')", "unexpected", 17, "node-07", 900),
        ("Unexpected result tensor(25.1, device='cuda:1') on rank 17 at iteration #900 invocation #1 (message='Spiky loss')", "unexpected", 17, None, 900),
        (WHO + "Possible transient error!!", "transient", 17, "node-07", 900),
        ("Possible transient error!", "transient", None, None, None),
        (WHO + "First rerun: unexpected result is reproducible within the tolerance (25.1 = 25.1). Need to rerun on a different GPU to verify correctness.!", "repeated", 17, "node-07", 900),
        ("Got rescheduled on the same GPU. Need to resume again from the same checkpoint (node: node-07, gpu: 1)", "same_gpu", None, "node-07", None),
        (WHO + "Possible persistent error!!", "persistent", 17, "node-07", 900),
        ("Second rerun: unexpected result is reproducible on a different GPU, therefore it was likely correct (25.1 = 25.1)", "confirmed", None, None, None),
    ],
)  # fmt: skip
def test_each_verdict_is_read_with_whom_it_names(text, verdict, rank, host, step):
    (event,) = events(dialect, f"{text}\n")
    assert (event.name, event["verdict"]) == ("train.result_verdict", verdict)
    assert (event.rank, event.host, event.fields.get("step")) == (rank, host, step)


def test_weights_that_differ_name_rank_and_parameter():
    (event,) = events(dialect, "[Rank 5] Hash not matching for decoder.bias in model chunk 0\n")
    assert (event.name, event.rank) == ("train.weights_differ", 5)
    assert event.fields == {"parameter": "decoder.bias", "chunk": 0}


@pytest.mark.parametrize(
    "text",
    [
        ">>> Weight hashes match after 100 iterations...",
        "Result validation enabled",
        "First rerun: unexpected result is not reproducible within the tolerance (a != b)",
        "Second rerun: unexpected result is not reproducible on a different GPU, therefore was likely incorrect (a != b)",
        "a transient error is possible!",
    ],
)  # fmt: skip
def test_good_checks_and_lines_whose_verdict_follows_give_nothing(text):
    assert events(dialect, text + "\n") == []
