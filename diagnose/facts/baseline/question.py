"""Which expectations are doubtful: more than any machine of the kind is known to give."""

from diagnose.facts.bandwidth.known import nodes_of
from diagnose.facts.baseline.known import kind_of, table
from diagnose.model.baseline import Expectation

EIGHT = 8
"""GPUs of the nodes whose plateaus are known."""


def question(
    test: Expectation, models: frozenset[str], measured: float | None
) -> tuple[str | None, bool]:
    """Return what is doubtful about an expectation, None if nothing is, and whether all is well.

    Args:
        test: The row.
        models: GPUs of the run.
        measured: In canonical units, None if unknown.

    Returns:
        The doubt in words; and whether what was measured is what healthy machines give.
    """
    known = table()
    expected = test.expected * test.scale
    most = known["most"].get(test.metric)
    if most is not None and expected > most:
        limit = f"{most / test.scale:g} {test.unit}".strip()
        return str(known["questions"]["most"]).format(limit=limit), False
    large = test.size is None or test.size >= known["plateau"]
    if test.bench != "all_reduce" or test.gpus != EIGHT or not large or kind_of(test) != "node":
        return None, False
    return _of_a_node(test, models, expected, measured)


def _of_a_node(
    test: Expectation, models: frozenset[str], expected: float, measured: float | None
) -> tuple[str | None, bool]:
    known = table()
    named = [test.gpu] if test.gpu is not None else sorted(models)
    machines = nodes_of(EIGHT)
    listed = [one for one in machines if any(one.is_of(name) for name in named)]
    reach = known["doubtful"]
    within = [one for one in machines if one.best * reach >= expected]
    texts = known["questions"]
    if named and not listed:
        return None, False
    if listed and any(one in within for one in listed):
        return None, False
    if listed:
        best = max(listed, key=lambda one: one.best)
        limit = f"{best.best / test.scale:g} {test.unit}"
        doubt = str(texts["known"]).format(gpus=EIGHT, gpu=best.gpu, limit=limit)
    elif len(within) > 1:
        return None, False
    else:
        text = texts["unknown"] if within else texts["nobody"]
        doubt = str(text).format(reachable=", ".join(one.gpu for one in within))
    well = [
        one.gpu
        for one in listed or machines
        if measured is not None and known["ok"] * one.ring <= measured <= reach * one.best
    ]
    if well and measured is not None:
        shown = f"{measured / test.scale:.4g} {test.unit}"
        said = str(texts["healthy"]).format(measured=shown, healthy=", ".join(well))
        doubt = f"{doubt}; {said}"
    return doubt, bool(well)
