"""All calculators by name."""

from diagnose.calc import for_operation, for_serving, for_training

CALCULATORS = {
    one.name: one
    for one in (*for_training.CALCULATORS, *for_operation.CALCULATORS, *for_serving.CALCULATORS)
}
