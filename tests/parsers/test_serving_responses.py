import pytest
from dialects import events, measured

from diagnose.parsers.serving import responses as dialect

UVICORN = (
    '(APIServer pid=1) INFO:     10.0.0.7:58856 - "POST /v1/chat/completions HTTP/1.1" {} OK\n'
)
GIN = '[GIN] 2026/01/05 - 10:00:00 | 200 |  1m2.5s |       10.0.0.7 | POST     "/api/generate"\n'
NGINX = '10.0.0.7 - - [05/Jan/2026:10:00:00 +0000] "POST /v1/completions HTTP/1.1" 504 512 "-" "app" rt=60.001 urt="60.0"\n'
ENVOY = '[2026-01-05T10:00:00.123Z] "POST /v1/completions HTTP/1.1" 503 UO 0 81 1200 - "-" "app" "7f" "model" "10.0.0.9:8000"\n'


def fields_of(text, name="inference.responses"):
    (event,) = [event for event in events(dialect, text) if event.name == name]
    return event.fields


def test_answers_are_counted_by_status():
    text = "".join(UVICORN.format(status) for status in (200, 200, 400, 429, 500, 503))
    found = fields_of(text)
    assert (found["requests"], found["rejected"]) == (6, 2)
    assert (found["client_errors"], found["server_errors"]) == (1, 1)
    assert found["seconds_median"] is None


def test_the_first_failed_answer_is_cited():
    text = UVICORN.format(200) + UVICORN.format(500) * 2
    (event,) = [e for e in events(dialect, text) if e.name == "inference.failed_responses"]
    assert (event.line, event.fields["status"], event.fields["count"]) == (2, 500, 2)


@pytest.mark.parametrize(
    "path",
    ["/generate", "/v1/embeddings?x=1", "/gateway/a-7b/v1/completions", "/v2/models/a/versions/1/infer"],
)  # fmt: skip
def test_calls_of_every_server_count(path):
    assert fields_of(f'"POST {path} HTTP/1.1" 200 OK\n')["requests"] == 1


@pytest.mark.parametrize("text, seconds", [(GIN, 62.5), (NGINX, 60.001), (ENVOY, 1.2)])
def test_durations_are_read(text, seconds):
    (record,) = measured(dialect, text)
    assert record.values == {"response_time": seconds}
    assert fields_of(text)["seconds_max"] == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        '10.0.0.7:5 - "GET /health HTTP/1.1" 503 Service Unavailable\n',
        '10.0.0.7:5 - "GET /v1/models HTTP/1.1" 500\n',
        '"GET /api/v1/runs HTTP/1.1" 2',
        '"POST /graphql HTTP/1.1" 500\n',
        '10.0.0.7:5 - "POST /api/v1/runs HTTP/1.1" 500\n',
        "[GIN] listening on :8080\n",
    ],
)
def test_checks_other_services_and_cut_lines_give_nothing(text):
    assert events(dialect, text) == []
