"""Runs at several sizes, utilisation, the share of communication, and sizes of the layout."""

import pytest

from diagnose.facts.case import build
from diagnose.facts.scaling.gpu_models import model_of
from diagnose.facts.settings import parallel_layout, stated_world_size
from diagnose.model.event import Nature

from .build import event, points, reading


def argument(name, value, **more):
    return event(
        "job.argument",
        Nature.SETTING,
        fields={"name": name, "value": value},
        fact=f"arg.{name}",
        **more,
    )


def run(size, rate, *, metric="tokens_per_s_gpu", folder=None, **more):
    """Return what a run of one file holds."""
    file = f"{folder or f'n{size}'}/log.txt"
    more.setdefault("host", folder or f"n{size}")
    return [
        argument("world_size", size, file=file),
        points(metric, [rate] * 12, file=file, **more),
    ]


def told(name, *records):
    return [one.fields for one in build(reading(*records)).events if one.name == name]


def scaling(*records):
    return told("train.scaling_efficiency", *records)


def test_the_efficiency_of_two_sizes():
    (found,) = scaling(*run(64, 3100.0), *run(8, 7100.0))
    assert found["efficiency"] == pytest.approx(3100 / 7100)
    assert (found["size"], found["base_size"], found["sizes"]) == (64, 8, [8, 64])


@pytest.mark.parametrize(
    ("rates", "shape"),
    [
        ({8: 7000, 16: 4500, 64: 4300}, "node"),
        ({8: 7000, 16: 6900, 32: 6800, 64: 3000}, "collapse"),
        ({8: 7000, 16: 6100, 32: 5300, 64: 4500}, "steady"),
    ],
)
def test_where_the_throughput_is_lost(rates, shape):
    (found,) = scaling(*(one for size, rate in rates.items() for one in run(size, float(rate))))
    assert found["shape"] == shape


@pytest.mark.parametrize(
    ("batches", "kind"), [((256, 2048), "weak"), ((1024, 1024), "strong"), ((256, 600), None)]
)
def test_weak_and_strong_scaling(batches, kind):
    records = []
    for size, batch in zip((8, 64), batches, strict=True):
        records += run(size, 7000.0)
        records.append(points("global_batch", [batch] * 12, file=f"n{size}/log.txt"))
    (found,) = scaling(*records)
    assert found["kind"] == kind


def test_the_rate_of_the_job_is_divided_by_its_size():
    (found,) = scaling(
        *run(8, 8000.0, metric="tokens_per_s"), *run(64, 32000.0, metric="tokens_per_s")
    )
    assert found["per_gpu"] == [1000, 500]


def test_step_times_need_a_batch():
    plain = [*run(8, 2.0, metric="step_time"), *run(64, 4.0, metric="step_time")]
    assert not scaling(*plain)
    batches = [argument("global_batch_size", 8 * n, file=f"n{n}/log.txt") for n in (8, 64)]
    (found,) = scaling(*plain, *batches)
    assert found["efficiency"] == 0.5


def test_the_same_seed_gives_the_same_losses_at_several_sizes():
    losses = [points("loss", [2.5, 2.4, 2.3, 2.2], file=f"n{size}/log.txt") for size in (8, 64)]
    (found,) = scaling(*run(64, 3100.0), *run(8, 7100.0), *losses)
    assert found["efficiency"] == pytest.approx(0.4366, abs=1e-4)


@pytest.mark.parametrize(
    "records",
    [
        [*run(64, 3100.0), *run(64, 7100.0, folder="again")],
        [*run(64, 3100.0), *run(56, 7100.0)],
        [*run(64, 3100.0), argument("world_size", 8, file="n8/log.txt")],
        [*run(64, 3100.0), *run(8, 7100.0, rank=12)],
        [
            *run(64, 3100.0),
            *run(8, 3150.0),
            *(points("loss", [2.5, 2.4, 2.3, 2.2], file=f"n{size}/log.txt") for size in (8, 64)),
        ],
        [points("tokens_per_s_gpu", [9.0] * 9, file=f"gpu{index}.log") for index in (1, 2, 4)],
    ],
    ids=[
        "one size",
        "fewer workers after a restart",
        "no throughput",
        "a rank of a larger job",
        "the same losses at the same pace",
        "logs of single GPUs",
    ],
)
def test_what_is_no_scaling_test(records):
    assert not scaling(*records)


def test_sizes_in_names_and_in_meshes():
    by_name = [
        points("tokens_per_s_gpu", [rate] * 9, file=f"run-{size}gpus.log")
        for size, rate in ((8, 7000.0), (64, 3500.0))
    ]
    by_mesh = [
        one
        for size, rate in ((8, 7000.0), (64, 3500.0))
        for one in (
            argument("data_parallel_shard_size", size // 4, file=f"m{size}.log"),
            argument("tensor_model_parallel_size", 4, file=f"m{size}.log", line=2),
            points("tokens_per_s_gpu", [rate] * 9, file=f"m{size}.log"),
        )
    ]
    for records in (by_name, by_mesh):
        (found,) = scaling(*records)
        assert (found["sizes"], found["efficiency"]) == ([8, 64], 0.5)


def test_the_largest_run_is_the_job():
    case = build(
        reading(
            *run(64, 3100.0),
            *run(8, 7100.0),
            argument("tensor_model_parallel_size", 8, file="n8/log.txt"),
            argument("tensor_model_parallel_size", 4, file="n64/log.txt"),
            event("dataloader.killed", file="n8/log.txt"),
        )
    )
    assert case.job.report.world_size == 64
    assert case.job.report.parallel["tp"] == 4
    assert [one.file for one in case.series("tokens_per_s_gpu")] == ["n64/log.txt"]
    assert case.job.report.hosts == []
    assert case.named("dataloader.killed"), "errors of the smaller runs are still told"


def test_a_table_of_sizes():
    def row(line, size, rate):
        fields = {"size": size, "unit": "nodes", "metric": "tokens_per_s", "per_gpu": rate}
        return event("scaling.point", Nature.MEASUREMENT, file="t.csv", line=line, fields=fields)

    (found,) = scaling(row(2, 1, 900.0), row(3, 2, 600.0), row(4, 4, 560.0))
    assert found["efficiency"] == pytest.approx(560 / 900)
    assert (found["shape"], found["unit"]) == ("node", "nodes")


def gpu(name):
    return event("nvidia_smi.gpu", Nature.MEASUREMENT, fields={"name": name}, file="smi.txt")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA A100-SXM4-80GB", "A100"),
        ("NVIDIA GB200", "GB200"),
        ("NVIDIA B200", "B200"),
        ("NVIDIA GH200 480GB", "GH200"),
        ("Tesla V100-SXM2-32GB", "V100"),
        ("AMD Instinct MI300X", "MI300X"),
        ("NVIDIA H20", "H20"),
        ("NVIDIA A10G", None),
        ("NVIDIA GeForce RTX 4090", None),
    ],
)
def test_gpus_by_the_names_drivers_print(name, kind):
    found = model_of([gpu(name)])
    assert (found and found.name) == kind


def utilisation(*records):
    found = told("train.mfu", *records)
    return found[0] if found else None


H100 = gpu("NVIDIA H100 80GB HBM3")


def test_the_stated_rate_against_the_peak():
    found = utilisation(H100, points("tflops", [395.6] * 12), points("mfu", [0.95] * 12))
    assert (found["source"], found["stated"]) == ("rate", pytest.approx(0.95))
    assert found["mfu"] == pytest.approx(0.4)
    assert found["ceiling"] == pytest.approx(795 / 989)


def test_fp8_has_a_peak_of_its_own():
    found = utilisation(H100, argument("fp8", "hybrid"), points("tflops", [395.8] * 12))
    assert found["mfu"] == pytest.approx(0.2)


def test_the_utilisation_from_tokens_and_shape():
    shape = {"num_layers": 32, "hidden_size": 4096, "seq_length": 4096, "padded_vocab_size": 32000}
    arguments = [argument(name, value, line=i) for i, (name, value) in enumerate(shape.items(), 1)]
    found = utilisation(H100, *arguments, points("tokens_per_s_gpu", [9000.0] * 12))
    operations = 6 * (12 * 32 * 4096**2 + 32000 * 4096) + 12 * 32 * 4096 * 4096 * 0.5
    assert found["source"] == "shape"
    assert found["mfu"] == pytest.approx(9000 * operations / 989e12)


def test_no_utilisation_without_a_peak_or_a_statement():
    assert utilisation(points("tflops", [395.6] * 12)) is None
    assert (
        utilisation(points("tflops", [395.6] * 12), points("mfu", [0.4] * 12))["source"] == "stated"
    )


def test_communication_over_compute():
    case = build(
        reading(
            points("compute_time", [2.0, 2.0], lines=[3, 5]),
            points("comm_time", [1.5, 1.0], lines=[3, 5]),
        )
    )
    (ratio,) = case.series("comm_ratio")
    assert list(ratio.values) == [0.75, 0.5]


def test_the_shortest_communication_over_ranks_holds_no_wait():
    case = build(
        reading(
            points("compute_time", [2.0]),
            points("comm_time", [1.5]),
            points("comm_time_min", [0.2]),
        )
    )
    assert list(case.series("comm_ratio")[0].values) == [0.1]


def test_a_tensor_parallel_group_over_the_nodes_where_its_ranks_are():
    size = argument("tensor_model_parallel_size", 4, file="args.log")

    def nodes(per_host):
        ranks = [
            event(
                "x.said", Nature.PROGRESS, rank=rank, host=f"node-{rank // per_host}", line=rank + 1
            )
            for rank in range(8)
        ]
        return told("train.tensor_parallel", size, *ranks)[0]["nodes"]

    assert (nodes(4), nodes(2)) == (1, 2)


@pytest.mark.parametrize(("rows", "nodes"), [(1, None), (4, 2)])
def test_one_row_of_a_table_of_gpus_is_not_the_node(rows, nodes):
    size = argument("tensor_model_parallel_size", 8, file="args.log")
    cards = [
        event("nvidia_smi.gpu", Nature.MEASUREMENT, fields={"listed": rows}, line=line + 1)
        for line in range(rows)
    ]
    (found,) = told("train.tensor_parallel", size, *cards)
    assert found["nodes"] == nodes


@pytest.mark.parametrize(
    ("arguments", "layout"),
    [
        (
            {"world_size": 64, "tensor_model_parallel_size": 4, "pipeline_model_parallel_size": 2},
            {"dp": 8},
        ),
        ({"data_parallel_shard_size": 8, "data_parallel_replicate_size": 2}, {"dp": 16}),
        ({"context_parallel_size": 2, "expert_model_parallel_size": 8}, {"cp": 2, "ep": 8}),
        ({"micro_batches": 32}, {"micro_batches": 32}),
        ({"world_size": 64}, {"dp": None}),
    ],
)
def test_the_layout_from_printed_arguments(arguments, layout):
    found = parallel_layout(arguments)
    assert {key: found[key] for key in layout} == layout


def test_an_interleaved_pipeline_by_its_stages():
    records = [
        argument(name, value, line=line)
        for line, (name, value) in enumerate(
            {"pipeline_model_parallel_size": 4, "micro_batches": 8, "pipeline_stages": 8}.items(), 1
        )
    ]
    (found,) = told("train.pipeline_bubble", *records)
    assert (found["chunks"], found["share"]) == (2, pytest.approx(3 / 19))


def test_the_world_is_the_product_of_a_printed_mesh_where_it_is_not_stated():
    mesh = {"data_parallel_shard_size": 8, "tensor_model_parallel_size": 8}
    assert stated_world_size([], mesh) == 64
    assert stated_world_size([], {**mesh, "world_size": 128}) == 128
    assert stated_world_size([], {"tensor_model_parallel_size": 8}) is None
