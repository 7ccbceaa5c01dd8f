"""How far random tests go: `make test` tries the same few examples each time, `make fuzz` many new ones.

WARPLOOM_FUZZ multiplies the numbers that tests name, and WARPLOOM_SEED is the first seed. pytest prints both at the
start of a run.
"""

import os

#: An ordinary run has a quarter of a test's examples, but no fewer than these if the test has as many.
_FEW = 4
FACTOR = int(os.environ.get("WARPLOOM_FUZZ", "1"))
FIRST_SEED = int(os.environ.get("WARPLOOM_SEED", "0"))


def many(count: int) -> int:
    """Return how many examples, edits or seconds this run uses: `count` times the factor, fewer in an ordinary run."""
    return count * FACTOR if FACTOR > 1 else max(min(count, _FEW), count // 4)


def seeds(count: int) -> range:
    """Return as many seeds as `many` says."""
    return range(FIRST_SEED, FIRST_SEED + many(count))
