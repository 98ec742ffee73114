"""Calculators of parallel layout."""

from diagnose.calc import training
from diagnose.calc.calculator import Calculator, Input, Result, Values, given, positive
from diagnose.calc.quantity import Unit


def _bubble(values: Values) -> list[Result]:
    positive(values, "stages", "micro_batches", "chunks", "at_most")
    stages, chunks = given(values, "stages"), given(values, "chunks")
    share = training.bubble(stages, given(values, "micro_batches"), chunks)
    enough = training.micro_batches_for(stages, given(values, "at_most"), chunks)
    return [
        Result("idle share of a step", share, Unit.SHARE),
        Result("micro-batches that keep it at the limit", enough, Unit.COUNT),
    ]


CALCULATORS = (
    Calculator(
        "bubble",
        "Share of a step in which a pipeline idles",
        "(p - 1) / (v m + p - 1)",
        (
            Input("stages", Unit.COUNT, "pipeline stages p"),
            Input("micro-batches", Unit.COUNT, "micro-batches m of one step"),
            Input("chunks", Unit.COUNT, "model chunks v a stage (interleaved schedule)", "1"),
            Input("at-most", Unit.SHARE, "largest share to aim for", "20%"),
        ),
        _bubble,
        "Above 20 % use more micro-batches, interleaving or fewer stages.",
    ),
)
