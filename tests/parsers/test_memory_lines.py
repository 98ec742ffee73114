from dialects import events, measured

from diagnose.parsers import memory_lines


def test_megatrons_line_of_a_rank():
    text = "x\n[Rank 12] (after 3 iterations) memory (MB) | allocated: 9812.50 | max allocated: 38120.25 | reserved: 41250.00 | max reserved: 41250.00\n"
    (record,) = measured(memory_lines, text)
    assert (record.line.rank, record.line.number) == (12, 2)
    assert record.step is None, "a rank that prints it once is not behind the others"
    assert record.values == {
        "memory_allocated": 9812.5 * 2**20,
        "memory_peak": 38120.25 * 2**20,
        "memory_reserved": 41250.0 * 2**20,
    }


def test_megatrons_line_cut_off():
    text = "(after 3 iterations) memory (MB) | allocated: 9812.50 | max all"
    (record,) = measured(memory_lines, text)
    assert record.values == {"memory_allocated": 9812.5 * 2**20}


def test_flushes_of_the_cache_are_counted():
    text = (
        "[titan] WARNING - 4 CUDA memory allocation retries.\n"
        "[WARNING] [stage3.py:2011:step] 7 pytorch allocator cache flushes since last step. this happens\n"
        "INFO - no CUDA memory allocation retries so far\n"
    )
    found = [(one.fields["kind"], one.fields["count"]) for one in events(memory_lines, text)]
    assert found == [("retries", 4), ("flushes", 7)]


def test_refused_settings():
    text = "RuntimeError: CachingAllocator option max_split_size_mb too small, must be > 20\n"
    (event,) = events(memory_lines, text)
    assert event.fields["option"] == "max_split_size_mb"


def test_an_estimate_is_held_against_the_highest_peak_behind_it():
    text = (
        "Theoretical memory footprints: weight and optimizer=18000.00 MB, activation=22000.00 MB, total=40000.00 MB\n"
        "[Rank 0] (after 1 iterations) memory (MB) | allocated: 41203.11 | max allocated: 50000.00 | reserved: 66310.00\n"
        "[Rank 8] (after 1 iterations) memory (MB) | allocated: 41203.11 | max allocated: 60000.00 | reserved: 66310.00\n"
    )
    (event,) = events(memory_lines, text)
    assert (event["total"], event["measured"]) == (40000 * 2**20, 60000 * 2**20)
    assert event["ratio"] == 1.5


def test_an_estimate_without_activations_has_no_ratio():
    text = "Theoretical memory footprints: weight and optimizer=18204.11 MB\n"
    (event,) = events(memory_lines, text)
    assert set(event.fields) == {"states"}
