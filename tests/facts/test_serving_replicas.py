import pytest

from diagnose.facts.serving import replicas, saturation
from diagnose.model.event import Event, Nature


def event(name, file="serve.log", line=1, **fields):
    return Event(
        name=name,
        nature=Nature.MEASUREMENT,
        file=file,
        line=line,
        end_line=line,
        text="",
        fields=fields,
    )


def pace(engine, per_request, *, running=40.0, samples=8, file="serve.log"):
    return event(
        "inference.pace",
        file,
        engine=engine,
        per_request=per_request,
        running=running,
        samples=samples,
    )


def slowest(*paces):
    return [found.fields for found in replicas.derive(list(paces))]


def test_the_slowest_of_several_engines_is_told_with_its_peers():
    (found,) = slowest(pace("000", 30.0), pace("001", 14.0), pace("002", 28.0), pace("003", 32.0))
    assert (found["engine"], found["engines"], found["peers"]) == ("001", 4, 30.0)
    assert found["ratio"] == pytest.approx(0.4667, abs=1e-4)


def test_two_engines_cannot_tell_which_one_is_slow():
    assert slowest(pace("000", 30.0), pace("001", 14.0)) == []


def test_engines_with_other_numbers_of_requests_are_no_peers():
    quick = [pace("000", 30.0, running=20), pace("002", 28.0, running=22)]
    assert slowest(*quick, pace("001", 14.0, running=40)) == []


def test_servers_that_log_apart_are_compared():
    (found,) = slowest(*(pace("000", 14.0 if n == 2 else 30.0, file=f"{n}.log") for n in range(4)))
    assert found["ratio"] < 0.5


def test_a_front_end_does_not_stand_for_the_host_of_its_engines():
    def of(hosts):
        paces = [pace(str(n), 9.0 if n == 2 else 30.0, file=f"{n}.log") for n in range(4)]
        for one, host in zip(paces, hosts, strict=True):
            one.host = host
        (found,) = replicas.derive(paces)
        return found.host

    assert of(["node-09"] * 4) is None
    assert of(["node-01", "node-02", "node-03", "node-04"]) == "node-03"


def test_few_samples_are_no_pace():
    assert slowest(*(pace(str(n), 9.0 if n else 30.0, samples=2) for n in range(4))) == []


QUEUE = event("inference.queue", line=9, running_median=400.0, waiting_max=50.0)


def queues(*limits):
    return [found.fields for found in saturation.derive([*limits, QUEUE])]


def test_a_queue_is_told_with_the_limits_in_front_of_it():
    (found,) = queues(event("inference.config", max_num_seqs=400, max_num_batched_tokens=512))
    assert (found["slots"], found["slot_share"]) == (400, 1.0)
    assert (found["budget"], found["budget_left"]) == (512, 0.2188)
    assert found["waiting_max"] == 50


def test_servers_with_different_limits_give_none():
    limits = (event("inference.limits", file=f"{n}.log", max_num_seqs=n) for n in (64, 400))
    assert queues(*limits) == []
