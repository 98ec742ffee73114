"""Who holds up the steps: by own work against wait, roles before hosts, and nobody by chance."""

import random

import pytest

from diagnose.facts.case import build
from diagnose.facts.stragglers.scores import binomial_bound
from diagnose.model.event import Nature

from .build import event, points, reading

STEPS = 60


def arguments(**values):
    return [
        event("job.argument", Nature.SETTING, line=i, fields={"name": name, "value": value},
              fact=f"arg.{name}", file="args.log")
        for i, (name, value) in enumerate(values.items(), start=1)
    ]  # fmt: skip


def series(own, *, ranks=16, per_host=4, steps=STEPS, data=None, noise=0.005, transfer=0.1, seed=1):
    """Return the series of all ranks; ``own`` gives the seconds of a rank at a step."""
    chance = random.Random(seed)
    work = [[own(r, t) * chance.gauss(1, noise) for t in range(steps)] for r in range(ranks)]
    waits = [[data(r, t) if data else 0.02 for t in range(steps)] for r in range(ranks)]
    late = [max(work[r][t] + waits[r][t] for r in range(ranks)) for t in range(steps)]
    cost = [transfer(t) if callable(transfer) else transfer for t in range(steps)]
    found = []
    for rank in range(ranks):
        who = {
            "file": f"rank{rank}.jsonl",
            "rank": rank,
            "host": f"node-{rank // per_host + 1:02d}",
        }
        comm = [late[t] + cost[t] - work[rank][t] - waits[rank][t] for t in range(steps)]
        whole = [late[t] + cost[t] for t in range(steps)]
        found += [
            points("compute_time", work[rank], **who), points("comm_time", comm, **who),
            points("data_time", waits[rank], **who), points("step_time", whole, **who),
        ]  # fmt: skip
    return found


def told(*records, name="train.straggler"):
    return [one for one in build(reading(*records)).events if one.name == name]


def even(rank, step):
    return 0.5


def slow(*ranks, by=1.15, when=lambda step: True):
    return lambda rank, step: 0.5 * by if rank in ranks and when(step) else 0.5


def test_the_rank_that_works_long_and_waits_short():
    (found,) = told(*series(slow(5)))
    assert (found.rank, found.host, found.fields["unit"]) == (5, "node-02", "rank")
    assert found.fields["score"] == pytest.approx(1.144, abs=0.01)
    assert found.fields["share"] == 1
    assert found.fields["wait_ratio"] < 0.7
    assert found.fields["gain"] == pytest.approx(0.075 / 0.695, abs=0.02)
    assert found.fields["explained"] > 0.98
    assert found.fields["slowest"][0].startswith("rank 5 on node-02: +14% in 100% of the steps")


def test_a_rank_that_is_slow_part_of_the_time():
    (found,) = told(*series(slow(5, by=1.1, when=lambda step: step // 10 % 2)))
    assert found.rank == 5
    assert 0.35 < found.fields["share"] < 0.65


def test_all_ranks_of_a_host_are_the_host():
    (found,) = told(*series(slow(8, 9, 10, 11)))
    assert (found.fields["unit"], found.host, found.rank) == ("host", "node-03", None)
    assert found.fields["ranks"] == [8, 9, 10, 11]


def test_two_hosts_that_are_equally_slow():
    first, second = told(*series(slow(4, 5, 6, 7, 16, 17, 18, 19), ranks=32))
    assert {first.host, second.host} == {"node-02", "node-05"}
    assert first.fields["gain"] == pytest.approx(second.fields["gain"], abs=0.005)
    assert first.fields["gain"] > 0.08


def test_a_tensor_parallel_group_hides_one_gpu():
    sizes = arguments(tensor_model_parallel_size=2, pipeline_model_parallel_size=1, world_size=16)
    (found,) = told(*series(slow(4, 5)), *sizes)
    assert (found.fields["unit"], found.fields["ranks"], found.rank) == ("group", [4, 5], None)


def test_a_stage_on_several_hosts_is_no_node():
    sizes = arguments(tensor_model_parallel_size=2, pipeline_model_parallel_size=2, world_size=16)
    records = [*series(slow(*range(8, 16))), *sizes]
    assert not told(*records)
    (found,) = told(*records, name="train.ranks_imbalanced")
    assert (found.fields["role"], found.fields["slow"], found.host) == ("stage", [1], None)


def test_without_hosts_a_whole_stage_is_not_taken_for_groups():
    sizes = arguments(tensor_model_parallel_size=2, pipeline_model_parallel_size=2, world_size=16)
    records = series(slow(*range(8, 16)))
    for one in records:
        one.host = None
    assert not told(*records, *sizes)
    (found,) = told(*records, *sizes, name="train.ranks_imbalanced")
    assert (found.fields["role"], found.fields["host_count"]) == ("stage", 0)


@pytest.mark.parametrize(
    ("guilty", "hosts", "block"),
    [(range(12, 16), True, 1), (range(4, 8), True, None), (range(12, 16), False, 0)],
)
def test_an_end_of_the_ranks_may_be_a_stage_where_the_layout_is_unknown(guilty, hosts, block):
    records = series(slow(*guilty), ranks=16)
    for one in records if not hosts else ():
        one.host = None
    assert {one.fields["end_block"] for one in told(*records)} == {block}
    known = arguments(tensor_model_parallel_size=2, pipeline_model_parallel_size=1, world_size=16)
    assert {one.fields["end_block"] for one in told(*records, *known)} == {None}


def test_two_hosts_at_the_end_of_the_ranks():
    found = told(*series(slow(*range(24, 32)), ranks=32))
    assert [one.fields["end_block"] for one in found] == [2, 2]


def test_ranks_that_are_equally_slow_stand_together():
    (found,) = told(*series(slow(4, 5, 6, 7), noise=0.0))
    assert found.fields["slowest"] == ["ranks 4, 5, 6, 7 on node-02: +14% in 100% of the steps"]


def test_a_slow_host_within_a_slow_stage():
    sizes = arguments(tensor_model_parallel_size=2, pipeline_model_parallel_size=2, world_size=16)
    own = {rank: 0.6 for rank in range(8, 16)} | {rank: 0.72 for rank in range(12, 16)}
    # Of two hosts of a stage the faster one is the measure.
    (found,) = told(*series(lambda rank, step: own.get(rank, 0.5)), *sizes)
    assert (found.fields["unit"], found.host) == ("host", "node-04")


@pytest.mark.parametrize(("guilty", "told_as"), [(3, "imbalance"), (1, "straggler")])
def test_a_stage_that_is_just_one_host(guilty, told_as):
    sizes = arguments(tensor_model_parallel_size=4, pipeline_model_parallel_size=4, world_size=16)
    records = [*series(slow(*range(4 * guilty, 4 * guilty + 4))), *sizes]
    stragglers = told(*records)
    if told_as == "imbalance":
        assert not stragglers
        (found,) = told(*records, name="train.ranks_imbalanced")
        assert (found.fields["slow"], found.fields["hosts"]) == ([3], ["node-04"])
    else:
        assert (stragglers[0].host, stragglers[0].fields["stage"]) == ("node-02", 1)


def test_the_same_slot_on_every_host():
    records = series(slow(3, 7, 11, 15))
    assert not told(*records)
    (found,) = told(*records, name="train.ranks_imbalanced")
    assert (found.fields["role"], found.fields["slow"]) == ("slot", [3])


def test_ranks_in_turn_are_nobodys_fault():
    def own(rank, step):
        return 0.75 if step % 16 == (rank * 7) % 16 else 0.5

    records = series(own, steps=64)
    assert not told(*records)
    (found,) = told(*records, name="train.ranks_imbalanced")
    assert found.fields["role"] == "turns"
    assert found.fields["rest"] > 0.2


def test_a_rank_that_waits_for_its_data():
    (found,) = told(*series(even, data=lambda rank, step: 0.2 if rank == 6 else 0.02))
    assert (found.rank, found.fields["phase"]) == (6, "data")


def test_waits_for_data_alone_name_a_rank_too():
    records = series(even, data=lambda rank, step: 0.2 if rank == 6 else 0.02)
    known = [one for one in records if one.metric in ("data_time", "step_time")]
    (found,) = told(*known)
    assert (found.rank, found.fields["phase"]) == (6, "data")


def test_two_ranks_can_be_told_apart():
    (found,) = told(*series(slow(1, by=1.2), ranks=2))
    assert found.rank == 1
    assert found.fields["wait_ratio"] < 0.6


@pytest.mark.parametrize(
    "own",
    [even, slow(5, by=1.03), slow(5, when=lambda step: step == 30), slow(*range(16))],
    ids=["even", "three per cent", "once", "all alike"],
)
def test_nobody(own):
    assert not told(*series(own))
    assert not told(*series(own), name="train.ranks_imbalanced")


@pytest.mark.parametrize("seed", range(3))
def test_the_worst_of_many_healthy_ranks_is_not_accused(seed):
    records = series(even, ranks=256, per_host=8, steps=40, noise=0.03, seed=seed)
    assert not told(*records)
    assert not told(*records, name="train.ranks_imbalanced")


def test_a_rank_that_is_only_noisier_is_not_slow():
    chance = random.Random(2)
    assert not told(*series(lambda rank, step: 0.5 * chance.gauss(1, 0.06 if rank == 3 else 0.005)))


def with_tokens(own, tokens, **options):
    records = series(own, **options)
    for rank in range(16):
        values = [tokens(rank, step) for step in range(STEPS)]
        records.append(points("step_tokens", values, file=f"rank{rank}.jsonl", rank=rank))
    return records


def test_own_work_that_follows_the_tokens_is_explained_by_the_data():
    def tokens(rank, step):
        return 4000 + (1500 if rank == 5 else 0) + 37 * ((rank * 11 + step * 7) % 30)

    records = with_tokens(lambda rank, step: tokens(rank, step) * 1e-4, tokens)
    assert not told(*records)
    (found,) = told(*records, name="train.ranks_imbalanced")
    assert found.fields["role"] == "lengths"
    assert found.fields["correlation"] > 0.9
    assert found.fields["rest"] > 0.1


def test_tokens_that_are_alike_explain_nothing():
    (found,) = told(*with_tokens(slow(5), lambda rank, step: 4096))
    assert found.rank == 5


def test_more_slow_ranks_than_can_be_faults():
    records = series(slow(1, 4, 7, 10, 13, by=1.3))
    assert not told(*records)
    (found,) = told(*records, name="train.ranks_imbalanced")
    assert found.fields["role"] == "scattered"


def test_warm_up_does_not_count():
    assert not told(*series(slow(5, by=3.0, when=lambda step: step < 5)))


def test_collectives_that_become_slow_while_nobody_is_late():
    (found,) = told(
        *series(even, transfer=lambda step: 0.1 if step < 40 else 0.6),
        name="train.slow_collectives",
    )
    assert found.fields["rise"] == pytest.approx(6, rel=0.1)
    assert found.fields["spread"] < 0.01


def test_totals_name_nobody():
    world = event("job.argument", Nature.SETTING, fields={"name": "world_size", "value": 16}, fact="arg.world_size", file="args.log")  # fmt: skip
    totals = [one for one in series(slow(5)) if one.metric == "step_time"]
    assert not told(world, *totals)
    (found,) = told(world, *totals, name="train.ranks_unattributable")
    assert found.fields["why"] == "totals"


def test_a_table_of_extremes_says_that_there_is_one():
    world = event("job.argument", Nature.SETTING, fields={"name": "world_size", "value": 16}, fact="arg.world_size", file="args.log")  # fmt: skip
    highest = points("compute_time", [2.4] * 8, rank=15)
    lowest = points("compute_time_min", [2.0] * 8, rank=15)
    (found,) = told(world, highest, lowest, name="train.ranks_unattributable")
    assert (found.fields["why"], found.fields["ratio"]) == ("extremes", pytest.approx(1.2))


def test_the_bound_on_chance():
    assert binomial_bound(0.01, 100, 0.01) == 1
    assert binomial_bound(0.5, 100, 0.01) < 1e-60
    assert binomial_bound(1, 5, 0.01) == pytest.approx(1e-10)
