"""All calculators by name."""

from diagnose.calc import for_communication, for_operation, for_serving, for_training

CALCULATORS = {
    one.name: one
    for group in (for_communication, for_training, for_operation, for_serving)
    for one in group.CALCULATORS
}
