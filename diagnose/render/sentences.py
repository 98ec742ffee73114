"""Sentences that a report holds in English, for readers of Chinese.

A report is the same in every language, so that programs can compare reports; only what people read
is translated, sentence by sentence. One that is not in the table stays as it is.
"""

import re

from diagnose.render.words import Language

_CHINESE: tuple[tuple[str, str], ...] = (
    (r"(\d+) rules? had input, none fired", r"\1 条规则有输入，均未触发"),
    (r"only consequences: (.*)", r"仅有后果：\1"),
    (r"nothing to look at", "没有可查看的内容"),
    (r"Nothing that needs action was found in these logs\.", "这些日志中未发现需要处理的问题。"),
    (
        r"Nothing was recognised in this input, so it neither shows a fault nor clears one\.",
        "没有识别出任何内容，因此既不能说明有故障，也不能说明没有故障。",
    ),
    (r"The logs end in an error that no rule knows: (.*)", r"日志以没有规则认识的错误结束：\1"),
    (r"(.*); the logs do not show why\.", r"\1；日志未显示原因。"),
    (
        r"(.*); the evidence is too weak to call it the cause\.",
        r"\1；证据不足，不能认定为原因。",
    ),
    (
        r"(.*); it explains (\d+) other findings?, and (\d+) more independent\.",
        r"\1；它解释了另外 \2 项发现，另有 \3 个独立根因。",
    ),
    (r"(.*); it explains (\d+) other findings?\.", r"\1；它解释了另外 \2 项发现。"),
    (r"(.*), and (\d+) more independent\.", r"\1；另有 \2 个独立根因。"),
    (r"no such file or folder", "没有这样的文件或文件夹"),
    (r"binary", "二进制文件"),
)

_INPUTS = {
    "PyTorch distributed errors": "PyTorch 分布式错误",
    "checkpoint messages": "检查点消息",
    "collective timeouts and dumps": "集合通信超时与转储",
    "CUDA errors": "CUDA 错误",
    "data loader messages": "数据加载器消息",
    "DCGM output": "DCGM 输出",
    "benchmarks of communication": "通信基准测试",
    "durations that the program states": "程序给出的耗时",
    "stack dumps": "线程栈转储",
    "boots, shutdowns and notices of hosts": "主机启动、关机与通知",
    "fabric manager log": "fabric manager 日志",
    "flight-recorder dumps": "flight recorder 转储",
    "Gloo errors": "Gloo 错误",
    "AMD GPU runtime errors": "AMD GPU 运行时错误",
    "ibstatus": "ibstatus 输出",
    "serving log": "推理服务日志",
    "printed settings": "打印的设置",
    "Kubernetes events": "Kubernetes 事件",
    "kernel log": "内核日志",
    "launcher output": "启动器输出",
    "NCCL log": "NCCL 日志",
    "nccl-tests tables": "nccl-tests 结果表",
    "nvidia-smi output": "nvidia-smi 输出",
    "nvidia-smi errors": "nvidia-smi 错误",
    "limits and disk errors": "系统限制与磁盘错误",
    "package lists": "软件包列表",
    "lspci output": "lspci 输出",
    "Python exceptions": "Python 异常",
    "labels of the run": "运行的标记",
    "rendezvous messages": "rendezvous 消息",
    "shared-memory errors": "共享内存错误",
    "Slurm messages": "Slurm 消息",
    "PyTorch memory errors": "PyTorch 内存错误",
    "torchrun output": "torchrun 输出",
    "training log": "训练日志",
}
"""What a stage may lack, by the words of ``diagnose.parsers.FAMILIES``."""

_LACKING = re.compile(r"nothing to look at: no (.*)", re.DOTALL)
_COMPILED = tuple((re.compile(pattern, re.DOTALL), words) for pattern, words in _CHINESE)


def translated(lang: Language, sentence: str) -> str:
    """Return a sentence of a report in the language of the reader.

    >>> translated("zh", "3 rules had input, none fired")
    '3 条规则有输入，均未触发'

    Args:
        lang: Of the reader.
        sentence: As the report has it.
    """
    if lang == "zh":
        if lacking := _LACKING.fullmatch(sentence):
            names = (_INPUTS.get(name, name) for name in lacking[1].split(" or "))
            return f"没有可查看的内容，缺少：{'、'.join(names)}"
        for pattern, words in _COMPILED:
            if found := pattern.fullmatch(sentence):
                return found.expand(words)
    return sentence
