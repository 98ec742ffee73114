import re

import pytest

from diagnose.model.report import Culprit
from diagnose.parsers import FAMILIES
from diagnose.render import markdown, text
from diagnose.render.sentences import translated

HOSTILE = "\x1b[2J\x1b]0;title\x07 [bold red]boo[/bold red] \u202eevil\u2066 \x9b31m \x00 a\tb\r"


@pytest.mark.parametrize(
    "name", ["one_root", "two_roots", "symptoms_only", "healthy", "no_evidence"]
)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_golden(name, lang, request, golden):
    golden(f"{name}.{lang}.txt", text.render(request.getfixturevalue(name), lang=lang))


def test_golden_of_all_that_is_known(one_root, golden):
    golden("one_root.verbose.txt", text.render(one_root, verbose=True))


def test_the_order_of_a_report(one_root):
    drawn = text.render(one_root)
    parts = [
        "Root cause: InfiniBand port of node-03 went down",
        "How sure: confirmed by evidence (0.94)",
        "Proof",
        "rank17.log:20411",
        "Explains",
        "What to do",
        "ssh node-03 ibstatus",
        "Checked",
        "Could not be checked",
        "Other things seen",
    ]
    places = [drawn.index(part) for part in parts]
    assert places == sorted(places)


def test_a_simple_case_fits_on_one_screen(one_root):
    one_root.findings[0].evidence = one_root.findings[0].evidence[:1]
    one_root.findings = one_root.findings[:2]
    one_root.inputs.skipped, one_root.inputs.truncated = [], []
    one_root.unknown_errors = []
    assert len(text.render(one_root).splitlines()) <= 40


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_only_commands_are_wider_than_the_window(one_root, width):
    wide = [line for line in text.render(one_root, width=width).splitlines() if len(line) > width]
    assert [line.split()[0] for line in wide] == (["sbatch"] if width < 100 else [])


def test_a_command_is_one_line_to_copy(one_root):
    lines = text.render(one_root, width=40).splitlines()
    assert (
        "sbatch --exclude=node-03 --nodes=7 --ntasks-per-node=8 --gres=gpu:8 --time=48:00:00 job.sh"
        in [line.strip() for line in lines]
    )


def test_a_command_of_several_lines_keeps_them(one_root):
    one_root.findings[0].playbook.steps[0].command = "cat <<END\n  x\nEND\n"
    lines = text.render(one_root).splitlines()
    start = lines.index("       cat <<END")
    assert lines[start + 1 : start + 3] == ["         x", "       END"]


@pytest.mark.parametrize("verbose", [True, False])
@pytest.mark.parametrize("color", [True, False])
def test_control_characters_and_markup_of_logs_do_nothing(one_root, verbose, color):
    finding = one_root.findings[0]
    finding.evidence[0].text = finding.evidence[0].file = HOSTILE
    finding.title = finding.explanation = HOSTILE
    finding.culprit = Culprit(hosts=[HOSTILE])
    finding.missing_evidence = [HOSTILE]
    finding.playbook.steps[0].text = finding.playbook.steps[0].command = HOSTILE
    finding.playbook.steps[0].expect = HOSTILE
    one_root.findings[1].title = HOSTILE
    one_root.stages["comms"].why = HOSTILE
    one_root.inputs.skipped[0]["file"] = HOSTILE
    one_root.unknown_errors[0].template = HOSTILE
    one_root.timeline[0].what = HOSTILE
    one_root.job.hosts = [HOSTILE]
    drawn = text.render(one_root, width=200, verbose=verbose, color=color)
    assert not set(drawn) & set("\x00\x07\r\t\x9b\u202e\u2066")
    assert "\x1b[2J" not in drawn and "\x1b]" not in drawn
    assert "[bold red]boo[/bold red]" in drawn
    assert "\\x1b[2J" in drawn


def test_a_log_line_is_cut_to_two_lines_and_shown_whole_on_demand(one_root):
    one_root.findings[0].evidence = one_root.findings[0].evidence[:1]
    one_root.findings[0].evidence[0].text = "start " + "word " * 100 + "end"
    short = text.render(one_root)
    assert " …" in short and "end\n" not in short
    assert "end\n" in text.render(one_root, verbose=True)


@pytest.mark.parametrize("line", ["", " ", "\n"])
def test_evidence_without_text(one_root, line):
    one_root.findings[0].evidence[0].text = line
    assert "  rank17.log:20411\n" in text.render(one_root)


def test_a_long_file_name_stands_above_its_text(one_root):
    one_root.findings[0].evidence[0].file = "logs/" + "deep/" * 10 + "rank17.log"
    lines = text.render(one_root).splitlines()
    place = next(number for number, line in enumerate(lines) if line.endswith("rank17.log:20411"))
    assert lines[place + 1].startswith("    node-03:341:412")


def test_what_is_left_out_is_counted(one_root):
    drawn = text.render(one_root)
    assert "2 more (--verbose shows all)" in drawn
    assert "--verbose" not in text.render(one_root, verbose=True)


def test_chinese_keeps_the_columns(one_root):
    from rich.cells import cell_len

    for line in text.render(one_root, lang="zh").splitlines():
        assert cell_len(line) <= 80 or line.strip().startswith("sbatch")


def test_a_suppressed_root_is_no_answer(one_root):
    one_root.findings[0].suppressed = {
        "reason": "fault tests",
        "until": "2027-03-01",
        "owner": "sre",
    }
    one_root.verdict = "healthy"
    drawn = text.render(one_root)
    assert "Root cause" not in drawn
    assert "suppressed: fault tests, until 2027-03-01, sre" in " ".join(drawn.split())


def test_symptoms_without_a_root_are_shown_with_their_proof(symptoms_only):
    symptoms_only.findings[0].role = "contributing"
    symptoms_only.findings[0].confidence = 0.2
    drawn = text.render(symptoms_only)
    assert "Cause unknown: 63 ranks timed out in ALLREDUCE" in drawn
    assert "How sure: weak (0.20)" in drawn
    assert "rank17.log:20411" in drawn
    assert "Other things seen" not in drawn


def test_a_cause_that_explains_itself_is_possible_however_weak(symptoms_only):
    finding = symptoms_only.findings[0]
    finding.role, finding.owner, finding.title = "contributing", "config", "node-03 runs with Tree"
    assert "Possible cause: node-03 runs with Tree" in text.render(symptoms_only)


def test_the_guilty_are_named_once(one_root):
    finding = one_root.findings[0]
    finding.title = "Rank 1-3 is slow"
    finding.culprit = Culprit(ranks=[1, 2, 3], hosts=["node-1", "node-11"])
    assert text.render(one_root).startswith("Root cause: Rank 1-3 is slow (node-1, node-11)\n")


def test_many_guilty_are_counted(one_root):
    one_root.findings[0].culprit = Culprit(files=[f"f{n}" for n in range(9)])
    assert "file f0, f1, f2, f3 +5" in text.render(one_root)


def test_nothing_at_all(no_evidence):
    no_evidence.stages = {}
    no_evidence.summary = ""
    assert text.render(no_evidence).startswith("No evidence\n")


def test_nothing_is_said_twice_where_nothing_was_found(healthy, no_evidence):
    healthy.summary = no_evidence.summary = "Nothing of note."
    assert "Nothing of note" not in text.render(healthy) + text.render(no_evidence)


def test_input_that_could_not_be_read_was_not_recognised_either(no_evidence):
    assert "No line of a known program" in text.render(no_evidence)
    no_evidence.inputs.lines = 0
    drawn = text.render(no_evidence)
    assert "Nothing could be read" in drawn
    assert "No line of a known program" not in drawn


@pytest.mark.parametrize(
    ("symptoms", "words"),
    [([6], "; symptom 6\n"), ([6, 7], "; symptoms 6, 7\n"), ([], "network\n")],
)
def test_symptoms_are_counted(one_root, symptoms, words):
    one_root.findings[0].symptoms = symptoms
    assert words in text.render(one_root, width=200)


def test_an_unknown_time_is_left_out(one_root):
    drawn = text.render(one_root, verbose=True)
    assert "  - 2026-01-02T12:06:41 port error (rank 17, node-03)\n" in drawn
    assert "  - job ended\n" in drawn


def test_a_text_that_failed_belongs_to_no_file(one_root):
    one_root.inputs.truncated = [{"file": None, "what": "our-rule: title: oh", "count": 1}]
    assert "  - not complete: our-rule: title: oh\n" in text.render(one_root)


def test_chinese_words_around_findings(one_root):
    one_root.stages["dataflow"].why = "12 rules had input, none fired"
    one_root.stages["resources"].why = "only consequences: a crash"
    one_root.stages["parameters"].why = "nothing to look at: no training log or step_time of steps"
    drawn = text.render(one_root, lang="zh", width=120)
    for words in (
        "12 条规则有输入，均未触发",
        "仅有后果：a crash",
        "没有可查看的内容，缺少：训练日志、step_time of steps",
        "负责方 网络",
        "进程总数 64",
        "根因：InfiniBand",
        "把握：证据确认",
    ):
        assert words in drawn
    assert not re.search(r"[\u4e00-\u9fff]:", drawn)
    assert not re.search(r"[\u4e00-\u9fff]: ", markdown.render(one_root, lang="zh"))


def test_all_that_a_stage_may_lack_has_chinese_words():
    lacking = [translated("zh", f"nothing to look at: no {name}") for name in FAMILIES.values()]
    assert [
        text for text in lacking if not re.search("缺少.*[\u4e00-\u9fff]|rendezvous", text)
    ] == []


def test_an_owner_of_a_rule_pack_keeps_its_name(one_root):
    one_root.findings[0].owner = "our-team"
    assert "负责方 our-team" in text.render(one_root, lang="zh", width=120)


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("1 rule had input, none fired", "1 条规则有输入，均未触发"),
        ("A is down; it explains 1 other finding.", "A is down；它解释了另外 1 项发现。"),
        (
            "A is down; it explains 3 other findings, and 1 more independent.",
            "A is down；它解释了另外 3 项发现，另有 1 个独立根因。",
        ),
        ("A is down, and 2 more independent.", "A is down；另有 2 个独立根因。"),
        ("A timed out; the logs do not show why.", "A timed out；日志未显示原因。"),
        (
            "A differs; the evidence is too weak to call it the cause.",
            "A differs；证据不足，不能认定为原因。",
        ),
        (r"Failed on \1 \g<0>; the logs do not show why.", r"Failed on \1 \g<0>；日志未显示原因。"),
        ("Something else.", "Something else."),
    ],
)
def test_sentences_of_a_report_in_chinese(sentence, words):
    assert translated("zh", sentence) == words
    assert translated("en", sentence) == sentence


def test_a_folder_as_a_whole_has_no_line(one_root):
    one_root.findings[0].evidence[0].line = 0
    drawn = text.render(one_root)
    assert "rank17.log " in drawn
    assert "rank17.log:0" not in drawn
