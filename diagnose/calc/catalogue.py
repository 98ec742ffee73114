"""All calculators by name."""

from diagnose.calc import (
    for_communication,
    for_layout,
    for_memory,
    for_operation,
    for_serving,
    for_speed,
)

CALCULATORS = {
    one.name: one
    for group in (for_communication, for_layout, for_memory, for_speed, for_operation, for_serving)
    for one in group.CALCULATORS
}
