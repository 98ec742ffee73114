import pytest

from diagnose.facts.case import build
from diagnose.model.event import Nature
from diagnose.model.reading import SourceSummary

from .build import event, fact, init, points, reading


def world(hosts=2, local=2, **more):
    """Init lines of every rank, PCI addresses 0000:1b:00.0 and up on each host."""
    return [
        init(
            host * local + gpu,
            hosts * local,
            line=1 + host * local + gpu,
            host=f"node-0{host + 1}",
            pid=100 + gpu,
            gpu=f"0000:{gpu + 1}b:00.0",
            cuda_dev=gpu,
            nvml_dev=gpu,
            **more,
        )
        for host in range(hosts)
        for gpu in range(local)
    ]


def test_nothing_known_is_all_null():
    report = build(reading(event())).job.report
    assert report.world_size is None
    assert report.ranks_seen == 0
    assert (report.ranks_missing, report.hosts, report.placement) == ([], [], [])
    assert set(report.versions.values()) == set(report.parallel.values()) == {None}
    assert (report.framework, report.start, report.last_progress, report.attempts) == (
        None,
        None,
        None,
        1,
    )


def test_a_list_of_all_nodes_of_a_cluster_names_no_hosts_of_the_job():
    listed = [event("slurm.node_state", host=f"node-{number}") for number in range(40, 60)]
    job = build(reading(*world(), *listed)).job
    assert job.hosts == ["node-01", "node-02"]


def test_init_lines_place_the_ranks():
    job = build(reading(*world())).job
    assert job.report.world_size == 4
    assert job.hosts == ["node-01", "node-02"]
    assert job.host_of(3) == "node-02"
    assert job.gpu_of(3) == "0000:2b:00.0"
    assert job.ranks_on("node-02") == [2, 3]
    assert job.rank_of_gpu("node-02", "00000000:2B:00.0") == 3
    assert job.rank_of_gpu("node-02", "1") == 3
    assert job.rank_of_gpu(None, "1") is None
    assert job.rank_of_gpu("node-09", "1") is None
    assert job.ranks_of_group("0xaa") == [0, 1, 2, 3]
    assert job.host_of(None) is None


def test_number_in_a_smaller_communicator_is_joined_through_the_process():
    tensor = [
        init(1, 2, line=20, host="node-02", pid=101, communicator="0xbb"),
        init(0, 2, line=21, host="node-02", pid=100, communicator="0xbb"),
    ]
    failed = event(line=30, host="node-02", pid=101)
    case = build(reading(*world(), *tensor, failed))
    assert case.job.ranks_of_group("0xbb") == [2, 3]
    assert failed.rank == 3
    assert tensor[0].rank == 3


def test_two_communicators_of_one_size_are_not_the_world():
    first = [init(i, 2, host="node-01", pid=100 + i, communicator="0xaa") for i in range(2)]
    second = [init(i, 2, host="node-02", pid=100 + i, communicator="0xbb") for i in range(2)]
    job = build(reading(*first, *second)).job
    assert job.report.world_size is None
    assert job.report.placement == []


def test_number_is_not_global_where_a_larger_world_is_stated():
    stated = fact("arg.world_size", 64, fields={"name": "world_size"})
    job = build(reading(stated, *world())).job
    assert job.report.world_size == 64
    assert job.placements == {}


def test_printed_rank_wins_over_the_number_in_a_communicator():
    lines = [init(i, 4, host="node-01", pid=100 + i, rank=8 + i) for i in range(4)]
    case = build(reading(*lines))
    assert case.job.ranks_on("node-01") == [8, 9, 10, 11]
    assert case.job.report.world_size is None
    assert case.job.ranks_of_group("0xaa") == [8, 9, 10, 11]


def test_missing_ranks_are_those_of_a_known_world_without_logs():
    sources = [SourceSummary(name=f"rank{i}.log", rank=i) for i in (0, 1, 3)]
    stated = fact("arg.world_size", 4, file="rank0.log", fields={"name": "world_size"})
    job = build(reading(stated, sources=sources)).job
    assert job.report.ranks_missing == [2]
    assert job.report.ranks_seen == 3


def test_highest_rank_is_no_world_size():
    sources = [SourceSummary(name=f"rank{i}.log", rank=i) for i in (0, 1, 3)]
    report = build(reading(sources=sources)).job.report
    assert report.world_size is None
    assert report.ranks_missing == []


def test_stated_size_below_a_rank_seen_is_not_believed():
    stated = fact("arg.world_size", 4, fields={"name": "world_size"})
    assert build(reading(stated, event(rank=7))).job.report.world_size is None


def test_nodes_times_processes_is_the_world():
    arguments = [
        fact("arg.nnodes", "2", fields={"name": "nnodes"}),
        fact("arg.nproc_per_node", 8, fields={"name": "nproc_per_node"}),
    ]
    assert build(reading(*arguments)).job.report.world_size == 16


@pytest.mark.parametrize("size", [10**15, "9" * 5000, "²", -1, 0, None, True])
def test_number_that_is_no_world_size(size):
    stated = fact("arg.world_size", size, fields={"name": "world_size"})
    assert build(reading(stated, init(0, 10**15), event(rank=0))).job.report.world_size is None


def test_gpu_that_is_no_address_has_no_rank():
    assert build(reading(*world())).job.rank_of_gpu("node-01", "MIG:x:y") is None


def row(index, gpu, **more):
    fields = {"index": index}
    return event(
        "nvidia_smi.gpu", Nature.MEASUREMENT, host="node-01", gpu=gpu, fields=fields, **more
    )


def workers(count):
    return [event(rank=i, host="node-01", local_rank=i, line=i + 1) for i in range(count)]


def test_the_table_of_nvidia_smi_joins_an_address_to_a_rank():
    table = [row(0, "0000:1b:00.0", line=8), row(1, "0000:5d:00.0", line=9)]
    job = build(reading(*workers(2), *table)).job
    assert job.rank_of_gpu("node-01", "0000:5D:00") == 1
    assert job.rank_of_gpu("node-02", "0000:5d:00.0") is None


def test_a_counted_gpu_gets_the_address_that_the_table_gives_it():
    table = [row(0, "0000:1b:00.0", line=8), row(1, "0000:5d:00.0", line=9)]
    known = event("dcgm.finding", host="node-01", gpu="1", line=10)
    other = event("dcgm.finding", host="node-02", gpu="1", line=11)
    build(reading(*table, known, other))
    assert (known.gpu, other.gpu) == ("0000:5d:00.0", "1")


def test_a_counted_gpu_gets_the_address_that_nccl_gives_it():
    known = event("dcgm.finding", host="node-02", gpu="1", line=10)
    build(reading(*world(), known))
    assert known.gpu == "0000:2b:00.0"


def test_a_process_id_of_the_host_is_no_rank_of_another_gpu():
    same = event("kernel.xid", host="node-01", pid=101, gpu="0000:2b:00.0", line=10)
    other = event("kernel.xid", host="node-01", pid=101, gpu="0000:9a:00.0", line=11)
    build(reading(*world(), same, other))
    assert (same.rank, other.rank) == (1, None)


def test_local_ranks_are_no_indexes_where_the_job_does_not_use_all_gpus():
    table = [row(0, "0000:1b:00.0", line=8), row(1, "0000:5d:00.0", line=9)]
    job = build(reading(*workers(1), *table)).job
    assert job.rank_of_gpu("node-01", "0000:1b:00.0") is None


def test_a_rank_that_only_the_launcher_names_has_no_logs():
    failed = event("torchrun.worker_failed", rank=3, host="node-01", local_rank=3)
    job = build(
        reading(fact("arg.world_size", 4, fields={"name": "world_size"}), event(rank=0), failed)
    ).job
    assert job.ranks == {0, 3}
    assert job.ranks_with_logs == {0}
    assert job.report.ranks_missing == [1, 2, 3]
    assert job.host_of(3) == "node-01"


def test_address_becomes_the_name_of_its_host():
    bound = event(
        "nccl.bootstrap_interface",
        Nature.SETTING,
        host="node-07",
        fields={"address": "10.0.0.7<0>"},
    )
    failed = event(line=2, host="10.0.0.7")
    job = build(reading(bound, failed)).job
    assert failed.host == "node-07"
    assert job.host_of_address("10.0.0.7") == "node-07"
    assert job.hosts == ["node-07"]


def test_address_of_two_hosts_names_nobody():
    bound = [
        event(
            "nccl.bootstrap_interface", Nature.SETTING, host=host, fields={"address": "172.17.0.1"}
        )
        for host in ("node-07", "node-08")
    ]
    assert build(reading(*bound)).job.host_of_address("172.17.0.1") is None


def test_printed_rank_and_host_stay():
    sources = [SourceSummary(name="a.log", rank=5, host="node-05")]
    printed, bare = event(rank=1, host="node-01"), event(line=2)
    build(reading(printed, bare, sources=sources))
    assert (printed.rank, printed.host) == (1, "node-01")
    assert (bare.rank, bare.host) == (5, "node-05")


def test_processes_are_joined_where_only_the_file_names_the_host():
    sources = [SourceSummary(name="node-01.log", host="node-01")]
    lines = [init(i, 2, line=1 + i, file="node-01.log", pid=100 + i) for i in range(2)]
    failed = event(line=9, file="node-01.log", pid=101)
    job = build(reading(*lines, failed, sources=sources)).job
    assert failed.rank == 1
    assert job.host_of(1) == "node-01"


def test_one_file_a_process_belongs_to_its_rank():
    lines = [
        init(rank, 2, file=f"{name}.log", host="node-01", pid=pid)
        for rank, name, pid in ((0, "x", 100), (1, "y", 101))
    ]
    failed = event(line=9, file="y.log")
    loss = points("loss", [3.0, 2.0], file="x.log")
    build(reading(*lines, failed, loss))
    assert (failed.rank, failed.host) == (1, "node-01")
    assert (loss.rank, loss.host) == (0, "node-01")


def test_a_console_with_the_init_of_one_rank_belongs_to_nobody():
    failed = event(line=9)
    build(reading(init(0, 2, host="node-01", pid=100), failed))
    assert failed.rank is None


@pytest.mark.parametrize(
    ("group", "others", "world_size", "rank"),
    [
        ("default_pg", [], None, 1),
        (None, [], None, 1),
        ("0", ["3"], None, 1),
        ("3", [], None, 1),
        ("3", ["4"], None, None),
        ("3", [], 8, None),
        ("3", [], 2, 1),
        ("default_pg", [], 1, None),
    ],
)
def test_number_in_a_process_group(group, others, world_size, rank):
    one = event(communicator=group, fields={"pg_rank": 1})
    more = [event(line=9, communicator=name, fields={"pg_rank": 0}) for name in others]
    stated = (
        [fact("arg.world_size", world_size, fields={"name": "world_size"})] if world_size else []
    )
    build(reading(one, *more, *stated))
    assert one.rank == rank


def test_a_group_that_a_prefix_contradicts_numbers_nobody():
    known = event(rank=9, communicator="0", fields={"pg_rank": 1})
    one = event(line=2, communicator="0", fields={"pg_rank": 0})
    build(reading(known, one))
    assert one.rank is None


def test_one_number_on_two_hosts_is_no_global_rank():
    lines = [
        event(line=1 + i, host=host, rank=1, fields={"pg_rank": 1})
        for i, host in enumerate(("node-01", "node-02"))
    ]
    assert build(reading(*lines)).job.ranks == set()
    assert [one.rank for one in lines] == [None, None]


def test_a_prefix_states_the_rank_whatever_the_group_says():
    lines = [
        event(line=1, host=host, rank=rank, fields={"pg_rank": 1})
        for rank, host in ((1, "node-01"), (9, "node-02"))
    ]
    lines[0].text = "[rank1]:[E ProcessGroupNCCL.cpp:456] [Rank 1] Watchdog caught collective"
    build(reading(*lines))
    assert [one.rank for one in lines] == [1, 9]


def test_torchrun_states_which_ranks_a_host_has():
    result = event(
        "torchrun.placement",
        Nature.SETTING,
        host="node-02",
        fields={"global_ranks": [4, 5], "local_ranks": [0, 1], "group_world_size": 2},
    )
    failed = event("torchrun.process_failed", line=9, host="node-02", local_rank=1)
    job = build(reading(result, failed)).job
    assert job.ranks_on("node-02") == [4, 5]
    assert failed.rank == 5
    assert job.ranks_with_logs == set()


def test_local_rank_on_a_known_host():
    failed = event(host="node-02", local_rank=1)
    lines = world()
    lines[3].local_rank = 1
    build(reading(*lines, failed))
    assert failed.rank == 3


def test_the_world_communicator_states_local_ranks():
    inits = world()
    lines = inits + [
        event(
            "nccl.comm_topology",
            Nature.SETTING,
            host=line.host,
            pid=line.pid,
            fields={"nranks": 4, "comm_rank": number, "comm_local_rank": number % 2},
        )
        for number, line in enumerate(inits)
    ]
    failed = event("torchrun.process_failed", host="node-02", local_rank=1)
    job = build(reading(*lines, failed)).job
    assert [one.local_rank for one in job.report.placement] == [0, 1, 0, 1]
    assert failed.rank == 3


def test_versions_layout_and_adapters():
    case = build(
        reading(
            *world(),
            fact("nccl.version", "2.21.5", fields={"cuda": "12.4"}),
            fact("torch.version", "2.6.0"),
            fact("job.framework", "megatron"),
            fact(
                "arg.tensor_model_parallel_size", 2, fields={"name": "tensor_model_parallel_size"}
            ),
            fact("arg.data_parallel_size", 2, fields={"name": "data_parallel_size"}),
            fact("arg.global_batch_size", 64, fields={"name": "global_batch_size"}),
            fact("arg.micro_batch_size", 4, fields={"name": "micro_batch_size"}),
            event(
                "nccl.ib.devices",
                Nature.SETTING,
                host="node-01",
                fields={"hcas": ["mlx5_0", "mlx5_1"]},
            ),
        )
    )
    report = case.job.report
    assert report.versions == {"nccl": "2.21.5", "torch": "2.6.0", "cuda": "12.4", "driver": None}
    assert report.parallel == {
        "tp": 2, "pp": None, "dp": 2, "cp": None, "ep": None, "micro_batches": 8,
    }  # fmt: skip
    assert report.marks == {"global_batch_size": "64", "micro_batch_size": "4"}
    assert case.job.framework == "megatron"
    assert case.job.version("torch") == "2.6.0"
    assert report.placement[0].nics == ["mlx5_0", "mlx5_1"]
    assert report.placement[3].nics == []


def test_a_restart_on_another_host_moves_the_rank():
    first = [init(i, 2, line=1 + i, host="node-01", pid=100 + i) for i in range(2)]
    again = event("torchrun.restart", Nature.EFFECT, line=10)
    second = [
        init(i, 2, line=20 + i, host="node-02", pid=200 + i, communicator="0xcc") for i in range(2)
    ]
    job = build(reading(*first, again, *second)).job
    assert job.report.world_size == 2
    assert job.host_of(0) == "node-02"
    assert job.report.attempts == 2


def pod_line(name, host, **more):
    made = event(name, Nature.SETTING, host=host, **more)
    made.text = f"[pod/trainer-0/pytorch] {name}"
    return made


def test_a_pod_is_the_machine_that_its_program_prints():
    warned = pod_line("nccl.warn", "n3", line=1)
    raised = pod_line("python.error_line", "trainer-0", line=2)
    assert build(reading(warned, raised)).job.hosts == ["n3"]
    assert raised.host == "n3"


def test_a_file_named_after_a_pod_is_the_machine_that_its_program_prints():
    warned, raised = event("nccl.warn", host="n3"), event("python.error_line", line=2)
    source = SourceSummary(name="a.log", host="trainer-0")
    assert build(reading(warned, raised, sources=[source])).job.hosts == ["n3"]
    assert raised.host == "n3"


def test_a_line_of_nccl_without_its_prefix_states_no_host():
    version, warned = (
        pod_line("nccl.version", "trainer-0"),
        pod_line("nccl.warn", "n3", line=2, pid=7),
    )
    assert build(reading(version, warned)).job.hosts == ["n3"]


def test_words_around_a_host_in_the_name_of_a_file_make_no_further_host():
    failed = event("torchrun.process_failed", file="a.log", line=2)
    warned = event("nccl.warn", host="node-07", file="b.log")
    source = SourceSummary(name="a.log", host="shepherd-node-07")
    assert build(reading(failed, warned, sources=[source])).job.hosts == ["node-07"]
    assert failed.host == "node-07"


def test_a_name_that_two_hosts_are_part_of_stays():
    warned = [event("nccl.warn", host=host, file="b.log") for host in ("node-07", "pod-2")]
    source = SourceSummary(name="a.log", host="pod-2-node-07")
    assert "pod-2-node-07" in build(reading(*warned, sources=[source])).job.hosts


@pytest.mark.parametrize("others", [[("nccl.warn", "n4")], [("nccl.warn", "trainer-0")]])
def test_a_name_of_several_machines_stays(others):
    events = [pod_line("nccl.warn", "n3"), pod_line("python.error_line", "trainer-0", line=2)]
    events += [pod_line(name, host, line=3, pid=7) for name, host in others]
    assert "trainer-0" in build(reading(*events)).job.hosts


def desync(file, host, rank=7, line=9):
    fields = {"state": "not-joined", "ranks": [rank], "pg_rank": rank}
    return event("c10d.desync_rank", file=file, host=host, line=line, rank=rank, fields=fields)


def test_a_rank_that_a_message_speaks_of_is_not_the_one_that_wrote_it():
    lines = [
        event(file=f"rank{rank}.log", line=5, host=f"node-0{rank // 2 + 1}", rank=rank)
        for rank in range(4)
    ]
    reports = [desync(one.file, one.host, rank=2) for one in lines]
    job = build(reading(*lines, *reports, sources=[
        SourceSummary(name=one.file, rank=one.rank, host=one.host, lines=9) for one in lines
    ])).job  # fmt: skip
    assert {one.rank for one in reports} == {2}
    assert {one.host for one in reports} == {"node-02"}
    assert job.host_of(2) == "node-02"


def test_a_rank_of_which_only_others_speak_has_no_log():
    lines = [event(file=f"rank{rank}.log", line=5, rank=rank) for rank in range(3)]
    job = build(reading(*lines, *(desync(one.file, "node-01", rank=3) for one in lines))).job
    assert 3 not in job.ranks_with_logs


def test_numbers_that_two_hosts_share_name_nobody_in_a_report_either():
    lines = [
        event(file=f"{host}.log", line=1 + number, host=host, fields={"pg_rank": number})
        for host in ("node-01", "node-02")
        for number in range(2)
    ]
    report = desync("node-01.log", "node-01", rank=1)
    build(reading(*lines, report))
    assert report.rank is None
