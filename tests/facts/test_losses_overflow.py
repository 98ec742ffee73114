"""Falls of the loss scale and streaks of skipped steps."""

import math
from itertools import pairwise

import pytest

from diagnose.facts.case import build
from diagnose.model.event import Nature

from .build import event, points, reading


def named(case, name):
    return [one.fields for one in case.events if one.name == name]


def falls(scales, *, first, every=10):
    steps = [first + every * i for i in range(len(scales))]
    return named(build(reading(points("loss_scale", scales, steps=steps))), "train.scale_fall")


@pytest.mark.parametrize(
    ("scales", "first", "halvings"),
    [
        ([65536, 65536, 8192, 4096, 4096], 9000, 4),
        ([65536, 65536, 32768, 32768], 9000, None),
        ([2.0**32, 2.0**28, 2.0**20, 2.0**16], 1, None),
        ([1.0, 1.0, 1.0], 9000, None),
        ([-1.0, -1.0], 9000, None),
    ],
)
def test_a_fall_of_the_loss_scale(scales, first, halvings):
    assert [fall["halvings"] for fall in falls(scales, first=first)] == (
        [] if halvings is None else [halvings]
    )


def test_halvings_far_apart_do_not_add_up():
    assert not falls([65536, 32768, 16384, 8192], first=9000, every=1000)


def reported(scales, *, stated=True, steps=None):
    """Return the falls among overflow records on lines 10, 20 and so on."""
    records = [
        event(
            "train.overflow", Nature.EFFECT, line=10 * place,
            fields={**({"scale": high} if stated else {}), "new_scale": low},
        )
        for place, (high, low) in enumerate(pairwise(scales), 1)
    ]  # fmt: skip
    series = [] if steps is None else [points("loss", [2.3] * len(steps), steps=steps, lines=[10 * i + 9 for i in range(len(steps))])]  # fmt: skip
    return [
        fall["halvings"] for fall in named(build(reading(*records, *series)), "train.scale_fall")
    ]


@pytest.mark.parametrize(
    ("scales", "options", "halvings"),
    [
        ([512.0, 256.0, 128.0, 64.0, 32.0], {}, [4]),
        ([512.0, 256.0, 128.0, 64.0], {}, []),
        ([65536.0, 32768.0, 16384.0, 8192.0, 4096.0], {}, []),
        ([65536.0, 32768.0, 16384.0, 8192.0], {"steps": [9000, 9001, 9002, 9003]}, [3]),
        ([65536.0, 32768.0, 16384.0, 8192.0], {"steps": [9000, 9400, 9800, 9900]}, []),
        ([512.0, 256.0, 128.0, 64.0, 32.0], {"steps": [1, 2, 3, 4]}, []),
        ([128.0, 64.0, 32.0, 16.0, 8.0], {"stated": False}, []),
        ([128.0, 64.0, 32.0, 16.0, 8.0], {"stated": False, "steps": [700, 701, 702, 703]}, [4]),
    ],
)
def test_a_fall_that_is_reported_halving_by_halving(scales, options, halvings):
    assert reported(scales, **options) == halvings


def test_a_raise_between_halvings_begins_anew():
    records = [
        event(
            "train.overflow", Nature.EFFECT, line=line, fields={"scale": 512.0, "new_scale": 256.0}
        )
        for line in range(1, 7)
    ]
    assert not named(build(reading(*records)), "train.scale_fall")


def test_the_search_after_a_load_is_no_fall():
    load = event("ckpt.load_end", Nature.PROGRESS, line=1)
    series = points("loss_scale", [65536, 8192, 4096], steps=[9001, 9002, 9003], lines=[2, 3, 4])
    assert not named(build(reading(load, series)), "train.scale_fall")


def streaks(*records):
    return named(build(reading(*records)), "train.overflow_streak")


def column(skipped, *, count=400, first=1):
    return points("skipped_steps", [float(at in skipped) for at in range(count)], first=first)


def test_a_streak_in_the_column_of_skipped_steps():
    (streak,) = streaks(column(range(300, 308)))
    assert (streak["step"], streak["skips"], streak["within"]) == (301, 8, 20)
    assert (streak["total"], streak["shown_by"], streak["goes_on"]) == (8, "column", False)
    assert streak["share"] == pytest.approx(8 / 300)


def test_the_search_at_the_start_and_one_skip_in_a_while_are_no_streak():
    assert not streaks(column(range(17)))
    assert not streaks(column({*range(30), 350}))


def test_the_search_behind_a_load_is_no_streak():
    load = event("ckpt.load_end", Nature.PROGRESS, line=200)
    resumed = column(range(201, 218), count=400, first=5000)
    assert not streaks(load, resumed)
    (known,) = streaks(resumed)
    assert known["since_start"] > 5000


def test_a_counter_is_not_a_number_of_skips():
    totals = [17.0] * 20 + [29.0] * 20
    (streak,) = streaks(points("skipped_steps_total", totals, steps=range(1000, 1400, 10)))
    assert (streak["skips"], streak["shown_by"], streak["step"]) == (12, "counter", 1200)
    assert not streaks(points("skipped_steps_total", [17.0] * 40, steps=range(1000, 1400, 10)))


def messages(first, count):
    series = points("loss", [2.3] * 40, first=first, lines=[10 * at for at in range(1, 41)])
    told = [
        event("train.overflow", Nature.EFFECT, line=10 * at + 5, rank=None,
              fields={"scale": 2.0**at, "new_scale": 2.0 ** (at - 1)})
        for at in range(20, 20 - count, -1)
    ]  # fmt: skip
    return streaks(series, *told)


def test_single_messages_count_by_the_step_before_them():
    (streak,) = messages(8000, 6)
    assert (streak["skips"], streak["shown_by"]) == (6, "messages")
    assert not messages(8000, 2)
    assert not messages(1, 6)


def test_ranks_that_report_one_overflow_are_no_streak():
    series = points("loss", [2.3] * 40, first=8000, lines=[10 * at for at in range(1, 41)])
    fields = {"scale": 65536.0, "new_scale": 32768.0}
    told = [
        event("train.overflow", Nature.EFFECT, line=line, fields=fields) for line in range(101, 108)
    ]
    assert not streaks(series, *told)


def test_a_streak_behind_a_jump_of_the_loss_says_so():
    losses = [2.3 if at != 290 else 6.0 for at in range(400)]
    (streak,) = streaks(points("loss", losses), column(range(300, 308)))
    assert streak["after_jump"] == 10


def test_the_rank_that_is_first_without_a_finite_loss():
    def gone(rank, step):
        return event("train.nan_loss", rank=rank, file=f"{rank}.log", fields={"step": step})

    late = [gone(rank, 101) for rank in range(4)]
    (first,) = named(build(reading(*late, gone(4, 100))), "train.nan_first")
    assert (first["ranks"], first["step"], first["ahead"], first["others"]) == ([4], 100, 1, 4)
    assert not named(build(reading(*late)), "train.nan_first")
    assert not named(
        build(reading(*(gone(rank, 100 + rank % 2) for rank in range(8)))), "train.nan_first"
    )


def streaks_of_column(skips, *, first):
    steps = range(first, first + len(skips))
    return named(
        build(reading(points("skipped_steps", skips, steps=steps))), "train.overflow_streak"
    )


def test_a_log_that_begins_with_skipped_steps_shows_the_search_of_a_scaler():
    assert not streaks_of_column([1] * 18 + [0] * 300, first=401)
    assert streaks_of_column([0] * 50 + [1] * 18 + [0] * 300, first=401)


def test_steps_that_are_skipped_to_the_end_go_on():
    assert streaks_of_column([0] * 50 + [1] * 60, first=401)[0]["goes_on"]
    assert not streaks_of_column([0] * 50 + [1] * 60 + [0] * 9, first=401)[0]["goes_on"]


def test_a_streak_in_a_log_that_ends_without_a_step_number():
    skipped = column(range(300, 306))
    skipped.steps[-1] = math.nan
    (streak,) = streaks(skipped)
    assert (streak["step"], streak["skips"], streak["goes_on"]) == (301, 6, False)
