"""Which files the numbers in the names of a checkpoint's files call for.

Not a parser: the parser of checkpoint folders asks it. Numbering shows holes; it cannot show that
the last ones are missing, save where the name states the total (``-00001-of-00004``,
``_world_size_8_rank_0``). The ``pp_rank`` in DeepSpeed's names is the data-parallel rank.
"""

import math
from itertools import product

from diagnose.ingest.lazy import LazyPattern

ZERO_FILE = LazyPattern(
    r"zero_pp_rank_(?P<dp>\d+)_mp_rank_(?P<mp>\d+)_(?P<kind>model|optim)_states\.pt$"
)
MODEL_STATES = LazyPattern(r"(?:^|/)mp_rank_(\d+)_model_states\.pt$")
MEGATRON_FILE = LazyPattern(r"(?:^|/)mp_rank_(\d+(?:_\d+)*)/([^/]+)$")
OF = LazyPattern(r"^(.*?)-(\d{5})-of-(\d{5})(\..*)$")
DCP_SHARD = LazyPattern(r"(?:^|/)shard-\d{5}-")
"""What a rank writes of DCP in Hugging Face's layout; no rank need have a part of every file."""
RNG = LazyPattern(r"(?:^|/)rng_state_(\d+)\.pth$")
WORLD = LazyPattern(r"_world_size_(\d+)_rank_(\d+)\.pt$")

EXPECTED_LIMIT = 200_000
"""Names that numbering may call for; a file name with a huge number is no plan."""


def expected_names(names: set[str]) -> set[str]:
    """Return the names that the numbers in the present ones call for."""
    ends: dict[tuple[str, int, str], int] = {}
    for name in names:
        if found := MODEL_STATES.search(name):
            key = (name[: found.start(1)], 2, "_model_states.pt")
        elif found := RNG.search(name):
            key = (name[: found.start(1)], 1, ".pth")
        elif found := WORLD.search(name):
            ends[name[: found.start(2)], 1, ".pt"] = int(found[1])
            continue
        elif (found := OF.match(name)) and not DCP_SHARD.search(name):
            ends[f"{found[1]}-", 5, f"-of-{found[3]}{found[4]}"] = int(found[3]) + 1
            continue
        else:
            continue
        ends[key] = max(ends.get(key, 0), int(found[1]) + 1)
    expected: set[str] = set()
    for (head, width, end), count in ends.items():
        first = 1 if end.startswith("-of-") else 0
        if count <= EXPECTED_LIMIT:
            expected.update(f"{head}{n:0{width}d}{end}" for n in range(first, count))
    return expected | _zero(names) | _megatron(names)


def _zero(names: set[str]) -> set[str]:
    files = {name: found for name in names if (found := ZERO_FILE.search(name))}
    data = max((int(found["dp"]) for found in files.values()), default=-1) + 1
    model = max((int(found["mp"]) for found in files.values()), default=-1) + 1
    heads = {(name[: found.start()], found["kind"]) for name, found in files.items()}
    if data * model * len(heads) > EXPECTED_LIMIT:
        return set()
    return {
        f"{head}zero_pp_rank_{dp}_mp_rank_{mp:02d}_{kind}_states.pt"
        for (head, kind), dp, mp in product(heads, range(data), range(model))
    }


def _megatron(names: set[str]) -> set[str]:
    places: dict[tuple[str, str], set[tuple[str, ...]]] = {}
    for name in names:
        if found := MEGATRON_FILE.search(name):
            key = (name[: found.start(1)], found[2])
            places.setdefault(key, set()).add(tuple(found[1].split("_")))
    expected: set[str] = set()
    for (head, file), ranks in places.items():
        widths = [len(part) for part in next(iter(ranks))]
        if any(len(rank) != len(widths) for rank in ranks):
            continue
        ends = [max(int(rank[i]) for rank in ranks) + 1 for i in range(len(widths))]
        if math.prod(ends) > EXPECTED_LIMIT:
            continue
        for numbers in product(*map(range, ends)):
            place = "_".join(f"{n:0{w}d}" for n, w in zip(numbers, widths, strict=True))
            expected.add(f"{head}{place}/{file}")
    return expected
