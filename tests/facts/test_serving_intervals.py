import pytest

from diagnose.facts.clock import Clocks
from diagnose.facts.serving import intervals
from diagnose.model.reading import Reading
from diagnose.parsers.serving import scrapes


class _Text:
    def __init__(self, name, text):
        self.name, self._text = name, text

    def lines(self):
        from diagnose.model.event import Line

        for number, raw in enumerate(self._text.split("\n"), 1):
            yield Line(self.name, number, raw, raw)


def scrape(*, requests, waited, began=None, waiting=0.0, labels=""):
    lines = [
        f"vllm:num_requests_waiting{labels} {waiting}",
        f"vllm:request_success_total{labels} {requests}",
        f"vllm:time_to_first_token_seconds_sum{labels} {waited * 1.25}",
        f"vllm:time_to_first_token_seconds_count{labels} {requests}",
        f"vllm:request_queue_time_seconds_sum{labels} {waited}",
        f"vllm:request_queue_time_seconds_count{labels} {requests}",
    ]
    if began is not None:
        lines.insert(0, f"process_start_time_seconds {began}")
    return "\n".join(lines) + "\n"


def between(files):
    events = [event for name, text in files.items() for event in scrapes.read(_Text(name, text))]
    reading = Reading(events=events, points=[], sources=[])
    return list(intervals.derive(events, Clocks(reading)))


def test_figures_are_those_of_the_stretch_alone():
    text = (
        f"# 2026-01-05T10:00:00Z\n{scrape(requests=100, waited=10.0)}"
        f"# 2026-01-05T10:01:00Z\n{scrape(requests=160, waited=130.0, waiting=9)}"
    )
    (event,) = between({"metrics.txt": text})
    assert event.fields["requests"] == 60
    assert event.fields["queue_mean"] == 2
    assert event.fields["requests_per_s"] == 1
    assert (event.fields["waiting_before"], event.fields["waiting"]) == (0, 9)
    assert event.fields["restarted"] is False


def test_a_sum_that_falls_is_a_restart():
    text = scrape(requests=100, waited=90.0) + scrape(requests=10, waited=1.0)
    (event,) = between({"metrics.txt": text})
    assert event.fields["restarted"] is True
    assert event.fields["queue_mean"] == pytest.approx(0.1)


def test_numbered_files_follow_each_other():
    files = {f"m-{n}.txt": scrape(requests=100 * n, waited=100.0 * n) for n in (10, 9, 2)}
    assert [(e.file, e.fields["requests"]) for e in between(files)] == [
        ("m-9.txt", 700),
        ("m-10.txt", 100),
    ]


@pytest.mark.parametrize(
    "files",
    [
        {"metrics.txt": scrape(requests=1, waited=1.0)},
        {"node-07.prom": scrape(requests=900, waited=9.0), "node-08.prom": scrape(requests=20, waited=2.0)},
        {"a.prom": scrape(requests=1, waited=1.0), "b.prom": scrape(requests=2, waited=2.0)},
        {"m-1.prom": scrape(requests=1, waited=1.0, began=5.0), "m-2.prom": scrape(requests=2, waited=2.0, began=6.0)},
        {"m.prom": scrape(requests=1, waited=1.0, labels='{pod="a"}') + scrape(requests=2, waited=2.0, labels='{pod="b"}')},
    ],
    ids=["one", "two-servers", "other-names", "other-processes", "other-pods"],
)  # fmt: skip
def test_scrapes_of_different_servers_are_not_compared(files):
    assert between(files) == []
