"""The words around a report, in English and Chinese."""

from typing import Literal

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")

_WORDS: dict[str, tuple[str, str]] = {
    # verdicts
    "root-cause": ("Root cause", "根因"),
    "root-cause-of": ("Root cause {number} of {total}", "根因 {number}/{total}"),
    "root-causes": ("{total} root causes", "{total} 个根因"),
    "possible-cause": ("Possible cause", "可能的原因"),
    "unexplained": ("Cause unknown", "原因未知"),
    "symptoms-only": ("No root cause found, symptoms only", "未找到根因，仅有症状"),
    "healthy": ("Nothing that needs action was found", "未发现需要处理的问题"),
    "no-evidence": ("No evidence", "没有证据"),
    "healthy-note": (
        "This covers only what the logs below show; stages without evidence were not judged.",
        "仅就日志所示而言；没有证据的阶段未作判断。",
    ),
    "no-evidence-note": (
        "No line of a known program was recognised, so nothing was judged. "
        "`diagnose parsers list` shows what is recognised.",
        "没有识别出任何已知程序的日志行，因此未作判断。`diagnose parsers list` 列出可识别的内容。",
    ),
    "no-input-note": (
        "Nothing could be read, so nothing was judged.",
        "没有可读取的内容，因此未作判断。",
    ),
    # how words are put together
    "label": ("{name}: ", "{name}："),
    "clauses": ("; ", "；"),
    # how sure
    "how-sure": ("How sure", "把握"),
    "confirmed": ("confirmed by evidence ({confidence:.2f})", "证据确认（{confidence:.2f}）"),
    "likely": ("likely ({confidence:.2f})", "很可能（{confidence:.2f}）"),
    "possible": ("possible ({confidence:.2f})", "有可能（{confidence:.2f}）"),
    "weak": ("weak ({confidence:.2f})", "证据较弱（{confidence:.2f}）"),
    "kind": (
        "{level}, {stage}, cause {cause}, owner {owner}",
        "{level}，{stage}，原因 {cause}，负责方 {owner}",
    ),
    "symptom": ("symptom {numbers}", "症状 {numbers}"),
    "symptoms": ("symptoms {numbers}", "症状 {numbers}"),
    # owners that ship; a rule pack may have others
    "owner-config": ("config", "配置"),
    "owner-hardware": ("hardware", "硬件"),
    "owner-network": ("network", "网络"),
    "owner-platform": ("platform", "平台"),
    "owner-software": ("software", "软件"),
    "owner-storage": ("storage", "存储"),
    "owner-unknown": ("unknown", "未知"),
    "owner-user-code": ("user-code", "用户代码"),
    # sections
    "proof": ("Proof", "证据"),
    "explains": ("Explains", "它解释了"),
    "alternatives": ("Also weighed", "也考虑过"),
    "todo": ("What to do", "处理步骤"),
    "checked": ("Checked", "已检查"),
    "unchecked": ("Could not be checked", "未能检查"),
    "others": ("Other things seen", "其他发现"),
    "unknown-errors": ("Errors that no rule knows", "没有规则认识的错误"),
    "timeline": ("Timeline", "时间线"),
    "job": ("Job", "作业"),
    # the baseline
    "baseline": ("Compared with {file}", "与 {file} 比较"),
    "column-test": ("test", "测试"),
    "column-expected": ("expected", "预期"),
    "column-measured": ("measured", "实测"),
    "column-ratio": ("ratio", "比值"),
    "column-judged": ("verdict", "结论"),
    "row-ok": ("ok", "正常"),
    "row-warning": ("warning", "警告"),
    "row-failure": ("failure", "不合格"),
    "row-not-measured": ("not measured", "未测量"),
    "row-not-comparable": ("not comparable", "不可比"),
    "row-question": (
        "{name}: question the expectation: {question}",
        "{name}：预期值本身可疑：{question}",
    ),
    "row-predicted": (
        "{name}: with {because} as measured it would be {value}, {share} of the miss; "
        "mend that first",
        "{name}：由{because}推得 {value}，占差距的 {share}；应先处理前者",
    ),
    "row-unmeasured": (
        "{name}: {reason}; to measure it: {command}",
        "{name}：{reason}；测量方法：{command}",
    ),
    "product": ("{factors} = {value}", "{factors} = {value}"),
    "list": (" and ", "、"),
    # who
    "ranks": ("rank {names}", "rank {names}"),
    "hosts": ("{names}", "{names}"),
    "gpus": ("GPU {names}", "GPU {names}"),
    "nics": ("NIC {names}", "网卡 {names}"),
    "files": ("file {names}", "文件 {names}"),
    # where the time of the run went
    "time": ("Time of the run", "运行时间"),
    "time-shares": (
        "goodput {goodput}, ETTR {ettr}, of {wall} that the logs show",
        "日志显示的 {wall} 中有效训练占 {goodput}，ETTR {ettr}",
    ),
    "time-part": ("{part} {time} ({share})", "{part} {time}（{share}）"),
    "productive": ("training", "训练"),
    "warm_up": ("start and warm-up", "启动与预热"),
    "lost_work": ("lost work", "丢失的工作"),
    "save": ("saving", "保存"),
    "evaluation": ("evaluation", "评估"),
    "stall": ("stalls and hangs", "停顿与挂起"),
    "restart": ("restarting", "重启"),
    "unknown-time": ("unknown", "未知"),
    # series behind a finding
    "curve-of": ("{metric} of {who}", "{who} 的 {metric}"),
    "curve-change": ("{before} -> {after}", "{before} -> {after}"),
    "curve-at": ("at step {step}", "在第 {step} 步"),
    "curve-range": ("{low} to {high}", "{low} 至 {high}"),
    "curve-steps": ("steps {low} to {high}", "第 {low} 至 {high} 步"),
    "curve-nan": ("x is not a number", "x 表示不是数值"),
    "commas": (", ", "，"),
    # steps
    "confirm": ("Confirm", "确认"),
    "fix": ("Fix", "修复"),
    "prevent": ("Prevent", "预防"),
    "not_if": ("Not this, if", "以下情况不适用"),
    "expect": ("expect: {text}", "预期：{text}"),
    "otherwise": ("otherwise: {text}", "否则：{text}"),
    "safe-change": ("safe change", "安全更改"),
    "disruptive": ("disruptive", "有中断"),
    "destructive": ("destructive", "有破坏性"),
    # stages
    "dataflow": ("dataflow", "数据流"),
    "comms": ("comms", "通信"),
    "resources": ("resources", "资源"),
    "parameters": ("parameters", "参数"),
    "clear": ("clear", "正常"),
    "fault": ("fault", "故障"),
    "suspect": ("suspect", "可疑"),
    "state-no-evidence": ("no evidence", "无证据"),
    "rules-checked": ("{count} checked", "检查 {count} 项"),
    # levels
    "info": ("info", "提示"),
    "low": ("low", "低"),
    "medium": ("medium", "中"),
    "high": ("high", "高"),
    "critical": ("critical", "严重"),
    # counts and leftovers
    "records": ("{title} ({count}x)", "{title}（{count} 次）"),
    "findings": (
        "{title} and {more} more of the kind ({count}x)",
        "{title} 等 {findings} 项（{count} 次）",
    ),
    "more": ("{count} more (--verbose shows all)", "另有 {count} 项（--verbose 显示全部）"),
    "suppressed": ("{title} (suppressed: {terms})", "{title}（已屏蔽：{terms}）"),
    "until": ("until {until}", "至 {until}"),
    "why-not": ("{cause} ({confidence:.2f}): {why_not}", "{cause}（{confidence:.2f}）：{why_not}"),
    "no-log": ("no log of rank {ranks}", "缺少 rank {ranks} 的日志"),
    "no-logs": ("no logs of ranks {ranks}", "缺少 rank {ranks} 的日志"),
    "skipped": ("{file} was not read: {reason}", "{file} 未读取：{reason}"),
    "truncated": ("{file} was cut: {what}", "{file} 被截断：{what}"),
    "failed": ("not complete: {what}", "不完整：{what}"),
    "unknown-error": ("{place} ({count}x): {template}", "{place}（{count} 次）：{template}"),
    "at-step": ("last progress: step {step}", "最后进展：第 {step} 步"),
    "at-time": ("last progress: {time}", "最后进展：{time}"),
    "at-step-time": ("last progress: step {step} at {time}", "最后进展：第 {step} 步，{time}"),
    "resume-from": ("newest complete checkpoint {path}", "最新的完整检查点 {path}"),
    "attempts": ("{count} attempts", "{count} 次尝试"),
    "world": ("world size {count}", "进程总数 {count}"),
    "on-hosts": ("hosts {names}", "主机 {names}"),
    "read": ("Read", "已读取"),
    "partial": ("Partial", "部分结果"),
    "partial-note": (
        "the reading was interrupted: {read} of {found} were read. What the rest holds may change "
        "this",
        "读取被中断：已读 {read}，共 {found}。其余内容可能改变结论",
    ),
    "partial-pipe": (
        "the reading was interrupted after {read}. What would have come may change this",
        "读取在 {read} 后被中断。后续内容可能改变结论",
    ),
    "inputs": ("files {files}, lines {lines}, {bytes}", "文件 {files}，行 {lines}，{bytes}"),
}


def phrase(lang: Language, key: str, **values: object) -> str:
    """Return the words for a key in a language, with values put in.

    Raises:
        KeyError: There are no words for the key.
    """
    return _WORDS[key][LANGUAGES.index(lang)].format(**values)


def owner(lang: Language, name: str) -> str:
    """Return the words for an owner; one that no words are known for keeps its name."""
    return phrase(lang, f"owner-{name}") if f"owner-{name}" in _WORDS else name
