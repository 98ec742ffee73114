"""Names with their values on one line of a script, in any order and with any separator.

Not a parser: the readers of step lines share it. A time is read where it states its unit, or beside
the time that was waited for data; of one without a unit ``step_clock`` may find it. What stands in brackets behind a value is a mean and left out.
"""

from diagnose.ingest.lazy import LazyPattern
from diagnose.parsers.metric_names import TIMES, canonical, metrics, number

NO_NUMBER = LazyPattern(r"\b([A-Za-z]\w*[Ll]oss)[\"']?(?:\s*[:=]\s*|\s+)[-+]?(nan|NaN|inf)\b")
"""A loss by a name of the script's own counts where it is no number; its values may mean anything."""
HELD_OUT = LazyPattern(
    r"(?i:(?:best_?)?(?:val(?:id(?:ation)?)?|eval(?:uation)?|test|dev)(?:[ _].*)?)"
)
PAIR = LazyPattern(
    r"\b([A-Za-z][\w/]*(?:[ -](?i:loss|rate|norm|time|scale)| \(t\))?)[\"']?(?:\s*[:=]\s*|\s+)"
    r"([-+]?(?:\d[\d,]*(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+|nan|inf|NaN)(?![\w.]*[A-Za-z]\w*/\d))"
    r"[ ]?(ms|s/it|s|sec|it/s|samples/s)?(?![\w])"
)
MEMORY = LazyPattern(
    r"\b((?:[A-Za-z]\w* )?[A-Za-z][\w/.-]*)[\"']?(?:\s*[:=]\s*|\s+)([\d,]+(?:\.\d*)?) ?([GM]i?B|G)\b"
)
"""Memory with its unit; a word before the name qualifies it (``max mem``, ``CPU mem``)."""
TOKENS = LazyPattern(r"([\d,.]+) ?(?:k )?(tok(?:ens)?/s(?:ec)?(?:/(?:gpu|GPU|device))?)")
SAMPLES = LazyPattern(
    r"([\d,.]+) ?(?:samples?|images?|imgs?|examples?|ex|seqs?|sentences)/s(?:ec(?:ond)?)?\b(?! *[:=])"
)
TRAILING_TIME = LazyPattern(
    r"\| *([\d.]+) ?(ms) *\||(?<![\w.])([\d.]+) ?(ms|s|sec)/(?:it|itr|iter|iteration|step|batch)\b"
    r"|oss[:= ]+[-+\d.e]+,? *\(([\d.]+) ?(ms|s|sec)\)"
)
PACE = LazyPattern(
    r"(?<![\w.])([\d.]+) ?(?:it|iter|step)s?/s(?:ec)?\b"
    r"|\b(?:[Ii]t|[Ii]ter|[Ss]tep|[Bb]atch)(?:e?s)?/s(?:ec)?(?:\s*[:=]\s*|\s+)([\d.]+)(?![\w.])"
)
"""Steps a second, with the unit behind the value or as its name."""
TIME_WORDS = frozenset(
    {"time", "dt", "step_time", "iter_time", "elapsed", "step time", "batch_time", "batch time",
     "iter time"}
)  # fmt: skip


def pairs(text: str) -> dict[str, float]:
    """Return the metrics that a line states.

    Args:
        text: Of a step line, behind its counters.
    """
    return pairs_and_time(text)[0]


def pairs_and_time(text: str) -> tuple[dict[str, float], float | None]:
    """Return the metrics that a line states, and the time of a step whose unit is open.

    Args:
        text: Of a step line, behind its counters.
    """
    columns: dict[str, object] = {}
    for name, value, unit in PAIR.findall(text):
        name = "train_loss" if name.lower() in ("train loss", "training loss") else name
        if name.lower() in TIME_WORDS:
            if unit in ("ms", "s", "sec", "s/it") and name.lower() != "elapsed":
                columns.setdefault("step_time_ms" if unit == "ms" else "step_time_s", value)
            elif not unit and name.lower() != "elapsed":
                columns.setdefault("time", value)
        elif name == "norm":
            columns.setdefault("grad_norm", value)
        else:
            columns.setdefault(f"{name}_{unit}" if unit in ("ms", "s", "sec") else name, value)
    for name, value, unit in MEMORY.findall(text):
        columns.setdefault(f"{name}_{unit if unit.endswith('B') else 'GB'}", value)
    if rate := TOKENS.search(text):
        columns.setdefault(
            rate[2].lower().replace("device", "gpu").replace("tok/", "tokens/"), rate[1]
        )
    if rate := SAMPLES.search(text):
        columns.setdefault("samples_per_s", rate[1])
    if not {"step_time_ms", "step_time_s"} & set(columns):
        columns |= _trailing_time(text)
    values = metrics(columns)
    if "loss" not in values and (strange := _no_number(text)) is not None:
        values["loss"] = strange
    stated = {metric for name in columns if (metric := _time_with_unit(name))}
    if "data_time" in values and {"step_time", "compute_time"} & set(values):
        values.setdefault("step_time", values["data_time"] + values.get("compute_time", 0.0))
        return values, None
    bare = None if "step_time" in stated else values.get("step_time", number(columns.get("time")))
    kept = {name: value for name, value in values.items() if name not in TIMES or name in stated}
    return kept, bare


def _time_with_unit(name: str) -> str | None:
    """Return the time of a step, or of its wait for data, that a name states with its unit."""
    metric, _, is_stated = canonical(name) or ("", 1.0, False)
    return metric if is_stated and metric in ("step_time", "data_time") else None


def _no_number(text: str) -> float | None:
    """Return the first loss of training that is no number, whatever it is called."""
    found = NO_NUMBER.findall(text)
    return next((float(value) for name, value in found if not HELD_OUT.fullmatch(name)), None)


def _trailing_time(text: str) -> dict[str, object]:
    """Return the time of a step that a value without a name states by its unit."""
    if time := TRAILING_TIME.search(text):
        value, unit = (part for part in time.groups() if part)
        return {"step_time_ms" if unit == "ms" else "step_time_s": value}
    found = PACE.search(text)
    pace = number(found[1] or found[2]) if found else None
    return {"step_time_s": 1 / pace} if pace else {}
