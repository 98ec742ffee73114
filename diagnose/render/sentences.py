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
    # rows of a baseline that were not judged, and doubtful ones
    (r"the logs hold no (.*)", r"日志中没有 \1"),
    (r"it is for (.*); the logs do not say how many ran", r"适用于 \1；日志未说明运行了多少"),
    (r"it is for (.*); this run has (.*)", r"适用于 \1；本次运行为 \2"),
    (r"it is for (.*); the logs hold (.*)", r"适用于 \1；日志中为 \2"),
    (
        r"the baseline was made with (\S+) (.*); this run has (.*)",
        r"基线的 \1 为 \2；本次运行为 \3",
    ),
    (r"its result is not stated under 'measured'", "未在 'measured' 中给出结果"),
    (r"the test has no messages of (.*)", r"测试中没有 \1 的消息"),
    (
        r"it takes runs at two sizes, or (\S+) of this run and a row for fewer GPUs",
        r"需要两种规模的运行，或本次运行的 \1 以及更少 GPU 的一行",
    ),
    (
        r"of nodes with eight GPUs only those of (.*) reach that; state 'gpu:' in the row; "
        r"(.*) is what nodes of (.*) give when they are well \(without NVLS\)",
        r"八卡节点中只有 \1 能达到，请在该行写明 'gpu:'；\2 是 \3 节点正常时（未用 NVLS）的数值",
    ),
    (
        r"of nodes with eight GPUs only those of (.*) reach that; state 'gpu:' in the row",
        r"八卡节点中只有 \1 能达到，请在该行写明 'gpu:'",
    ),
    (
        r"8 (\S+) reach at most (.*); expect that, or look whether both figures are bus bandwidth; "
        r"(.*) is what nodes of (.*) give when they are well \(without NVLS\)",
        r"8 张 \1 最多达到 \2：请改为该值，或检查两个数是否都是总线带宽；"
        r"\3 是 \4 节点正常时（未用 NVLS）的数值",
    ),
    (
        r"8 (\S+) reach at most (.*); expect that, or look whether both figures are bus bandwidth",
        r"8 张 \1 最多达到 \2：请改为该值，或检查两个数是否都是总线带宽",
    ),
    (
        r"no eight GPUs are known to reach that; look whether it is a bus bandwidth in GB/s",
        "已知没有八卡节点能达到；请检查是否为以 GB/s 计的总线带宽",
    ),
    (r"no published run is above (.*)", r"已公开的运行均不超过 \1"),
    (r"no such file or folder", "没有这样的文件或文件夹"),
    (
        r"the server cannot be reached from this machine; see to its name, the network and a proxy "
        r"\(HTTPS_PROXY\), or copy the logs to a folder",
        "本机无法连接该服务器；请检查其名称、网络与代理（HTTPS_PROXY），或将日志复制到本地目录",
    ),
    (r"binary", "二进制文件"),
)

_INPUTS = {
    "baseline to compare with": "用于比较的基线",
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
    "interfaces, drivers and neighbours": "网络接口、驱动与邻居",
    "nvidia-smi output": "nvidia-smi 输出",
    "nvidia-smi errors": "nvidia-smi 错误",
    "limits and disk errors": "系统限制与磁盘错误",
    "package lists": "软件包列表",
    "lspci output": "lspci 输出",
    "Python exceptions": "Python 异常",
    "labels of the run": "运行的标记",
    "rendezvous messages": "rendezvous 消息",
    "traffic classes of RoCE": "RoCE 流量类别",
    "dates between outputs": "输出之间的日期",
    "health of Ceph": "Ceph 健康状态",
    "shared-memory errors": "共享内存错误",
    "Slurm messages": "Slurm 消息",
    "PyTorch memory errors": "PyTorch 内存错误",
    "torchrun output": "torchrun 输出",
    "training log": "训练日志",
    "ucx_info": "ucx_info 输出",
}
"""What a stage may lack, by the words of ``diagnose.parsers.FAMILIES``."""

_LACKING = re.compile(r"nothing to look at: no (.*)", re.DOTALL)


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
        for pattern, words in _CHINESE:
            if found := re.fullmatch(pattern, sentence, re.DOTALL):
                return found.expand(words)
    return sentence
