from communication import read

from diagnose.parsers import nvidia_smi_topo

HEALTHY = (
    "\tGPU0\tGPU1\tGPU2\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    "GPU0\t X \tNV18\tNV18\tPIX\tSYS\t0-47,96-143\t0\t\tN/A\n"
    "GPU1\tNV18\t X \tNV18\tSYS\tPXB\t48-95,144-191\t1\t\tN/A\n"
    "GPU2\tNV18\tNV18\t X \tSYS\tPIX\t48-95,144-191\t1\t\tN/A\n"
    "NIC0\tPIX\tSYS\tSYS\t X \tSYS\n"
    "\nNIC Legend:\n\n  NIC0: mlx5_0\n"
)


def found(text):
    return {event.fields["index"]: event.fields for event in read(nvidia_smi_topo, text)}


def test_links_and_nearest_adapter():
    gpus = found(HEALTHY)
    assert {one: gpus[one]["nvlinks"] for one in gpus} == {0: 18, 1: 18, 2: 18}
    assert [gpus[one]["nic_distance"] for one in (0, 1, 2)] == ["PIX", "PXB", "PIX"]
    assert all(not one["weak_peers"] and one["nic_steps_best"] == 0 for one in gpus.values())


def test_a_pair_that_lost_links():
    text = HEALTHY.replace("GPU0\t X \tNV18", "GPU0\t X \tSYS").replace(
        "GPU1\tNV18\t X ", "GPU1\tSYS\t X "
    )
    gpus = found(text)
    assert (gpus[0]["weak_peers"], gpus[1]["weak_peers"], gpus[2]["weak_peers"]) == ([1], [0], [])
    assert gpus[0]["nvlinks_usual"] == 18


def test_an_older_heading_names_the_adapter():
    text = (
        "\tGPU0\tGPU1\tmlx5_0\tCPU Affinity\nGPU0\t X \tPHB\tSYS\t0-15\nGPU1\tPHB\t X \tPIX\t0-15\n"
    )
    gpus = found(text)
    assert (gpus[0]["nic_distance"], gpus[0]["nic_steps"], gpus[0]["nic_steps_best"]) == (
        "SYS",
        4,
        0,
    )
    assert (gpus[0]["nvlinks"], gpus[0]["weak_peers"]) == (0, [])


def test_a_row_cut_off_is_left_out():
    assert set(found(HEALTHY.partition("GPU2\tNV18\tNV18\t X")[0] + "GPU2\tNV18")) == {0, 1}


def test_paths_by_the_names_of_the_legend():
    text = HEALTHY.replace("NIC0: mlx5_0\n", "NIC0: mlx5_4\n  NIC1: mlx5_5\n").replace(
        "\nNIC Legend",
        "\nLegend:\n\n  X    = Self\n  NV#  = Connection traversing NVLinks\n\nNIC Legend",
    )
    gpus = found(text)
    assert gpus[0]["paths"] == ["mlx5_4 PIX", "mlx5_5 SYS"]
    assert found(HEALTHY.partition("\nNIC Legend")[0])[0]["paths"] == ["NIC0 PIX", "NIC1 SYS"]
    assert not gpus[0]["flat"]


def test_a_virtual_machine_shows_no_topology():
    text = HEALTHY.replace("PIX", "PHB").replace("PXB", "SYS")
    assert all(gpu["flat"] for gpu in found(text).values())


def test_the_first_word_for_another_socket():
    text = HEALTHY.replace("SYS", "SOC").replace("NIC0\t", "mlx5_0\t").replace("NIC1", "mlx5_1")
    assert found(text)[1]["paths"] == ["mlx5_0 SYS", "mlx5_1 PXB"]


def test_direct_paths_count_as_adapters():
    text = (
        "\tGPU0\tGPU1\tNIC0\tDD0\tCPU Affinity\nGPU0\t X \tNV18\tNODE\tPIX\t0-15\n"
        "GPU1\tNV18\t X \tNODE\tPXB\t0-15\nDD0\tPIX\tPXB\tNODE\t X \n"
    )
    assert [gpu["nic_distance"] for gpu in found(text).values()] == ["PIX", "PXB"]
