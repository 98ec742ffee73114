"""When a training evaluates: beginnings and ends, so that what they take is not blamed on steps.

``train.eval_start`` and ``train.eval_end`` have ``step`` and ``lasted`` in seconds where the line states
them. Few programs print both; a line with the result is the end. Of lines that count batches of an
evaluation the first and the last are kept.

*Empty*: nothing was evaluated, or only bars without a name show it. *Cut off*: the end is missing.
"""

from collections.abc import Iterator

from diagnose.ingest.lazy import LazyPattern
from diagnose.model.event import Event, Line, Nature
from diagnose.parsers.base import BlockText, BulkParser, Convert, LineParser, Pattern, make_event
from diagnose.parsers.convert import milliseconds

START, END = "train.eval_start", "train.eval_end"

SCRIPTS = "fairseq cli/train.py, and common wording of training scripts"
METERS = "pytorch/vision references, pytorch/examples imagenet, timm validate"
TYPES: dict[str, Convert] = {"step": int, "done": int, "total": int, "lasted": float}


def _seconds(text: str) -> float:
    """Return seconds from ``0:01:02`` or ``0:01:02.5``."""
    hours, minutes, seconds = text.split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)


def _pattern(
    event: str, source: str, regex: str, sample: str, lasted: Convert = float, literal: str = ""
) -> Pattern:
    return Pattern(
        event=event,
        regex=regex,
        nature=Nature.PROGRESS,
        source=source,
        sample=sample,
        types={**TYPES, "lasted": lasted},
        literals=(literal,) if literal else (),
    )


PATTERNS = (
    _pattern(START, "Megatron-LM training/training.py", r"\bEvaluating on (?P<samples>\d+) samples", "Evaluating on 40960 samples"),
    _pattern(END, "Megatron-LM training/training.py", r"\bvalid(?:ation)?[^|]{0,40}? loss at iteration +(?P<step>\d+)",
             " validation loss at iteration 1000 | lm loss value: 2.610000E+00 | lm loss PPL: 1.360000E+01 | "),
    _pattern(END, "Megatron-LM core/timers.py", r"eval-time \.*: ?(?:\([\d.]+, (?P<lasted>[\d.]+)\)|(?P<only>[\d.]+)\s*$)",
             "    eval-time ......................................: (18200.10, 18211.90)", milliseconds, "eval-time"),
    _pattern(START, "NeMo callbacks/progress_printer.py, 2.x", r"\bValidation: iteration (?P<done>\d+)/(?P<total>\d+)", "Validation: iteration 1/32"),
    _pattern(END, "torchtitan components/metrics.py", r"\bvalidate step: +(?P<step>\d+)", "validate step: 500  loss:  2.1234  memory: 45.67GiB(57.70%)  tps: 7,130"),
    _pattern(START, "transformers trainer.py; PaddleNLP trainer.py", r"\*{5} Running (?:Evaluation|evaluation) \*{5}", "***** Running Evaluation *****"),
    _pattern(END, "transformers trainer.py, 4.x and 5.x; PaddleNLP trainer.py", r"""\beval_runtime['"]?: ['"]?(?P<lasted>[\d.]+)""",
             "{'eval_loss': 2.01, 'eval_runtime': 31.2, 'eval_samples_per_second': 12.8, 'epoch': 1.0}"),
    _pattern(END, "fairseq logging/progress_bar.py", r'\| valid \| .{0,900}?\b(?:valid_)?num_updates"?[:= ]{1,3}"?(?P<step>\d+)',
             '| INFO | valid | {"epoch": 1, "valid_loss": "6.1", "valid_num_updates": "3251"}', literal="| valid | "),
    _pattern(START, "Composer loggers/console_logger.py", r"\[Eval batch=(?P<done>\d+)/(?P<total>\d+)\]", "[Eval batch=1/40] Eval on eval data:"),
    _pattern(END, "verl trainer/ppo/ray_trainer.py", r"\bstep:(?P<step>\d+) - .*\btiming_s/testing:(?P<lasted>[\d.]+)",
             "step:12 - timing_s/gen:92.1 - timing_s/testing:33.1 - timing_s/step:160.2", literal="timing_s/testing:"),
    _pattern(END, "nanoGPT train.py", r"\bstep (?P<step>\d+): train loss \S+, val loss ", "step 250: train loss 3.1021, val loss 3.1532", literal=", val loss "),
    _pattern(END, "modded-nanogpt train_gpt.py", r"\bstep:(?P<step>\d+)/\d+ val_loss:", "step:125/5100 val_loss:4.6981 train_time:17833ms step_avg:155.07ms", literal=" val_loss:"),
    _pattern(START, "detectron2 evaluation/evaluator.py", r"\bStart inference on (?P<batches>\d+) batches", "[01/05 10:00:00 d2.evaluation.evaluator]: Start inference on 625 batches"),
    _pattern(END, "detectron2 evaluation/evaluator.py", r"\bTotal inference time: (?P<lasted>\d+:\d\d:\d\d(?:\.\d+)?)",
             "[01/05 10:01:02 d2.evaluation.evaluator]: Total inference time: 0:01:02.123456 (0.100000 s / iter per device, on 8 devices)", _seconds),
    _pattern(START, "mmengine hooks/logger_hook.py", r"\b(?:Epoch|Iter)\(val\) *(?:\[ *\d+\])?\[ *(?P<done>\d+)/ *(?P<total>\d+)\]",
             "2026/01/05 10:00:00 - mmengine - INFO - Epoch(val)  [1][200/200]    accuracy/top1: 71.2"),
    _pattern(START, METERS, r"\bTest: +\[ *(?P<done>\d+)/ *(?P<total>\d+)\]", "Test: [  0/196]\tTime  0.412 ( 0.437)\tLoss 4.1021e+00 (4.2310e+00)"),
    _pattern(END, METERS, r"\bTest: +Total time: (?P<lasted>\d+:\d\d:\d\d)", "Test:  Total time: 0:01:02 (0.3163 s / it)", _seconds),
    _pattern(END, METERS, r"^ *\* +(?:Prec|Acc)@1 [\d.]+", " * Acc@1 71.200 Acc@5 90.100"),
    _pattern(START, SCRIPTS, r"\b(?:[Ss]tart(?:ing)?|[Rr]unning|[Bb]egin(?:ning)?) (?:the )?(?:evaluation|validation)\b", "INFO: Starting evaluation at step 500"),
    _pattern(END, SCRIPTS, r"\b(?:[Ee]valuation|[Vv]alidation) (?:took|finished in|completed in|done in|time:) +(?P<lasted>[\d.]+) ?s(?:ec(?:ond)?s?)?\b", "Validation took 31.20 seconds"),
)  # fmt: skip


def _counted(event: Event, line: Line) -> Event | None:
    """Tell start and end by the count of batches, and drop those between."""
    if "only" in event.fields:
        event.fields["lasted"] = milliseconds(str(event.fields.pop("only")))
    done, total = event.fields.get("done"), event.fields.get("total")
    if not isinstance(done, int) or not isinstance(total, int) or done <= 1 < total:
        return event
    if done < total:
        return None
    event.name = END
    return event


BAR = LazyPattern(
    rb"((?:Validati|Evaluati)(?:on|ng)[^:\r\n|]{0,40}): *100%\|[^|\r\n]*\| *(\d+)/\2 \[([\d:]+)<"
)


def read_bars(block: BlockText) -> Iterator[Event]:
    """Read the ends of named bars (Lightning's and tqdm's); a bar drawn again at its end counts once."""
    before: tuple[bytes, ...] = ()
    for found in BAR.finditer(block.data):
        if found.groups() == before:
            continue
        before = found.groups()
        lasted = 0
        for part in found[3].split(b":"):
            lasted = lasted * 60 + int(part or b"0")
        line = block.line_at(found.start())
        yield make_event(END, Nature.PROGRESS, line, {"lasted": lasted})


PARSERS = (
    LineParser(
        name="evaluations",
        title="Beginnings and ends of evaluations, as the frameworks print them",
        patterns=PATTERNS,
        refine=_counted,
    ),
    BulkParser(
        name="evaluation-bars",
        title="Bars of evaluations at their end (Lightning, tqdm)",
        opens=("100%|",),
        read=read_bars,
        emits=(END,),
        sample="Validation DataLoader 0: 100%|##########| 10/10 [01:00<00:00,  0.16it/s]\n",
    ),
)
