"""Count how often faults planted in series are found, and how often healthy runs are accused.

::

    python bench/series.py --seeds 200 --healthy 500
"""

import argparse
import random
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import product

from planted import KINDS

from diagnose import api
from diagnose.ingest.source import Source

NOISES = (0.005, 0.01, 0.02, 0.03)

Answer = tuple[bool, str]
"""Whether it is right, and what was said where it is not."""


@cache
def knowledge() -> api.Knowledge:
    """Return the shipped rules, loaded once in each process."""
    return api.load_knowledge()


def answer(kind: str, noise: float, seed: int) -> Answer:
    """Diagnose one run and judge the answer."""
    fault = KINDS[kind]
    logs, guilty = fault.make(random.Random(f"{kind} {noise} {seed}"), noise)
    sources = [
        Source(name=name, path=None, size=len(text), data=text.encode())
        for name, text in logs.items()
    ]
    report = api.run_sources(sources, knowledge())
    told = [one for one in report.findings if one.role in ("root", "contributing")]
    said = ", ".join(f"{one.id} ({one.role}{one.culprit.ranks or ''})" for one in told)
    if not fault.causes:
        return not told, said
    roots = [one for one in told if one.role == "root"]
    right = any(one.cause in fault.causes for one in roots)
    if fault.ranks:
        right = right and all(one.culprit.ranks == guilty for one in roots if one.culprit.ranks)
        right = right and any(one.culprit.ranks == guilty for one in roots)
    return right, said or "nothing"


def main() -> int:
    """Print a table of kinds and noises."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=200, help="runs of each fault and noise")
    parser.add_argument("--healthy", type=int, default=500, help="healthy runs of each noise")
    parser.add_argument("--only", choices=KINDS, action="append", help="kinds to look at")
    parser.add_argument("--noise", type=float, action="append", help="noises, shares of the value")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verbose", action="store_true", help="what wrong answers said")
    options = parser.parse_args()
    noises = options.noise or NOISES
    print(f"{'right answers at noise of':<26}" + "".join(f"{noise:>9.1%}" for noise in noises))
    with ProcessPoolExecutor(options.jobs) as pool:
        for kind in options.only or KINDS:
            count = options.seeds if KINDS[kind].causes else options.healthy
            runs = list(product([kind], noises, range(count)))
            answers = list(pool.map(answer, *zip(*runs, strict=True), chunksize=8))
            shares = [
                sum(right for right, _ in answers[place * count :][:count]) / count
                for place in range(len(noises))
            ]
            print(f"{kind:<26}" + "".join(f"{share:>9.1%}" for share in shares))
            wrong = Counter(said for right, said in answers if not right)
            for said, times in wrong.most_common(10 if options.verbose else 0):
                print(f"    {times:4d} x {said}")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
