"""The verdicts of PyTorch's analyser, old and new layout."""

from communication import read

from diagnose.parsers import fr_verdict as module


def verdicts(text):
    return [
        (e.fields["kind"], e.fields["seq"], e.fields["ranks"], e.fields["named"], e.fields["world_size"])
        for e in read(module, text)
    ]  # fmt: skip


def errors(world, message):
    return (
        "Collective sequence number: 183 has errors\n"
        "internal record id: 182\n"
        "group info: 0:default_pg\n"
        "collective: nccl:all_reduce\n"
        f"world size: {world}\n"
        f"error msg: {message}\n"
    )


def test_missing_ranks_in_both_layouts():
    new = (
        "Not all ranks joining collective, sequence number: 183\n"
        "missing ranks: {7, 9}\n"
        "world size: 16\n"
    )
    old = "Not all ranks joining collective 5 at entry 4\nmissing ranks: {1}\nexpected ranks: 2\n"
    assert verdicts(new) == [("missing", 183, [7, 9], 2, 16)]
    assert verdicts(old) == [("missing", 5, [1], 1, 2)]


def test_errors_are_gathered_by_kind():
    size = "Error type: SIZE_OR_SYNTAX_MISMATCH, Expected input sizes: '[[8]]' does not match found input sizes: '[[4]]'"
    message = (
        f"Culprit rank 3; {size}, Culprit rank 5; {size}, "
        "Culprit rank 6; Error type: COLLECTIVE_STATE_MISMATCH"
    )
    assert verdicts(errors(16, message)) == [
        ("size", 183, [3, 5], 2, 16),
        ("state", 183, [6], 1, 16),
    ]


def test_nobody_is_blamed_where_half_are():
    message = ", ".join(
        f"Culprit rank {rank}; Error type: COLLECTIVE_TYPE_MISMATCH" for rank in (1, 2, 3)
    )
    assert verdicts(errors(4, message)) == [("type", 183, [], 3, 4)]


def test_the_detail_ends_before_the_next_rank():
    detail = "Expected dtypes: 'Float' does not match found dtype: 'Half'"
    message = ", ".join(
        f"Culprit rank {rank}; Error type: COLLECTIVE_DTYPE_MISMATCH, {detail}" for rank in (3, 5)
    )
    (event,) = read(module, errors(16, message))
    assert event.fields["detail"] == detail


def test_texts_that_only_speak_of_it():
    assert verdicts("Collective 5 at entry 4 is fine\n") == []
    assert verdicts("Not all ranks joining collective 5 at entry 4 of the list, they said\n") == []
