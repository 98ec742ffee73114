import pytest

from diagnose.facts.clock import Clocks
from diagnose.facts.serving import first_minutes, first_tokens, intervals
from diagnose.model.event import Event, Line, Nature
from diagnose.model.reading import Reading
from diagnose.parsers.serving import scrapes
from diagnose.parsers.serving.timings import timing


class _Text:
    def __init__(self, name, text):
        self.name, self._text = name, text

    def lines(self):
        for number, raw in enumerate(self._text.split("\n"), 1):
            yield Line(self.name, number, raw, raw)


def scrape(minute, requests, *, began=None, running=4.0, waiting=0.0, hits=None, **seconds):
    """Return a scrape with sums of seconds: ``ttft``, ``queue``, ``prefill``, and of tokens."""
    names = {
        "ttft": "time_to_first_token_seconds",
        "queue": "request_queue_time_seconds",
        "prefill": "request_prefill_time_seconds",
        "length": "request_prompt_tokens",
    }
    lines = [f"# 2026-01-05T10:{minute:02d}:00Z"]
    if began is not None:
        lines.append(f"process_start_time_seconds {began}")
    lines += [
        f"vllm:num_requests_running {running}",
        f"vllm:num_requests_waiting {waiting}",
        f'vllm:request_success_total{{finished_reason="stop"}} {requests}',
    ]
    if hits is not None:
        lines += [
            f"vllm:prefix_cache_queries_total {requests * 100}",
            f"vllm:prefix_cache_hits_total {hits}",
        ]
    for name, total in seconds.items():
        lines += [f"vllm:{names[name]}_sum {total}", f"vllm:{names[name]}_count {requests}"]
    return "\n".join(lines) + "\n"


def read(text):
    events = list(scrapes.read(_Text("metrics.txt", text)))
    clocks = Clocks(Reading(events=events, points=[], sources=[]))
    return list(intervals.derive(events, clocks)), events


def split(text):
    (event,) = first_tokens.derive(*read(text))
    return event.fields


def request(engine, **known):
    line = Line("server.log", 1, "", "")
    return Event(
        name="inference.timing",
        nature=Nature.MEASUREMENT,
        file=line.file,
        line=line.number,
        end_line=line.number,
        text="",
        fields=timing(engine, known),
    )


def told(*requests):
    return [event.fields for event in first_tokens.derive([], list(requests))]


def test_the_stretch_with_the_latest_first_tokens_is_told():
    found = split(
        scrape(0, 100, ttft=10.0, queue=1.0, prefill=8.0)
        + scrape(1, 160, ttft=130.0, queue=91.0, prefill=20.0)
        + scrape(2, 220, ttft=136.0, queue=91.6, prefill=24.8)
    )
    assert found["source"] == "interval"
    assert (found["ttft"], found["queue"], found["prefill"]) == pytest.approx((2.0, 1.5, 0.2))
    assert found["rest"] == pytest.approx(0.3)
    assert found["queue_share"] == pytest.approx(0.75)
    assert found["ttft_other"] == pytest.approx(0.1)


def test_one_scrape_gives_the_means_since_the_start():
    found = split(scrape(0, 100, ttft=200.0, queue=150.0, prefill=40.0))
    assert found["source"] == "scrape"
    assert found["ttft"] == 2
    assert found["ttft_other"] is None


def test_an_interval_of_few_requests_has_no_mean():
    found = split(
        scrape(0, 100, ttft=10.0, queue=1.0, prefill=8.0)
        + scrape(1, 102, ttft=50.0, queue=1.0, prefill=48.0)
    )
    assert found["source"] == "scrape"


def test_the_life_before_the_first_of_two_scrapes_is_the_level_to_compare_with():
    found = split(
        scrape(0, 100, ttft=10.0, hits=8000, length=90000.0)
        + scrape(1, 200, ttft=110.0, hits=9000, length=990000.0)
    )
    assert (found["ttft"], found["ttft_other"]) == (1.0, pytest.approx(0.1))
    assert (found["hit"], found["hit_other"]) == (pytest.approx(0.1), pytest.approx(0.8))
    assert found["hit_fall"] == pytest.approx(0.7)
    assert (found["prompt_length"], found["prompt_length_other"]) == (9000, 900)


def test_a_queue_that_grows_tells_how_many_come_for_each_that_is_served():
    found = split(
        scrape(0, 100, ttft=10.0, queue=1.0, waiting=0.0)
        + scrape(1, 160, ttft=310.0, queue=241.0, waiting=30.0)
    )
    assert found["growth_per_s"] == 0.5
    assert found["arrivals_per_served"] == 1.5
    assert found["waiting_expected"] == 4


def test_requests_are_split_where_the_server_tells_each_of_them():
    (found,) = told(*(request("ollama", load=8.0, prefill=2.0, ttft=10.0) for _ in range(3)))
    assert found["source"] == "requests"
    assert found["load_share"] == 0.8
    assert found["rest"] == 0


def test_one_load_is_not_the_load_of_most_requests():
    loads = [9.0, 0.03, 0.03, 0.03]
    (found,) = told(*(request("ollama", load=one, prefill=0.4) for one in loads))
    assert found["load_median"] == pytest.approx(0.03)


def test_what_vllm_tells_of_a_request_begins_when_it_is_scheduled():
    (found,) = told(*(request("vllm", queue=3.0, ttft=1.0) for _ in range(3)))
    assert found["ttft"] == 4
    assert found["queue_share"] == 0.75


def test_without_a_time_to_the_first_token_the_queue_is_held_against_the_work():
    (found,) = told(*(request("tgi", queue=9.0, inference=3.0, total=12.0) for _ in range(3)))
    assert found["ttft"] is None
    assert found["queue_share"] == 0.75


def test_two_requests_are_too_few():
    assert told(*(request("tgi", queue=9.0, inference=3.0) for _ in range(2))) == []


BEGAN = 1767607170.0
"""Thirty seconds before the first scrape."""


def first(text):
    return [event.fields for event in first_minutes.derive(*read(text))]


def test_the_first_requests_of_a_server_are_held_against_later_ones():
    (found,) = first(
        scrape(0, 20, began=BEGAN, ttft=300.0, queue=1.0, prefill=290.0)
        + scrape(1, 80, began=BEGAN, ttft=306.0, queue=1.3, prefill=295.0)
    )
    assert found["life"] == 30
    assert (found["ttft"], found["ttft_later"]) == (15.0, pytest.approx(0.1))


def test_without_its_age_the_first_minutes_of_a_server_are_unknown():
    assert first(scrape(0, 20, ttft=300.0) + scrape(1, 80, ttft=306.0)) == []
